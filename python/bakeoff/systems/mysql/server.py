"""What servers of the MySQL family share, private or existing: the plan's options, and all that is read from them."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.base import Capabilities, Facts, System
from bakeoff.systems.durability import of_innodb
from bakeoff.systems.mysql import facts
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.facts import Product, Status
from bakeoff.systems.mysql.settings import RUN_TIME
from bakeoff.systems.server.login import Login
from bakeoff.systems.server.options import ServerOptions, read_server_options, shaping

DURABILITY: dict[str, dict[str, str]] = {
    "full": {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1", "innodb_doublewrite": "ON"},
    "relaxed": {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
    "none": {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"},
}

#: One status answer serves counters and gauges asked for in the same second.
_STATUS_AGE_MAX_S = 0.3


class MySqlOptions(ServerOptions):
    """What a plan may say about one system of the family."""

    user: str = "root"
    schema_: str = Field(default="bakeoff", alias="schema", min_length=1, max_length=64)


def family_capabilities(*, private: bool) -> Capabilities:
    return Capabilities(
        private=private,
        existing=True,
        embedded=False,
        restore=private,
        durability=tuple(DURABILITY),
    )


def read_family_options(options: dict[str, Any], isolation: str | None, where: str) -> MySqlOptions:
    """Checks what does not depend on the kind: keys, isolation, and that it is either started or found."""
    read = read_server_options(MySqlOptions, options, where, driver="mysql", isolation=isolation, version="10.11")
    if read.private is not None and read.driver["server_public_key_file"] is not None:
        raise PlanError(
            "a private server's password needs no key",
            where=f"{where}.server_public_key_file",
            hint="leave it out: the password is made for this one run",
        )
    return read


class MySqlServer(System):
    """A configured system: everything read through its control connection."""

    driver: ClassVar[str] = "mysql"

    def __init__(self, name: str, options: MySqlOptions, isolation: str | None) -> None:
        self.name = name
        self._where = f"systems.{name}"
        self._options = options
        self._isolation = isolation
        self._server_key_file: Path | None = None
        self._product: Product | None = None
        self._page_size_bytes = 16384
        self._status: Status | None = None
        self._status_at = -math.inf  # monotonic

    @classmethod
    def capabilities(cls) -> Capabilities:
        return family_capabilities(private=True)

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        """Every level of durability is made of settings that matter at run time alone."""
        return shaping(options, cls.driver, RUN_TIME)

    @classmethod
    def input_files(cls, options: dict[str, Any]) -> list[str]:
        tls = options.get("tls")
        named = [tls.get("ca_file") if isinstance(tls, dict) else None, options.get("server_public_key_file")]
        return [path for path in named if isinstance(path, str)]

    @property
    @abstractmethod
    def control(self) -> Control:
        """Statements of ours, beside the load."""

    def _driver(self, login: Login, secret: dict[str, str] | None) -> dict[str, Any]:
        return {
            **self._options.driver,
            "kind": self.driver,
            "endpoints": [node.endpoint() for node in self.nodes()],
            "user": login.user,
            "password": secret,
            "schema": self._options.schema_,
            "tls": login.tls and login.tls.model_dump(),
            "server_public_key_file": self._server_key_file and str(self._server_key_file),
            "throwaway_password": self.private,
        }

    def _read_identity(self) -> None:
        """Once after each start: the product, and the page size that dirty pages are counted in."""
        self._product = facts.read_product(self.control)
        self._page_size_bytes = facts.read_page_size(self.control)
        self._status_at = -math.inf

    def product(self) -> Product:
        if self._product is None:
            raise ServerError("the server has not been started", where=self._where)
        return self._product

    def facts(self) -> Facts:
        product = self.product()
        variables = facts.read_variables(self.control)
        return Facts(
            product=product.name,
            version=product.version,
            settings=facts.read_settings(self.control, product, variables, private=self.private),
            portable={
                **of_innodb(variables).facts(),
                "isolation": self._isolation or facts.isolation_of(variables),
                "memory_bytes": variables.get("innodb_buffer_pool_size", "unknown"),
                "tls": self._cipher() or "off",
                **self._own_facts(),
            },
        )

    def _cipher(self) -> str:
        """That connections of the load have; empty without TLS."""
        return read_cipher(self.control)

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
            self._status = facts.read_status(self.control)
            return facts.read_debt(self.control, self._status, self._page_size_bytes)
        except ServerError:
            return {}  # a server that has gone shows as not alive; here its figures are absent

    def _recent_status(self) -> Status | None:
        """None: the server did not answer. It is asked once for both, whatever came of it."""
        if time.monotonic() - self._status_at > _STATUS_AGE_MAX_S:
            try:
                self._status = facts.read_status(self.control)
            except ServerError:
                self._status = None
            self._status_at = time.monotonic()
        return self._status


def read_cipher(control: Control) -> str:
    rows = control.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
    return str(rows[0][1]) if rows else ""
