"""Kills managed servers and embedded databases in the middle of inserts, also with what they had not synced taken away
as by a power loss, or one node of a cluster, and compares what exists after a restart with the ledger of what was
acknowledged."""

from __future__ import annotations

import os
import shutil
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from ..bundle.files import make_folder, write_text
from ..bundle.write import dumps
from ..errors import BakeoffError, ServerError
from ..fleet.engines import EngineTrouble
from ..fleet.hosts import LocalEngines, LocalHost
from ..model import durability
from ..model.boundary import Experiment, LedgerExperiment, LedgerFoundExperiment, NameRoute, Routing
from ..model.durability import Survival
from ..plan.resolved import ResolvedPlan
from ..plan.verify import options_of
from ..provision.container import ImageInstallation
from ..provision.instance import new_instance
from ..provision.powerloss import lose_power, not_judged, self_test, under
from ..provision.process import wait_until
from ..provision.server import ManagedServer
from ..systems.base import System
from ..verify.ledger import MEANINGS, Crash, Crashes, Kind, Verdict, compare, read_found, read_ledger
from .instance import Instance
from .phases import CATCH_UP_TIMEOUT_S, spec
from .verification import log_shown

#: A crash is in the middle half of a load of this length, or of three times the time that may be lost.
LOAD_S = 1.0
LOAD_MAX_S = 10.0
_READY_S = 60.0
#: The load goes on until the crash, however late a busy machine makes that.
_LATE_S = 60.0
#: More than a session writes before one crash. 10,000 crashes of each kind fit into the 12 digits of a key.
_NUMBERS = 3 * 10**7
_SILENCE_S = 60.0
#: The load goes on without the one node that was killed.
_WITHOUT_NODE_S = 1.0
_ONE_NODE: Kind = "kill of one node"
#: Between the end of a connection and that of its server.
_DYING_S = 5.0
#: How the error of a server begins that ended while it started, with no other cause known (provision/server.py).
_ENDED = "the server did not start ("


