"""Thresholds on a comparison: what fails, what is undecided, and that nothing passes unseen."""

import pytest
from bakeoff.analysis.compare import Comparison
from bakeoff.analysis.registry import UnknownMetric, metric
from bakeoff.analysis.thresholds import evaluate, parse


def changed(low: float, middle: float, high: float, objective: str = "rate") -> Comparison:
    """A comparison of new against old, as changes in percent."""
    return Comparison(
        cell="threads=8",
        objective=metric(objective),
        base="old",
        other="new",
        design="two bundles",
        repetitions=5,
        base_value=100.0,
        other_value=100.0 + middle,
        verdict="no difference" if low <= 0 <= high else ("higher" if low > 0 else "lower"),
        words="",
        ratio=1 + middle / 100,
        low=1 + low / 100,
        high=1 + high / 100,
        level=0.95,
    )


def status(text: str, *comparisons: Comparison, on: str = "interval") -> str:
    return evaluate(parse(text), comparisons, on=on)[0].status  # type: ignore[arg-type]  # a test's shorthand


def test_a_condition_is_read_with_or_without_spaces_and_signs() -> None:
    assert [str(c) for c in parse("rate < -5%, latency_p99>10 % ,latency_p999 > +2.5%")] == [
        "rate < -5%",
        "latency_p99 > +10%",
        "latency_p999 > +2.5%",
    ]


@pytest.mark.parametrize("text", ["", "rate", "rate < 5", "rate = 5%", "rate < five%", "rate <= -5%", "rate < -5%,"])
def test_what_is_no_condition_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r'write for example "rate < -5%"'):
        parse(text)


def test_a_condition_on_something_unknown_or_impossible_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown metric `speed`"):
        parse("speed < -5%")
    with pytest.raises(ValueError, match="can never hold"):
        parse("rate < -100%")


def test_it_fails_when_the_whole_interval_lies_beyond_the_threshold() -> None:
    assert status("rate < -5%", changed(-9, -7, -5.5)) == "failed"
    assert status("latency_p99 > 10%", changed(12, 15, 18, "latency_p99")) == "failed"


def test_it_is_undecided_when_only_the_middle_does() -> None:
    assert status("rate < -5%", changed(-9, -7, -4)) == "undecided"
    assert status("latency_p99 > 10%", changed(8, 15, 22, "latency_p99")) == "undecided"


def test_on_the_estimate_the_middle_is_enough() -> None:
    assert status("rate < -5%", changed(-9, -7, -4), on="estimate") == "failed"
    assert status("rate < -5%", changed(-9, -4.9, -1), on="estimate") == "passed"


def test_a_change_for_the_better_or_within_the_threshold_passes() -> None:
    assert status("rate < -5%", changed(3, 5, 7)) == "passed"
    assert status("rate < -5%", changed(-4, -3, -2)) == "passed"
    assert status("latency_p99 > 10%", changed(-40, -30, -20, "latency_p99")) == "passed"


def test_an_operation_s_name_may_have_other_signs_than_letters() -> None:
    (condition,) = parse("latency_p99.READ-MODIFY-WRITE:READ>10%")
    assert condition.objective.name == "latency_p99.READ-MODIFY-WRITE:READ"


def test_a_threshold_of_zero_asks_for_any_change_that_was_shown() -> None:
    assert status("rate < 0%", changed(-3, -2, -1)) == "failed"
    assert status("rate < 0%", changed(-3, -1, 1)) == "undecided"


def test_every_cell_of_the_objective_is_checked_against_every_condition() -> None:
    cells = [changed(-9, -7, -6), changed(-1, 0, 1), changed(20, 25, 30, "latency_p99")]
    outcomes = evaluate(parse("rate < -5%, latency_p99 > 10%"), cells)
    assert [o.status for o in outcomes] == ["failed", "passed", "failed"]
    assert (
        outcomes[0].words
        == "rate < -5%: failed in threads=8: throughput of new changed by -7.0 % against old (-9.0 % to -6.0 %)"
    )


def test_what_could_not_be_judged_counts_as_failing() -> None:
    unseen = Comparison(
        cell="c", objective=metric("rate"), base="old", other="new", design="paired", repetitions=3, base_value=1.0,
        other_value=1.0, verdict="too few", words="too few repetitions to compare",
    )  # fmt: skip
    outcome = evaluate(parse("rate < -5%"), [unseen])[0]
    assert (outcome.status, outcome.fails) == ("not judged", True)
    assert "too few repetitions" in outcome.words
    assert not evaluate(parse("rate < -5%"), [changed(-9, -7, -4)])[0].fails


def test_a_condition_that_nothing_was_compared_for_is_refused() -> None:
    with pytest.raises(ValueError, match="no latency_p99 was compared"):
        evaluate(parse("latency_p99 > 10%"), [changed(-1, 0, 1)])


def test_a_value_is_said_to_be_no_change() -> None:
    with pytest.raises(ValueError, match="is a value, and bundles are compared by changes in percent"):
        parse("latency_p99 > 20ms")


@pytest.mark.parametrize(("label", "name"), [("throughput", "rate"), ("p99", "latency_p99")])
def test_the_label_of_a_report_leads_to_the_metric(label: str, name: str) -> None:
    with pytest.raises(UnknownMetric) as refused:
        parse(f"{label} < -5%")
    assert refused.value.hint == f"it is called `{name}`"
