"""What a family of servers does about the format of tables that a plan asks for: how servers are told, what refuses one
that cannot, and what shows that it was done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

from bakeoff.provision.installation import Installation
from bakeoff.systems.server.control import Control


class Stored(ABC):
    """Of one plan's format on one kind of server. What refuses raises PlanError where nothing else is said."""

    #: Appended to CREATE TABLE.
    options: str

    @abstractmethod
    def settings(self, said: Mapping[str, str]) -> dict[str, str]:
        """Of a private server, beside those that the plan says or means."""

    @abstractmethod
    def refuse_version(self, version: str) -> None:
        """Before it is started."""

    @abstractmethod
    def refuse_installation(self, installation: Installation) -> None:
        """The same, where what the format needs did not come with it."""

    @abstractmethod
    def refuse_server(self, control: Control) -> None:
        """Started, before anything is written."""

    @abstractmethod
    def refuse_tables(self, control: Control, tables: Collection[str]) -> None:
        """Made and loaded, where one is in another format."""

    @abstractmethod
    def words(self, control: Control) -> str:
        """The format in the server's own words, as tables have it; "" where there is none yet."""
