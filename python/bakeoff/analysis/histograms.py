"""Histograms of response times: decode the standard compressed HDR form, merge exactly, read percentiles, and write a
merged one back, so that a bundle holds one per run and not one per client.

The encoding is HdrHistogram V2 + DEFLATE, base64: a header, then the counts in index order as zig-zag LEB128, a
negative number standing for a run of empty buckets. Only the buckets that hold something are kept (index -> count), so
hundreds of histograms are cheap to decode, merge and ask.

Why not the PyPI package `hdrhistogram` (measured on 100,000 log-normal values in 8,133 buckets, 2026-11-21): it decodes
in 0.13 ms, this file in 0.23 ms, but it takes 1.4 ms for each percentile, this file 0.08 ms; it is compiled on install
where it has no wheel; and it rounds a percentile's rank to the nearest instead of up, so that its p99 of 160 values has
two of them (1.25 %) above it. It is the independent judge in the tests.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.boundary import HistogramDoc

HIGHEST_NS = 3_600_000_000_000
DIGITS = 3

_COOKIE_COMPRESSED = 0x1C849304
_COOKIE_PLAIN = 0x1C849303
_COOKIE_WORD_SIZE = 0xF0
_OUTER = struct.Struct(">II")
_INNER = struct.Struct(">IIIIQQd")

# With 3 digits a power of two is divided into 1024 buckets, and values below 2048 have one each.
_HALF_BITS = 10
_HALF = 1 << _HALF_BITS

Int64Array = NDArray[np.int64]


class HistogramError(ValueError):
    """The encoded text is not a histogram of ours: cut short, damaged, or of another range."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts by bucket. Unit ns, range 1 ns to 1 h, buckets at most 0.1 % wide.

    indices: buckets that hold something, ascending; counts: how many, same shape, all > 0.
    min_ns, max_ns: exact where the recorder gave them, else the edges of the outermost buckets; None when empty.
    out_of_range: values above the range, counted in `counts` at its end.
    """

    indices: Int64Array
    counts: Int64Array
    min_ns: int | None = None
    max_ns: int | None = None
    out_of_range: int = 0

    @classmethod
    def empty(cls) -> Histogram:
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def from_hdr(
        cls, text: str, *, min_ns: int | None = None, max_ns: int | None = None, out_of_range: int = 0
    ) -> Histogram:
        """Decodes base64 text. min_ns, max_ns: the exact extremes, if known; ignored for an empty histogram."""
        found = _kept.get(text)
        indices, counts = _decode(text) if found is None else (found[0].astype(np.int64), found[1].astype(np.int64))
        if indices.size == 0:
            return cls(indices, counts)
        low = int(_EDGES_NS[indices[0]]) if min_ns is None else min_ns
        high = int(_EDGES_NS[indices[-1] + 1]) - 1 if max_ns is None else max_ns
        return cls(indices, counts, low, high, out_of_range)

    @classmethod
    def from_document(cls, document: HistogramDoc) -> Histogram:
        """One of no values is not decoded. HistogramError where its stated count is not the decoded one."""
        if document.count == 0:
            return cls.empty()
        histogram = cls.from_hdr(
            document.hdr, min_ns=document.min_ns, max_ns=document.max_ns, out_of_range=document.out_of_range
        )
        if document.max_ns >= 2**63:
            raise HistogramError(f"histogram states an impossible time of {document.max_ns} ns")
        if histogram.count != document.count:
            raise HistogramError(f"histogram states {document.count} values but holds {histogram.count}")
        return histogram

    @classmethod
    def from_values(cls, values_ns: Iterable[int]) -> Histogram:
        """Records whole nanoseconds from 0 to the top of the range, as the engine's recorder would."""
        values = np.fromiter(values_ns, np.int64)
        if values.size == 0:
            return cls.empty()
        if values.min() < 0 or values.max() > HIGHEST_NS:
            raise HistogramError(f"values outside 0..{HIGHEST_NS} ns")
        indices, counts = np.unique(_index_of(values), return_counts=True)
        return cls(indices, counts.astype(np.int64), int(values.min()), int(values.max()))

    @cached_property
    def reached(self) -> Int64Array:
        """How many values each bucket and those below it hold."""
        return np.cumsum(self.counts)

    @cached_property
    def count(self) -> int:
        return int(self.counts.sum())

    def count_from(self, value_ns: int) -> int:
        """Of those at least as large, but for a bucket that holds both sides of it."""
        return int(self.counts[self.edges_ns()[0] >= value_ns].sum())

    def edges_ns(self, places: Int64Array | None = None) -> tuple[Int64Array, Int64Array]:
        """Lowest and highest value of each bucket that holds something, or of those in these places."""
        indices = self.indices if places is None else self.indices.take(places)
        return _EDGES_NS.take(indices), _EDGES_NS.take(indices + 1) - 1

    def mean_edges_ns(self) -> tuple[float, float]:
        """The least and the most that the mean of its values can be."""
        counts = self.counts.astype(float)
        low, spans = (float(np.dot(of.take(self.indices), counts)) for of in (_LOWEST_NS, _SPANS_NS))
        return low / self.count, (low + spans) / self.count

    def mean_ns(self) -> float | None:
        """From the middles of the buckets: within 0.05 % of the true mean (values out of range excepted)."""
        if self.count == 0:
            return None
        return float(np.dot(_MIDDLES_NS.take(self.indices), self.counts.astype(float)) / self.count)

    def value_at_rank(self, rank: int) -> int:
        """The rank-th smallest value, 1 <= rank <= count: upper edge of its bucket, never above the exact maximum."""
        if not 1 <= rank <= self.count:
            raise ValueError(f"rank {rank} of {self.count} values")
        return int(self._values_at(np.asarray([rank], np.int64))[0])

    def quantile(self, q: float) -> int | None:
        """The smallest recorded value that at least a share `q` of all values does not exceed; None when empty."""
        return None if self.count == 0 else self.value_at_rank(rank_of(q, self.count))

    def spectrum(self, points: int = 200, *, failed: int = 0, revoked: int = 0) -> list[SpectrumPoint]:
        """Quantiles for a latency spectrum, even on the axis log10(1 / (1 - q)), up to one value in `count`.

        failed: further values above all others; revoked: values to be taken from the low end and put there too. The
        spectrum ends where they begin. At most `points`, fewer where several fall on one value.
        """
        count = self.count + failed
        if self.count == 0 or points < 1:
            return []
        shares = 1 - 10.0 ** -np.linspace(0.0, math.log10(count), points)
        ranks = np.unique(np.floor(count * shares + 1e-6).clip(0, count - 1).astype(np.int64)) + 1
        ranks = ranks[ranks + revoked <= self.count]
        values = self._values_at(ranks + revoked)
        return [SpectrumPoint((int(r) - 1) / count, int(v)) for r, v in zip(ranks, values, strict=True)]

    def _values_at(self, ranks: Int64Array) -> Int64Array:
        places = np.searchsorted(self.reached, ranks, side="left")
        _, high = self.edges_ns(places)
        return high if self.max_ns is None else np.minimum(high, self.max_ns)


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """The histogram of all the values together, exactly. The merge of none is the empty one."""
    parts = [h for h in histograms if h.indices.size]
    if not parts:
        return Histogram.empty()
    if len(parts) == 1:
        return parts[0]
    sums = np.zeros(1 + max(int(h.indices[-1]) for h in parts), np.int64)
    for h in parts:
        sums[h.indices] += h.counts
    indices = np.flatnonzero(sums).astype(np.int64)
    return Histogram(
        indices,
        sums[indices],
        min(h.min_ns for h in parts if h.min_ns is not None),
        max(h.max_ns for h in parts if h.max_ns is not None),
        sum(h.out_of_range for h in parts),
    )


