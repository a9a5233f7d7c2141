"""Tables of options in the reference pages, made from what the engine says of each: `python -m
bakeoff.cli.options_reference docs/reference`. They stand between two marks; the rest of a page is written by hand."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..model.boundary import Described
from ..systems import SYSTEMS
from ..systems.driver import drivers
from ..workloads import workloads

_MARKED = re.compile(r"(<!-- (\w+): made by `make docs` -->\n).*?(<!-- end -->)", re.DOTALL)


def pages(folder: Path) -> dict[Path, str]:
    """Each page that has such tables, with them as they must be."""
    found = {}
    for kind, workload in workloads().items():
        tables = {
            "options": options_table(workload.options, preset=workload.preset),
            "presets": presets_table(workload.presets),
            "systems": systems_line(kind),
        }
        page = folder / "workloads" / f"{kind}.md"
        found[page] = with_tables(page.read_text(), tables)
    for kind, system in SYSTEMS.items():
        page = folder / "systems" / f"{kind}.md"
        found[page] = with_tables(page.read_text(), {"driver": options_table(drivers()[system.driver].options)})
    return found


def with_tables(text: str, tables: dict[str, str]) -> str:
    return _MARKED.sub(lambda mark: f"{mark[1]}{tables[mark[2]]}{mark[3]}", text)


def options_table(options: Iterable[Described], *, preset: str = "") -> str:
    """`preset`: the option whose names have a table of their own, above this one."""
    rows = [
        f"| `{o.name}` | {_default(o.default)} | {'see above' if o.name == preset else o.values} | {o.meaning} |\n"
        for o in options
    ]
    return "".join(["| option | default | values | meaning |\n|---|---|---|---|\n", *rows])


def presets_table(presets: dict[str, str]) -> str:
    rows = [f"| `{name}` | {words} |\n" for name, words in presets.items()]
    return "".join(["| preset | |\n|---|---|\n", *rows])


def systems_line(workload: str) -> str:
    """Kinds of systems that a workload runs on: whose driver takes it."""
    found = [kind for kind, system in SYSTEMS.items() if workload in drivers()[system.driver].workloads]
    return f"Runs on {', '.join(f'[{kind}](../systems/{kind}.md)' for kind in found)}.\n"


def _default(value: Any) -> str:
    """As a plan would write it."""
    if not isinstance(value, dict):
        return "none" if value in (None, []) else f"`{json.dumps(value)}`"
    parts = {name: part for name, part in value.items() if part not in (None, {}, [])}
    if parts.keys() <= {"kind"}:
        return _default(parts.get("kind"))
    return f"`{{ {', '.join(f'{name} = {json.dumps(part)}' for name, part in parts.items())} }}`"


if __name__ == "__main__":
    for page, text in pages(Path(sys.argv[1])).items():
        page.write_text(text)
