"""`bakeoff completion`: a script for a shell, made from the one definition of all commands. What follows an option is
completed by its placeholder: names of systems, workloads and metrics, plans and other files, folders."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ...errors import ExitCode
from ..arguments import Commands, add_command, add_json
from ..output import print_json, show

SHELLS = ("bash", "zsh", "fish")


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "completion",
        run,
        help="print a script that completes commands in bash, zsh or fish",
        description="Prints a script with which a shell completes commands, options, plans, and the names of systems,"
        " workloads and metrics.",
        epilog='example:\n  eval "$(bakeoff completion bash)"                                  in ~/.bashrc\n'
        "  bakeoff completion zsh > ~/.zfunc/_bakeoff                         a folder of $fpath\n"
        "  bakeoff completion fish > ~/.config/fish/completions/bakeoff.fish",
    )
    p.add_argument("shell", choices=SHELLS)
    add_json(p)


def run(options: argparse.Namespace) -> int:
    import shtab

    _complete(options.definition, _completions())
    script = shtab.complete(options.definition, options.shell)
    if options.json:
        print_json({"shell": options.shell, "script": script})
    else:
        show(script)
    return ExitCode.DONE


def _completions() -> dict[str, Any]:
    """By placeholder: a list of names, or what shtab calls files of a kind."""
    import shtab

    from ...analysis.registry import METRICS
    from ...systems import SYSTEMS
    from ...workloads import workload_names, workloads

    metrics, systems = [metric.name for metric in METRICS], list(SYSTEMS)
    # In zsh as written by shtab, "(*.toml)", options would not be offered.
    plans = {**shtab.glob("*.toml"), "zsh": "_files -g '*.toml'"}
    return {
        **dict.fromkeys(("PLAN", "plan", "--plan"), plans),
        **dict.fromkeys(("BUNDLE", "AFTER", "DIR", "bundle"), shtab.DIRECTORY),
        **dict.fromkeys(("--metric", "--objective"), metrics),
        **dict.fromkeys(("SYSTEM", "KIND[@VERSION]"), systems),
        "--workload": list(workload_names()),
        "kind": list(workloads()),
        "any file": shtab.FILE,
    }


def _complete(parser: argparse.ArgumentParser, known: dict[str, Any]) -> None:
    """An option's own name goes before its placeholder, which is another's name, too (NAME)."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            short = {one.dest: one.help for one in action._choices_actions}
            for name, inner in action.choices.items():
                inner.description = short[name]
                _complete(inner, known)
            continue
        named = [*action.option_strings, str(action.metavar or action.dest)]
        found = next((known[name] for name in named if name in known), None)
        if isinstance(found, list):
            action.choices = found
        elif found or action.type is Path:
            action.complete = found or known["any file"]  # type: ignore[attr-defined]
