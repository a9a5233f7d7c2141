"""What is said of nodes that agree, and of those that do not."""

from __future__ import annotations

from typing import Any

from bakeoff.verify.histories import judged_convergence, proof_words


def report(verdict: str = "HELD", **broken: list[str]) -> dict[str, Any]:
    properties = ("delivery", "termination", "validity", "convergence")
    found = {name: {"count": len(broken.get(name, [])), "examples": broken.get(name, [])} for name in properties}
    last, other = 130, 20
    return {
        "verdict": verdict,
        "rounds": 300,
        "conflicts": 250,
        "converged_after_ns": None if "convergence" in broken else 1_200_000,
        "last_acknowledged_won": last,
        "other_won": other,
        **found,
    }


def test_of_nodes_that_agree_the_words_say_how_soon_and_which_write_won() -> None:
    judged = judged_convergence(report(), 3, has_sql=True)
    assert judged.words == (
        "300 rows on 3 nodes, 250 written by several sessions at a time; the same on all nodes 1.20 ms after the last"
        " write; the last acknowledged value stayed in 130 of 150"
    )
    assert (judged.verdict, judged.proofs) == ("HELD", [])


def test_what_differs_is_counted_and_shown() -> None:
    rows = ["key 7 has 3 on node 0, 5 on node 1", "key 9 has 0 on node 0, 3 on node 1"]
    judged = judged_convergence(
        report("VIOLATED", convergence=rows, delivery=["key 9 has 0 on node 0"]), 2, has_sql=True
    )
    assert "2 rows differ" in judged.words
    assert "1 acknowledged write is missing" in judged.words
    assert "the same on all nodes" not in judged.words
    assert proof_words(judged.proofs[1]).splitlines() == ["rows differ (2 found):", f"  {rows[0]}", f"  {rows[1]}"]
