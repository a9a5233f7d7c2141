"""What every subcommand prints with: one JSON document on stdout with --json, otherwise a plain table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else on stdout")


def print_json(document: Any) -> None:
    print(json.dumps(document, indent=1, default=str))


def table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> str:
    """Left-aligned columns, two spaces apart; the last one may be of any length."""
    cells = [[str(c) for c in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head) - 1)]
    return "\n".join(
        "  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[-1]]).rstrip()
        for row in cells
    )


def say(words: str) -> None:
    """To the person, not to the pipe."""
    print(words, file=sys.stderr, flush=True)


def seconds(value_s: float | None) -> str:
    """0.5 s, 4 s, 3 min 20 s, 2 h 05 min."""
    if value_s is None:
        return "?"
    if 0 < value_s < 9.95 and value_s != int(value_s):
        return f"{value_s:.1f} s"
    whole = round(value_s)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def size(value_bytes: float | None) -> str:
    """Decimal units, three digits."""
    if value_bytes is None:
        return "?"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value_bytes >= factor:
            return f"{value_bytes / factor:.3g} {unit}"
    return f"{value_bytes:.0f} B"
