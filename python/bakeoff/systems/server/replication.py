"""A primary with replicas that apply what it has committed, as a system of a plan:

    start = { replicas = 2 }        nodes primary, replica1 and replica2; without it a single server as ever

A Replication implements what is particular to a product's replicas, over the control connections of single servers.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from bakeoff.errors import ServerError
from bakeoff.model.boundary import Check
from bakeoff.systems.server.options import StartOptions
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.started import StartedServer
from bakeoff.systems.server.system import Access


class Lag:
    """How far a replica is behind, from positions of its primary and its own. A server's own figure is
    not used (MariaDB's Seconds_Behind_Master is 0 while the applier waits for a primary that it cannot reach, and
    jumps with the age of a single event)."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, int]] = []

    def age_s(self, at_s: float, committed: int, applied: int) -> float:
        """Age of the oldest commit that is not applied yet, at the time `at_s`; 0.0: all is applied.

        committed, applied: positions that count up with each commit, at that time. Between two calls the primary is
        assumed to commit evenly, so the age is right to a fraction of that interval. For commits before the first call
        it is a lower bound.
        """
        if self._seen and committed < self._seen[-1][1]:
            self._seen.clear()  # another beginning: data were put back
        self._seen.append((at_s, committed))
        first = bisect_right(self._seen, applied, key=itemgetter(1))
        del self._seen[: max(0, first - 1)]  # all that was seen before is applied
        if committed <= applied:
            return 0.0
        if first == 0:
            return at_s - self._seen[0][0]
        (before_s, before), (after_s, after) = self._seen[:2]
        made_s = before_s + (after_s - before_s) * (applied + 1 - before) / (after - before)
        return max(0.0, at_s - made_s)


#: A limit by size, not by time: what a check covers must not depend on how busy the machine is.
WHOLE_BYTES_MAX = 1 << 30
#: At each end.
ENDS_ROWS = 10_000


class Contents(ABC):
    """Contents of tables, read from single servers. All raise ServerError."""

    @abstractmethod
    def size_bytes(self, server: DatabaseServer, table: str) -> int:
        """About, without reading it."""

    @abstractmethod
    def whole(self, server: DatabaseServer, table: str) -> str:
        """Number of rows and a checksum of a table: equal for equal contents."""

    @abstractmethod
    def ends(self, server: DatabaseServer, table: str, rows: int) -> str:
        """The same of its first and last `rows` by primary key; "" where it has none."""


class Comparison:
    """Whether several servers hold the same as the first of them in the tables of a plan.

    Reading all of large tables would take as long as loading them. So the smallest are read whole, up to
    WHOLE_BYTES_MAX together, and of each other the rows at both ends of its primary key, where old and new rows are if
    keys count up.
    """

    whole_bytes_max: ClassVar[int] = WHOLE_BYTES_MAX
    ends_rows: ClassVar[int] = ENDS_ROWS

    def __init__(self, contents: Contents, first: DatabaseServer, tables: Sequence[str]) -> None:
        self._contents = contents
        self._tables = tables
        self._whole = self._read_whole({table: contents.size_bytes(first, table) for table in tables})
        self._held = self._read(first)

    def _read_whole(self, sizes: dict[str, int]) -> set[str]:
        found, together = set(), 0
        for table in sorted(sizes, key=lambda table: sizes[table]):
            together += sizes[table]
            if together <= self.whole_bytes_max:
                found.add(table)
        return found

    def _read(self, server: DatabaseServer) -> dict[str, str]:
        return {
            table: self._contents.whole(server, table)
            if table in self._whole
            else self._contents.ends(server, table, self.ends_rows)
            for table in self._tables
        }

    def difference(self, server: DatabaseServer) -> tuple[str, str] | None:
        """The contents of the first table that differs, on the first server and on this one; None: all are equal."""
        found = self._read(server)
        for table, held in self._held.items():
            if found[table] != held:
                return f"{table}: {held}", f"{table}: {found[table]}"
        return None

    @property
    def extent(self) -> str:
        """What of large tables was compared, as clauses that go on; "" if all was."""
        large = [table for table in self._tables if table not in self._whole]
        keyed = [table for table in large if self._held[table]]
        others = [table for table in large if not self._held[table]]
        rows = f"the first and last {self.ends_rows:,} rows by primary key"
        ends = f"; of {', '.join(keyed)} (large) only {rows} were compared" if keyed else ""
        nothing = f"; not compared: {', '.join(others)} (large, without a primary key)" if others else ""
        return ends + nothing


