"""Writes docs/reference/conformance.md: which driver passed which case of the drivers' own tests, and when.

    BAKEOFF_CONFORMANCE=$PWD/passed.jsonl .venv/bin/python -m pytest tests/systems -k drivers_own_tests
    .venv/bin/python -m benches.conformance passed.jsonl

The first command starts every system that can be had, and runs the Rust tests in crates/drivers/tests against each.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/conformance.md"
#: Tests of each shape; all cases of a file are named in the call of its macro.
SHAPES = {
    "records": ("conformance.rs",),
    "documents": ("documents/mod.rs",),
    "SQL": ("values.rs", "bulk/mod.rs"),
}
#: A file names all its cases in one call, a line each.
_CALL = re.compile(r"(?:conformance!|on_every_client!|\$on!)\((.*?)\n\s*\]?\);", re.DOTALL)
_TITLE = """# What each driver was tested for

Every driver runs the same cases against a real system, or against a peer that speaks its protocol. Those that have
neither are at the end. A case is a test in `crates/drivers/tests`, and its name says what must hold. "yes": it passed
on the last run, of {day}. "-": the driver does not offer it, and workloads that need it are refused before anything
starts.

Made by `python -m benches.conformance`. `make test` runs the same cases.
"""
#: Drivers of which there is no system, and what their tests do instead.
UNTESTED = {
    "reference": "no database; the experiments of `bakeoff verify`, which find each of its bugs",
    "riak": "requests and answers written down from Riak KV's documentation",
    "simpledb": "requests and answers written down from Amazon's documentation, and its emulator (`moto-simpledb`)",
}
_WORDS = {
    "records": "Records (YCSB). SQL and document systems keep them in tables and documents of their own.",
    "documents": "Documents, also those in JSON columns of SQL systems and in values of key-value stores.",
    "SQL": "SQL: values of all types, transactions and bulk loads.",
}


def cases(shape: str) -> list[str]:
    """In the order of the macro's call. Raises ValueError where a file has none."""
    found: list[str] = []
    for name in SHAPES[shape]:
        text = (ROOT / "crates/drivers/tests/drivers" / name).read_text()
        call = _CALL.search(text)
        if call is None:
            raise ValueError(f"{name} calls no macro with cases")
        words = (line.strip().rstrip(",").split(" if ")[0] for line in call[1].splitlines())
        found += [word for word in words if word.isidentifier()]
    return found


def page(passed: Iterable[tuple[str, str, str]], day: str) -> str:
    """passed: driver, shape and case."""
    known = set(passed)
    parts = [_TITLE.format(day=day)]
    for shape in SHAPES:
        drivers = sorted({driver for driver, of, _ in known if of == shape})
        parts += [f"## {shape[0].upper()}{shape[1:]}\n", _WORDS[shape] + "\n"]
        rows = [["case", *drivers], ["---"] * (len(drivers) + 1)]
        for case in cases(shape):
            marks = ["yes" if (driver, shape, case) in known else "-" for driver in drivers]
            rows.append([case.replace("_", " "), *marks])
        parts.append("".join(f"| {' | '.join(row)} |\n" for row in rows))
    lines = [("driver", "tested against"), ("---", "---"), *UNTESTED.items()]
    parts += ["## Without a system to test on\n", "".join(f"| {name} | {words} |\n" for name, words in lines)]
    return "\n".join(parts)


def main(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    passed = [(line["driver"], line["shape"], line["case"]) for line in lines]
    day = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    PAGE.write_text(page(passed, day))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
