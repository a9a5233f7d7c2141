"""Decoding and merging histograms, against texts written by the Rust crate and against the PyPI package as judge."""

import base64
import struct
import time
import zlib

import numpy as np
import pytest
from bakeoff.analysis import histograms
from bakeoff.analysis.histograms import (
    HIGHEST_NS,
    Histogram,
    HistogramError,
    keep,
    merge,
    rank_of,
    to_document,
    to_hdr,
)
from bakeoff.model.boundary import HistogramDoc
from hdrh.histogram import HdrHistogram

# Written by crate hdrhistogram 7.6.0 (V2DeflateSerializer), values v = 1, then v * 7 / 3 + 1, and 1500 and 1502.
FROM_RUST = (
    "HISTFAAAAL54nAGzAEz/HISTEwAAAIsAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAAACABAHVhO0AzGKEXeyFZkC+iqTBdYWhwyuMa"
    "UCgPiCrRYABJMR2jaLFLAR/xPwFuMSsDKfE+Q75RPiKrUU3hWDE9Ys/xKiH8ETpByLFK4N/RPmAuMShA6fE5QG5RPqHrcUjBqBE7YCgROUDMET"
    "6jyLFIAw+xP0L+USuC+fE4wt5ROwIbcU6iaDCwI3cTrV"
)
EMPTY_FROM_RUST = "HISTFAAAACF4nJNpmSzMwMDAyAABzFAayGd2M9ixgMH+A1QEAFKmBEw="
# Upper edge of each bucket and its count, as that crate iterates over them.
# fmt: off
RUST_BUCKETS = [
    (1, 1), (3, 8), (8, 43), (19, 218), (45, 1093), (106, 1369), (248, 2749), (579, 1451), (1352, 3159),
    (1500, 3000000000), (1502, 2), (3155, 3501), (7363, 1112), (17183, 1464), (40095, 3224), (93567, 3826),
    (218367, 2737), (509439, 1391), (1188863, 2859), (2772991, 2001), (6471679, 1810), (15097855, 855),
    (35225599, 179), (82182143, 898), (191758335, 394), (447479807, 1973), (1044381695, 1670), (2436890623, 155),
    (5687476223, 778), (13270777855, 3893), (30953963519, 3072), (72209137663, 3066), (168577466367, 3036),
    (393257943039, 2886), (917512388607, 2136), (2141041197055, 2485), (3601330077695, 1),
]
# fmt: on


def test_letters_that_base64_has_not_are_a_damaged_histogram() -> None:
    with pytest.raises(HistogramError, match="letters that base64 has not"):
        Histogram.from_hdr(f"{EMPTY_FROM_RUST}é")


def judge_of(values: list[int]) -> HdrHistogram:
    histogram = HdrHistogram(1, HIGHEST_NS, 3)
    for value in values:
        histogram.record_value(value)
    return histogram


def text_of(values: list[int]) -> str:
    return str(judge_of(values).encode().decode())


def log_normal(count: int, seed: int = 7) -> list[int]:
    return [int(v) for v in np.random.default_rng(seed).lognormal(11, 1.5, count)]


def test_a_text_from_rust_decodes_to_the_buckets_rust_says_it_has() -> None:
    histogram = Histogram.from_hdr(FROM_RUST)
    edges = [Histogram(histogram.indices[[i]], histogram.counts[[i]]).quantile(1.0) for i in range(len(RUST_BUCKETS))]
    assert list(zip(edges, histogram.counts.tolist(), strict=True)) == RUST_BUCKETS


def test_statistics_of_a_text_from_rust_are_those_rust_says() -> None:
    histogram = Histogram.from_hdr(FROM_RUST)
    assert histogram.count == 3000061495
    assert (histogram.min_ns, histogram.max_ns) == (1, 3601330077695)
    assert histogram.mean_ns() == pytest.approx(3102689.447693167, rel=1e-12)
    assert histogram.quantile(0.999) == 1500
    assert histogram.quantile(0.9999999) == 2141041197055
    assert histogram.quantile(1.0) == 3601330077695


