"""How a managed server is configured, started and stopped, and what its log says."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from bakeoff.errors import BakeoffError, PlanError
from bakeoff.provision.files import write_private
from bakeoff.provision.installation import Installation
from bakeoff.provision.server import failed_start
from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.server.control import Control, Login
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer

_ROOT = "root"
#: It answers when all is on the disk, which may be slow or busy.
_SAVE_TIMEOUT_S = 600.0
_REFUSED = re.compile(r">>> '(?P<setting>(?P<name>\S+)[^\n]*)'\n(?P<why>[^\n]+)")
#: No version knows it.
_LAST = "bakeoff-last-line"


class RedisProcess(DatabaseServer):
    product = "Redis"
    #: Differences from the server's own: it writes what durability asks for, and no snapshots by itself.
    defaults: ClassVar[dict[str, str]] = {"appendonly": "no", "save": '""', "maxclients": "3000"}

    def make_control(self, timeout_s: float = 5.0) -> Control:
        return RedisControl(
            Login(self.socket_address(), _ROOT, self.root_password), where=self.where, timeout_s=timeout_s
        )

    def answers(self) -> bool:
        """Not before it has read its data: until then it refuses."""
        return self.socket.exists() and self.control.answers()

    def has_data(self, folder: Path) -> bool:
        return folder.is_dir()

    def make_data(self) -> None:
        """It begins with an empty folder."""

    def before_snapshot(self) -> None:
        """Without a log what is in memory goes to the disk by this alone."""
        with closing(self.make_control(_SAVE_TIMEOUT_S)) as control:
            control.rows("SAVE")

    def command(self, options: Sequence[str]) -> list[str | Path]:
        ports = ["--port", "0", "--tls-port"] if self.spec.tls else ["--port"]
        program = self.spec.installation.program
        return [program, self.folder.path / "redis.conf", *ports, str(self.port), *options]

    def accounts(self) -> list[str]:
        """As the file of users has them."""
        accounts = {BENCH_USER: self.bench_password, _ROOT: self.root_password}
        return [f"user {name} on >{password} ~* &* +@all" for name, password in accounts.items()]

    def secret_files(self) -> dict[str, str]:
        # Nobody logs in as `default`, but its rights decide which transactions are read back from the log (Redis 7.0).
        return {"users.acl": "\n".join(["user default off ~* &* +@all", *self.accounts(), ""])}

    def fixed(self) -> dict[str, str]:
        """Settings that no plan changes."""
        return {
            "aclfile": str(self.folder.path / "users.acl"),
            "bind": self.host,
            "daemonize": "no",
            "dir": str(self.data),
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            **self._tls_settings(),
        }

    def write_config(self) -> None:
        quoted = {name: json.dumps(value, ensure_ascii=False) for name, value in self.fixed().items()}
        text = _config({**self.defaults, **_spelled(self.spec.settings), **quoted})
        write_private(self.folder.path / "redis.conf", text, mode=0o644)

    def _tls_settings(self) -> dict[str, str]:
        if not self.spec.tls:
            return {}
        files = self.make_certificate()
        return {
            "tls-cert-file": str(files.certificate),
            "tls-key-file": str(files.key),
            "tls-ca-cert-file": str(files.authority),
            "tls-auth-clients": "no",
        }

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        if found := _REFUSED.search(log):
            what = f"the server does not take the setting {found['setting']!r}: {found['why']}"
            return PlanError(what, where=f"{self.where}.start.settings")
        return failed_start(log, how_it_ended, where=self.where, port=self.port, lower="maxmemory")


def _spelled(settings: Mapping[str, str]) -> dict[str, str]:
    """A plan's settings as the server's file has them."""
    words = {"ON": "yes", "OFF": "no", "": '""'}
    return {name.replace("_", "-"): words.get(value, value) for name, value in settings.items()}


def _config(settings: Mapping[str, str]) -> str:
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def refuse_bad(settings: Mapping[str, str], installation: Installation, product: str, where: str) -> None:
    """Settings of a plan that this version does not know, or whose values it does not take. The program stops at the
    first that it refuses: here at the last at the latest, so that no server starts. Raises PlanError."""
    spelled = _spelled(settings)
    text = _config({**spelled, _LAST: "yes"})
    try:
        said = installation.run([installation.program, "-"], timeout_s=10.0, cwd=Path("/"), text=text).stdout
    except (OSError, subprocess.SubprocessError):
        return
    found = _REFUSED.search(said)
    if found and found["name"] != _LAST:
        what = f"{product} {installation.version} does not take the setting {found['setting']!r}: {found['why']}"
        raise PlanError(what, where=f"{where}.start.settings.{found['name'].replace('-', '_')}")
    if spelled.get("appendfsync", "no") != "no" and spelled.get("appendonly", "no") != "yes":
        place = f"{where}.start.settings.appendfsync"
        what = '`appendfsync` has no effect without appendonly = "yes"'
        raise PlanError(what, where=place, hint="add that, or leave both to `durability`")
