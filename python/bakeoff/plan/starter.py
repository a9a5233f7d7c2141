"""A first plan for the systems that are here, to be read and changed. It runs as it is, in some minutes."""

from __future__ import annotations

from ..systems import SYSTEMS

_HEAD = """# What it amounts to:      bakeoff run {file} --dry-run
# Run it:                  bakeoff run {file}
# All keys there are:      docs/reference/plan.md; this plan is one of many, and any line of it can go

title = "My comparison"
description = "What is asked, and why"

threads = [1, 8]                # users, each with one operation in flight; 8 instead of a list: a constant
durability = "full"             # no system loses an acknowledged commit; "relaxed" loses the last ones with the power

# ---- The systems, each under a name of your choice ----
"""
_SERVER = """
[systems.{kind}]  # a private server, started for the plan and removed after it
# version = "{version}"
# settings = {{ {setting} }}  # by the server's own names
# address = "db1"  # or measure one that is there, with user = "..." and password = {{ env = "NAME" }}
"""
_EMBEDDED = """
[systems.{kind}]  # runs inside the measuring process
# settings = {{ {setting} }}
"""
_TAIL = """
# ---- The work: `bakeoff workloads` lists what there is ----

[workload]
kind = "ycsb"
preset = "b"                    # 95 % reads, 5 % updates
records = 100_000               # of 1 kB; an answer about storage needs more data than the caches hold

# ---- How it is measured ----

[measure]
warm_up = "5s"                  # before the window, not counted
window = "10s"                  # what counts; 60s or more show whether a steady state was reached
repetitions = 5                 # independent runs of each cell; fewer than 5 are not compared
objective = "rate"              # what is judged: right operations per second; "latency_p99", "cpu_us_per_op", ...
"""


def starter(file: str) -> str:
    """The text of a plan in this file, for the systems that this machine can run."""
    here = [kind for kind, system in SYSTEMS.items() if system.in_first_plan and system.available({}) is None]
    return _HEAD.format(file=file) + "".join(map(_system, here)) + _TAIL


def _system(kind: str) -> str:
    system = SYSTEMS[kind]
    if system.capabilities().embedded:
        return _EMBEDDED.format(kind=kind, setting=system.setting_example)
    sources = system.sources()
    version = next((one.version for one in sources.here()), "") if sources else ""
    return _SERVER.format(kind=kind, version=version, setting=system.setting_example)
