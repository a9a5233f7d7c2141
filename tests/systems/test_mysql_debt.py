"""Debt of a server that does not tell an ordinary account everything (MySQL 9.7 refuses it INNODB_METRICS)."""

from __future__ import annotations

from typing import Any, cast

from bakeoff.errors import ServerError
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.node import read_debt
from bakeoff.systems.server.system import Status


class Refusing:
    """A control connection whose account may ask nothing more."""

    def value(self, *_: Any) -> Any:
        raise ServerError("Access denied; you need (at least one of) the PROCESS privilege(s)")


def test_what_the_account_may_not_ask_is_left_out_and_the_rest_stays() -> None:
    status = Status(counters={}, gauges={"Innodb_buffer_pool_pages_dirty": 10.0})
    assert read_debt(cast(Control, Refusing()), status, 16384) == {"dirty_bytes": 163840.0}
