"""The task that holds a keeper on its worker."""

from __future__ import annotations

import json
import os
import select
import time
from types import SimpleNamespace

import pytest
from bakeoff.fleet.dask import errand

ERRAND = json.dumps({"address": ["127.0.0.1", 1], "token": "t"})
#: After the errand it beats twice, and ends in its own words when its worker has beaten twice.
KEEPER = """
import os, sys
sys.stdin.readline()
for _ in range(2):
    os.write(1, b".")
    sys.stdin.readline()
sys.exit("enough")
"""


@pytest.fixture(autouse=True)
def _on_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    security = SimpleNamespace(tls_ca_file=None, tls_worker_cert=None, tls_worker_key=None)
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(security=security))
    monkeypatch.setattr(distributed, "secede", lambda: None)


def test_what_a_keeper_says_at_its_end_is_the_result() -> None:
    assert errand()(KEEPER, ERRAND) == "enough"


def test_a_worker_that_stood_still_does_not_take_its_keeper_for_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour goes by after each beat that it has taken in, and the next comes meanwhile."""
    read, now_s, ahead_s = os.read, time.monotonic, [0.0]

    def read_and_stand_still(file: int, size: int) -> bytes:
        data = read(file, 1)
        if data == b".":
            select.select([file], [], [], 60)
            ahead_s.append(ahead_s[-1] + 3600)
        return data

    monkeypatch.setattr(os, "read", read_and_stand_still)
    monkeypatch.setattr(time, "monotonic", lambda: now_s() + (ahead_s.pop(0) if len(ahead_s) > 1 else ahead_s[0]))
    assert errand()(KEEPER, ERRAND) == "enough"