@dataclass(frozen=True)
class Survived:
    """One system of the plan at one set of options."""

    label: str
    product: str = ""
    version: str = ""
    durability: str = ""
    crashes: list[Crashes] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The worst."""
        found = {one.verdict for one in self.crashes}
        return next(word for word in MEANINGS if word in found)


def crash(
    plan: ResolvedPlan, tell: Callable[[str], None], asked: Mapping[Kind, int], *, seed: int, work: Path | None
) -> Iterator[Survived]:
    """Starts each system of the plan, crashes it, and removes it. asked: how often in each way, in the order of KINDS.
    seed: of the moments. Raises BakeoffError."""
    cells = {options_of(cell): cell for cell in reversed(plan.cells)}
    folder = new_instance("verify", work)
    with ExitStack() as ends:
        ends.callback(folder.remove)
        if asked.get("power cut"):
            self_test(folder.path)
        for cell in reversed(cells.values()):
            instance = Instance(plan, cell, folder.path, LocalHost(), allow_drop=False, work=work)
            with ExitStack() as stops:
                stops.callback(instance.stop)
                with log_shown(instance.system):
                    found = _survived(instance, tell, asked, seed)
                yield found


def _survived(instance: Instance, tell: Callable[[str], None], asked: Mapping[Kind, int], seed: int) -> Survived:
    label = instance.cell.record.label
    if why := _not_tried(instance):
        return Survived(label, crashes=[Crashes(kind, not_tried=why) for kind, count in asked.items() if count])
    tell(f"{label}: starting")
    instance.open()
    facts = instance.facts(instance.cell)
    survival = durability.read(facts.portable)
    everything = _Embedded(instance) if facts.embedded else _Servers(instance)
    promises = _promises(instance.system, survival) if survival else {}
    whole = survival is None or survival.whole
    crashes: list[Crashes] = []
    begin = 0
    for kind, count in asked.items():
        if not count:
            continue
        promise, found, why = promises.get(kind, ""), list[Crash](), ""
        victim = everything
        if kind == _ONE_NODE:
            if len(instance.system.servers()) < 2:
                crashes.append(Crashes(kind, not_tried="it has one server"))
                continue
            victim = _OneNode(instance, Random(f"{seed} node"))
        try:
            if kind == "power cut":
                victim.watch()
            for one in _series(victim, range(begin, begin + count), promise, seed):
                tell(f"{label}: {kind} {len(found) + 1} of {count}")
                found.append(one())
                if found[-1].unreadable:
                    break
        except _NotJudged as error:
            why = str(error)
        except BakeoffError as error:
            if not found and not crashes:
                raise
            why = str(error)
        crashes.append(Crashes(kind, found, promise, whole, ended_early=why) if found else Crashes(kind, not_tried=why))
        begin += count
    return Survived(label, facts.product, facts.version, facts.portable.get("durability", ""), crashes)


def _promises(system: System, survival: Survival) -> dict[Kind, str]:
    """A cluster whose nodes all take writes has each commit on all of them before it is acknowledged (Galera's
    documentation, "certification-based replication")."""
    on_all = system.multi_writer and len(system.nodes()) > 1
    return {
        "kill": survival.lost_when_killed,
        _ONE_NODE: durability.NOTHING if on_all else survival.lost_when_killed,
        "power cut": survival.lost_at_power_loss,
    }


def _not_tried(instance: Instance) -> str:
    system, servers = instance.system, instance.system.servers
    if not system.managed:
        return "bakeoff crashes only systems that it started itself"
    if not system.keeps_data:
        return "it stores nothing"
    if any(isinstance(server.spec.installation, ImageInstallation) for server in servers().values()):
        return "servers in containers are not crashed"
    if not servers() and not system.capabilities().embedded:
        return "its server is not one that bakeoff can kill"
    return ""


class _NotJudged(Exception):
    """It is not known what was synced."""


class _Victim(ABC):
    """What is killed, and what watches over its writes."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        #: Where is noted what was not synced, and below which folders; empty: nowhere.
        self.journals: dict[Path, Sequence[Path]] = {}

    @abstractmethod
    def watch(self) -> None:
        """From now on, what it has not synced is noted."""

    @abstractmethod
    def engines(self, where: str) -> LocalEngines: ...

    @abstractmethod
    def pids(self, engines: LocalEngines) -> Sequence[int]: ...

    @abstractmethod
    def kill(self, engines: LocalEngines) -> None:
        """Returns when it, and the load, have ended."""

    def read_at(self) -> Sequence[Routing | None]:
        """Where everything acknowledged must be by now; None: where data are written. Raises ServerError."""
        return [None]

    @abstractmethod
    def is_unreadable(self, error: BakeoffError) -> bool:
        """Whether an error of a start after a crash, or of reading, is the data's; else it may be this machine's."""


class _Servers(_Victim):
    """All of a system, at once."""

    def _servers(self) -> Collection[ManagedServer]:
        return self.instance.system.servers().values()

    def watch(self) -> None:
        self.instance.system.stop()
        self.journals = {server.journal_writes(): server.data_folders() for server in self._servers()}
        self.instance.system.start()

    def engines(self, where: str) -> LocalEngines:
        return LocalEngines(where)

    def pids(self, engines: LocalEngines) -> Sequence[int]:
        """The first of each: others that a server starts come and go."""
        return [pid for server in self._servers() for pid in server.pids()[:1]]

    def kill(self, engines: LocalEngines) -> None:
        for server in self._servers():
            server.freeze()  # all at once; to wait for the end of one after another takes a while
        for server in self._servers():
            server.kill()
        for _ in engines.events(silence_s=_SILENCE_S):
            pass  # each session ends when its connection is lost

    def is_unreadable(self, error: BakeoffError) -> bool:
        """Where a server ended by itself."""
        if error.what.startswith(_ENDED):
            return True
        return wait_until(lambda: any(server.exit_text() for server in self._servers()), _DYING_S)


class _OneNode(_Servers):
    """One server, while the others go on. Afterwards every node must have everything."""

    def __init__(self, instance: Instance, random: Random) -> None:
        super().__init__(instance)
        self._random = random

    def kill(self, engines: LocalEngines) -> None:
        self._random.choice(list(self._servers())).kill()
        for _ in engines.events(time.monotonic() + _WITHOUT_NODE_S):
            pass
        engines.stop()
        for _ in engines.events(silence_s=_SILENCE_S):
            pass  # the others may have to wait until they know that it is gone

    def read_at(self) -> Sequence[Routing | None]:
        if not self.instance.system.caught_up(CATCH_UP_TIMEOUT_S):
            raise ServerError(
                f"the nodes did not hold the same again within {CATCH_UP_TIMEOUT_S:.0f} s after the kill of one",
                where=self.instance.system.name,
            )
        return [NameRoute(name=node.name) for node in self.instance.system.nodes()]


