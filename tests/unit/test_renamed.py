"""Names that were changed: an old one is refused with the new one wherever a person writes it, and read in a bundle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bakeoff.analysis.registry import METRICS, UnknownMetric, metric
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.errors import ExitCode, PlanError
from bakeoff.findings.between_bundles.comparison import refuse_unknown
from bakeoff.model.faults import FaultEffect
from bakeoff.model.records.bundle import AnalysisRecord
from bakeoff.plan.document.tables import TABLES, keys_of
from bakeoff.plan.read import resolve
from bakeoff.renamed import METRICS as RENAMED_METRICS
from bakeoff.renamed import PLAN_KEYS
from builders.bundles import MARIADB, Story, write_bundle
from builders.plans import read, refused

STORY = Story(contenders=(MARIADB,), threads=(4,), presets=("a",), repetitions=2, window_s=3, warm_up_s=1)
TO_PROBE = "`witness` is now called `latency_probe`"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "bundle", STORY).folder


def test_an_old_key_of_a_plan_is_refused_with_its_new_name() -> None:
    error = refused(measure="witness = true")
    assert (error.what, error.hint) == (TO_PROBE, "")
    assert error.where.endswith("[measure] witness")
    with pytest.raises(PlanError) as caught:
        resolve("[systems.sqlite]\n[workload]\nkind = 'ycsb'\n", Path("."), said=["measure.witness=true"])
    assert caught.value.what == TO_PROBE
    elsewhere = refused(rest="[compare]\nwitness = true")
    assert (elsewhere.what, elsewhere.hint) == (TO_PROBE, "`latency_probe` belongs in [measure]")


@pytest.mark.parametrize(("old", "new"), RENAMED_METRICS.items())
def test_an_old_metric_is_refused_with_its_new_name(old: str, new: str) -> None:
    said = f"`{old}` is now called `{new}`"
    with pytest.raises(UnknownMetric, match=said):
        metric(old)
    assert said in refused(measure=f"objective = '{old}'").what
    assert said in refused(rest=f"[compare]\nlimit = '{old} < 5s'").what


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--all-metrics", "--table", "watched"], "`watched` is now called `samples`"),
        (["--every"], "`--every` is now called `--all-metrics`"),
    ],
)
def test_an_old_option_or_word_of_a_command_is_refused_with_its_new_name(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["export", "bundle", *words])
    assert caught.value.code == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"error: {said}")


def test_what_may_differ_between_bundles_is_refused_with_its_new_name() -> None:
    with pytest.raises(PlanError) as caught:
        refuse_unknown(["witness"], [])
    assert caught.value.what == "`witness` is now called `latency probe`"


def test_new_names_are_names() -> None:
    assert {*RENAMED_METRICS.values()} <= {one.name for one in METRICS}
    assert {*PLAN_KEYS.values()} <= {key for table in TABLES.values() for key in keys_of(table)}


def rewritten(folder: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads((folder / name).read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))


def test_a_bundle_with_the_names_of_before_is_read(folder: Path) -> None:
    hdr = json.loads((folder / "runs/b01-c01/result.json").read_text())["headline"]

    def of_run(run: dict[str, Any]) -> None:
        for new in ("latency_probe", "concurrent_runs", "error_ratio_outside_faults"):
            del run[new]
        del run["machine"]["server_not_distinguished"]
        run["witness"] = [{"operation": "READ", "service": hdr, "median_ratio": 1.5}]
        run["beside"], run["error_ratio_beside_faults"] = ['pid 7, "other"'], 0.0
        run["machine"]["server_not_told_apart"] = True
        run["validity"].append({"name": "witness", "severity": "note", "ok": None, "words": "not tested"})

    def of_plan(plan: dict[str, Any]) -> None:
        plan["resolved"]["measure"] = {"witness": True}
        plan["limits"] = ["time_to_back_s < 5s"]

    def of_info(info: dict[str, Any]) -> None:
        del info["analysed_repetitions"]
        info["looks"] = [5]

    rewritten(folder, "runs/b01-c01/result.json", of_run)
    rewritten(folder, "plan.json", of_plan)
    rewritten(folder, "bundle.json", of_info)
    rewritten(folder, "facts/c01.json", lambda facts: facts.update(private=facts.pop("managed")))
    bundle = Bundle.open(folder)
    run = bundle.runs[0]
    assert (run.id, bundle.damage) == ("b01-c01", [])
    assert (run.latency_probe[0].median_ratio, run.concurrent_runs) == (1.5, ['pid 7, "other"'])
    assert (run.error_ratio_outside_faults, run.machine.server_not_distinguished) == (0.0, True)
    assert run.validity[-1].name == "latency probe"
    assert bundle.facts["c01"].managed
    assert bundle.info.analysed_repetitions == [5]
    assert bundle.plan.resolved["measure"] == {"latency_probe": True}
    assert bundle.plan.limits == ["time_to_server_recovery_s < 5s"]


def test_effects_and_analyses_with_the_names_of_before_are_read() -> None:
    effect = FaultEffect.model_validate({"fell_again_s": 2.0, "fell_again_for_s": 3.0, "fell_again_to_ops_per_s": 4.0})
    assert (effect.second_drop_s, effect.second_drop_for_s, effect.second_drop_to_ops_per_s) == (2.0, 3.0, 4.0)
    record = AnalysisRecord(when="", data="", alpha=0.04, family=["limit fell_again_s < 1s", "rate: b against a"])
    assert record.family == ["limit second_drop_s < 1s", "rate: b against a"]


def test_a_cell_keeps_the_id_that_it_had_before() -> None:
    assert [cell.record.id for cell in read(measure="latency_probe = 50").cells] == ["c7lkbkp7o"]
