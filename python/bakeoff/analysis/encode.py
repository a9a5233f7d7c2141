"""Writing a merged histogram back in the standard compressed HDR form, so that a bundle holds one per run and not one
per client. The inverse of `histograms`; HdrHistogram V2 encoding, 1 ns to 1 h, 3 significant digits."""

from __future__ import annotations

import base64
import struct
import zlib

from ..model.boundary import HistogramDoc
from .histograms import DIGITS, HIGHEST_NS, Histogram
from .percentiles import QUANTILES

_COOKIE_PLAIN = 0x1C849303 | 0x10
_COOKIE_COMPRESSED = 0x1C849304 | 0x10


def to_hdr(histogram: Histogram) -> str:
    """Base64 text that any HdrHistogram library decodes to the same counts."""
    payload = bytearray()
    at = 0
    for index, count in zip(histogram.indices.tolist(), histogram.counts.tolist(), strict=True):
        if index > at:
            payload += _zigzag(at - index)
        payload += _zigzag(count)
        at = index + 1
    plain = struct.pack(">IIIIQQd", _COOKIE_PLAIN, len(payload), 0, DIGITS, 1, HIGHEST_NS, 1.0) + bytes(payload)
    packed = zlib.compress(plain)
    return base64.b64encode(struct.pack(">II", _COOKIE_COMPRESSED, len(packed)) + packed).decode()


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
