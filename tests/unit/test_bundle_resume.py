"""A bundle is continued only by what would make the same runs; what has changed is named in one sentence."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.bundle.resume import Present, hashes, refuse_changes, refuse_other_facts, words_of_break
from bakeoff.bundle.write import BundleWriter, hold
from bakeoff.errors import BakeoffError, BundleError
from bakeoff.model.prices import Prices
from bakeoff.model.records.bundle import BundleInfo, MachineFacts
from bakeoff.model.records.plan import PlanRecord
from builders.bundles import Story, busy, invalid, write_bundle

STORY = Story(threads=(1, 4), presets=("a",), repetitions=1, window_s=1, warm_up_s=0)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    found = write_bundle(tmp_path_factory.mktemp("bundle") / "b", STORY)
    found.info = found.info.model_copy(
        update={"engine_sha256": "ab" * 32, "inputs": {"workloada": "11", "ca.pem": "22"}}
    )
    return found


def present(
    bundle: Bundle,
    *,
    plan: PlanRecord | None = None,
    machine: MachineFacts | None = None,
    skipped: dict[str, str] | None = None,
    **info: object,
) -> Present:
    changed: BundleInfo = bundle.info.model_copy(update=info)
    return Present(plan or bundle.plan, skipped or {}, machine or bundle.machine, changed)


def refusal(bundle: Bundle, now: Present) -> str:
    with pytest.raises(BundleError) as caught:
        refuse_changes(bundle, now)
    assert caught.value.hint
    return caught.value.what


def test_the_same_again_and_a_grown_plan_are_no_change(bundle: Bundle) -> None:
    refuse_changes(bundle, present(bundle))
    cells = [*bundle.plan.cells, bundle.plan.cells[0].model_copy(update={"id": "cnew"})]
    grown = present(bundle, plan=bundle.plan.model_copy(update={"cells": cells[::-1], "repetitions": 9}))
    refuse_changes(bundle, grown)
    assert "new cells: 1" in words_of_break(bundle, grown, 4)
    assert "4 runs" in words_of_break(bundle, grown, 4)


def at(bundle: Bundle, **said: object) -> PlanRecord:
    prices = Prices(**{"machine_per_hour": 1.0, "currency": "USD", "date": "2026-11-20", "source": "a list", **said})
    return bundle.plan.model_copy(
        update={"cells": [cell.model_copy(update={"prices": prices}) for cell in bundle.plan.cells]}
    )


def test_other_prices_continue_a_bundle_and_are_reported_and_another_currency_does_not(bundle: Bundle) -> None:
    begun = replace(bundle, plan=at(bundle))
    dearer = present(begun, plan=at(bundle, machine_per_hour=3.0))
    refuse_changes(begun, dearer)
    system = bundle.plan.cells[0].system
    change = (
        f"the prices of {system} were 1 USD per hour of its machines (2026-11-20, a list) and are 3 USD per hour of its"
        " machines (2026-11-20, a list): costs of the earlier runs are at the new ones"
    )
    assert words_of_break(begun, dearer, 4).count(change) == 1
    assert "prices" not in words_of_break(begun, present(begun), 4)
    assert f"the prices of {system} were none" in words_of_break(bundle, dearer, 4)
    refuse_changes(bundle, dearer)
    refused = refusal(begun, present(begun, plan=at(bundle, currency="EUR")))
    assert refused == "the prices of this bundle are in USD, and the plan's in EUR"


def test_other_load_machines_continue_a_bundle_and_are_reported(bundle: Bundle) -> None:
    elsewhere = present(bundle, plan=bundle.plan.model_copy(update={"fleet": "load1, load2 (SSH)"}))
    refuse_changes(bundle, elsewhere)
    told = words_of_break(bundle, elsewhere, 4)
    assert "their clients ran on this machine, and now run on load1, load2 (SSH)" in told
    assert "clients" not in words_of_break(bundle, present(bundle), 4)


def test_a_damaged_run_that_will_be_repeated_is_reported(tmp_path: Path) -> None:
    damaged = write_bundle(tmp_path / "b", STORY)
    (damaged.folder / "runs/b01-c01/result.json").write_text("{")
    writer = BundleWriter(damaged.folder)
    command = "bakeoff run p.toml --set measure.repetitions=9"
    writer.resume(present(Bundle.open(damaged.folder), command=command), "title = 't'")
    info = Bundle.open(damaged.folder).info
    assert "found on resuming: b01-c01/result.json cannot be read" in info.messages[1]
    assert info.command == command  # what makes the bundle as it is now


def test_runs_are_judged_again_by_another_error_budget_which_is_reported(tmp_path: Path) -> None:
    strict = write_bundle(tmp_path / "b", replace(STORY, change=invalid))
    assert not any(run.valid for run in strict.runs)
    loose = strict.plan.model_copy(update={"error_budget_ratio": 0.05})
    returned = BundleWriter(strict.folder).resume(present(strict, plan=loose), "title = 't'")
    found = Bundle.open(strict.folder)
    for runs in (returned.runs, found.runs):
        assert all(run.valid for run in runs)
        assert "the budget is 5.0 %" in " ".join(each.words for each in runs[0].validity)
    assert (
        "the error budget was 0.1 % and is 5.0 %: the earlier runs are judged by the new one" in found.info.messages[0]
    )
    BundleWriter(strict.folder).resume(present(found, plan=strict.plan), "title = 't'")
    assert not any(run.valid for run in Bundle.open(strict.folder).runs)


def test_disturbed_runs_count_only_as_long_as_it_is_said(tmp_path: Path) -> None:
    made = write_bundle(tmp_path / "b", replace(STORY, change=busy))

    def continued(*, allowed: bool) -> Bundle:
        found = Bundle.open(made.folder)
        BundleWriter(made.folder).resume(present(found, allow_disturbed=allowed), "title = 't'")
        return Bundle.open(made.folder)

    allowed = continued(allowed=True)
    assert all(run.valid and run.is_marked for run in allowed.runs)
    assert "disturbed runs count from here on" in allowed.info.messages[0]
    (first, *_) = allowed.runs
    clean = made.runs[0].model_copy(update={"id": f"{first.id}.2", "attempt": 2, "validity": []})
    BundleWriter(made.folder).run_result(clean)
    assert clean.id in {run.id for run in Bundle.open(made.folder).runs}
    again = continued(allowed=False)
    assert [run.id for run in again.runs if run.valid] == [clean.id]
    assert "disturbed runs count no more" in " ".join(again.info.messages)


def test_a_bundle_that_lost_what_a_system_was_set_to_is_not_continued(tmp_path: Path) -> None:
    lost = write_bundle(tmp_path / "b", STORY)
    (lost.folder / "facts/c01.json").unlink()
    lost = Bundle.open(lost.folder)
    assert refusal(lost, present(lost)).startswith("facts/c01.json is missing")


def test_another_engine_is_named_with_both_builds(bundle: Bundle) -> None:
    what = refusal(bundle, present(bundle, engine_sha256="cd" * 32))
    assert "abababababab" in what
    assert "cdcdcdcdcdcd" in what
    assert "9.9" in refusal(bundle, present(bundle, machine=bundle.machine.model_copy(update={"engine": "9.9"})))
    assert "9.9" in refusal(bundle, present(bundle, bakeoff_version="9.9"))


def test_a_changed_input_file_is_named_and_a_new_one_is_none(bundle: Bundle) -> None:
    what = refusal(bundle, present(bundle, inputs={"workloada": "11", "ca.pem": "23"}))
    assert what == "ca.pem has changed since this bundle was started"
    refuse_changes(bundle, present(bundle, inputs={"workloada": "11", "workloadb": "33"}))


def test_a_lost_cell_is_named_and_why_it_cannot_run(bundle: Bundle) -> None:
    fewer = bundle.plan.model_copy(update={"cells": bundle.plan.cells[2:]})
    assert "mariadb / threads=1" in refusal(bundle, present(bundle, plan=fewer))
    assert "no mariadbd" in refusal(bundle, present(bundle, plan=fewer, skipped={"mariadb": "no mariadbd"}))


def test_another_machine_is_refused_and_another_kernel_is_reported(bundle: Bundle) -> None:
    assert "another machine" in refusal(
        bundle, present(bundle, machine=bundle.machine.model_copy(update={"cores": 99}))
    )
    kernel = present(bundle, machine=bundle.machine.model_copy(update={"kernel": "99.9"}))
    refuse_changes(bundle, kernel)
    assert "is 99.9" in words_of_break(bundle, kernel, 1)


def test_what_a_system_says_of_itself_must_be_what_it_said(bundle: Bundle) -> None:
    was = next(iter(bundle.facts.values()))
    refuse_other_facts(was, was.model_copy(), "a cell", bundle.folder)
    newer = was.model_copy(update={"version": "10.11.7", "settings": {**was.settings, "sync_binlog": "0"}})
    with pytest.raises(BundleError) as caught:
        refuse_other_facts(was, newer, "a cell", bundle.folder)
    assert "MariaDB 10.11.6 is now MariaDB 10.11.7; sync_binlog was unset, is 0" in caught.value.what


def test_hashes_are_of_what_is_in_the_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    before = hashes({"a": tmp_path / "a"})
    (tmp_path / "a").write_text("y")
    assert hashes({"a": tmp_path / "a"}) != before
    with pytest.raises(BundleError, match="cannot read b"):
        hashes({"b": tmp_path / "b"})


def test_a_bundle_is_held_by_one_at_a_time_who_is_named(tmp_path: Path) -> None:
    whom = f'another bakeoff .* .pid {os.getpid()}, "the first".'
    with hold(tmp_path, "the first"), pytest.raises(BundleError, match=whom):
        hold(tmp_path, "the second")
    hold(tmp_path, "the second").free()


def test_a_lock_that_is_a_link_or_a_pipe_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "bundle.lock").symlink_to(target)
    with pytest.raises(BakeoffError, match="it is a link"):
        hold(tmp_path, "x")
    assert target.read_text() == "precious"
    (tmp_path / "bundle.lock").unlink()
    os.mkfifo(tmp_path / "bundle.lock")
    with pytest.raises(BakeoffError, match="not an ordinary file"):
        hold(tmp_path, "x")


def test_a_part_of_the_plan_is_told_to_leave_the_option_out(bundle: Bundle) -> None:
    part = bundle.plan.model_copy(update={"cells": bundle.plan.cells[:1], "only": ["threads=1"]})
    with pytest.raises(BundleError) as caught:
        refuse_changes(bundle, present(bundle, plan=part))
    assert caught.value.hint == "leave out --only: this bundle has other cells, too"
