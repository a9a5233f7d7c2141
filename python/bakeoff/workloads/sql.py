"""One's own SQL in a plan: where the plan names a file, the engine gets its content. Files of rows are the
exception: the engine reads them where they lie. What it all means is for the engine to decide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .base import Asked, locate, read_text
from .parquet import as_csv

#: A file for every system, and files for systems of one dialect.
_VARIANTS = ("file", "mysql", "postgresql", "sqlite")


def read(options: dict[str, Any], base_dir: Path) -> Asked:
    """The [workload] table without `kind`. Raises PlanError."""
    reader = Reader(base_dir)
    said = {name: reader.option(name, value) for name, value in options.items()}
    return Asked(said, sources=list(dict.fromkeys(reader.sources)))


class Reader:
    def __init__(self, base_dir: Path) -> None:
        self._base_dir = base_dir
        self.sources: list[Path] = []

    def option(self, name: str, value: Any) -> Any:
        """What is not as a plan has it stays as it is, for the engine to refuse."""
        match name:
            case "schema" | "after_load" | "setup":
                return self._texts(name, value)
            case "scripts" if isinstance(value, str):
                return [self._texts(name, value)]
            case "scripts" if isinstance(value, list):
                return [self._texts(name, script) for script in value]
            case "load":
                return _each(value, self._load)
            case "lists":
                return _each(value, self._list)
            case _:
                return value

    def _texts(self, option: str, value: Any) -> Any:
        if isinstance(value, str):
            return {"file": self._text(option, value)}
        if not isinstance(value, dict):
            return value
        return {
            part: self._text(option, one) if part in _VARIANTS and isinstance(one, str) else one
            for part, one in value.items()
        }

    def _load(self, table: Any) -> Any:
        if not isinstance(table, dict) or not isinstance(table.get("file"), str):
            return table
        name = table["file"]
        path = locate(self._base_dir, name).absolute()
        if path.suffix == ".parquet":
            path = as_csv(path)
        return table | {"file": {"name": name, "path": str(path)}}

    def _list(self, value: Any) -> Any:
        if isinstance(value, str):
            return {"file": self._text("lists", value)}
        return {"values": value} if isinstance(value, dict) else value

    def _text(self, option: str, name: str) -> dict[str, str]:
        path = locate(self._base_dir, name)
        text = read_text(path, option)
        self.sources.append(path)
        return {"name": name, "text": text}


def _each(value: Any, read_one: Callable[[Any], Any]) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: read_one(one) for name, one in value.items()}
