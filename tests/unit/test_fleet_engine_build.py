"""An engine of another build than the package is reported as that, before anything starts."""

from __future__ import annotations

import copy
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import EngineError
from bakeoff.fleet.engine_program import engine_path, first_difference
from builders.plans import read


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    done = subprocess.run([engine_path(), "schema"], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_engine_of_this_build_reads_and_tells_what_the_package_does(schemas: dict[str, Any]) -> None:
    assert first_difference(schemas) == ""


def test_what_an_older_engine_does_not_read_and_a_newer_one_tells_is_named(schemas: dict[str, Any]) -> None:
    older, newer = copy.deepcopy(schemas), copy.deepcopy(schemas)
    del older["run"]["properties"]["event_log"]
    assert "the engine was built from another version than this bakeoff" in first_difference(older)
    assert "`event_log`" in first_difference(older)
    newer["event"]["$defs"]["Interval"]["properties"]["moons"] = {"type": "integer"}
    assert "it sends `moons`" in first_difference(newer)
    del newer["event"]["$defs"]["Interval"]["properties"]["moons"]
    newer["run"]["properties"]["moons"] = {"type": "integer"}  # which has a default
    assert first_difference(newer) == ""


def test_a_plan_is_refused_with_an_engine_of_another_build(
    tmp_path: Path, schemas: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    older = copy.deepcopy(schemas)
    del older["run"]["properties"]["event_log"]
    (tmp_path / "schema.json").write_text(json.dumps(older))
    engine = tmp_path / "engine"
    real = shlex.quote(str(engine_path()))
    engine.write_text(
        f'#!/bin/sh\n[ "$1" = schema ] && exec cat {shlex.quote(str(tmp_path))}/schema.json\nexec {real} "$@"\n'
    )
    engine.chmod(0o755)
    monkeypatch.setenv("BAKEOFF_ENGINE", str(engine))
    with pytest.raises(EngineError) as caught:
        read()
    assert ": it does not read `event_log` of a run" in caught.value.what
    assert caught.value.where == str(engine)
    assert "pip install" in caught.value.hint