class _Embedded(_Victim):
    """The engine is the process that is killed."""

    def watch(self) -> None:
        folder = self.instance.system.data_paths()[0].parent
        self.journals = {self.instance.folder.outside(folder.parent): [folder]}

    def engines(self, where: str) -> LocalEngines:
        words: Sequence[str | Path] = []
        for journal, data in self.journals.items():
            words = under(self.instance.bundle, data, journal=journal)
        return LocalEngines(where, words)

    def pids(self, engines: LocalEngines) -> Sequence[int]:
        return engines.pids()

    def kill(self, engines: LocalEngines) -> None:
        for pid in engines.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        engines.close()

    def is_unreadable(self, error: BakeoffError) -> bool:
        """Where the database said so inside the engine, or ended the engine."""
        return isinstance(error, EngineTrouble) or "ended without a result" in error.what


def _series(victim: _Victim, numbers: range, promise: str, seed: int) -> Iterator[Callable[[], Crash]]:
    """Each crash, to be carried out. numbers: of the crashes, which no others of this system have: a power loss may
    undo the removal of the table of an earlier one."""
    may_lose_s = durability.longest_loss_s(promise) if promise else 0.0
    load_s = LOAD_S if may_lose_s > LOAD_MAX_S else min(LOAD_MAX_S, max(LOAD_S, 3 * may_lose_s))
    random = Random(f"{seed} {victim.instance.cell.record.id} {bool(victim.journals)}")
    for number in numbers:
        yield partial(_crash, victim, number * _NUMBERS, random.uniform(0.25, 0.75) * load_s)


def _crash(victim: _Victim, first: int, at_s: float) -> Crash:
    """first: number of the first records. at_s: after the load has begun."""
    folder = make_folder(victim.instance.bundle, "ledger")
    try:
        with victim.engines(f"the ledger of {victim.instance.system.name}") as engines:
            _start(victim.instance, engines, LedgerExperiment(folder=str(folder), first=first, seconds=at_s + _LATE_S))
            for _ in engines.events(time.monotonic() + at_s):
                pass  # raises what ends the load early
            _refuse_unseen(victim, victim.pids(engines))
            crashed_ns = time.monotonic_ns()
            victim.kill(engines)
        _refuse_unseen(victim)
        for journal, data in victim.journals.items():
            lose_power(data, journal)
        ledger = read_ledger(folder)
        began = time.monotonic()
        try:
            victim.instance.system.start()
            found = []
            for place in victim.read_at():
                with LocalEngines(f"reading {victim.instance.system.name} after a crash") as engines:
                    _start(victim.instance, engines, LedgerFoundExperiment(folder=str(folder)), place)
                    recovery_s = time.monotonic() - began
                    for _ in engines.events(silence_s=_SILENCE_S):
                        pass
                found.append(compare(ledger, read_found(folder / "found", first), crashed_ns, recovery_s))
        except BakeoffError as error:
            if not victim.is_unreadable(error):
                raise
            return Crash(acknowledged=len(ledger.acknowledged), unreadable=str(error))
        return max(found, key=lambda one: (one.phantoms + one.torn, one.lost))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_unseen(victim: _Victim, pids: Sequence[int] = ()) -> None:
    """Raises _NotJudged. pids: those that still run."""
    for journal in victim.journals:
        if why := not_judged(journal, pids):
            raise _NotJudged(f"it cannot be judged: {why}")


def _start(instance: Instance, engines: LocalEngines, experiment: Experiment, place: Routing | None = None) -> None:
    """Returns when its sessions are open. place: of its sessions, if not where data are written."""
    document, env = spec(instance.plan, instance.cell, instance.system, "verify")
    document.routing = document.routing if place is None else place
    document.experiment, document.drop_existing = experiment, True
    path = write_text(instance.logs, f"{experiment.kind}.json", dumps(document))
    engines.start(path, env, instance.logs / "engine.log")
    engines.wait_ready(_READY_S)
