"""Valkey: as Redis, of which it is a fork.

[systems.valkey]
start = { version = "8.1" }             # or "9.1"
"""

from __future__ import annotations

import re
from typing import ClassVar

from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Named, OnPath, Size, Sources
from bakeoff.systems.redis.process import RedisProcess
from bakeoff.systems.redis.system import Redis


def version_of(said: str) -> str | None:
    """From what `--version` prints; None: it is not Valkey."""
    found = re.match(r"(?:Valkey )?[Ss]erver v=(\d+\.\d+\.\d+)", said)
    return found[1] if found else None


#: The server's package holds no program but a name for one of the tools', as that of Redis.
_PACKAGES = PackageSet(
    ("valkey-tools",), "usr/bin/valkey-server", alone=("valkey-server",), series={"trixie": "8.1", "sid": "9.1"}
)
SOURCES = Sources(
    "valkey",
    "Valkey server",
    (
        OnPath("valkey-server", version_of),
        *(Debian("valkey", _PACKAGES, suite, size=Size(12, 45)) for suite in ("trixie", "sid")),
    ),
    Named(("valkey-server",), version_of),
)


class ValkeyProcess(RedisProcess):
    product = "Valkey"


class Valkey(Redis):
    kind: ClassVar[str] = "valkey"
    summary: ClassVar[str] = "Valkey server: managed, or existing by `address`; records (YCSB), no SQL"
    installed_from = SOURCES
    process = ValkeyProcess