def rank_of(q: float, count: int) -> int:
    """ceil(q * count), at least 1. `q` is first moved down by its rounding error, or 0.07 of 100 would be rank 8."""
    if not 0 <= q <= 1:
        raise ValueError(f"quantile {q} is not within 0..1")
    return min(count, max(1, math.ceil(math.nextafter(q, 0) * count)))


@dataclass(frozen=True, slots=True)
class SpectrumPoint:
    """quantile: share of all operations before this one; the slowest of n is at 1 - 1/n, which a log axis can show."""

    quantile: float
    value_ns: int


#: Of a bundle the histograms of its runs, which a report asks for several times: as many as fit, some 10 kB each.
KEPT_MAX_BYTES = 384 << 20
_kept: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {}
_kept_bytes = 0


def keep(histogram: Histogram, text: str) -> None:
    """Makes it quick to decode this text again. histogram: that it is of."""
    global _kept_bytes
    if text in _kept:
        return
    small = histogram.indices.astype(np.uint16), histogram.counts.astype(np.min_scalar_type(histogram.counts.max()))
    if _kept_bytes > KEPT_MAX_BYTES:
        _kept.clear()
        _kept_bytes = 0
    _kept[text] = small
    _kept_bytes += small[0].nbytes + small[1].nbytes


@lru_cache(maxsize=256)
def _decode(text: str) -> tuple[Int64Array, Int64Array]:
    """Kept for a while: reading a run's record asks for the same histogram several times."""
    if not text.isascii():
        raise HistogramError("cannot decode histogram: it has letters that base64 has not")
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
        cookie, length = _OUTER.unpack_from(data)
        if cookie & ~_COOKIE_WORD_SIZE != _COOKIE_COMPRESSED or length != len(data) - _OUTER.size:
            raise HistogramError("not a compressed V2 histogram, or cut short")
        unpacking = zlib.decompressobj()
        plain = unpacking.decompress(data[_OUTER.size :], _PLAIN_MAX_BYTES)
        if not unpacking.eof:
            raise HistogramError("histogram is cut short, or larger than any can be")
        indices, counts = _decode_plain(plain)
        for shared in (indices, counts):
            shared.setflags(write=False)
        return indices, counts
    except (binascii.Error, struct.error, zlib.error) as error:
        raise HistogramError(f"cannot decode histogram: {error}") from error


