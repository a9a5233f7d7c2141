"""The command reference page, made from the parser: `python -m bakeoff.cli.reference > docs/reference/cli.md`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from . import parser


def page() -> str:
    """Markdown. Help is formatted for 100 columns whatever the terminal."""
    os.environ["COLUMNS"] = "100"
    parts = ["# Commands\n\nMade from the program's own help by `make docs`.\n"]
    for name, one in walk("bakeoff", parser()):
        parts.append(f"## `{name}`\n\n```text\n{one.format_help().rstrip()}\n```\n")
    return "\n".join(parts)


def walk(name: str, one: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, one
    for action in one._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, inner in action.choices.items():
                yield from walk(f"{name} {verb}", inner)


if __name__ == "__main__":
    print(page(), end="")
