"""What a document names on this machine is carried, and called there as it is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bakeoff.fleet.portable_spec import carried

EXAMPLES = Path(__file__).parents[2] / "schema" / "examples"


def test_files_of_the_examples_are_carried_and_what_a_system_keeps_stays() -> None:
    mysql, sqlite = (carried((EXAMPLES / f"run_{name}.json").read_text(), {}) for name in ("mysql", "sqlite"))
    assert [str(path) for path in mysql.inputs.values()] == ["/etc/ssl/ca.pem"]
    assert sqlite.inputs == {}
    assert json.loads(sqlite.document)["driver"]["path"] == "/tmp/bakeoff/ycsb.db"


def test_inputs_outputs_addresses_and_the_password_are_found_wherever_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    document = {
        "driver": {
            "kind": "mysql",
            "endpoints": [
                {"name": "n1", "address": "10.0.0.1:3306"},
                {"name": "n2", "address": "[fd00::1]:3306"},
                {"name": "n3", "address": "/run/mysqld.sock"},
            ],
            "password": {"env": "DB_PASSWORD"},
            "tls": {"ca_file": "/etc/ca.pem", "verify": True},
            "server_public_key_file": None,
        },
        "workload": {"tables": [{"data": {"name": "rows.csv", "path": "/data/rows.csv", "rows": 3}}]},
        "event_log": {"path": "/bundle/events.csv"},
    }
    found = carried(json.dumps(document), {"OTHER": "x"})
    there = json.loads(found.document)
    assert [str(path) for path in found.inputs.values()] == ["/etc/ca.pem", "/data/rows.csv"]
    assert there["driver"]["tls"]["ca_file"] in found.inputs
    assert there["workload"]["tables"][0]["data"]["path"] in found.inputs
    assert found.outputs == {there["event_log"]["path"]: Path("/bundle/events.csv")}
    assert found.addresses == {"n1": ("10.0.0.1", 3306), "n2": ("fd00::1", 3306)}
    assert found.env == {"OTHER": "x", "DB_PASSWORD": "hunter2"}
    assert "hunter2" not in repr(found)
    assert "\n" not in found.document


def test_a_password_file_is_read_here_and_becomes_a_variable_there(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    found = carried(json.dumps({"driver": {"password": {"file": str(tmp_path / "password")}}}), {})
    assert [found.env[name] for name in json.loads(found.document)["driver"]["password"].values()] == ["hunter2"]
