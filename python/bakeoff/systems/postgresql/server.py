"""What PostgreSQL systems share, private or existing: the plan's options, and all that is read from the server."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from typing import Any, ClassVar

from pydantic import Field

from bakeoff.errors import ServerError
from bakeoff.systems.base import Capabilities, Facts, System
from bakeoff.systems.durability import of_postgresql
from bakeoff.systems.postgresql import facts
from bakeoff.systems.postgresql.control import Control
from bakeoff.systems.postgresql.facts import Status
from bakeoff.systems.server.login import Login
from bakeoff.systems.server.options import ServerOptions, read_server_options, shaping

#: There is no `relaxed`: without synchronous_commit commits are lost with the process (docs/method/durability.md).
DURABILITY: dict[str, dict[str, str]] = {
    "full": {"synchronous_commit": "on", "fsync": "on", "full_page_writes": "on"},
    "none": {"synchronous_commit": "off", "fsync": "on", "full_page_writes": "on"},
}

_RUN_TIME_NAMES = """
    autovacuum autovacuum_analyze_scale_factor autovacuum_analyze_threshold autovacuum_max_workers autovacuum_naptime
    autovacuum_vacuum_cost_delay autovacuum_vacuum_cost_limit autovacuum_vacuum_scale_factor
    autovacuum_vacuum_threshold autovacuum_work_mem backend_flush_after bgwriter_delay bgwriter_flush_after
    bgwriter_lru_maxpages bgwriter_lru_multiplier checkpoint_completion_target checkpoint_flush_after
    checkpoint_timeout commit_delay commit_siblings deadlock_timeout default_transaction_isolation
    effective_cache_size effective_io_concurrency fsync full_page_writes hash_mem_multiplier huge_pages
    io_combine_limit io_method io_workers jit lock_timeout maintenance_work_mem max_connections max_parallel_workers
    max_parallel_workers_per_gather max_wal_size max_worker_processes min_wal_size plan_cache_mode random_page_cost
    seq_page_cost shared_buffers statement_timeout synchronous_commit temp_buffers track_io_timing wal_buffers
    wal_compression wal_sync_method wal_writer_delay wal_writer_flush_after work_mem
"""
#: Settings that leave the bytes of a loaded data set as they are, so that systems which differ in them can share one.
RUN_TIME = frozenset(_RUN_TIME_NAMES.split())
#: One status answer serves counters and gauges asked for in the same second.
_STATUS_AGE_MAX_S = 0.3


class PostgreSqlOptions(ServerOptions):
    """What a plan may say about one PostgreSQL."""

    user: str = "postgres"
    database: str = Field(default="bakeoff", min_length=1, max_length=63)


def capabilities(*, private: bool = True) -> Capabilities:
    return Capabilities(
        private=private,
        existing=True,
        embedded=False,
        restore=private,
        durability=tuple(DURABILITY),
    )


def read_postgresql_options(options: dict[str, Any], isolation: str | None, where: str) -> PostgreSqlOptions:
    return read_server_options(
        PostgreSqlOptions, options, where, driver="postgresql", isolation=isolation, version="15"
    )


class PostgreSqlServer(System):
    """A configured system: everything read through its control connection."""

    driver: ClassVar[str] = "postgresql"

    def __init__(self, name: str, options: PostgreSqlOptions, isolation: str | None) -> None:
        self.name = name
        self._where = f"systems.{name}"
        self._options = options
        self._isolation = isolation
        self._views: list[str] | None = None
        self._status: Status | None = None
        self._status_at = -math.inf  # monotonic

    @classmethod
    def place(cls, options: dict[str, Any]) -> tuple[str, ...] | None:
        if "address" not in options:
            return None
        path = options.get("session", {}).get("search_path", "")
        return str(options["address"]), str(options.get("database", "")), str(path)

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        """Every level of durability is made of settings that matter at run time alone."""
        return shaping(options, cls.driver, RUN_TIME)

    @classmethod
    def input_files(cls, options: dict[str, Any]) -> list[str]:
        tls = options.get("tls")
        ca_file = tls.get("ca_file") if isinstance(tls, dict) else None
        return [ca_file] if isinstance(ca_file, str) else []

    @property
    @abstractmethod
    def control(self) -> Control:
        """Statements of ours, beside the load, in the plan's database."""

    def _driver(self, login: Login, secret: dict[str, str] | None) -> dict[str, Any]:
        return {
            **self._options.driver,
            "kind": self.driver,
            "endpoints": [node.endpoint() for node in self.nodes()],
            "user": login.user,
            "password": secret,
            "database": self._options.database,
            "tls": login.tls and login.tls.model_dump(),
            "throwaway_password": self.private,
        }

    def facts(self) -> Facts:
        settings = facts.read_settings(self.control, private=self.private)
        return Facts(
            product="PostgreSQL",
            version=facts.read_version(self.control),
            settings=settings,
            portable={
                **of_postgresql(facts.durability_settings(self.control)).facts(),
                "isolation": self._isolation or settings["default_transaction_isolation"].replace(" ", "-"),
                "memory_bytes": str(facts.shared_buffers_bytes(self.control)),
                "tls": self._cipher() or "off",
                "collation": facts.read_collation(self.control),
                **self._own_facts(),
            },
        )

    def _cipher(self) -> str:
        """That connections of the load have; empty without TLS."""
        return facts.read_cipher(self.control)

    def _own_facts(self) -> dict[str, str]:
        return {}

    def answers(self) -> bool:
        try:
            return self.alive() and bool(self.control.value("SELECT 1") == 1)
        except ServerError:
            return False

    def counters(self) -> dict[str, float]:
        status = self._recent_status()
        return dict(status.counters) if status else {}

    def gauges(self) -> dict[str, float]:
        status = self._recent_status()
        return dict(status.gauges) if status else {}

    def debt(self) -> dict[str, float]:
        try:
            return facts.read_debt(self.control)
        except ServerError:
            return {}  # a server that has gone shows as not alive; here its figures are absent

    def _recent_status(self) -> Status | None:
        """None: the server did not answer. It is asked once for both, whatever came of it."""
        if time.monotonic() - self._status_at > _STATUS_AGE_MAX_S:
            try:
                if self._views is None:
                    self._views = facts.views_there(self.control)
                self._status = facts.read_status(self.control, self._views)
            except ServerError:
                self._status = None
            self._status_at = time.monotonic()
        return self._status