def test_an_empty_histogram_has_no_values_to_tell() -> None:
    for histogram in (Histogram.from_hdr(EMPTY_FROM_RUST), Histogram.empty(), merge([])):
        assert histogram.count == 0
        assert histogram.quantile(0.5) is None
        assert histogram.mean_ns() is None
        assert histogram.max_ns is None
        assert histogram.spectrum() == []


def test_decoding_agrees_with_the_pypi_package_bucket_by_bucket() -> None:
    values = [*log_normal(5000), 0, 1, 2047, 2048, 2049, HIGHEST_NS]
    judge = judge_of(values)
    histogram = Histogram.from_hdr(judge.encode().decode())
    dense = np.zeros(judge.counts_len, np.int64)
    dense[histogram.indices] = histogram.counts
    assert dense.tolist() == list(judge.counts)
    assert histogram.mean_ns() == pytest.approx(judge.get_mean_value(), rel=1e-12)


def test_recording_values_gives_the_histogram_that_the_pypi_package_records() -> None:
    values = [*log_normal(3000), 0, 1023, 1024, 2047, 2048, 4095, 4096, HIGHEST_NS]
    ours, theirs = Histogram.from_values(values), Histogram.from_hdr(text_of(values))
    assert ours.indices.tolist() == theirs.indices.tolist()
    assert ours.counts.tolist() == theirs.counts.tolist()


def test_quantiles_agree_with_the_pypi_package_where_both_round_the_rank_alike() -> None:
    values = log_normal(10_000)
    judge, histogram = judge_of(values), Histogram.from_values(values)
    unclipped = Histogram(histogram.indices, histogram.counts)
    for percent in (0.01, 1, 10, 50, 90, 95, 99, 99.9, 99.99, 100):
        assert unclipped.quantile(percent / 100) == judge.get_value_at_percentile(percent)


def test_a_quantile_never_exceeds_the_exact_maximum() -> None:
    histogram = Histogram.from_hdr(text_of([1_000_000_123]), max_ns=1_000_000_123)
    assert histogram.quantile(0.5) == 1_000_000_123
    assert Histogram.from_hdr(text_of([1_000_000_123])).quantile(0.5) == 1_000_341_503


def test_ranks_are_rounded_up_and_not_fooled_by_binary_fractions() -> None:
    assert rank_of(0.07, 100) == 7  # 0.07 * 100 is 7.000000000000001
    assert rank_of(0.99, 160) == 159
    assert rank_of(0.999, 1000) == 999
    assert rank_of(0.0, 10) == 1
    assert rank_of(1.0, 10) == 10
    with pytest.raises(ValueError, match="not within"):
        rank_of(99, 100)


def test_merging_is_the_histogram_of_all_values_and_keeps_exact_extremes() -> None:
    a, b = log_normal(500, seed=1), log_normal(700, seed=2)
    merged, whole = merge([Histogram.from_values(a), Histogram.from_values(b)]), Histogram.from_values(a + b)
    assert merged.indices.tolist() == whole.indices.tolist()
    assert merged.counts.tolist() == whole.counts.tolist()
    assert (merged.min_ns, merged.max_ns) == (min(a + b), max(a + b))


def test_values_out_of_range_are_added_up() -> None:
    one = Histogram.from_hdr(text_of([HIGHEST_NS]), out_of_range=1)
    assert merge([one, one]).out_of_range == 2


def test_a_document_whose_count_is_not_that_of_its_histogram_is_refused() -> None:
    document = to_document(Histogram.from_values([5, 6]))
    with pytest.raises(HistogramError, match="states 3 values but holds 2"):
        Histogram.from_document(document.model_copy(update={"count": 3}))
    assert Histogram.from_document(document).quantile(1) == 6


def test_a_document_of_no_values_is_not_decoded() -> None:
    assert Histogram.from_document(HistogramDoc.empty()).count == 0


@pytest.mark.parametrize("damage", ["", "not base64!", FROM_RUST[:-4], FROM_RUST[4:], "AAAA" + FROM_RUST[4:]])
def test_a_damaged_text_is_refused_with_its_own_error(damage: str) -> None:
    with pytest.raises(HistogramError):
        Histogram.from_hdr(damage)


