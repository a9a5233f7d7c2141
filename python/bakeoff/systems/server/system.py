"""A server as a system of a plan: what private and existing ones share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from bakeoff.model.said import TABLE_FORMAT
from bakeoff.systems.base import Capabilities, System
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.family import Family
from bakeoff.systems.server.login import Login
from bakeoff.systems.server.node import ServerNode
from bakeoff.systems.server.options import ServerOptions, in_one_spelling, shaping
from bakeoff.systems.server.stored import Stored


class Server(System):
    family: ClassVar[Family[Any]]

    def __init__(self, name: str, options: ServerOptions, isolation: str | None) -> None:
        self.name = name
        self._where = f"systems.{name}"
        self._options = options
        self._isolation = isolation

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(
            private=True,
            existing=True,
            embedded=False,
            restore=cls.private,
            durability=tuple(cls.family.durability),
        )

    @classmethod
    def in_one_spelling(cls, options: dict[str, Any], where: str) -> dict[str, Any]:
        return in_one_spelling(options, where, cls.family.options.start_keys())

    @classmethod
    def place(cls, options: dict[str, Any]) -> tuple[str, ...] | None:
        return (str(options["address"]), *cls.family.place(options)) if "address" in options else None

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        """Every level of durability is made of settings that matter at run time alone."""
        return shaping(options, cls.driver, cls.family.run_time)

    @classmethod
    def input_files(cls, options: dict[str, Any]) -> list[str]:
        tls = options.get("tls")
        named = [tls.get("ca_file") if isinstance(tls, dict) else None, options.get("server_public_key_file")]
        return [path for path in named if isinstance(path, str)]

    @property
    @abstractmethod
    def control(self) -> Control:
        """Statements of ours to the first server."""

    @abstractmethod
    def nodes(self) -> Sequence[ServerNode]: ...

    def refuse_format(self) -> None:
        """Of tables, if the server cannot make it. Raises PlanError."""
        if stored := self._stored():
            stored.refuse_server(self.control)

    def check_tables(self, tables: Sequence[str]) -> None:
        if stored := self._stored():
            stored.refuse_tables(self.control, tables)

    def table_facts(self, control: Control) -> dict[str, str]:
        stored = self._stored()
        words = stored.words(control) if stored else ""
        return {TABLE_FORMAT: words} if words else {}

    def _stored(self) -> Stored | None:
        return self.family.stored(self._options, self._where)

    def answers(self) -> bool:
        return self.alive() and any(node.control.answers() for node in self.nodes())

    def whole(self) -> bool:
        return self.alive() and all(node.control.answers() for node in self.nodes())

    def _driver(self, login: Login, secret: dict[str, str] | None) -> dict[str, Any]:
        return {
            **self._options.driver,
            "kind": self.driver,
            "endpoints": [node.endpoint() for node in self.nodes()],
            "user": login.user,
            "password": secret,
            "tls": login.tls and login.tls.model_dump(),
            "throwaway_password": self.private,
            **self.family.document(login, self._options),
        }

    def _asked_isolation(self) -> dict[str, str]:
        return {"isolation": self._isolation} if self._isolation else {}
