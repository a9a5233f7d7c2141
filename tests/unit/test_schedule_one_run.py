"""What is done before a run is measured, and kept of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.schedule import one_run


@pytest.mark.parametrize("quiet", [True, False])
def test_a_disk_that_did_not_become_quiet_is_told(quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_run, "wait_for_writeback", lambda timeout_s: quiet)
    plan: Any = SimpleNamespace(cache="as-is")
    instance: Any = SimpleNamespace(reset=lambda folder: None)
    assert one_run._prepare(cast(Any, None), plan, instance, Path(), one_run.Watcher()) is quiet
