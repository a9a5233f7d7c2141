"""A server of the MySQL family at an address, that was there before us.

    [systems.mysql]
    address = "db1:3306"        # or "/run/mysqld/mysqld.sock"
    user = "bench"
    password = { env = "DB_PASSWORD" }
    schema = "bakeoff"

It stays as it is, but for the schema the plan names, and there the tables that bakeoff made: see ledger.py. The
product is read from the server.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.base import Node, System
from bakeoff.systems.durability import of_innodb
from bakeoff.systems.mysql import facts
from bakeoff.systems.mysql.control import DEFAULT_PORT, Control
from bakeoff.systems.mysql.ledger import MySqlLedger
from bakeoff.systems.mysql.login import read_server_key
from bakeoff.systems.mysql.server import MySqlOptions, MySqlServer, read_family_options
from bakeoff.systems.server.login import Address, Login


class ExistingMySql(MySqlServer):
    private = False

    @classmethod
    def configure(
        cls,
        name: str,
        options: dict[str, Any],
        *,
        durability: str | None,
        isolation: str | None,
        workdir: Path,
        timeout_s: float,
        base_dir: Path,
    ) -> System:
        read = read_family_options(options, isolation, f"systems.{name}")
        return cls(name, read, durability, isolation, timeout_s, base_dir)

    def __init__(
        self,
        name: str,
        options: MySqlOptions,
        durability: str | None,
        isolation: str | None,
        timeout_s: float,
        base_dir: Path,
    ) -> None:
        super().__init__(name, options, isolation)
        self._durability = durability
        self._address = Address.parse(options.address or "", f"{self._where}.address", default_port=DEFAULT_PORT)
        self._tls = options.encryption(base_dir)
        self._password = options.password.located(base_dir) if options.password else None
        key_file = options.driver["server_public_key_file"]
        self._server_key_file = (base_dir / key_file).absolute() if key_file else None
        if options.driver["client"] == "mysql_async" and self._password and not (self._tls or self._address.socket):
            raise PlanError(
                "the client `mysql_async` gives the password to whoever answers, if asked over plain TCP",
                where=f"{self._where}.client",
                hint="set `tls`, connect over a unix socket, or leave `client` out",
            )
        self._timeout_s = timeout_s
        self._control: Control | None = None

    @property
    def control(self) -> Control:
        if self._control is None:
            timeout_s = max(1.0, min(self._timeout_s, 10.0))
            self._control = Control(self._login(), where=self._where, timeout_s=timeout_s)
        return self._control

    def _login(self) -> Login:
        password = self._password.read(f"{self._where}.password") if self._password else ""
        key_file = self._server_key_file
        key = read_server_key(key_file, f"{self._where}.server_public_key_file") if key_file else None
        return Login(self._address, self._options.user, password, self._tls, key)

    def ledger(self) -> MySqlLedger:
        return self._ledger

    @cached_property
    def _ledger(self) -> MySqlLedger:
        return MySqlLedger(self._login(), self._options.schema_, self._where)

    def start(self) -> None:
        """Checks that it answers, lets nobody else of ours work in the schema, and is as durable as the plan says."""
        self._read_identity()
        self._refuse_other_durability()
        self._ledger.claim()

    def _refuse_other_durability(self) -> None:
        found = of_innodb(facts.read_variables(self.control)).level
        if self._durability is not None and found != self._durability:
            raise PlanError(
                f"the plan asks for durability {self._durability!r}, and {self._address} runs with {found!r}",
                where=self._where,
                hint="bakeoff does not change the settings of an existing server: change them there, or the plan",
            )

    def stop(self) -> None:
        if "_ledger" in vars(self):  # made at the start
            self._ledger.release()
        if self._control is not None:
            self._control.close()

    def alive(self) -> bool:
        # Twice, because a proxy may have closed a connection that was idle during the run.
        for _ in range(2):
            with suppress(ServerError):
                return bool(self.control.value("SELECT 1") == 1)
        return False

    def nodes(self) -> list[Node]:
        return [Node("server", "primary", str(self._address))]

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The engine finds the password where we do; it is not passed on."""
        login = Login(self._address, self._options.user, "", self._tls)
        return self._driver(login, self._password.as_secret() if self._password else None), {}

    def may_run_here_unseen(self) -> bool:
        return self._address.is_here

    def size_on_disk_bytes(self) -> int | None:
        return facts.schema_size_bytes(self.control, self.product(), self._options.schema_)

    def _own_facts(self) -> dict[str, str]:
        return {"transport": "socket" if self._address.socket else "tcp"}
