"""What one server of CouchDB's protocol is asked.

Sources: CouchDB documentation, "Server" (`/_node/{node-name}/_stats`, `/_active_tasks`), "Configuring CouchDB", and
"What's new", 3.0 (`delayed_commits` is gone: every request is synced).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.model.durability import NOTHING, Survival
from bakeoff.systems.base import Facts
from bakeoff.systems.couchdb.control import Control
from bakeoff.systems.server.control import Refused
from bakeoff.systems.server.system import TRANSACTIONS, ServerNode, Status

_LAST = "commits of the last second"
#: Settings that decide comparisons, by their sections.
_DECISIVE = {
    "cluster": ("n", "q", "r", "w"),
    "couchdb": ("delayed_commits", "file_compression", "max_dbs_open", "max_document_size"),
    "smoosh": ("db_channels",),
}
_COUNTERS = ("database_reads", "database_writes", "document_inserts", "document_writes", "document_purges.total")
_GAUGES = ("open_databases", "open_os_files")


def read_settings(control: Control) -> dict[str, str]:
    """An account may be without the right to see them."""
    try:
        told = control.get("/_node/_local/_config") or {}
    except Refused:
        return {}
    of = {section: told.get(section, {}) for section in _DECISIVE}
    return {f"{section}.{name}": str(of[section][name]) for section, names in _DECISIVE.items() for name in names
            if name in of[section]}  # fmt: skip


def survival(version: str, settings: Mapping[str, str]) -> Survival:
    """Servers before 3.0 may write a second later, unless they say that they do not."""
    is_delayed = int(version.split(".", 1)[0]) < 3 and settings.get("couchdb.delayed_commits") != "false"
    return Survival(_LAST, _LAST) if is_delayed else Survival(NOTHING, NOTHING)


def read_version(control: Control) -> str:
    return str((control.get("/") or {})["version"])


class CouchNode(ServerNode):
    @property
    def _couch(self) -> Control:
        control = self.control
        assert isinstance(control, Control)
        return control

    def read_facts(self) -> Facts:
        settings, version = read_settings(self._couch), read_version(self._couch)
        portable = {**survival(version, settings).facts(), "isolation": "each document by itself"}
        return Facts("CouchDB", version, settings, portable)

    def read_status(self) -> Status:
        told = self._couch.get("/_node/_local/_stats") or {}
        stats = told.get("couchdb", {})
        counters = {f"couchdb.{name}": value for name in _COUNTERS if (value := _at(stats, name)) is not None}
        if (requests := _at(stats, "httpd.requests")) is not None:
            counters["couchdb.httpd.requests"] = counters[TRANSACTIONS] = requests
        gauges = {f"couchdb.{name}": value for name in _GAUGES if (value := _at(stats, name)) is not None}
        return Status(counters, gauges)

    def read_debt(self) -> dict[str, float]:
        """Indexes that are being built, and files that are being compacted."""
        return {"active_tasks": float(len(self._couch.get("/_active_tasks") or []))}

    def cipher(self, control: Any) -> str:
        """Whether our own connection is encrypted; the method of the load's may be another."""
        return "on" if control.login.tls else ""


def _at(stats: Mapping[str, Any], name: str) -> float | None:
    found: Any = stats
    for step in (*name.split("."), "value"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) else None
