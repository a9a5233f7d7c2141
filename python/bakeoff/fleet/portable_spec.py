"""What an engine's document names and only this machine has: inputs and secrets go to the load machine, outputs come
back, and the document names them as they are called there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import input_files
from ..errors import EngineError

#: Of the engine's environment there, where a file holds the password here.
_PASSWORD = "BAKEOFF_PASSWORD"


@dataclass(frozen=True)
class Carried:
    """A document as a load machine gets it: one line of JSON, and the files by their names there."""

    document: str
    inputs: dict[str, Path]
    outputs: dict[str, Path]
    #: Of the system's nodes that listen on TCP.
    addresses: dict[str, tuple[str, int]]
    #: The environment that carries the secrets: over the connection alone.
    env: dict[str, str] = field(repr=False)


def carried(text: str, env: Mapping[str, str]) -> Carried:
    """text: of a `RunSpec`; env: secrets that only its engine gets, in addition to our environment. A file is what a
    key that ends with `_file` names, or the `path` of a table with a `name`: an absolute path, since the plan has been
    read. What a system keeps (SQLite's `path`) stays where it is."""
    document = json.loads(text)
    inputs: dict[str, Path] = {}
    outputs: dict[str, Path] = {}
    for table, key in list(_named(document)):
        name = f"input{len(inputs)}"
        inputs[name] = Path(table[key])
        table[key] = name
    if log := document.get("event_log"):
        outputs["events.csv"] = Path(log["path"])
        log["path"] = "events.csv"
    secrets = _secrets(document["driver"], env)
    return Carried(json.dumps(document), inputs, outputs, dict(_addresses(document)), secrets)


def _secrets(driver: dict[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    """By the names that the document has for them afterwards."""
    match driver.get("password"):
        case {"env": str(name)} if name in {**os.environ, **env}:
            return {**env, name: {**os.environ, **env}[name]}
        case {"file": str(path)}:
            driver["password"] = {"env": _PASSWORD}
            try:
                return {**env, _PASSWORD: input_files.read_text(path).rstrip("\n")}
            except (OSError, UnicodeDecodeError) as error:
                raise EngineError(f"the password file {path} cannot be read: {error}") from error
    return dict(env)


def _named(part: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Tables and their keys that name an input."""
    if isinstance(part, list):
        for each in part:
            yield from _named(each)
    if isinstance(part, dict):
        for key, value in part.items():
            is_file = key.endswith("_file") or (key == "path" and "name" in part)
            if is_file and isinstance(value, str):
                yield part, key
            yield from _named(value)


def _addresses(document: dict[str, Any]) -> Iterator[tuple[str, tuple[str, int]]]:
    for endpoint in document["driver"].get("endpoints", []):
        host, _, port = str(endpoint["address"]).rpartition(":")
        if host and port.isdigit():
            yield endpoint["name"], (host.strip("[]"), int(port))
