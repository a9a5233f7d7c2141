"""A plan on a public service says what it may cost, and begins only with consent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.plan.costs import costs_of
from bakeoff.systems import SYSTEMS
from bakeoff.systems.public_service import PublicService
from bakeoff.systems.sqlite import Sqlite
from builders.plans import read

SERVICE = PublicService("CloudDB", "https://db.example", 0.25, 1.25, "USD", "2026-11-01", "https://example/pricing")


class CloudDb(Sqlite):
    kind: ClassVar[str] = "clouddb"

    @classmethod
    def public_service(cls, options: Mapping[str, Any]) -> PublicService | None:
        return SERVICE if "file" in options else None


@pytest.fixture(autouse=True)
def clouddb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SYSTEMS, CloudDb.kind, CloudDb)


SYSTEM = "[systems.clouddb]\nfile = 'base.db'"
LOADED = "preset = 'c'\nrecords = 2000"
OPEN = "rate = 1000\nwarm_up = '5s'\nwindow = '15s'\nrepetitions = 5\nrepeat_disturbed = 1"


def test_an_open_loop_costs_at_most_what_it_offers() -> None:
    (cost,) = costs_of(read(systems=SYSTEM, workload=LOADED, measure=OPEN))
    assert cost.operations == 1000 * 20 * (5 + 1)
    assert cost.rows == 2000
    assert cost.at_most == pytest.approx((120_000 + 2000) * 1.25 / 1e6)
    assert "at most 120,000 operations and 2,000 rows loaded, about 0.15 USD" in cost.words
    assert "1.25 USD per million writes (list price of 2026-11-01, https://example/pricing)" in cost.words


def test_every_attempt_and_every_reload_counts() -> None:
    measure = f"{OPEN}\nreset = 'reload'\nretry = {{ retries = 2, on = ['overload'] }}"
    (cost,) = costs_of(read(systems=SYSTEM, workload="preset = 'a'\nrecords = 2000", measure=measure))
    assert (cost.operations, cost.rows) == (3 * 120_000, 6 * 2000)


def test_a_stated_number_of_operations_is_a_bound_and_a_closed_loop_by_time_has_none() -> None:
    stated = "warm_up = 0\noperations = 5000\nrepetitions = 3\nrepeat_disturbed = 0"
    (cost,) = costs_of(read(systems=SYSTEM, workload=LOADED, measure=stated))
    assert cost.operations == 15_000
    (cost,) = costs_of(read(systems=SYSTEM, workload=LOADED))
    assert (cost.operations, cost.at_most) == (None, None)
    assert "a closed loop has no bound" in cost.words


def test_what_does_not_lead_to_the_service_costs_nothing() -> None:
    assert costs_of(read(systems="[systems.clouddb]\n[systems.sqlite]")) == []


def test_without_consent_nothing_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        f"{SYSTEM}\n[workload]\nkind = 'ycsb'\npreset = 'c'\nrecords = 50\n"
        "[measure]\nrate = 100\nwarm_up = 0\nwindow = '1s'\nrepetitions = 1\n"
    )
    out = tmp_path / "out"
    for command in (["run", str(path), "--out", str(out)], ["load", str(path)]):
        assert main(command) == ExitCode.USAGE
        said = capsys.readouterr().err
        assert "clouddb is CloudDB at https://db.example, a public service that charges" in said
        assert "--allow-cost" in said
        assert not out.exists()
        assert not (tmp_path / "base.db").exists()
    assert main(["load", str(path), "--allow-cost", "--together"]) == ExitCode.DONE
    assert "about 0.01 USD" in capsys.readouterr().err
    assert (tmp_path / "base.db").exists()


def test_the_dry_run_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f"{SYSTEM}\n[workload]\nkind = 'ycsb'\n{LOADED}\n[measure]\n{OPEN}\n")
    assert main(["run", str(path), "--dry-run"]) == ExitCode.DONE
    assert "clouddb is CloudDB at https://db.example, a public service that charges" in capsys.readouterr().out
    assert main(["run", str(path), "--dry-run", "--json"]) == ExitCode.DONE
    (cost,) = json.loads(capsys.readouterr().out)["costs"]
    assert (cost["operations_max"], cost["currency"]) == (120_000, "USD")
