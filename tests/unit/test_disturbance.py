"""What makes a run disturbed, what does not, and that a disturbed run is nowhere evidence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bakeoff.analysis.validity import disturbance
from bakeoff.analysis.validity.checks import findings
from bakeoff.bundle import open_bundle
from bakeoff.bundle.read import Bundle
from bakeoff.bundle.write import BundleWriter
from bakeoff.cli.commands.run import code_of
from bakeoff.errors import ExitCode
from bakeoff.findings.runs import no_valid_run_words
from bakeoff.model.records.run import RunRecord, Standing, Validity
from bakeoff.provision.other_processes import Heard, listen
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from bakeoff.report.words.doubts import resume_words
from bakeoff.schedule.machine_sharing import Quiet

from tests.builders.bundles import Story, invalid, write_bundle
from tests.builders.judged import judged

DISTURBED = Validity(
    name="other processes",
    severity="disturbed",
    ok=False,
    words="85 % of the CPU time went to other processes, most to cc1plus, pid 7 (from 10 % on a run is disturbed)",
    value=0.85,
    value_words="85 %",
)


def severities(**numbers: Any) -> dict[str, str]:
    """Of what speaks against a run with these numbers."""
    return {f.name: f.severity for f in findings(judged(**numbers)) if f.ok is False}


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("other processes", {"other_cpu_ratio": 0.11}),
        ("hypervisor", {"steal_ratio": 0.06}),
        ("swapping", {"swapped_bytes": 40 << 20, "own_swapped_bytes": 1 << 20, "window_s": 30.0}),
        ("throttling", {"throttled_s": 2.0, "throttled_others_ratio": 0.4}),
        ("stall", {"stalled_s": 3.1}),
        ("another run", {"beside": ["pid 7, since 12:00, A plan"]}),
    ],
)
def test_each_kind_of_the_table_disturbs_beyond_its_bound(name: str, numbers: dict[str, Any]) -> None:
    assert severities(**numbers) == {name: "disturbed"}


def test_every_kind_of_the_table_is_tried_above() -> None:
    (mark,) = test_each_kind_of_the_table_disturbs_beyond_its_bound.pytestmark  # type: ignore[attr-defined]
    assert {name for name, _ in mark.args[1]} == {kind.name for kind in disturbance.KINDS}


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("swapping", {"swapped_bytes": 400 << 20, "own_swapped_bytes": 90 << 20, "window_s": 30.0}),
        ("throttling", {"throttled_s": 2.0, "throttled_others_ratio": 0.02}),
        ("throttling", {"throttled_s": 2.0}),
    ],
)
def test_what_the_system_does_to_itself_is_a_warning_and_part_of_the_result(name: str, numbers: dict[str, Any]) -> None:
    assert severities(**numbers) == {name: "warning"}


def test_a_system_that_swaps_is_named() -> None:
    numbers = judged(system="mariadb", swapped_bytes=400 << 20, own_swapped_bytes=90 << 20)
    (words,) = [f.words for f in findings(numbers) if f.name == "swapping"]
    assert words == "the machine swapped 400 MiB, 90 MiB of it mariadb or its client: that is part of the result"


def standing(*found: tuple[str, str], state: str = "done", errors: dict[str, int] | None = None) -> Standing:
    """Of a run with findings, by name and severity."""
    against = [Validity(name=n, severity=s, ok=False, words="") for n, s in found]  # type: ignore[arg-type]
    facts: dict[str, Any] = {"state": state, "validity": against, "errors": errors or {}}
    return RunRecord(id="b01-a", block=1, cell="a", order=0, started="", seed=1, **facts).standing


def test_a_disturbance_explains_what_is_slow_and_never_what_is_wrong() -> None:
    assert standing() == "valid"
    assert standing(("lateness", "warning")) == "valid"
    assert standing(("stall", "disturbed")) == "disturbed"
    assert standing(("stall", "disturbed"), ("errors", "invalid")) == "disturbed", "operations that timed out"
    assert standing(("stall", "disturbed"), ("integrity", "invalid")) == "invalid"
    assert standing(("stall", "disturbed"), ("wrong answers", "invalid")) == "invalid"
    assert standing(("stall", "disturbed"), state="failed") == "invalid"


@pytest.mark.parametrize(("outcome", "found"), [("unknown", "disturbed"), ("fail_other", "invalid")])
def test_a_disturbance_explains_no_operation_that_the_server_refused(outcome: str, found: Standing) -> None:
    failed = ("stall", "disturbed"), ("errors", "invalid"), ("operations", "invalid")
    assert standing(*failed, errors={outcome: 900, "fail_overload": 10}) == found


def busy(blocks: range, *, allowed: bool = False) -> Story:
    """Two systems that differ by far more than noise, in blocks of which these were disturbed."""

    def change(run: RunRecord) -> RunRecord:
        if run.block in blocks:
            run = run.model_copy(update={"validity": [*run.validity, DISTURBED], "disturbance_allowed": allowed})
        return run

    return Story(threads=(1,), presets=("a",), repetitions=8, change=change)


def test_disturbed_runs_are_left_out_of_a_comparison_and_it_is_made_with_the_others(tmp_path: Path) -> None:
    (found,) = answer_of(write_bundle(tmp_path, busy(range(1, 3)))).comparisons
    assert (found.claims_difference, found.repetitions) == (True, 6)


def test_with_too_few_undisturbed_runs_nothing_is_claimed(tmp_path: Path) -> None:
    story = busy(range(1, 6))
    story.asked, story.fail_if = ["latency_p99 < 1h"], ["latency_p99 > 1h", "rate < -5%"]
    bundle = write_bundle(tmp_path, story)
    answer = answer_of(bundle)
    assert [found.verdict for found in answer.comparisons] == ["too few"]
    assert {level.verdict for found in answer.held for level in found.levels} == {"undecided"}
    assert answer.too_busy
    assert {(found.status, found.undecided_by) for found in answer.thresholds} == {("undecided", "too busy")}
    assert code_of(bundle, answer) == ExitCode.UNDECIDED, "a busy machine is no regression"


def test_a_side_whose_runs_were_all_disturbed_has_not_failed(tmp_path: Path) -> None:
    story = busy(range(1, 9))
    story.fail_if = ["rate < -5%"]
    bundle = write_bundle(tmp_path, story)
    assert code_of(bundle, answer_of(bundle)) == ExitCode.UNDECIDED


def test_a_sweep_of_disturbed_runs_has_no_shape(tmp_path: Path) -> None:
    story = busy(range(1, 6))
    story.threads, story.contenders = (1, 4, 16), story.contenders[:1]
    shapes = answer_of(write_bundle(tmp_path, story)).shapes
    assert shapes
    assert not any(shape.judged for shape in shapes)


def test_the_first_sentence_says_that_the_machine_was_too_busy_with_what_and_what_to_do(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, busy(range(1, 6)))
    bundle.info = bundle.info.model_copy(update={"command": "bakeoff run a.toml b.toml --fail-if 'rate < -5%'"})
    answer = answer_of(bundle)
    assert answer.headline[0] == (
        "This machine was too busy to measure: 10 of 16 runs were disturbed (85 % of the CPU time"
        " went to other processes, most to cc1plus, pid 7). Nothing is claimed. Stop what runs there, then `bakeoff run"
        f" a.toml b.toml --fail-if 'rate < -5%' --resume {tmp_path} --wait-until-quiet` repeats the"
        " disturbed runs when it is quiet."
    )
    assert answer.headline[0] in " ".join(render_text(answer).split())


def test_what_a_system_failed_at_does_not_pass_for_a_busy_machine(tmp_path: Path) -> None:
    story = busy(range(1, 6))
    disturb = story.change
    story.change = lambda run: invalid(run) if run.block == 6 else disturb(run)
    said = answer_of(write_bundle(tmp_path, story)).headline[1]
    assert said.startswith("2 of 16 runs were invalid (2.5 % of the operations did not end ok")
    assert said.endswith("): --resume does not repeat that.")


def test_where_enough_are_left_the_answer_says_what_was_left_out(tmp_path: Path) -> None:
    assert answer_of(write_bundle(tmp_path, busy(range(1, 3)))).headline[0].endswith("; they are left out.")


def test_where_all_runs_are_disturbed_no_threshold_passes_or_fails(tmp_path: Path) -> None:
    story = busy(range(1, 9))
    story.fail_if = ["latency_p99 > 1h", "latency_p99 > 1us", "rate < -5%", "rate < -99%"]
    answer = answer_of(write_bundle(tmp_path, story))
    assert {threshold.status for threshold in answer.thresholds} == {"undecided"}
    assert [cell.validity for cell in answer.cells] == ["DISTURBED", "DISTURBED"]


def test_a_run_that_was_repeated_counts_by_its_first_undisturbed_attempt(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, busy(range(1, 2)))
    writer = BundleWriter(tmp_path)
    for run in [run for run in bundle.runs if run.block == 1]:
        for attempt, order in ((2, 90), (3, 91)):
            again = {"id": f"{run.id}.{attempt}", "attempt": attempt, "order": order + len(run.cell), "validity": []}
            writer.run_result(run.model_copy(update=again))
    after = Bundle.open(tmp_path)
    assert sorted(run.id for run in after.runs if run.block == 1) == ["b01-c01.2", "b01-c02.2"]
    assert len(after.attempts) == len(after.runs) + 4
    assert answer_of(after).headline[0] == "2 disturbed runs were repeated (other processes, at worst 85 %)."
    (found,) = answer_of(after).comparisons
    assert (found.claims_difference, found.repetitions) == (True, 8)


def test_runs_that_stay_disturbed_after_repeats_are_counted_once(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, busy(range(1, 6)))
    writer = BundleWriter(tmp_path)
    for run in [run for run in bundle.runs if run.block == 1]:
        writer.run_result(run.model_copy(update={"id": f"{run.id}.2", "attempt": 2, "order": 90 + len(run.cell)}))
    answer = answer_of(Bundle.open(tmp_path))
    assert answer.first.trust.startswith("6 of 16 runs valid, 10 disturbed; 2 repeats were made")
    assert answer.headline[0].startswith(
        "This machine was too busy to measure: 10 of 16 runs were disturbed, even after 2 repeats (85 % of"
    )
    assert "runs were repeated" not in " ".join(answer.headline)


def test_allowed_disturbed_runs_count_and_are_marked(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, busy(range(1, 9), allowed=True))
    answer = answer_of(bundle)
    assert answer.comparisons[0].claims_difference
    assert [cell.validity for cell in answer.cells] == ["DISTURBED", "DISTURBED"]
    assert {run.standing for run in bundle.runs} == {"disturbed"}
    assert answer.first.trust.startswith("16 of 16 runs count, all disturbed; ")
    mark = "DISTURBED: all 16 runs, and they count (--allow-disturbed)"
    assert answer.validity[0] == "16 of 16 runs count, all disturbed"
    assert answer.disturbed == mark
    assert answer.comparisons[0].notes == [mark]
    assert answer.headline[0].startswith("Disturbed runs count here (--allow-disturbed): all 16 runs were disturbed (")
    assert mark in write_report(bundle, answer=answer).html.read_text()
    assert open_bundle(tmp_path).cells("rate").column("repetitions_marked").to_pylist() == [8, 8]
    assert open_bundle(tmp_path).runs("rate").column("standing").to_pylist() == ["disturbed"] * 16


def test_a_summary_quotes_the_worst_run_and_never_the_first(tmp_path: Path) -> None:
    shares = [0.11, 0.12, 0.85, 0.13, 0.14, 0.12, 0.12, 0.12]

    def change(run: RunRecord) -> RunRecord:
        share = shares[run.block - 1]
        said = f"{share:.0%}".replace("%", " %")
        words = f"{said} of the CPU time went to other processes"
        found = DISTURBED.model_copy(update={"words": words, "value": share, "value_words": said})
        return run.model_copy(update={"validity": [found]})

    answer = answer_of(write_bundle(tmp_path, Story(threads=(1,), presets=("a",), repetitions=8, change=change)))
    assert [doubt.sentence for doubt in answer.cells[0].doubts] == [
        "disturbed: other processes (all 8 runs), at worst: 85 % of the CPU time went to other processes"
        " (in the median run 12 %)"
    ]


def test_the_page_has_the_table_that_the_code_has() -> None:
    page = (Path(__file__).parents[2] / "docs/method/disturbance.md").read_text()
    head = page.index("|---|---|---|---|---|\n")
    rows = page[head:].split("\n\n")[0].splitlines()[1:]
    assert rows == [kind.row() for kind in disturbance.KINDS]


def quiet(*ratios: float, **changes: Any) -> tuple[Quiet, list[str]]:
    """On a machine where others use these shares of the CPU time, second by second; and what it says."""
    said: list[str] = []
    heard = iter(ratios)
    now = iter(range(10_000))
    hear = lambda cores, listen_s: Heard(next(heard), "cc1plus, pid 7", 0.0)  # noqa: E731
    return Quiet([0, 1], said.append, hear=hear, clock_s=lambda: float(next(now)), **changes), said


def test_a_busy_machine_is_named_at_the_start_with_the_process() -> None:
    machine, said = quiet(0.83)
    machine.at_start()
    assert said == [
        "warning: this machine is busy: 83 % of the CPU time is used by other processes, most by cc1plus, pid 7:"
        " runs will be disturbed and repeated; --wait-until-quiet waits for a quiet machine"
    ]
    machine, said = quiet(0.02)
    machine.at_start()
    assert said == []


def test_waiting_lasts_until_five_seconds_were_quiet_and_says_for_what() -> None:
    seconds = [0.83, 0.02, 0.02, 0.4, 0.01, 0.02, 0.03, 0.04, 0.05, 0.99]
    machine, said = quiet(*seconds, wait=True)
    machine.await_quiet()
    assert said == [
        "waiting until the machine is quiet: 83 % of the CPU time is used by other processes, most by cc1plus, pid 7"
    ]
    assert machine.hear([], 1.0).other_ratio == 0.99, "all seconds before that one were listened to"


def test_waiting_ends_with_the_time_that_it_was_given() -> None:
    machine, said = quiet(*[0.5] * 30, wait=True, at_most_s=10.0)
    machine.await_quiet()
    assert said[-1] == "the machine was not quiet for 5 s within the given time; continuing"


def test_listening_hears_a_busy_process_of_others_and_none_of_ours() -> None:
    """Our own child is ours; one whose parent has ended is nobody's."""
    core = sorted(os.sched_getaffinity(0))[:1]
    busy = f"import os\nos.sched_setaffinity(0, {core})\nfor _ in range(10**10): pass"
    command = ["sh", "-c", '"$0" -c "$1" >/dev/null 2>&1 & echo $!', sys.executable, busy]
    orphan = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    pid = int(orphan.stdout)
    try:
        heard = listen(core, 1.0)
    finally:
        os.kill(pid, signal.SIGKILL)
    assert heard.other_ratio > 0.1, heard


def test_the_command_to_continue_says_each_value_once(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path, busy(range(1, 6)))
    bundle.info.command = "bakeoff run p.toml --set measure.repeat_disturbed=8 --set measure.window=2s"
    words = resume_words(bundle, "--set", "measure.repeat_disturbed=34")
    assert words.count("repeat_disturbed") == 1
    assert "--set measure.window=2s" in words
    assert words.endswith("--set measure.repeat_disturbed=34`")


def test_that_nothing_was_measured_is_said_before_what_disturbed_it() -> None:
    nothing = Validity(name="operations", severity="invalid", ok=False, words="no operation ended in the window")
    facts: dict[str, Any] = {"state": "done", "validity": [DISTURBED, nothing]}
    run = RunRecord(id="b01-a", block=1, cell="a", order=0, started="", seed=1, **facts)
    assert no_valid_run_words([run], 0.01, None) == f"no operation ended in the window; {DISTURBED.words}"