PRIMARY = "primary"
REPLICA = "replica"
_LOOK_S = 0.02
#: How a replica came back without a primary.
WITHOUT_PRIMARY = "its primary did not answer; replication continues when the primary is back"


class ReplicaStart(StartOptions):
    #: The option that makes a commit wait for a replica.
    waiting: ClassVar[str] = ""
    replicas: int = Field(default=0, ge=0, le=9)

    @model_validator(mode="after")
    def _somebody_to_wait_for(self) -> Self:
        if self.waiting and getattr(self, self.waiting) and not self.replicas:
            raise ValueError(f"`{self.waiting}` waits for a replica: set replicas = 1 or more")
        return self


class Replication(ABC):
    """All raise ServerError if a server does not answer."""

    #: What positions count.
    unit: ClassVar[str]
    contents: ClassVar[Contents]

    @abstractmethod
    def breaking(self, settings: Mapping[str, str], replicas: int) -> Mapping[str, str]:
        """The plan's settings with which replicas would not follow, or not hold the same: why, by name."""

    @abstractmethod
    def admit(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        """Lets this replica follow a running primary."""

    @abstractmethod
    def follow(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        """Makes a running replica follow the primary from its current position, or from where it ended."""

    @abstractmethod
    def wait_until_connected(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        """Waits until commits reach the replica, and commits that wait for a replica have one."""

    def forget(self, server: DatabaseServer) -> None:  # noqa: B027  # nothing, where there is no such log
        """Of a primary or replica, all of which hold the same: empties the log of what was committed: no copy has
        it. Replicas first; they follow again from `follow` on."""

    def publish(self, primary: DatabaseServer) -> None:  # noqa: B027  # nothing, where all goes at once
        """Makes all commits reach the replicas, including those that waited for none."""

    @abstractmethod
    def committed(self, primary: DatabaseServer) -> int:
        """Position up to which it has committed."""

    @abstractmethod
    def applied(self, replica: DatabaseServer) -> int:
        """Position up to which it has applied what the primary committed."""

    @abstractmethod
    def trouble(self, replica: DatabaseServer) -> str:
        """Why it has stopped applying, in its own words; "" if it has not."""

    @abstractmethod
    def fallen_back(self, primary: DatabaseServer) -> str:
        """Which part of the requested replication did not hold since the primary's start, as a clause; "" if all
        did."""

    @abstractmethod
    def facts_of_primary(self, primary: DatabaseServer) -> dict[str, str]:
        """Its replication settings, read back from it."""

    @abstractmethod
    def facts_of_replica(self, replica: DatabaseServer) -> dict[str, str]: ...


class Replicated(StartedServer):
    replication: ClassVar[Replication]
    _start: ReplicaStart

    @classmethod
    def breaking(cls, start: StartOptions, settings: Mapping[str, str]) -> Mapping[str, str]:
        assert isinstance(start, ReplicaStart)
        return cls.replication.breaking(settings, start.replicas) if start.replicas else {}

    def __init__(self, *what: Any, **named: Any) -> None:
        super().__init__(*what, **named)
        self._following = threading.Lock()  # members may come back at the same time

    def roles(self) -> dict[str, str]:
        if self._start.replicas == 0:
            return dict(super().roles())
        return {PRIMARY: PRIMARY, **{f"{REPLICA}{number + 1}": REPLICA for number in range(self._start.replicas)}}

    def replicas(self) -> dict[str, DatabaseServer]:
        return {name: server for name, server in self.servers().items() if self.roles()[name] == REPLICA}

    def rejoin(self, node: str, *options: str) -> str:
        """A replica may come back before its primary, and serves what it has until then."""
        how = super().rejoin(node, *options)
        replicas = self.replicas()
        with self._following:
            there = not replicas or self.server.answers()
            for name, replica in replicas.items():
                if name == node or (node not in replicas and replica.answers()):
                    self._follow(replica, primary_is_there=there)
        return how if there else WITHOUT_PRIMARY

    def _follow(self, replica: DatabaseServer, *, primary_is_there: bool) -> None:
        if primary_is_there:
            self.replication.admit(replica, self.server)
        self.replication.follow(replica, self.server)
        if primary_is_there:
            self.replication.wait_until_connected(replica, self.server)

    def access(self, name: str, server: DatabaseServer) -> Access:
        access = super().access(name, server)
        if name in self.replicas():
            said = partial(self.replication.facts_of_replica, server)
            access = replace(access, behind=partial(self._lag, Lag(), server))
        elif self._start.replicas:
            said = partial(self.replication.facts_of_primary, server)
        else:
            return access
        own = access.own
        return replace(access, own=lambda: {**own(), **said()})

    def _lag(self, lag: Lag, replica: DatabaseServer) -> dict[str, float]:
        """Reads the primary first: so commits between the two readings do not count as the replica's lag."""
        try:
            committed, at_s = self.replication.committed(self.server), time.monotonic()
            applied = self.replication.applied(replica)
        except ServerError:
            return {}
        return {
            "lag_s": lag.age_s(at_s, committed, applied),
            f"lag_{self.replication.unit}": float(max(0, committed - applied)),
        }

    def settle(self, copied: Iterable[DatabaseServer]) -> None:
        for server in reversed(self.servers().values()) if self._start.replicas else ():
            self.replication.forget(server)
        super().settle(copied)

    # -- whether all hold the same ----------------------------------------------------------------------------------

    def caught_up(self, timeout_s: float) -> bool:
        """Waits for the running replicas, except those that have stopped applying."""
        deadline = time.monotonic() + timeout_s
        if not self._start.replicas:
            return True
        self.replication.publish(self.server)
        target = self.replication.committed(self.server)
        waiting = [replica for replica in self.replicas().values() if replica.alive()]
        while waiting := [replica for replica in waiting if self.replication.applied(replica) < target]:
            if time.monotonic() > deadline or any(self.replication.trouble(replica) for replica in waiting):
                return False
            time.sleep(_LOOK_S)
        return True

    def agreement(self, tables: Sequence[str]) -> list[Check]:
        if not self._start.replicas:
            return []
        committed = self.replication.committed(self.server)
        compared = Comparison(self.replication.contents, self.server, tables)
        checks = [self._agrees(name, replica, committed, compared) for name, replica in self.replicas().items()]
        fallen_back = self.replication.fallen_back(self.server)
        held = Check(
            name="replication was as configured",
            ok=not fallen_back,
            expected="for every commit",
            actual=fallen_back or "it did",
            evidence=[],
        )
        return [*checks, held]

    def _agrees(self, name: str, replica: DatabaseServer, committed: int, compared: Comparison) -> Check:
        missing = committed - self.replication.applied(replica)
        expected, actual = "all commits of the primary", "all applied"
        if trouble := self.replication.trouble(replica):
            actual = f"it has stopped applying: {trouble}"
        elif missing > 0:
            actual = f"{missing} {self.replication.unit} are not applied"
        elif difference := compared.difference(replica):
            expected, actual = difference
        else:
            expected = actual = f"{actual}{compared.extent}"
        return Check(
            name=f"{name} has the same rows as {PRIMARY}",
            ok=expected == actual,
            expected=expected,
            actual=actual,
            evidence=[],
        )
