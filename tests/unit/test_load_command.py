"""Where `bakeoff load` keeps what it writes while it loads."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.cli.commands import load_and_drop
from bakeoff.model.records.bundle import LoadRecord
from bakeoff.provision.instance import OWNER_FILE
from bakeoff.schedule import instance


def test_its_folder_is_one_that_the_next_bakeoff_clears_if_this_one_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []

    class Loaded:
        def __init__(self, plan: object, cell: object, folder: Path, *_: object, **__: object) -> None:
            assert (folder / OWNER_FILE).is_file()
            seen.append(folder)

        def load(self, _: object) -> str:
            return "a record"

        def stop(self) -> None: ...

    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path))
    monkeypatch.setattr(instance, "Instance", Loaded)
    options = argparse.Namespace(quiet=True, allow_drop=False)
    assert load_and_drop._load_all(cast(Any, SimpleNamespace(fleet=None)), cast(Any, [SimpleNamespace()]), options) == [
        "a record"
    ]
    assert seen
    assert not seen[0].exists()


def test_a_size_that_is_not_known_is_not_shown_as_none(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = LoadRecord.model_construct(
        system="s", rows=5, elapsed_s=1.0, rows_per_s=5.0, size_on_disk_bytes=None, file_size_bytes=None, checks=[]
    )
    load_and_drop._tell_loads([unknown], as_json=False)
    assert "0 B" not in (shown := capsys.readouterr().out), shown
    assert "–" in shown
