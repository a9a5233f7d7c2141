"""`bakeoff workloads`: what can be asked of a system."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import ExitCode, PlanError
from ..arguments import Commands, add_command, add_json
from ..output import print_json, show, table


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "workloads",
        run,
        help="list workloads and their presets",
        description="Lists the workloads that plans may name, with their presets. With --write FILE, writes the"
        " events of the Hat Shop.",
        epilog="example:\n  bakeoff workloads\n"
        "  bakeoff workloads hatshop --write events.jsonl --seed 1 --set events=10_000",
    )
    p.add_argument("kind", nargs="?", help="show this workload only")
    p.add_argument(
        "--write", type=Path, metavar="FILE", help="write the events of `hatshop`, one JSON document per line"
    )
    p.add_argument(
        "--seed", type=int, default=1, metavar="N", help="with --write: the plan's seed (default: 1, as a plan's)"
    )
    p.add_argument(
        "--set",
        action="append",
        default=[],
        dest="said",
        metavar="OPTION=VALUE",
        help="with --write: an option of the workload, as in a plan; may be repeated",
    )
    add_json(p)


def run(options: argparse.Namespace) -> int:
    from ...suggestions import meant
    from ...workloads import workloads

    known = workloads()
    if options.kind is not None and options.kind not in known:
        raise PlanError(f"unknown workload `{options.kind}`", hint=meant(options.kind, known))
    if options.write is not None:
        return _write(options)
    listed = {kind: one for kind, one in known.items() if options.kind in (None, kind)}
    if options.json:
        print_json(
            [
                {"kind": kind, "summary": workload.summary, "option": workload.preset, "presets": workload.presets}
                for kind, workload in listed.items()
            ]
        )
        return ExitCode.DONE
    blocks = []
    for kind, workload in listed.items():
        rows = [[f"  {name}", words] for name, words in workload.presets.items()]
        blocks.append(f"{kind}: {workload.summary}\n\n{table(rows, [f'  {workload.preset}', 'what it does'])}")
    show("\n\n".join(blocks))
    return ExitCode.DONE


def _write(options: argparse.Namespace) -> int:
    from ...workloads.hatshop import write_events

    if options.kind != "hatshop":
        hint = f"bakeoff workloads hatshop --write {options.write}"
        raise PlanError("only the Hat Shop has events to write", hint=hint)
    written = write_events(_said(options.said), options.seed, options.write)
    if options.json:
        print_json({"file": str(options.write), "events": written.events, "sha256": written.sha256})
        return ExitCode.DONE
    show(
        f"{options.write}: {written.events:,} events\n\n"
        f'events_file = "{options.write.name}"\nevents_sha256 = "{written.sha256}"'
    )
    return ExitCode.DONE


def _said(words: Sequence[str]) -> dict[str, Any]:
    """Options as a plan has them; what is no value of TOML is a text."""
    said: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise PlanError(f"`{word}` is not KEY=VALUE", where="--set", hint="write --set orders=500")
        try:
            said[name.strip()] = tomllib.loads(f"it = {value}")["it"]
        except tomllib.TOMLDecodeError:
            said[name.strip()] = value
    return said
