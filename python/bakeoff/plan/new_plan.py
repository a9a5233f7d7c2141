"""Texts of plans, for users to read, keep and change: from a few words (systems, a workload, threads), and a first
one for the systems that this machine has."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import PlanError
from ..suggestions import meant
from ..systems import SYSTEMS
from ..workloads import workload_names, workloads
from .document.units import UnitError, parse_duration_s

#: The unit of each workload's size, and a size that loads in seconds.
SIZES: Mapping[str, tuple[str, str]] = {
    "ycsb": ("records", "100_000"),
    "sysbench": ("table_size", "100_000"),
    "tpcc": ("warehouses", "1"),
    "linkbench": ("size", '"0.01x"'),
    "hatshop": ("orders", "500"),
    "documents": ("records", "50_000"),
    "sql": ("scale", "1"),
}
#: Of plans, for editors: as `schema.py` makes it.
SCHEMA = Path(__file__).with_name("plan.schema.json")
#: Less is a demonstration.
WINDOW_FOR_AN_ANSWER_S = 30.0
REPETITIONS_FOR_AN_ANSWER = 5


@dataclass(frozen=True)
class Quick:
    systems: Sequence[str]  # "mariadb", "mariadb@10.11"
    workload: str  # "ycsb-b", "sysbench-oltp_read_only", "tpcc", "pgbench"
    threads: Sequence[int] = (8,)
    size: str | None = None  # as the workload counts it; None: what is loaded in some seconds
    window: str = "2s"
    repetitions: int = 5
    fleet: Sequence[str] = ()  # keys of [fleet] with their values, as TOML


def plan_text(quick: Quick) -> str:
    """The plan. Raises PlanError for a system, a workload or a window that is none."""
    tables = _systems(quick.systems)
    kind, option, preset = _workload(quick.workload)
    counts, usual = SIZES[kind]
    users = f"[{', '.join(map(str, quick.threads))}]" if len(quick.threads) > 1 else str(quick.threads[0])
    size = _literal(quick.size) if quick.size else json.dumps(preset) if preset and option == counts else usual
    work = {"kind": json.dumps(kind), **({option: json.dumps(preset)} if preset else {}), counts: size}
    lines = [
        f"title = {json.dumps(_title(quick))}",
        *(
            ["demonstration = true            # short runs show how bakeoff works, not which system is faster"]
            * _short(quick)
        ),
        f"threads = {users}",
        *(['durability = "full"             # no system loses an acknowledged commit'] * _all_durable(tables)),
        *(line for name, (of, version) in tables.items() for line in _system(name, of, version)),
        *("", "[workload]", *(f"{key} = {value}" for key, value in work.items())),
        *("", "[measure]", f'warm_up = "{"1s" if _short(quick) else "10s"}"', f"window = {json.dumps(quick.window)}"),
        f"repetitions = {quick.repetitions}",
        *(["", "[fleet]", *quick.fleet] if quick.fleet else []),
    ]
    return "\n".join(lines) + "\n"


def _title(quick: Quick) -> str:
    systems = _listed([system.replace("@", " ") for system in quick.systems])
    users = _listed([str(users) for users in quick.threads])
    return f"{systems}: {quick.workload}, {users} {'thread' if users == '1' else 'threads'}"


def _listed(words: Sequence[str]) -> str:
    """ "a, b and c"."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _short(quick: Quick) -> bool:
    try:
        window_s = parse_duration_s(quick.window)
    except UnitError as error:
        raise PlanError(str(error), where="--window", hint=error.hint) from None
    return window_s < WINDOW_FOR_AN_ANSWER_S or quick.repetitions < REPETITIONS_FOR_AN_ANSWER


