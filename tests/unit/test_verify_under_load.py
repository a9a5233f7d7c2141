"""Probes next to several runs of one system are judged together."""

from __future__ import annotations

import pytest
from bakeoff.model.boundary import StalenessProbe
from bakeoff.verify.histories import judged_under_load
from builders.promises import under_load

PROOF = {
    "anomaly": "stale-read",
    "count": 3,
    "proof": {
        "title": "stale-read",
        "transactions": [{"session": 0, "node": 0, "outcome": "ok", "statements": ["read 3 -> 7"]}],
        "reasons": ["T1 read version 7, although T2 had written 8"],
    },
}


def probe(verdict: str, stale: int = 0, exposed: int = 6_000, troubles: tuple[str, ...] = ()) -> StalenessProbe:
    ages = {"p99": 2_000_000 * stale, "max": 5_000_000 * stale}
    report = under_load(verdict, [PROOF] if stale else [], reads=2 * exposed, exposed=exposed, stale=stale, age_ns=ages)
    return StalenessProbe(sessions=1, writes=exposed, reads=2 * exposed, report=report, troubles=list(troubles))


def test_exposure_of_several_runs_is_enough_where_that_of_one_is_not() -> None:
    one = judged_under_load([probe("INCONCLUSIVE")])
    two = judged_under_load([probe("INCONCLUSIVE"), probe("INCONCLUSIVE")])
    assert one is not None
    assert two is not None
    assert (one.verdict, two.verdict) == ("INCONCLUSIVE", "HELD")
    assert two.words.startswith("0 of 24,000 reads on 1 node; with 95 % confidence at most 0.025 %")


@pytest.mark.parametrize("others", ["HELD", "INCONCLUSIVE", "OBSERVED"])
def test_one_violation_is_one_of_all(others: str) -> None:
    found = judged_under_load([probe(others), probe("VIOLATED", stale=3)])
    assert found is not None
    assert found.verdict == "VIOLATED"
    assert found.words.startswith("3 of 24,000 reads on 1 node; 99 % of them replaced at most 6.00 ms before")
    assert [proof.title for proof in found.proofs] == ["stale-read"]


def test_what_is_not_promised_is_observed_and_a_trouble_is_named_once() -> None:
    lost = probe("OBSERVED", stale=3, troubles=("n3 lost its session once",))
    found = judged_under_load([lost, lost])
    assert found is not None
    assert found.verdict == "OBSERVED"
    assert found.words.count("n3 lost its session once") == 1
    assert found.proofs == []


def test_a_probe_that_saw_nothing_says_why() -> None:
    failed = StalenessProbe(sessions=0, writes=0, reads=0, report=None, troubles=["no table"])
    found = judged_under_load([failed, failed])
    assert found is not None
    assert (found.verdict, found.words) == ("INCONCLUSIVE", "nothing was seen; no table")
    assert judged_under_load([]) is None
