"""Which files a script for sysbench needs, as a plan's reader finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.workloads import lua


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    installed = tmp_path / "installed"
    installed.mkdir()
    monkeypatch.setattr(lua, "INSTALLED", installed)
    return installed


def write(folder: Path, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.lua").write_text(text)


def modules(base_dir: Path, **options: Any) -> list[str]:
    asked = lua.read(options, base_dir)
    assert [source.name for source in asked.sources[1:]] == [one["name"] for one in asked.options["modules"]]
    return [one["name"] for one in asked.options["modules"]]


def test_files_that_files_require_are_found_with_the_script(tmp_path: Path) -> None:
    write(
        tmp_path / "scripts",
        own="#!/usr/bin/env sysbench\nrequire(\"common\")\nlocal b = require 'both'\n"
        'require("ffi")\n-- require("never")',
        common='require("both")\nrequire("own")',
        both="dofile(pathtest .. 'old.lua')\nrequire(\"missing\")",
        old="",
        never="",
    )
    assert sorted(modules(tmp_path, script="scripts/own.lua")) == ["both.lua", "common.lua", "old.lua"]


def test_what_is_not_there_is_one_of_sysbenchs_own(tmp_path: Path, nothing_installed: Path) -> None:
    write(nothing_installed, oltp_x='require("oltp_common")', oltp_common="")
    write(tmp_path, own='require("oltp_common")')
    assert modules(tmp_path, script="oltp_x.lua") == ["oltp_common.lua"]
    assert modules(tmp_path, script="own.lua") == ["oltp_common.lua"]
    write(tmp_path, oltp_x="")
    assert modules(tmp_path, script="oltp_x.lua") == [], "one next to the plan goes first"


def test_named_modules_are_read_and_missing_ones_refused(tmp_path: Path) -> None:
    write(tmp_path, own="", other="")
    assert modules(tmp_path, script="own.lua", modules=["other.lua"]) == ["other.lua"]
    with pytest.raises(PlanError, match="the workload file cannot be read"):
        modules(tmp_path, script="own.lua", modules=["nowhere.lua"])


def test_options_of_sysbench_that_a_plan_has_elsewhere_are_refused(tmp_path: Path) -> None:
    write(tmp_path, own="")
    with pytest.raises(PlanError, match="`mysql-host` of sysbench belongs elsewhere"):
        modules(tmp_path, script="own.lua", options={"mysql-host": "x"})
