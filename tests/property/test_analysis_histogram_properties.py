"""What must always hold for histograms."""

from bakeoff.analysis.histograms import HIGHEST_NS, Histogram, merge, rank_of
from bakeoff.analysis.percentiles import Distribution
from hypothesis import given
from hypothesis import strategies as st

times_ns = st.lists(
    st.one_of(st.integers(0, 5000), st.integers(0, HIGHEST_NS), st.integers(0, 41).map(lambda e: 2**e)), max_size=60
)
quantiles = st.floats(0, 1, allow_nan=False)


def same(a: Histogram, b: Histogram) -> bool:
    return (
        a.indices.tolist() == b.indices.tolist()
        and a.counts.tolist() == b.counts.tolist()
        and (a.min_ns, a.max_ns, a.out_of_range) == (b.min_ns, b.max_ns, b.out_of_range)
    )


@given(times_ns, times_ns)
def test_merging_in_either_order_is_the_same(a: list[int], b: list[int]) -> None:
    x, y = Histogram.from_values(a), Histogram.from_values(b)
    assert same(merge([x, y]), merge([y, x]))


@given(times_ns, times_ns, times_ns)
def test_merging_in_any_grouping_is_the_histogram_of_all_values(a: list[int], b: list[int], c: list[int]) -> None:
    x, y, z = (Histogram.from_values(v) for v in (a, b, c))
    whole = Histogram.from_values(a + b + c)
    assert same(merge([merge([x, y]), z]), whole)
    assert same(merge([x, merge([y, z])]), whole)


@given(times_ns, quantiles, quantiles)
def test_a_higher_quantile_is_never_a_smaller_value(values: list[int], p: float, q: float) -> None:
    histogram = Histogram.from_values(values)
    low, high = histogram.quantile(min(p, q)), histogram.quantile(max(p, q))
    assert (low is None and high is None) or (low is not None and high is not None and low <= high)


@given(times_ns.filter(bool), quantiles)
def test_a_quantile_is_within_a_per_mille_above_the_exact_one(values: list[int], q: float) -> None:
    exact = sorted(values)[rank_of(q, len(values)) - 1]
    found = Histogram.from_values(values).quantile(q)
    assert found is not None
    assert exact <= found <= min(max(values), exact + exact // 1024)


@given(times_ns.filter(bool), st.integers(0, 50), quantiles)
def test_more_failures_never_lower_a_percentile(values: list[int], failed: int, q: float) -> None:
    waited = Histogram.from_values(values * 30)
    before = Distribution(waited).percentile(q).value_ns
    after = Distribution(waited, failed).percentile(q).value_ns
    assert before is None or after is None or before <= after


@given(times_ns, st.integers(1, 80), st.integers(0, 20))
def test_a_spectrum_never_falls_and_has_at_most_the_points_asked_for(
    values: list[int], points: int, failed: int
) -> None:
    spectrum = Histogram.from_values(values).spectrum(points, failed=failed)
    assert len(spectrum) <= points
    assert [p.value_ns for p in spectrum] == sorted(p.value_ns for p in spectrum)
    assert [p.quantile for p in spectrum] == sorted(p.quantile for p in spectrum)
