"""Verdicts on crashes, on ledgers with planted losses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.model.durability import longest_loss_s
from bakeoff.verify.ledger import Crash, Crashes, Found, Key, Ledger, compare, read_found, read_ledger

MS = 1_000_000
CRASHED_NS = 2_000 * MS


def ledger(writes: int = 100, sessions: int = 2) -> Ledger:
    """Each session has its writes acknowledged 10 ms apart, the last 10 ms before the crash."""
    acknowledged = {
        (session, number): CRASHED_NS - (writes - number) * 10 * MS
        for session in range(sessions)
        for number in range(writes)
    }
    return Ledger(sent={key: ns - MS for key, ns in acknowledged.items()}, acknowledged=acknowledged)


def without(keys: set[Key], *lost: Key) -> Found:
    return Found(keys - {*lost})


def test_nothing_lost_and_an_unanswered_write_that_exists() -> None:
    one = ledger()
    one.sent[0, 100] = one.sent[1, 100] = CRASHED_NS - MS
    crash = compare(one, Found({*one.acknowledged, (0, 100)}), CRASHED_NS, 0.5)
    assert (crash.acknowledged, crash.lost, crash.gaps, crash.phantoms) == (200, 0, 0, 0)
    assert (crash.unknown, crash.unknown_found, crash.window_ms, crash.recovery_s) == (2, 1, 0.0, 0.5)


def test_the_last_writes_of_a_session_are_a_loss_without_a_gap() -> None:
    crash = compare(ledger(), without({*ledger().acknowledged}, (0, 98), (0, 99)), CRASHED_NS)
    assert (crash.lost, crash.window_ms, crash.gaps) == (2, 20.0, 0)


def test_a_write_lost_before_one_that_was_found_is_a_gap() -> None:
    crash = compare(ledger(), without({*ledger().acknowledged}, (1, 97)), CRASHED_NS)
    assert (crash.lost, crash.window_ms, crash.gaps) == (1, 30.0, 1)


def test_what_was_refused_or_never_sent_is_a_phantom() -> None:
    one = ledger()
    one.sent[0, 100] = CRASHED_NS - MS
    one.refused.add((0, 100))
    crash = compare(one, Found({*one.acknowledged, (0, 100), (7, 0)}, torn=1, strange=1), CRASHED_NS)
    assert (crash.phantoms, crash.torn, crash.unknown) == (3, 1, 0)


def test_a_server_that_acknowledged_nothing_of_late_was_idle() -> None:
    assert not compare(ledger(), Found(set()), CRASHED_NS).is_idle
    assert compare(ledger(), Found(set()), CRASHED_NS + 2_000 * MS).is_idle


def test_files_are_read_and_a_line_cut_short_is_not(tmp_path: Path) -> None:
    (tmp_path / "0.ledger").write_text("? 0 5\n+ 0 7\n? 1 8\n- 1 9\n? 2")
    (tmp_path / "1.ledger").write_text("? 0 6\n")
    found = read_ledger(tmp_path)
    assert found == Ledger({(0, 0): 5, (0, 1): 8, (1, 0): 6}, {(0, 0): 7}, {(0, 1)})
    (tmp_path / "found").write_text("00-000000000007\n01-000000000008 torn\nelse\n")
    assert read_found(tmp_path / "found") == Found({(0, 7), (1, 8)}, torn=1, strange=1)
    assert read_found(tmp_path / "found", 8) == Found({(1, 8)}, torn=1, strange=1)


CRASH = Crash(acknowledged=400)
LOSING = replace(CRASH, lost=20, window_ms=90.0)


@pytest.mark.parametrize(
    ("crashes", "promise", "whole", "verdict"),
    [
        ([CRASH] * 3, "nothing", True, "HELD"),
        ([CRASH] * 2, "nothing", True, "INCONCLUSIVE"),
        ([replace(CRASH, acknowledged=300)] * 3, "nothing", True, "INCONCLUSIVE"),
        ([replace(CRASH, is_idle=True)] * 9, "nothing", True, "INCONCLUSIVE"),
        ([CRASH, CRASH, LOSING], "nothing", True, "VIOLATED"),
        ([LOSING], "nothing", True, "VIOLATED"),
        ([replace(LOSING, window_ms=0.0)], "nothing", True, "VIOLATED"),
        ([LOSING] * 3, "commits of the last 1 s", True, "HELD"),
        ([replace(LOSING, window_ms=1_200.0)] * 3, "commits of the last 1 s", True, "HELD"),
        ([replace(LOSING, window_ms=1_300.0)], "commits of the last 1 s", True, "VIOLATED"),
        ([replace(LOSING, gaps=1)], "commits of the last 1 s", True, "VIOLATED"),
        ([LOSING], "commits since the last checkpoint", True, "OBSERVED"),
        ([replace(LOSING, gaps=1)], "commits that the kernel had not written", False, "OBSERVED"),
        ([replace(CRASH, unreadable="no table")], "commits that the kernel had not written", False, "OBSERVED"),
        ([replace(CRASH, unreadable="no table")], "commits that the kernel had not written", True, "VIOLATED"),
        ([CRASH, CRASH, CRASH, replace(CRASH, unreadable="no table")], "commits of the last 1 s", False, "HELD"),
        ([CRASH, CRASH, replace(CRASH, unreadable="no table")], "commits of the last 1 s", False, "INCONCLUSIVE"),
        ([replace(CRASH, phantoms=1)], "commits that the kernel had not written", False, "VIOLATED"),
        ([replace(CRASH, torn=1)], "", True, "VIOLATED"),
        ([LOSING], "", True, "OBSERVED"),
    ],
)
def test_the_verdict_compares_losses_with_the_promise(
    crashes: list[Crash], promise: str, whole: bool, verdict: str
) -> None:
    assert Crashes("power cut", crashes, promise, whole).verdict == verdict


def test_no_loss_is_said_with_its_bound() -> None:
    words = Crashes("power cut", [CRASH] * 50, "nothing").words
    assert "none lost any (so at most 6.0 % of such crashes do, 95 %)" in words
    assert words.endswith("May lose nothing")
    assert Crashes("kill", not_tried="it stores nothing").verdict == "N/A"


def test_crashes_that_ended_early_keep_their_verdict_and_say_why() -> None:
    crashes = Crashes("power cut", [CRASH, CRASH, LOSING], "nothing", ended_early="it cannot be judged: tc.log")
    assert crashes.verdict == "VIOLATED"
    assert "; ended early: it cannot be judged: tc.log. May lose nothing" in crashes.words


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("nothing", 0.0), ("commits of the last 0.6 s", 0.6), ("commits of about the last 0.1 s", 0.1)],
)
def test_a_promise_with_a_time_is_a_bound(words: str, seconds: float) -> None:
    assert longest_loss_s(words) == seconds
    assert longest_loss_s("commits since the last checkpoint") == float("inf")
