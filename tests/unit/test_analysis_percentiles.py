"""Which percentiles may be stated, and of which operations."""

import pytest
from bakeoff.analysis.histograms import Histogram
from bakeoff.analysis.percentiles import Distribution, distribution, samples_needed


def ok(count: int) -> Histogram:
    """Response times 1 us, 2 us, ... count us, in a range where buckets are exact to the microsecond's per mille."""
    return Histogram.from_values(range(1000, 1000 * count + 1, 1000))


def test_percentiles_of_correct_answers_alone_are_the_plain_ones() -> None:
    spread = distribution({"ok": ok(10_000)})
    p50, p95, p99, p999 = map(spread.percentile, (0.5, 0.95, 0.99, 0.999))
    assert p50.value_ns == pytest.approx(5_000_000, rel=1e-3)
    assert p95.value_ns == pytest.approx(9_500_000, rel=1e-3)
    assert p99.value_ns == pytest.approx(9_900_000, rel=1e-3)
    assert p999.value_ns == pytest.approx(9_990_000, rel=1e-3)
    assert p99.words == "9.90 ms"


def test_a_percentile_needs_ten_samples_above_it() -> None:
    assert distribution({"ok": ok(1000)}).percentile(0.99).value_ns is not None
    few = distribution({"ok": ok(999)}).percentile(0.99)
    assert few.value_ns is None
    assert few.words == "too few samples (999 of 1,000)"
    assert [samples_needed(q) for q in (0.5, 0.9, 0.95, 0.99, 0.999)] == [20, 100, 200, 1000, 10_000]


def test_no_samples_is_said_as_such() -> None:
    assert Distribution(Histogram.empty()).percentile(0.5).words == "no samples"


@pytest.mark.parametrize("outcome", ["fail_conflict", "fail_other", "wrong"])
def test_failures_and_wrong_answers_rank_above_everything(outcome: str) -> None:
    mixed = distribution({"ok": ok(9_900), outcome: ok(100)})
    assert mixed.percentile(0.99).value_ns == pytest.approx(9_900_000, rel=1e-3)  # the slowest correct answer
    assert mixed.percentile(0.999).words == "not defined (1.0 % failed)"


def test_failing_fast_never_improves_a_percentile() -> None:
    honest = distribution({"ok": ok(10_000)}).percentile(0.95).value_ns
    refusing = distribution({"ok": ok(9_700), "fail_overload": Histogram.from_values([1000] * 300)})
    assert honest is not None
    assert (refusing.percentile(0.95).value_ns or 0) == pytest.approx(honest, rel=1e-3)


def test_a_percentile_is_not_defined_as_soon_as_failures_exceed_its_share() -> None:
    assert distribution({"ok": ok(9_900), "fail_other": ok(100)}).percentile(0.99).value_ns is not None
    assert distribution({"ok": ok(9_899), "fail_other": ok(101)}).percentile(0.99).value_ns is None


def test_timeouts_unfinished_and_backlog_count_with_the_time_they_waited() -> None:
    late = Histogram.from_values([10**10] * 50)
    for spread in (
        distribution({"ok": ok(950), "unknown": late}),
        distribution({"ok": ok(950)}, unfinished=late),
        distribution({"ok": ok(950)}, backlog=late),
    ):
        assert spread.percentile(0.99).value_ns == 10**10


def test_revoked_operations_rank_above_everything_too() -> None:
    plain = distribution({"ok": ok(10_000)})
    revoked = distribution({"ok": ok(10_000)}, revoked=100)
    assert revoked.count == plain.count
    assert revoked.percentile(0.99).value_ns == pytest.approx(10_000_000, rel=1e-3)
    assert revoked.percentile(0.999).value_ns is None


def test_a_spectrum_ends_where_the_failures_begin() -> None:
    points = distribution({"ok": ok(900), "fail_other": ok(100)}).spectrum(50)
    assert points[-1].quantile <= 0.9
    assert points[-1].value_ns == pytest.approx(900_000, rel=0.02)


def test_a_percentile_that_timeouts_reach_down_to_is_a_lower_bound() -> None:
    """2 % timed out after a second: nobody knows how long they would have taken."""
    answered = Histogram.from_values([1_000_000] * 9_800)
    spread = distribution({"ok": answered, "unknown": Histogram.from_values([1_000_000_000] * 200)})
    assert (spread.percentile(0.95).at_least, spread.percentile(0.95).words) == (False, "1.00 ms")
    assert (spread.percentile(0.99).at_least, spread.percentile(0.99).words) == (True, "at least 1.00 s")


@pytest.mark.parametrize(
    ("waits_ns", "outcome", "mean_ms"),
    [(10_000_000_000, "unknown", 101.0), (1_000_000_000, "unknown", 11.0), (1, "fail_overload", 1.0)],
)
def test_a_mean_does_not_profit_from_failing(waits_ns: int, outcome: str, mean_ms: float) -> None:
    """One in a hundred has no answer: the mean is the least that it can be, and says so."""
    spread = distribution(
        {"ok": Histogram.from_values([1_000_000] * 9_900), outcome: Histogram.from_values([waits_ns] * 100)}
    )
    mean, longest = spread.mean(), spread.longest()
    assert mean.value_ns == pytest.approx(mean_ms * 1e6, rel=0.02)
    assert (mean.at_least, longest.at_least) == (True, True)
    assert longest.value_ns == max(1_000_000, waits_ns)


def test_a_mean_of_answers_alone_is_exact_and_of_many_failures_not_defined() -> None:
    assert distribution({"ok": ok(1000)}).mean().at_least is False
    many = distribution({"ok": ok(900), "fail_other": Histogram.from_values([1] * 100)})
    assert (many.mean().value_ns, many.mean().words) == (None, "not defined (10 % failed)")


def test_the_longest_time_is_that_of_a_failed_operation_too() -> None:
    spread = distribution({"ok": ok(1000), "fail_conflict": Histogram.from_values([5_000_000_000])})
    assert spread.longest().value_ns == pytest.approx(5e9)
