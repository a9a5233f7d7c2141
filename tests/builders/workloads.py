"""A plan's [workload], decided as a plan decides it."""

from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.resolve import DriverRequest
from bakeoff.plan.document.source import Source
from bakeoff.plan.document.tables import WorkloadTable
from bakeoff.plan.workload import PlanWorkload, Question
from bakeoff.workloads.base import Workload

ROOT = Path(__file__).parents[2]


def decided(kind: str, options: dict[str, Any], base_dir: Path = ROOT, *, seed: int = 1) -> Workload:
    table = WorkloadTable.model_validate({"kind": kind, **options})
    question = Question("", "db", "mysql", DriverRequest(kind="mysql"), {})
    return PlanWorkload(table, ("workload",), seed, Source(None, "", base_dir)).resolve(question)


def refused(kind: str, options: dict[str, Any], base_dir: Path = ROOT) -> PlanError:
    with pytest.raises(PlanError) as error:
        decided(kind, options, base_dir)
    return error.value