def by_hand(*, offset: int = 0, counts: bytes = b"\x02", said: int = 1, tail: bytes = b"") -> str:
    """A text of one count in the first bucket, with what is wrong about it."""
    plain = struct.pack(">IIIIQQd", 0x1C849313, said, offset, 3, 1, HIGHEST_NS, 1.0) + counts
    packed = zlib.compress(plain)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed + tail).decode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (by_hand(offset=3), "offset 3"),
        (by_hand(said=2), "cut short"),
        (by_hand(tail=b"more"), "cut short"),
        (by_hand(counts=b"\x82"), "middle of a number"),
        (by_hand(counts=b"\xff" * 8 + b"\x01", said=9), "impossible count"),
        (by_hand(counts=b"\xff\xff\xff\x0f\x02", said=5), "beyond its range"),
    ],
)
def test_what_no_histogram_of_ours_can_hold_is_refused(text: str, words: str) -> None:
    assert Histogram.from_hdr(by_hand()).counts.tolist() == [1]
    with pytest.raises(HistogramError, match=words):
        Histogram.from_hdr(text)


def test_a_histogram_of_another_shape_is_refused_and_says_which() -> None:
    other = HdrHistogram(1, 3_600_000_000, 2)
    other.record_value(5)
    with pytest.raises(HistogramError, match=r"2 digits, 1\.\.3600000000 ns"):
        Histogram.from_hdr(other.encode().decode())


def test_a_spectrum_rises_to_the_maximum_on_an_even_axis() -> None:
    histogram = Histogram.from_values(range(1, 1001))
    points = histogram.spectrum(31)
    assert (points[0].quantile, points[0].value_ns) == (0.0, 1)
    assert (points[-1].quantile, points[-1].value_ns) == (0.999, 1000)
    near_p90 = min(points, key=lambda p: abs(p.quantile - 0.9))
    assert near_p90.value_ns == pytest.approx(900, rel=0.01)


def test_three_hundred_histograms_are_decoded_merged_and_asked_in_well_under_a_second() -> None:
    text = text_of(log_normal(20_000))
    started = time.process_time()
    merged = merge([Histogram.from_hdr(text) for _ in range(300)])
    merged.quantile(0.99)
    assert time.process_time() - started < 0.8  # 0.07 s on two quiet cores
    assert merged.count == 6_000_000


@pytest.mark.parametrize("values", [[], [0], [HIGHEST_NS], [5, 7], log_normal(2000)], ids=len)
def test_a_histogram_written_back_is_read_alike_by_us_and_by_the_pypi_package(values: list[int]) -> None:
    text = to_hdr(Histogram.from_values(values))
    assert list(HdrHistogram.decode(text).counts) == list(judge_of(values).counts)
    again = Histogram.from_hdr(text)
    assert again.indices.tolist() == Histogram.from_values(values).indices.tolist()
    assert again.counts.tolist() == Histogram.from_values(values).counts.tolist()


def test_counts_too_large_for_four_bytes_survive_writing_and_reading() -> None:
    histogram = Histogram.from_hdr(FROM_RUST)
    assert Histogram.from_document(to_document(histogram)).counts.tolist() == histogram.counts.tolist()


@pytest.mark.parametrize("values", [[0], [HIGHEST_NS], log_normal(2000)], ids=len)
def test_what_is_kept_is_decoded_again_to_the_same_values(values: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "_kept", {})
    text = to_hdr(Histogram.from_values(values))
    first = Histogram.from_hdr(text)
    keep(first, text)
    monkeypatch.setattr(histograms, "_decode", None)
    again = Histogram.from_hdr(text)
    assert again.indices.tolist() == first.indices.tolist()
    assert again.counts.tolist() == first.counts.tolist()
    assert again.counts.dtype == np.int64


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "_kept", {})
    monkeypatch.setattr(histograms, "_kept_bytes", 0)
    monkeypatch.setattr(histograms, "KEPT_MAX_BYTES", 1000)
    for value in range(1, 2000):
        keep(one := Histogram.from_values([value, 5000]), to_hdr(one))
    assert 0 < len(histograms._kept) < 400