def _decode_plain(data: bytes) -> tuple[Int64Array, Int64Array]:
    cookie, length, offset, digits, lowest, highest, _ = _INNER.unpack_from(data)
    if cookie & ~_COOKIE_WORD_SIZE != _COOKIE_PLAIN or length != len(data) - _INNER.size:
        raise HistogramError("not a V2 histogram, or cut short")
    if (digits, lowest, highest, offset) != (DIGITS, 1, HIGHEST_NS, 0):
        raise HistogramError(
            f"histogram of another shape: {digits} digits, {lowest}..{highest} ns, offset {offset};"
            f" expected {DIGITS} digits, 1..{HIGHEST_NS} ns"
        )
    return _buckets(np.frombuffer(data, np.uint8, offset=_INNER.size))


def _buckets(data: NDArray[np.uint8]) -> tuple[Int64Array, Int64Array]:
    """Indices and counts from zig-zag LEB128, all at once: seven bits a byte, low ones first, the top bit says that
    more follow. Nearly all numbers have one byte; a longer one is put at the place of its first byte."""
    steps, counts = _STEPS_OF_BYTE.take(data), _COUNT_OF_BYTE.take(data)
    more = (data >= 0x80).nonzero()[0]
    if more.size:
        if more[-1] == data.size - 1:
            raise HistogramError("histogram ends in the middle of a number")
        first = more[data[more - 1] < 0x80]
        long_steps, long_counts = _zigzag_parts(_long_numbers(data, first))
        if long_counts.sum(dtype=float) >= 2.0**62:
            raise HistogramError("histogram holds an impossible count")
        if long_steps.max() > _LAST_INDEX:
            raise HistogramError("histogram has counts beyond its range")
        steps[more + 1] = counts[more + 1] = 0
        steps[first], counts[first] = long_steps, long_counts
    held = (counts > 0).nonzero()[0]
    indices = steps.cumsum().take(held) - 1
    if indices.size and indices[-1] > _LAST_INDEX:
        raise HistogramError("histogram has counts beyond its range")
    return indices, counts.take(held)


