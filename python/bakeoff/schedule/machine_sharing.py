"""Who else uses the machine: other bakeoff runs, which publish their cores, and other processes.

Two runs on one core would measure each other. A folder that all users share holds one file for each run, which names
its cores and is locked as long as that process lives. A new run reads them and adds its own file while it holds the
lock of `gate`, so that two cannot do so at once. Locking a file takes no right to write it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..analysis.validity.disturbance import OTHER_PROCESSES, STEAL
from ..analysis.wording import seconds_words
from ..errors import ServerError
from ..locks import Holder, open_plain, read_holder, try_lock, write_holder
from ..plan.resolved import ResolvedPlan
from ..provision.other_processes import Heard, listen
from ..systems import SYSTEMS
from ..systems.base import System

ENVIRONMENT = "BAKEOFF_LOCK_DIR"
_GATE = "gate"
_MOMENT_MAX_S = 10.0
_SUFFIX = ".run"
_OPEN_TO_ALL = stat.S_ISVTX | 0o777

#: Who else is at work on one's cores at this moment, in words.
Others = Callable[[], Iterable[str]]
#: What to do where another bakeoff measures on the same cores.
Manner = Literal["refuse", "wait", "together"]


def lock_folder() -> Path:
    """The same for all users of a machine: it depends on nobody's rights."""
    if named := os.environ.get(ENVIRONMENT):
        return Path(named).absolute()
    place = Path("/run/lock")
    with suppress(OSError):
        if stat.S_IMODE(place.stat().st_mode) == _OPEN_TO_ALL:
            return place / "bakeoff"
    return Path("/tmp/bakeoff-locks")


def cores_of(plan: ResolvedPlan, *, server: bool) -> list[int]:
    """The cores that the client, and a managed server if there is one, may use."""
    named = [plan.measure.placement.client, *([plan.measure.placement.server] if server else [])]
    return sorted(set().union(*named) if all(named) else os.sched_getaffinity(0))


def shares_cores(plan: ResolvedPlan, system: System) -> bool:
    """Whether the system may run on the client's cores: embedded in the engine, or as a server of this machine that
    `placement` does not keep apart."""
    if system.capabilities().embedded:
        return True
    apart = system.managed and plan.measure.placement.client and plan.measure.placement.server
    return system.runs_here() and not (
        apart and set(plan.measure.placement.client).isdisjoint(plan.measure.placement.server)
    )


def cores_of_all(plan: ResolvedPlan) -> list[int]:
    """Over all cells; none of this machine's if clients, and so servers, are on others."""
    if plan.fleet is not None and not plan.fleet.here:
        return []
    kinds = {cell.record.kind for cell in plan.cells if cell.place is None}
    return cores_of(plan, server=any(not SYSTEMS[kind].capabilities().embedded for kind in kinds))


class Claim:
    """The cores of this process, published until `free` or its end."""

    def __init__(self, folder: int, name: str, handle: int, cores: frozenset[int]) -> None:
        self._folder, self._name, self._handle, self._cores = folder, name, handle, cores

    def others(self) -> list[str]:
        """Who else is at work on these cores at this moment, in words."""
        return [str(holder) for _, holder in _living(self._folder, self._cores, but=self._name)]

    def free(self) -> None:
        if self._handle >= 0:
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self._folder)
            os.close(self._handle)
            os.close(self._folder)
            self._handle = -1

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


def claim(cores: Iterable[int], title: str, manner: Manner, say: Callable[[str], None]) -> Claim:
    """Publishes these cores. Raises ServerError if one of them is in use and `manner` is "refuse"."""
    wanted = frozenset(cores)
    path = lock_folder()
    try:
        folder = _shared_folder(path)
        try:
            while True:
                with _gate(folder):
                    others = _living(folder, wanted, tidy=True)
                    if manner == "together" or not others:
                        name, handle = _join(folder, Holder(os.getpid(), title, tuple(sorted(wanted))))
                        return Claim(folder, name, handle, wanted)
                name, holder = others[0]
                if manner == "refuse":
                    raise _in_use(holder)
                say(f"waiting for another bakeoff run on the same cores ({holder})")
                _wait_for(folder, name)
        except BaseException:
            os.close(folder)
            raise
    except OSError as error:
        raise ServerError(
            f"cannot announce this run to others on this machine: {error.strerror}",
            where=str(path),
            hint=f"set {ENVIRONMENT} to another folder, the same for all users of this machine",
        ) from error


def _in_use(holder: Holder) -> ServerError:
    return ServerError(
        f"another bakeoff run is measuring on the same cores ({holder}): each would disturb the other",
        hint="wait for it with --wait, run alongside it (disturbed) with --together, or choose other cores with"
        " `placement`",
    )


def _shared_folder(path: Path) -> int:
    with suppress(FileExistsError):
        path.mkdir(parents=True)
        path.chmod(_OPEN_TO_ALL)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


