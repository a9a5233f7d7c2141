"""The engine's answers to what a plan asks of workloads: one process for any number of questions."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from pydantic import ValidationError

from ..errors import EngineError
from ..fleet.binary import engine_path
from ..model.boundary import ANSWER, Refused, Request, Resolved

#: For thousands of questions of a fraction of a millisecond each.
_PATIENCE_S = 60


def resolve(requests: Sequence[Request]) -> list[Resolved | Refused]:
    """One answer to each, in order. Raises EngineError."""
    if not requests:
        return []
    engine = engine_path()
    lines = "".join(request.model_dump_json() + "\n" for request in requests)
    try:
        done = subprocess.run(
            [engine, "resolve"], input=lines, capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
        answers = [ANSWER.validate_json(line) for line in done.stdout.splitlines()]
    except (OSError, subprocess.SubprocessError, ValidationError) as error:
        raise EngineError(
            f"the measuring program does not decide the workload's options: {error}",
            where=str(engine),
            hint="reinstall it with `pip install .`",
        ) from error
    if len(answers) != len(requests):
        raise EngineError(
            f"the measuring program answered {len(answers)} of {len(requests)} questions",
            where=str(engine),
            hint="reinstall it with `pip install .`",
        )
    return answers
