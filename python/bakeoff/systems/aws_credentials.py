"""Where the keys of an account are: in the environment, or in the file that AWS's own tools share; as in the drivers.
And the name of a host, as signatures have it.

Source: AWS SDKs and Tools Reference Guide, "Environment variables list", "Shared config and credentials files".
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.errors import PlanError
from bakeoff.systems.server.control import Login

_HINT = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a `profile` of ~/.aws/credentials, or `user` and `password`"
)


@dataclass(frozen=True)
class Credentials:
    key_id: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)


def find(profile: str | None, where: str, environment: Mapping[str, str] = os.environ) -> Credentials:
    """Raises PlanError."""
    key_id, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if profile is None and key_id and secret:
        return Credentials(key_id, secret, environment.get("AWS_SESSION_TOKEN", ""))
    named = profile or environment.get("AWS_PROFILE") or "default"
    home = Path(environment.get("HOME") or "~").expanduser()
    path = Path(environment.get("AWS_SHARED_CREDENTIALS_FILE") or home / ".aws" / "credentials")
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text())
    except (OSError, UnicodeDecodeError, configparser.Error):
        raise PlanError(f"there are no credentials: {path} cannot be read", where=where, hint=_HINT) from None
    section = dict(parser[named]) if named in parser else {}
    try:
        found = Credentials(section["aws_access_key_id"], section["aws_secret_access_key"])
    except KeyError:
        what = f"there are no credentials: {path} has no keys of the profile `{named}`"
        raise PlanError(what, where=where, hint=_HINT) from None
    return Credentials(found.key_id, found.secret, section.get("aws_session_token", ""))


def signed_host(login: Login) -> str:
    """As of the field `Host`: without the port that its scheme has by default."""
    host = str(login.address)
    return host.rpartition(":")[0] if login.address.port == (443 if login.tls else 80) else host