def _systems(said: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Kind and version ("" for whichever is there) of each, by a name of its own."""
    pairs = [(kind, version) for kind, _, version in (words.partition("@") for words in said)]
    kinds = [kind for kind, _ in pairs]
    found: dict[str, tuple[str, str]] = {}
    for (kind, version), words in zip(pairs, said, strict=True):
        if kind not in SYSTEMS:
            hint = f"write --workload {words}" if words in workload_names() else meant(kind, SYSTEMS)
            raise PlanError(f"unknown kind of system `{kind}`", where=words, hint=hint)
        if version and SYSTEMS[kind].capabilities().embedded:
            raise PlanError(f"{kind} has no versions to choose from", where=words, hint=f"write {kind}")
        name = kind if kinds.count(kind) == 1 else re.sub(r"[^A-Za-z0-9_-]", "-", f"{kind}-{version or 'any'}")
        if name in found:
            hint = "name two versions, such as mariadb@10.11 mariadb@11.4"
            raise PlanError(f"{words} is named twice", where=words, hint=hint)
        found[name] = (kind, version)
    return found


def _system(name: str, kind: str, version: str) -> list[str]:
    said = {"kind": kind if name != kind else "", "version": version}
    return ["", f"[systems.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in said.items() if value)]


def _all_durable(systems: Mapping[str, tuple[str, str]]) -> bool:
    return all("full" in SYSTEMS[kind].capabilities().durability for kind, _ in systems.values())


def _workload(words: str) -> tuple[str, str, str]:
    """Its kind, the option that names its presets, and the preset ("" for the usual one)."""
    known = workload_names()
    if words not in known:
        raise PlanError(f"unknown workload `{words}`", where="--workload", hint=meant(words, known))
    kind, preset = known[words]
    return kind, workloads()[kind].preset, preset


def _literal(size: str) -> str:
    """A number as TOML has it, anything else as a text."""
    return size if re.fullmatch(r"[0-9][0-9_]*", size) else json.dumps(size)


_HEAD = """#:schema {schema}
# Show cells, time, disk:  bakeoff run {file} --dry-run
# Run it:                  bakeoff run {file}
# All keys:                docs/reference/plan.md; any line of this plan can be changed or removed

title = "My comparison"
description = "The question, and why you ask it"

threads = [1, 8]                # users, each with one operation in flight; write 8 for a single level
durability = "full"             # no system loses an acknowledged commit; "relaxed" loses the last ones at a power loss

# ---- The systems, each under a name of your choice ----
"""
_SERVER = """
[systems.{kind}]  # a managed server: bakeoff starts it for the plan and removes it afterwards
# version = "{version}"
# settings = {{ {setting} }}  # with the server's own names
# address = "db1"  # or measure an existing server, with user = "..." and password = {{ env = "NAME" }}
"""
_EMBEDDED = """
[systems.{kind}]  # runs inside the measuring process
# settings = {{ {setting} }}
"""
_TAIL = """
# ---- The workload: `bakeoff workloads` lists all ----

[workload]
kind = "ycsb"
preset = "b"                    # 95 % reads, 5 % updates
records = 100_000               # of 1 kB each; to compare storage, use more data than the caches hold

# ---- How it is measured ----

[measure]
warm_up = "5s"                  # before the window, not counted
window = "10s"                  # measured; 30s or more show whether a steady state was reached
repetitions = 5                 # independent runs of each cell; a comparison needs 5
objective = "rate"              # the metric compared: throughput; or "latency_p99", "cpu_us_per_op", ...
"""


def starter(file: str) -> str:
    """The text of a plan in this file, for the systems that this machine can run."""
    here = [kind for kind, system in SYSTEMS.items() if system.in_first_plan and system.available({}) is None]
    return _HEAD.format(file=file, schema=SCHEMA.name) + "".join(map(_system_lines, here)) + _TAIL


def _system_lines(kind: str) -> str:
    system = SYSTEMS[kind]
    if system.capabilities().embedded:
        return _EMBEDDED.format(kind=kind, setting=system.setting_example)
    sources = system.sources()
    version = next((one.version for one in sources.here()), "") if sources else ""
    return _SERVER.format(kind=kind, version=version, setting=system.setting_example)
