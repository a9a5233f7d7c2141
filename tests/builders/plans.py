"""Plans of one YCSB workload, by their parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.plan.read import resolve
from bakeoff.plan.resolved import ResolvedPlan

SQLITE = "[systems.sqlite]"
MARIADB = "[systems.mariadb]\nstart = true"
OLD = "[systems.old]\nkind = 'mysql'\naddress = '127.0.0.1:1'"


def read(
    factors: str = "",
    *,
    systems: str = SQLITE,
    workload: str = "preset = 'c'",
    measure: str = "",
    rest: str = "",
    must_run: bool = True,
    folder: Path = Path(),
) -> ResolvedPlan:
    text = (
        f"title = 't'\n{systems}\n[workload]\nkind = 'ycsb'\n{workload}\n[factors]\n{factors}\n"
        f"[measure]\n{measure}\n{rest}\n"
    )
    return resolve(text.replace("[factors]\n\n", ""), folder, must_run=must_run)


def refused(factors: str = "", *, must_run: bool = True, folder: Path = Path(), **parts: str) -> PlanError:
    with pytest.raises(PlanError) as caught:
        read(factors, must_run=must_run, folder=folder, **parts)
    return caught.value
