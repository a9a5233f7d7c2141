"""Whether the engine that was found and this package are of one build: what they exchange has the same fields."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import EngineError
from ..model.boundary import Document, Interval, IntervalNode, NodeResult, Ready, RunResult, RunSpec
from .binary import engine_path

_TOLD: tuple[type[Document], ...] = (Ready, Interval, IntervalNode, RunResult, NodeResult)
_HINT = "install both together with `pip install .`"


def refuse_other_build() -> None:
    """Raises EngineError. Before anything starts: a cluster takes half a minute."""
    engine = engine_path()
    if differing := _differing(engine):
        raise EngineError(differing, where=str(engine), hint=_HINT)


@cache
def _differing(engine: Path) -> str:
    try:
        done = subprocess.run([engine, "schema"], capture_output=True, text=True, timeout=20, check=True)
        return first_difference(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        return f"the measuring program does not say what it reads and tells: {error}"


def first_difference(schemas: Mapping[str, Any]) -> str:
    """In words; "" if there is none. schemas: as `bakeoff-engine schema` prints them."""
    what = "the measuring program is of another build than this bakeoff"
    told = schemas["event"]["$defs"]
    if unread := sorted(RunSpec.model_fields.keys() - _fields(schemas["run"])):
        return f"{what}: it does not know `{unread[0]}` of a run"
    for model in _TOLD:
        if untold := sorted(_fields(told[model.__name__]) - model.model_fields.keys()):
            return f"{what}: it tells `{untold[0]}`, which is not known here"
    return ""


def _fields(schema: Mapping[str, Any]) -> set[str]:
    return set(schema["properties"])
