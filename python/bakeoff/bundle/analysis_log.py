"""The answers that were given of a bundle, in its `analyses.jsonl`: lines are only ever added.

A claim counts as made when its line is on disk: whoever shows a claim first adds the analysis that makes it. The folder
itself is locked meanwhile, so that two commands never take the same place in the series.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from ..errors import BakeoffError, BundleError
from ..locks import try_lock
from ..model.records.bundle import AnalysisRecord
from . import files

NAME = "analyses.jsonl"
#: Each analysis spends four fifths of what is left: after a dozen nothing is.
ANALYSES_MAX = 500
BYTES_MAX = 16 << 20
_WAIT_S = 5.0


def read(folder: Path) -> list[AnalysisRecord]:
    """In the order in which they were made; none where there is no file. BundleError where it cannot be read."""
    try:
        lines = files.read_bytes(folder, NAME, BYTES_MAX).splitlines()
        if len(lines) > ANALYSES_MAX:
            raise ValueError(f"more than {ANALYSES_MAX} analyses")
        return [AnalysisRecord.model_validate(json.loads(line)) for line in lines]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError, ValidationError) as error:
        raise BundleError(
            f"{NAME} cannot be read ({type(error).__name__})",
            where=str(folder),
            hint="it holds the earlier verdicts of this bundle; copy the bundle again",
        ) from error


def add(folder: Path, records: list[AnalysisRecord], known: int) -> bool:
    """Adds them unless others were added since `known` were read: then False, and nothing is written. Raises
    BakeoffError where the bundle cannot be written to."""
    with _locked(folder):
        there = read(folder)
        if len(there) != known:
            return False
        text = "".join(f"{record.model_dump_json()}\n" for record in [*there, *records])
        if len(there) + len(records) > ANALYSES_MAX or len(text) > BYTES_MAX:
            raise BundleError(f"{NAME} is full: {ANALYSES_MAX} analyses", where=str(folder))
        files.write_text(folder, NAME, text)
        return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = -1
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        until = time.monotonic() + _WAIT_S
        while not try_lock(handle):
            if time.monotonic() > until:
                raise BundleError("another bakeoff process is recording an analysis of this bundle", where=str(folder))
            time.sleep(0.02)
    except OSError as error:
        if handle >= 0:
            os.close(handle)
        raise BakeoffError(f"cannot lock {folder}: {error.strerror}") from error
    except BundleError:
        os.close(handle)
        raise
    try:
        yield
    finally:
        os.close(handle)
