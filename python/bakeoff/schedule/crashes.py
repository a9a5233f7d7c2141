"""Kills managed servers and embedded databases in the middle of inserts, also with what they had not synced taken away
as by a power loss, and compares what exists after a restart with the ledger of what was acknowledged."""

from __future__ import annotations

import os
import shutil
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from ..bundle.files import make_folder, write_text
from ..bundle.write import dumps
from ..errors import BakeoffError
from ..fleet.hosts import LocalEngines, LocalHost
from ..model import durability
from ..model.boundary import Experiment, LedgerExperiment, LedgerFoundExperiment
from ..plan.resolved import ResolvedPlan
from ..plan.verify import options_of
from ..provision.container import ImageInstallation
from ..provision.instance import new_instance
from ..provision.powerloss import lose_power, not_judged, self_test, under
from ..provision.server import ManagedServer
from ..verify.ledger import MEANINGS, Crash, Crashes, Verdict, compare, read_found, read_ledger
from .instance import Instance
from .phases import spec

#: A crash is in the middle half of a load of this length, or of three times the time that may be lost.
LOAD_S = 1.0
LOAD_MAX_S = 10.0
_READY_S = 60.0
#: The load goes on until the crash, however late a busy machine makes that.
_LATE_S = 60.0
#: More than a session writes before one crash.
_NUMBERS = 10**9
_SILENCE_S = 60.0


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
    plan: ResolvedPlan, tell: Callable[[str], None], *, cuts: int, kills: int, work: Path | None
) -> Iterator[Survived]:
    """Starts each system of the plan, crashes it, and removes it. Raises BakeoffError."""
    cells = {options_of(cell): cell for cell in reversed(plan.cells)}
    folder = new_instance("verify", work)
    with ExitStack() as ends:
        ends.callback(folder.remove)
        if cuts:
            self_test(folder.path)
        for cell in reversed(cells.values()):
            instance = Instance(plan, cell, folder.path, LocalHost(), allow_drop=False, work=work)
            with ExitStack() as stops:
                stops.callback(instance.stop)
                yield _survived(instance, tell, cuts=cuts, kills=kills)


def _survived(instance: Instance, tell: Callable[[str], None], *, cuts: int, kills: int) -> Survived:
    label = instance.cell.record.label
    if why := _not_tried(instance):
        kinds = [Crashes("kill", not_tried=why)] * bool(kills) + [Crashes("power cut", not_tried=why)] * bool(cuts)
        return Survived(label, crashes=kinds)
    tell(f"{label}: starting")
    instance.open()
    facts = instance.facts(instance.cell)
    survival = durability.read(facts.portable)
    victim = _Embedded(instance) if facts.embedded else _Servers(instance)
    crashes = []
    if kills:
        promise = survival.lost_when_killed if survival else ""
        found = list(_series(victim, kills, promise, lambda done: tell(f"{label}: kill {done} of {kills}")))
        crashes.append(Crashes("kill", found, promise, whole=survival is None or survival.whole))
    if cuts:
        promise = survival.lost_at_power_loss if survival else ""
        whole = survival is None or survival.whole
        try:
            victim.watch()
            found = list(_series(victim, cuts, promise, lambda done: tell(f"{label}: power cut {done} of {cuts}")))
            crashes.append(Crashes("power cut", found, promise, whole=whole))
        except _NotJudged as error:
            crashes.append(Crashes("power cut", not_tried=str(error)))
    return Survived(label, facts.product, facts.version, facts.portable.get("durability", ""), crashes)


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
            server.kill()
        for _ in engines.events(silence_s=_SILENCE_S):
            pass  # each session ends when its connection is lost


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


def _series(victim: _Victim, count: int, promise: str, tell: Callable[[int], None]) -> Iterator[Crash]:
    """Ends early where the system cannot be read any more."""
    may_lose_s = durability.longest_loss_s(promise) if promise else 0.0
    load_s = LOAD_S if may_lose_s > LOAD_MAX_S else min(LOAD_MAX_S, max(LOAD_S, 3 * may_lose_s))
    seed = f"{victim.instance.plan.record.seed} {victim.instance.cell.record.id} {bool(victim.journals)}"
    random = Random(seed)
    for number in range(1, count + 1):
        tell(number)
        done = _crash(victim, number * _NUMBERS, random.uniform(0.25, 0.75) * load_s)
        yield done
        if done.unreadable:
            return


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
            with LocalEngines(f"reading {victim.instance.system.name} after a crash") as engines:
                _start(victim.instance, engines, LedgerFoundExperiment(folder=str(folder)))
                recovery_s = time.monotonic() - began
                for _ in engines.events(silence_s=_SILENCE_S):
                    pass
        except BakeoffError as error:
            return Crash(acknowledged=len(ledger.acknowledged), unreadable=str(error))
        return compare(ledger, read_found(folder / "found", first), crashed_ns, recovery_s)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_unseen(victim: _Victim, pids: Sequence[int] = ()) -> None:
    """Raises _NotJudged. pids: those that still run."""
    for journal in victim.journals:
        if why := not_judged(journal, pids):
            raise _NotJudged(f"it cannot be judged: {why}")


def _start(instance: Instance, engines: LocalEngines, experiment: Experiment) -> None:
    """Returns when its sessions are open."""
    document, env = spec(instance.plan, instance.cell, instance.system, "verify")
    document.experiment, document.drop_existing = experiment, True
    path = write_text(instance.logs, f"{experiment.kind}.json", dumps(document))
    engines.start(path, env, instance.logs / "engine.log")
    engines.wait_ready(_READY_S)
