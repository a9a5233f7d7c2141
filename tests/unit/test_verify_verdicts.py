"""Verdicts on levels of isolation, on evidence of which the right verdict is known."""

from __future__ import annotations

import pytest
from bakeoff.model.boundary import ScheduleEvidence, ScheduleTry, StepAnswer, StepEvidence
from bakeoff.model.isolation import WRITE_SKEW, allowed_anomalies, claimed_level
from bakeoff.verify.isolation import SCHEDULES, Shown, behaves_like, columns, shown, verdict, violations


def step(session: int, statement: str, kind: str = "done", *, blocked: bool = False, code: str = "") -> StepEvidence:
    answer = StepAnswer.model_validate({"kind": kind, "code": code})
    return StepEvidence(session=session, statement=statement, blocked=blocked, answer=answer)


def tried(anomaly: bool, *steps: StepEvidence, committed: int = 2) -> ScheduleTry:
    rows = [(1, 11), (2, 20)]
    return ScheduleTry(anomaly=anomaly, committed=committed, transactions=2, steps=list(steps), rows=rows)


def outcomes(*seen: str) -> list[Shown]:
    return [Shown(name, 3 if name in seen else 0, 3, "", True) for name in SCHEDULES]


@pytest.mark.parametrize(
    ("seen", "level"),
    [
        ((), "serializable"),
        (("G2-item",), "snapshot"),
        (WRITE_SKEW, "snapshot"),
        (("P4",), "read-committed"),
        (("OTV", "PMP"), "read-committed"),
        (("G1a",), "read-uncommitted"),
        (("G0",), "no level"),
    ],
)
def test_a_level_is_the_strongest_that_excludes_all_that_happened(seen: tuple[str, ...], level: str) -> None:
    assert behaves_like(outcomes(*seen)) == level


def test_random_transactions_may_show_less_and_some_schedules_show_nothing() -> None:
    assert behaves_like(outcomes(), "snapshot") == "snapshot"
    assert behaves_like(outcomes("P4"), "serializable") == "read-committed"
    assert behaves_like(outcomes(), "") == "no level"
    assert behaves_like(outcomes()[:3]) == ""


def test_an_anomaly_that_the_vendor_excludes_violates_and_others_do_not() -> None:
    allowed = allowed_anomalies("PostgreSQL", "17.2", {}, "repeatable-read")
    assert verdict(outcomes("G2"), allowed) == "HELD"
    assert verdict(outcomes("G2", "P4"), allowed) == "VIOLATED"
    assert [one.name for one in violations(outcomes("G2", "P4"), allowed)] == ["P4"]
    assert verdict(outcomes("G0"), None) == "OBSERVED"


@pytest.mark.parametrize(
    ("version", "settings", "allows"),
    [
        ("10.11.19", {}, True),
        ("10.11.19", {"innodb_snapshot_isolation": "ON"}, False),
        ("11.8.3", {}, False),
        ("11.8.3", {"innodb_snapshot_isolation": "OFF"}, True),
    ],
)
def test_lost_updates_at_repeatable_read_depend_on_the_version_and_a_setting(
    version: str, settings: dict[str, str], allows: bool
) -> None:
    allowed = allowed_anomalies("MariaDB", version, settings, "repeatable-read")
    assert allowed is not None
    assert ("P4" in allowed) == allows


def test_between_nodes_that_all_take_writes_no_more_than_committed_reads_is_claimed() -> None:
    for allowed, level in (((), "serializable"), (WRITE_SKEW, "snapshot"), (("G1a",), "read-uncommitted")):
        assert claimed_level(allowed, multi_writer=False) == level
    assert claimed_level((), multi_writer=True) == "read-committed"
    assert claimed_level(None, multi_writer=True) is None


def test_no_level_allows_what_is_no_schedule() -> None:
    levels = ("read-uncommitted", "read-committed", "repeatable-read", "snapshot", "serializable")
    for product in ("MariaDB", "MySQL", "PostgreSQL", "SQLite", "DuckDB"):
        for level in levels:
            assert set(allowed_anomalies(product, "17.1", {}, level) or ()) <= set(SCHEDULES)


def test_what_prevented_an_anomaly_follows_from_what_happened_instead() -> None:
    waited = tried(False, step(2, "UPDATE", blocked=True))
    aborted = tried(False, step(2, "UPDATE", "error", blocked=True, code="1213"))
    kept = tried(False, step(2, "SELECT", "rows"))
    for tries, how in ((waited, "waiting"), (aborted, "an error (1213)"), (kept, "kept versions")):
        assert shown(ScheduleEvidence(name="P4", tries=[tries])).prevented_by == how


def test_tries_that_differ_are_counted_and_a_schedule_without_commits_is_marked() -> None:
    differing = shown(ScheduleEvidence(name="P4", tries=[tried(True), tried(False), tried(False)]))
    assert (differing.sign, differing.words) == ("A 1/3", "P4 (1 of 3 tries)")
    stuck = shown(ScheduleEvidence(name="P4", tries=[tried(False, committed=0)]))
    assert (stuck.sign, stuck.is_open) == ("?", True)
    assert verdict([stuck], ()) == "INCONCLUSIVE"


def test_each_session_has_a_column() -> None:
    read = StepEvidence(
        session=1,
        statement="SELECT id, value FROM bakeoff_isolation WHERE id = 1 ORDER BY id",
        blocked=False,
        answer=StepAnswer(kind="rows", rows=[(1, 10)]),
    )
    text = columns(tried(True, step(1, "BEGIN"), read, step(2, "COMMIT", "error", code="40001")))
    lines = text.splitlines()
    assert lines[0].split() == ["session", "1", "session", "2"]
    assert any(line.startswith("  (1, 10)") for line in lines)
    assert any(line.startswith(" " * 38) and "ERROR 40001" in line for line in lines)
    assert lines[-1] == "2 transactions committed; rows afterwards (id, value): (1, 11), (2, 20)"
    assert all(len(line) <= 80 for line in lines)
