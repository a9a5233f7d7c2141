"""`bakeoff workloads`: what can be asked of a system."""

from __future__ import annotations

import argparse

from ..errors import ExitCode
from .output import add_json, print_json, show, table


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser(
        "workloads",
        help="list workloads and their presets",
        description="Lists the workloads that plans may name, with their presets.",
        epilog="example:\n  bakeoff workloads",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_json(p)
    p.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from ..workloads import workloads

    if options.json:
        print_json(
            [
                {"kind": kind, "summary": workload.summary, "option": workload.preset, "presets": workload.presets}
                for kind, workload in workloads().items()
            ]
        )
        return ExitCode.DONE
    blocks = []
    for kind, workload in workloads().items():
        rows = [[f"  {name}", words] for name, words in workload.presets.items()]
        blocks.append(f"{kind}: {workload.summary}\n\n{table(rows, [f'  {workload.preset}', 'what it does'])}")
    show("\n\n".join(blocks))
    return ExitCode.DONE
