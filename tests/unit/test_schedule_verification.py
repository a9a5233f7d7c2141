"""What of a plan is checked after its runs, and what becomes of a check that fails."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.bundle.read import Bundle, unverified
from bakeoff.bundle.write import BundleWriter
from bakeoff.errors import PlanError, ServerError
from bakeoff.model.records.bundle import FactsRecord
from bakeoff.model.records.verification import VerificationRecord
from bakeoff.plan.document.tables import VerifyTable
from bakeoff.plan.dry_run.estimates import verify_s
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.plan.verify import Span, Subject, span, subjects, why_not
from bakeoff.schedule import conductor
from bakeoff.schedule.conductor import Conductor, View
from bakeoff.schedule.verification import staleness_probe
from bakeoff.systems.mysql.mariadb import MariaDb
from builders.bundles import _info, _machine
from builders.plans import MARIADB, SQLITE, read
from builders.promises import PAIR, checked

BOTH = f"{SQLITE}\n[systems.redb]\n{MARIADB}"
LEVELS = "threads = [1, 2]\n'mariadb.isolation' = ['read-committed', 'serializable']"


@pytest.fixture(autouse=True)
def _every_kind_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: None))


def plan(factors: str = "threads = [1, 2]", verify: str = "[verify]") -> ResolvedPlan:
    return read(factors, systems=BOTH, measure="durability = 'none'", rest=verify)


def test_each_system_is_checked_once_for_its_options_and_level_whatever_the_load() -> None:
    found = subjects(plan(LEVELS))
    assert [(one.label, one.level, one.first, len(one.cells)) for one in found] == [
        ("sqlite", None, True, 2),
        ("redb", None, True, 2),
        ("mariadb", "read-committed", True, 2),
        ("mariadb", "serializable", False, 2),
    ]
    assert [one.has_sql for one in found] == [True, False, True, True]
    assert [one.why_not for one in found] == [""] * 4


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("null", {}, "no database"),
        ("dynamodb", {"region": "us-east-1"}, "charges for requests"),
        ("dynamodb-local", {}, "a peer of DynamoDB"),
        ("leanxcale", {}, "the SQL of leanxcale"),
        ("redis", {}, ""),
    ],
)
def test_what_no_experiment_can_be_tried_on_says_why(kind: str, options: dict[str, Any], words: str) -> None:
    cell = SimpleNamespace(record=SimpleNamespace(kind=kind), system_options=options)
    found = why_not(cast(Any, cell))
    assert words in found if words else not found


def test_without_reads_nothing_is_left_of_a_system_without_sql() -> None:
    found = subjects(plan(verify="[verify]\nseconds = 0"))
    assert [one.label for one in found if one.why_not] == ["redb"]
    assert found[1].why_not == "it has no transactions in SQL, and nothing else is asked for"


def test_options_that_vary_are_named() -> None:
    found = subjects(plan("threads = [1, 2]\n'mariadb.settings.innodb_lru_scan_depth' = [100, 200]"))
    labels = [one.label for one in found if one.label.startswith("mariadb")]
    assert labels == [
        "mariadb / mariadb.settings.innodb_lru_scan_depth=100",
        "mariadb / mariadb.settings.innodb_lru_scan_depth=200",
    ]


def test_every_level_is_that_of_the_system() -> None:
    levels = [one.level for one in subjects(plan(), every_level=True) if one.label == "mariadb"]
    assert levels == ["read-uncommitted", "read-committed", "repeatable-read", "serializable"]


def test_the_time_of_checks_is_estimated_by_what_is_asked() -> None:
    sqlite, redb, *_ = subjects(plan())
    whole, short = VerifyTable(seconds=6), VerifyTable(seconds=0, tries=1, schedules=["P4"])
    assert verify_s(plan(), redb, short) == (0, 0)
    assert verify_s(plan(), sqlite, short)[0] < 1
    assert verify_s(plan(), redb, whole) == pytest.approx((6.2, 6.2))
    expected_s, most_s = verify_s(plan(), sqlite, whole)
    assert 24 < expected_s == most_s < 30
    quick = read("threads = [1, 2]", systems=BOTH, measure="warm_up = 0\nwindow = '1s'", rest="[verify]")
    expected_s, most_s = verify_s(quick, subjects(quick)[0], VerifyTable())
    assert expected_s < 10 < 24 < most_s < 30


@pytest.mark.parametrize(
    ("window", "of_sqlite_s", "of_redb_s"),
    # Two cells, 5 repetitions: a tenth is the window. SQLite: less 2.1 s for schedules, in 4 parts.
    [("1s", 0.5, 1.0), ("10s", 1.975, 6.0), ("10m", 6.0, 6.0)],
)
def test_checks_take_a_tenth_of_the_measured_time_or_what_a_verdict_needs(
    window: str, of_sqlite_s: float, of_redb_s: float
) -> None:
    measure = f"durability = 'none'\nwarm_up = 0\nwindow = '{window}'\nrepetitions = 5"
    asked = read("threads = [1, 2]", systems=BOTH, measure=measure, rest="[verify]")
    sqlite, redb, *_ = subjects(asked)
    assert span(asked, sqlite, VerifyTable()) == Span(6.0, pytest.approx(of_sqlite_s))
    assert span(asked, redb, VerifyTable()) == Span(6.0, pytest.approx(of_redb_s))
    assert span(asked, sqlite, VerifyTable(seconds=3)) == Span(3.0)


class Heard(View):
    def __init__(self) -> None:
        self.words: list[str] = []
        self.records: list[VerificationRecord] = []

    def message(self, words: str) -> None:
        self.words.append(words)

    def verified(self, record: VerificationRecord) -> None:
        self.records.append(record)


def carried_out(folder: Path, monkeypatch: pytest.MonkeyPatch, fails: str = "", verify: str = "[verify]") -> Heard:
    """The checks of a plan all of whose runs are done. fails: the system whose server dies."""
    asked = plan(verify=verify)
    heard, writer = Heard(), BundleWriter(folder)
    if (folder / "bundle.json").exists():
        writer.info = Bundle.open(folder).info
        writer.plan(asked.record)
    else:
        folder.mkdir()
        writer.begin(_info(PAIR), asked.record, asked.text, _machine())

    def verify_level(instance: Any, subject: Subject, *_: Any) -> VerificationRecord:
        if subject.label == fails:
            raise ServerError(f"the server of {fails} ended")
        return checked(*(cell.record.id for cell in subject.cells), system=subject.label)

    monkeypatch.setattr(conductor, "verify_level", verify_level)
    monkeypatch.setattr(Conductor, "_make_all", lambda self: None)
    monkeypatch.setattr(Conductor, "_instance", lambda self, cell: type("Instance", (), {"start": lambda _: None})())
    Conductor(asked, writer, heard).carry_out()
    return heard


def test_a_server_that_dies_in_a_check_costs_its_own_verdict_only_and_resume_makes_up_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = carried_out(tmp_path / "b", monkeypatch, fails="sqlite")
    assert [one.label for one in first.records] == ["redb", "mariadb"]
    assert first.words == ["sqlite could not be verified: the server of sqlite ended; --resume tries it again"]
    again = carried_out(tmp_path / "b", monkeypatch)
    assert [one.label for one in again.records] == ["sqlite"]
    assert again.words == []


def test_what_has_no_check_is_in_the_bundle_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = carried_out(tmp_path / "b", monkeypatch, verify="[verify]\nseconds = 0")
    redb = next(one for one in found.records if one.label == "redb")
    assert redb.not_applicable == "it has no transactions in SQL, and nothing else is asked for"
    assert redb in Bundle.open(tmp_path / "b").verifications


def test_other_checks_than_those_that_were_made_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried_out(tmp_path / "b", monkeypatch)
    longer = "[verify]\nseconds = 60"
    assert len(unverified(plan(verify=longer).record, Bundle.open(tmp_path / "b"))) == 6
    again = carried_out(tmp_path / "b", monkeypatch, fails="mariadb", verify=longer)
    assert [one.label for one in again.records] == ["sqlite", "redb"]
    assert len(Bundle.open(tmp_path / "b").unverified) == 2
    assert [one.label for one in carried_out(tmp_path / "b", monkeypatch, verify=longer).records] == ["mariadb"]
    assert carried_out(tmp_path / "b", monkeypatch, verify=longer).records == []


def test_nothing_is_claimed_of_reads_of_tables_in_another_engine_than_innodb() -> None:
    asked = plan(verify="[verify]\nprobe = true")
    cell = next(cell for cell in asked.cells if cell.record.system == "mariadb")
    system = SimpleNamespace(
        multi_writer=True, capabilities=MariaDb.capabilities, promise_of_reads="one copy", lock_limit=()
    )

    def claims(engine: str) -> dict[str, Any]:
        facts = FactsRecord(
            product="MariaDB",
            version="10.11.6",
            settings={"default_storage_engine": engine},
            portable={"isolation": "serializable"},
            declared={},
            managed=True,
        )
        instance = SimpleNamespace(system=system, facts=lambda cell: facts, plan=asked)
        found = staleness_probe(asked, cell, cast(Any, instance))
        assert found is not None
        return found.claims

    assert claims("InnoDB")
    assert not claims("ROCKSDB")


def test_a_level_in_the_sessions_of_a_system_is_refused_before_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = read(
        systems=f"{MARIADB}\nsession.transaction_isolation = 'SERIALIZABLE'",
        measure="durability = 'none'",
        rest="[verify]",
    )
    monkeypatch.setattr(Conductor, "_make_all", lambda self: pytest.fail("a run was made"))
    with pytest.raises(PlanError, match="`transaction_isolation` sets the level of every session"):
        Conductor(asked, BundleWriter(tmp_path), Heard()).carry_out()


def test_a_server_that_only_follows_a_cluster_is_refused_with_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = SimpleNamespace(name="n4", facts=lambda: SimpleNamespace(settings={"wsrep_on": "OFF"}))
    system = SimpleNamespace(managed=False, multi_writer=True, name="galera", nodes=lambda: [follower])
    instance = SimpleNamespace(system=system, loaded=False, refuse_taken=lambda tables: None)
    monkeypatch.setattr(conductor, "Instance", lambda *_, **__: instance)
    monkeypatch.setattr(Conductor, "_give_data", lambda *_: None)
    asked = plan()
    with pytest.raises(PlanError, match="n4 is no member of the cluster galera"):
        Conductor(asked, BundleWriter(tmp_path), Heard())._instance(asked.cells[0])


def test_a_verdict_is_of_cells_that_were_added_later_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried_out(tmp_path / "b", monkeypatch)
    path = next(path for path in (tmp_path / "b/verify").iterdir() if '"mariadb"' in path.read_text())
    record = VerificationRecord.model_validate_json(path.read_text())
    fewer = record.model_copy(update={"cells": record.cells[:1]})
    path.write_text(fewer.model_dump_json())
    assert carried_out(tmp_path / "b", monkeypatch).records == []
    assert VerificationRecord.model_validate_json(path.read_text()) == record
