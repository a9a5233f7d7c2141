"""An existing server, at an address.

    [systems.mysql]
    address = "db1:3306"        # or "/run/mysqld/mysqld.sock"
    user = "bench"
    password = { env = "DB_PASSWORD" }

It stays as it is, but for the schema or database that the plan names, and there the tables that bakeoff made: see
ledger.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, ClassVar

from bakeoff.errors import PlanError
from bakeoff.systems.base import Configuration, System
from bakeoff.systems.ledger import Ledger
from bakeoff.systems.server.control import Address, Control, Login
from bakeoff.systems.server.options import NodeOptions, ServerOptions
from bakeoff.systems.server.system import Access, AddressedFamily, Server, ServerNode


class ExistingServer(Server):
    family: ClassVar[AddressedFamily[Any]]
    managed = False

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        return cls(asked, cls.family.read(asked.options, asked.isolation, asked.where))

    def __init__(self, asked: Configuration, options: ServerOptions) -> None:
        super().__init__(asked, options)
        self._durability, base_dir = asked.durability, asked.base_dir
        self._address = self.family.address(options.address or "", f"{self._where}.address")
        self._tls = options.encryption(base_dir)
        self._password = options.password.located(base_dir) if options.password else None
        self._server_key_file = self.family.key_file(options, base_dir)
        self._further: list[Control] = []  # connections to nodes after the first
        self._timeout_s = max(1.0, min(asked.timeout_s, 10.0))

    @cached_property
    def control(self) -> Control:
        return self.family.control(self._login(), self._options, self._where, self._timeout_s)

    def _login(self) -> Login:
        password = self._password.read(f"{self._where}.password") if self._password else ""
        return self._login_with(password)

    def _login_with(self, password: str) -> Login:
        return Login(self._address, self._options.user, password, self._tls, self._server_key_file)

    @cached_property
    def _nodes(self) -> list[ServerNode]:
        named, addresses = self._named, self._addresses
        names = [node.name for node in named]
        if len(set(names)) < len(names):
            raise PlanError("two nodes have the same name", where=f"{self._where}.nodes", hint="name each of them")
        first = Access(lambda: self.control, addresses[0].pids, own=self._own_facts)
        controls = [first, *(Access(self._control_at(address), address.pids) for address in addresses[1:])]
        return [
            self.family.node(node.name, node.role, str(address), access)
            for node, address, access in zip(named, addresses, controls, strict=True)
        ]

    @cached_property
    def _named(self) -> list[NodeOptions]:
        return self._options.nodes or [NodeOptions(name="server", address=str(self._address))]

    @cached_property
    def _addresses(self) -> list[Address]:
        return [self.family.address(node.address, f"{self._where}.nodes") for node in self._named]

    def _control_at(self, address: Address) -> Callable[[], Control]:

        @cache
        def control() -> Control:
            made = self.family.control(
                replace(self._login(), address=address), self._options, self._where, self._timeout_s
            )
            self._further.append(made)
            return made

        return control

    def declared(self) -> dict[str, str]:
        """It was found as durable as that."""
        return dict(self.family.durability.get(self._durability or "", {}))

    def nodes(self) -> list[ServerNode]:
        return self._nodes

    def _own_facts(self) -> dict[str, str]:
        cipher = self._nodes[0].cipher(self.control) or "off"
        transport = "socket" if self._address.socket else "tcp"
        return {**self._asked_isolation(), "tls": cipher, "transport": transport, **self.table_facts(self.control)}

    def ledger(self) -> Ledger:
        return self._ledger

    @cached_property
    def _ledger(self) -> Ledger:
        return self.family.ledger(self._login(), self._options, self._where)

    def refuse_session(self) -> None:
        self.family.refuse_session(self._login(), self._options, self._where)

    def start(self) -> None:
        """Checks that it answers, is as durable as the plan says, and lets nobody else of ours work with its tables."""
        self.refuse_session()
        self.control.rows(self.control.probe)
        self._refuse_other_durability()
        self.refuse_format()
        self._ledger.claim()

    def _refuse_other_durability(self) -> None:
        if self._durability is None:
            return
        if (found := self.level()) != self._durability:
            raise PlanError(
                f"the plan asks for durability {self._durability!r}, and {self._address} runs with {found!r}",
                where=self._where,
                hint="bakeoff does not change the settings of an existing server: change them there, or the plan",
            )

    def level(self) -> str:
        return self.family.level(self.control)

    def stop(self) -> None:
        if "_ledger" in vars(self):  # made at the start
            self._ledger.release()
        if "control" in vars(self):
            self.control.close()
        for control in self._further:
            control.close()

    def alive(self) -> bool:
        # Twice, because a proxy may have closed a connection that was idle during the run.
        return self.control.answers() or self.control.answers()

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The engine finds the password where we do; it is not passed on."""
        return self._driver(self._login_with(""), self._password.as_secret() if self._password else None), {}

    def runs_here(self) -> bool:
        return any(address.is_here for address in self._addresses)

    def may_run_here_unseen(self) -> bool:
        return any(address.is_here and not address.pids() for address in self._addresses)

    def size_on_disk_bytes(self) -> int | None:
        return self.family.size_on_disk_bytes(self.control, self._options)