@contextmanager
def _gate(folder: int) -> Iterator[None]:
    handle = _open_gate(folder)
    try:
        _lock_soon(handle)
        yield
    finally:
        os.close(handle)


def _lock_soon(handle: int) -> None:
    """Others hold it for a moment only; a process that holds it for longer is stopped, or means harm."""
    deadline = time.monotonic() + _MOMENT_MAX_S
    while not try_lock(handle):
        if time.monotonic() > deadline:
            raise BlockingIOError(errno.EWOULDBLOCK, f"a lock there has been held for {_MOMENT_MAX_S:.0f} s")
        time.sleep(0.02)


def _open_gate(folder: int) -> int:
    """Opens it, or creates it; another process may do so in between, or be about to open it to all users."""
    deadline = time.monotonic() + _MOMENT_MAX_S
    while True:
        try:
            return open_plain(_GATE, os.O_RDONLY, folder=folder)
        except FileNotFoundError:
            with suppress(FileExistsError):
                return _make(_GATE, folder)
        except PermissionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _make(name: str, folder: int) -> int:
    handle = open_plain(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, folder=folder)
    os.fchmod(handle, 0o644)  # whatever the umask
    return handle


def _join(folder: int, holder: Holder) -> tuple[str, int]:
    name = f"{secrets.token_hex(8)}{_SUFFIX}"
    handle = _make(name, folder)
    _lock_soon(handle)  # somebody may be looking whether it is
    write_holder(handle, holder)
    return name, handle


def _living(folder: int, cores: frozenset[int], *, but: str = "", tidy: bool = False) -> list[tuple[str, Holder]]:
    """Files of other runs on one of the cores. tidy: removes files of ended processes (only with the gate held)."""
    found = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(_SUFFIX) or name == but:
            continue
        try:
            handle = open_plain(name, os.O_RDONLY, folder=folder)
        except OSError:
            continue  # it has just ended
        try:
            if try_lock(handle, shared=True):
                if tidy:
                    with suppress(OSError):  # another user's goes with one of that user's runs
                        os.unlink(name, dir_fd=folder)
            elif cores.intersection((holder := read_holder(handle)).cores or cores):
                found.append((name, holder))
        finally:
            os.close(handle)
    return found


def _wait_for(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        handle = open_plain(name, os.O_RDONLY, folder=folder)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
        finally:
            os.close(handle)


#: Length of one observation, and how long the machine must be quiet before a wait ends.
LISTEN_S = 1.0
QUIET_S = 5.0
#: Between two lines that say what is waited for.
_SAY_EVERY_S = 60.0


def busy_words(heard: Heard) -> str:
    """What would disturb a run now: "83 % of the CPU time is used by other processes, most by cc1plus, pid 7"; "" if
    nothing would."""
    found = []
    if heard.other_ratio > OTHER_PROCESSES.bound:
        most = f", most by {heard.process}" if heard.process else ""
        found.append(f"{OTHER_PROCESSES.words(heard.other_ratio)} of the CPU time is used by other processes{most}")
    if heard.steal_ratio > STEAL.bound:
        found.append(f"{STEAL.words(heard.steal_ratio)} of the CPU time is used by other virtual machines")
    return "; ".join(found)


@dataclass(frozen=True)
class Quiet:
    """cores: on which clients and servers will run; none: on other machines. wait: whether to wait until they are
    quiet, for `at_most_s` each time (None: for ever)."""

    cores: Sequence[int]
    say: Callable[[str], None]
    wait: bool = False
    at_most_s: float | None = None
    hear: Callable[[Sequence[int], float], Heard] = listen
    clock_s: Callable[[], float] = time.monotonic

    def at_start(self) -> None:
        """Waits, or warns that the machine is busy."""
        if self.wait:
            self.await_quiet()
        elif self.cores and (busy := busy_words(self.hear(self.cores, LISTEN_S))):
            advice = "runs will be disturbed and repeated; --wait-until-quiet waits for a quiet machine"
            self.say(f"warning: this machine is busy: {busy}: {advice}")

    def await_quiet(self) -> None:
        if not self.wait or not self.cores:
            return
        began = quiet_since = self.clock_s()
        said_at: float | None = None
        while True:
            busy = busy_words(self.hear(self.cores, LISTEN_S))
            now = self.clock_s()
            if not busy and now - quiet_since >= QUIET_S:
                return
            if busy:
                quiet_since = now
                if said_at is None or now - said_at >= _SAY_EVERY_S:
                    said_at = now
                    self.say(f"waiting until the machine is quiet: {busy}")
            if self.at_most_s is not None and now - began >= self.at_most_s:
                self.say(f"the machine was not quiet for {seconds_words(QUIET_S)} within the given time; continuing")
                return