def _zigzag_parts(numbers: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Of each number how many buckets it stands for, and what the last of them holds: an even one is twice the count of
    one bucket, an odd one stands for half as many empty ones, rounded up."""
    halves, odd = numbers >> 1, numbers & 1
    return np.where(odd, halves + 1, 1), np.where(odd, 0, halves)


_STEPS_OF_BYTE, _COUNT_OF_BYTE = _zigzag_parts(np.arange(256))


def _long_numbers(data: NDArray[np.uint8], first: Int64Array) -> Int64Array:
    """Of several bytes each; first: where they begin."""
    numbers = (data[first] & 0x7F).astype(np.int64)
    longer = np.arange(first.size)
    for position in range(1, 8):
        byte = data[first[longer] + position]
        numbers[longer] |= (byte & 0x7F).astype(np.int64) << (7 * position)
        longer = longer[byte >= 0x80]
        if longer.size == 0:
            return numbers
    raise HistogramError("histogram holds an impossible count")  # a ninth byte would mean one above 2^55


def _index_of(values: Int64Array) -> Int64Array:
    """Bucket of each value: the leading 11 bits, and how far they are from the end."""
    exponents = np.frexp(values.astype(float))[1].astype(np.int64)  # exact: values are below 2^53
    shifts = np.maximum(exponents - (_HALF_BITS + 1), 0)
    indices: Int64Array = (values >> shifts) + (shifts << _HALF_BITS)
    return indices


def _lowest(indices: Int64Array) -> Int64Array:
    shifts = np.maximum((indices >> _HALF_BITS) - 1, 0)
    values: Int64Array = (indices - (shifts << _HALF_BITS)) << shifts
    return values


_LAST_INDEX = int(_index_of(np.asarray([HIGHEST_NS], np.int64))[0])
#: Lowest value of each bucket, and of the one after the last.
_EDGES_NS = _lowest(np.arange(_LAST_INDEX + 2))
_LOWEST_NS, _SPANS_NS = _EDGES_NS[:-1].astype(float), np.diff(_EDGES_NS).astype(float) - 1
_MIDDLES_NS = ((_EDGES_NS[:-1] + _EDGES_NS[1:]) // 2).astype(float)
#: Unpacked: the header, and for each bucket a count of at most nine bytes.
_PLAIN_MAX_BYTES = _INNER.size + 9 * (_LAST_INDEX + 1)


#: Those that every record has.
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def to_hdr(histogram: Histogram) -> str:
    """Base64 text that any HdrHistogram library decodes to the same counts."""
    payload = bytearray()
    at = 0
    for index, count in zip(histogram.indices.tolist(), histogram.counts.tolist(), strict=True):
        if index > at:
            payload += _zigzag(at - index)
        payload += _zigzag(count)
        at = index + 1
    plain = struct.pack(">IIIIQQd", _COOKIE_PLAIN | 0x10, len(payload), 0, DIGITS, 1, HIGHEST_NS, 1.0) + bytes(payload)
    packed = zlib.compress(plain)
    return base64.b64encode(struct.pack(">II", _COOKIE_COMPRESSED | 0x10, len(packed)) + packed).decode()


def to_document(histogram: Histogram, mean_ns: float | None = None) -> HistogramDoc:
    """With its summary. `mean_ns`: the exact mean where the caller knows it better than the buckets do."""
    mean = mean_ns if mean_ns is not None else histogram.mean_ns()
    quantiles = [histogram.quantile(q) or 0 for q in QUANTILES.values()]
    return HistogramDoc(
        count=histogram.count,
        out_of_range=histogram.out_of_range,
        min_ns=histogram.min_ns or 0,
        mean_ns=mean or 0.0,
        p50_ns=quantiles[0],
        p95_ns=quantiles[1],
        p99_ns=quantiles[2],
        p999_ns=quantiles[3],
        max_ns=histogram.max_ns or 0,
        hdr=to_hdr(histogram),
    )


def _zigzag(value: int) -> bytes:
    """Zig-zag LEB128 of a 64-bit number; a ninth byte would carry eight whole bits."""
    raw = (value << 1) ^ (value >> 63)
    out = bytearray()
    while raw >= 0x80 and len(out) < 8:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)
