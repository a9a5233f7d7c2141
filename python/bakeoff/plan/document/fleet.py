"""[fleet]: on which machines the clients of a plan run. What it says is no part of any cell: as with the folder that a
run works in, the same plan can be run on other machines and into the same bundle."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from ...errors import PlanError
from ...fleet.spec import Existing, FleetSpec, Kubernetes, Local, Slurm, Ssh, Tls, Way
from ...suggestions import sentence
from .units import Count, Seconds, Table, Texts, UnitError

#: The keys of which exactly one is said, and the keys that belong to one of them.
WAYS = ("address", "ssh", "kubernetes", "slurm", "local")
_BELONGS = {"tls": "address", "remote_python": "ssh"}
_ADDRESS = 'for instance address = "tls://scheduler:8786"'


def _scheduler(value: Any) -> Any:
    if not isinstance(value, str):
        raise UnitError("the address of a scheduler is a text", _ADDRESS)
    scheme, found = value.partition("://")[0], _parts(value)
    if found is None or scheme not in ("tls", "tcp"):
        raise UnitError(f'"{value}" is not the address of a scheduler', f"it begins with tls:// or tcp://, {_ADDRESS}")
    return value


def _parts(address: str) -> tuple[str, int] | None:
    """Host and port of "tls://scheduler:8786"."""
    try:
        parts = urlsplit(address)
        plain = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
        return (parts.hostname, parts.port) if plain and parts.hostname and parts.port else None
    except ValueError:
        return None


def _hosts(value: Any) -> Any:
    for host in value if isinstance(value, list) else [value]:
        if isinstance(host, str) and (not host.strip() or set(host) & set(" @:/")):
            hint = "write the machine's name alone; user, port and key belong in ~/.ssh/config"
            raise UnitError(f'"{host}" is not the name of a machine', hint)
        if isinstance(value, list) and value.count(host) > 1:
            raise UnitError(f'"{host}" is named twice', "one worker on a machine runs any number of clients")
    return value


def _listen(value: Any) -> Any:
    if not isinstance(value, str) or not (_parts(f"tcp://{value}") or re.fullmatch(r"[\w.-]+", value)):
        raise UnitError("it must be an address of this machine", 'for instance listen = "10.0.0.1", or "10.0.0.1:7000"')
    return value


class TlsTable(Table):
    """tls = { ... }."""

    ca: str
    cert: str
    key: str

    def located(self, base_dir: Path) -> Tls:
        ca, cert, key = ((base_dir / name).absolute() for name in (self.ca, self.cert, self.key))
        return Tls(ca, cert, key)


class KubernetesTable(Table):
    """kubernetes = { ... }."""

    image: str = Field(min_length=1)
    replicas: int = Field(ge=1, le=1000)
    name: str = Field(default="bakeoff", min_length=1)
    namespace: str | None = None


class SlurmTable(Table):
    """slurm = { ... }."""

    jobs: int = Field(ge=1, le=1000)
    cores: int = Field(ge=1, le=10_000)
    memory: str = "4GiB"
    queue: str | None = None
    account: str | None = None
    walltime: Seconds | None = None


class FleetTable(Table):
    """[fleet]."""

    address: Annotated[str | None, BeforeValidator(_scheduler, json_schema_input_type=str)] = None
    tls: TlsTable | None = None
    ssh: Annotated[Texts | None, Field(min_length=1), BeforeValidator(_hosts, json_schema_input_type=Texts)] = None
    remote_python: str | None = None
    kubernetes: KubernetesTable | None = None
    slurm: SlurmTable | None = None
    local: Annotated[int | None, Field(ge=1, le=1000)] = None
    min_clients: Count | None = None
    wait: Seconds = 600.0
    listen: Annotated[str | None, BeforeValidator(_listen, json_schema_input_type=str)] = None

    @model_validator(mode="after")
    def _one_way(self) -> FleetTable:
        said = [way for way in WAYS if getattr(self, way) is not None]
        if len(said) != 1:
            what = f"`{'` and `'.join(said)}` name load machines each" if said else "it names no load machines"
            raise UnitError(what, f'write one of {", ".join(WAYS)}, for instance ssh = ["load1", "load2"]')
        for key, way in _BELONGS.items():
            if getattr(self, key) is not None and way not in said:
                raise UnitError(f"`{key}` belongs to `{way}`, and `{said[0]}` does not use it", f"leave out `{key}`")
        if self.tls is not None and not str(self.address).startswith("tls:"):
            raise UnitError(
                f"{self.address} is not encrypted, and `tls` needs an encrypted address", 'write "tls://..."'
            )
        if self.kubernetes is not None and self.listen is None:
            raise UnitError(
                "pods connect to this machine, and `listen`, its address, is missing", 'listen = "10.0.0.1"'
            )
        machines = self.spec(Path()).machines
        if self.min_clients is not None and machines is not None and self.min_clients > len(machines):
            what = f"`min_clients` is {self.min_clients}, and there are {len(machines)} load machines"
            raise UnitError(what, "name more machines, or lower `min_clients`")
        return self

    def spec(self, base_dir: Path) -> FleetSpec:
        """base_dir: where relative paths start."""
        host, port = (_parts(f"tcp://{self.listen}") or (self.listen, 0)) if self.listen else (None, 0)
        return FleetSpec(
            way=self._way(base_dir),
            min_clients=self.min_clients,
            wait_s=self.wait,
            listen=host.strip("[]") if host else None,
            port=port,
        )

    def _way(self, base_dir: Path) -> Way:
        if self.address is not None:
            return Existing(self.address, self.tls.located(base_dir) if self.tls else None)
        if self.ssh is not None:
            return Ssh(tuple(self.ssh), self.remote_python or "python3")
        if (pods := self.kubernetes) is not None:
            return Kubernetes(pods.name, pods.image, pods.replicas, pods.namespace)
        if (slurm := self.slurm) is not None:
            return Slurm(slurm.jobs, slurm.cores, slurm.memory, slurm.queue, slurm.account, slurm.walltime)
        return Local(self.local or 1)


def said_as_key(words: str) -> str:
    """What `--fleet` says, as `--set` takes it: "local=4", "ssh=load1,load2", "tls://scheduler:8786"."""
    key, equals, value = words.partition("=")
    if key == "local" and re.fullmatch("[0-9]{1,4}", value):
        return f"fleet.local={int(value)}"
    if key == "ssh" and value:
        return f"fleet.ssh={json.dumps(value.split(','))}"
    if "://" in words and not equals:
        return f"fleet.address={json.dumps(words)}"
    hint = "tls://SCHEDULER:8786, local=4 or ssh=load1,load2; all other keys belong in the plan's [fleet]"
    raise PlanError(f'"{words}" names no load machines', where="--fleet", hint=hint)


def read_said(said: Sequence[str], base_dir: Path) -> FleetSpec:
    """Of keys as `said_as_key` makes them, without a plan. Raises PlanError."""
    try:
        tree = tomllib.loads("\n".join(said))
        return FleetTable.model_validate(tree["fleet"]).spec(base_dir)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what, hint = sentence(first, str(first["loc"][0]) if first["loc"] else "fleet")
        raise PlanError(what, where="--fleet", hint=hint) from None


def other_ways(key: str) -> list[str]:
    """Keys of [fleet] whose meaning ends where this one is said instead."""
    if key not in WAYS:
        return []
    return [other for other in (*WAYS, *_BELONGS) if other != key and _BELONGS.get(other) != key]
