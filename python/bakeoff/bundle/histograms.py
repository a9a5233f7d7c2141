"""The response times of single seconds, for whoever wants percentiles of a stretch of a run."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path

from ..analysis.histograms import Histogram, HistogramError
from ..errors import BundleError
from . import files
from .read import PACKED_MAX_BYTES, UNPACKED_MAX_BYTES


@dataclass(frozen=True, slots=True)
class OfSecond:
    """second: since the warm-up began. outcome: "ok", "fail_conflict", "unknown", ..."""

    second: int
    operation: str
    outcome: str
    response: Histogram


def read_histograms(folder: Path, run: str) -> list[OfSecond]:
    """Second by second, all clients merged; BundleError where they are missing or damaged."""
    name = f"runs/{run}/histograms.json.gz"
    try:
        unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
        data = unpacking.decompress(files.read_bytes(folder, name, PACKED_MAX_BYTES), UNPACKED_MAX_BYTES)
        if not unpacking.eof:
            raise ValueError("it ends too early, or unpacks to more than can be read")
        return [
            OfSecond(int(one["second"]), str(one["operation"]), str(one["outcome"]), Histogram.from_hdr(one["hdr"]))
            for one in json.loads(data)["intervals"]
        ]
    except FileNotFoundError as error:
        raise BundleError(f"{name} is missing", where=str(folder), hint="copy the bundle again") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError, zlib.error, HistogramError) as error:
        raise BundleError(
            f"{name} cannot be read: {error}", where=str(folder), hint="it was changed or cut short; copy it again"
        ) from error
