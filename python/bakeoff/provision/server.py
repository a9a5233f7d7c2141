"""The life of one managed server process: its folder, port, socket and log, on loopback only.

A system's own server derives from ManagedServer and says what is its product's; the rest is the same for all:

    class Postgres(ManagedServer):
        product = "PostgreSQL"
        stop_signal = signal.SIGINT                     # its way to end soon and whole
        def has_data(self, folder): ...                 # whether there is a data directory in this folder
        def make_data(self): ...                        # init: makes self.data with self.run(...)
        def write_config(self): ...                     # before every start
        def command(self, options): ...                 # to run, once self.port is known
        def answers(self): ...                          # one real request of ours
        def disconnect(self): ...                       # our own connections, because it is about to end
        ... and where it needs them: secret_files, explain, found_in_log, before_snapshot, data_are_whole, data_folders

    server.start()          init if there are no data, a free port, start, wait until it answers (or has ended)
    server.stop()           the signal, some seconds, then SIGKILL; idempotent
    server.end()            the signal, and as long as a clean end takes
    server.kill()           SIGKILL;  freeze(), thaw(): SIGSTOP, SIGCONT
    server.save_data(path)  a copy, once it has ended;  load_data(path): in place of what it has

A system has one or several of them, and says what snapshots and cold starts are made of (systems/server/started.py).
All is called from one thread, but for `alive`, `pids` and what `control` connections do.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import ClassVar

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.provision.container import ImageInstallation
from bakeoff.provision.files import copy_tree, write_private
from bakeoff.provision.installation import Installation
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.powerloss import Clock, Storage, refuse_unloaded, under
from bakeoff.provision.process import ServerProcess, free_port, give_to_account, port_is_free

#: The server's folder goes with it; whoever stops it keeps its log.
LOG_KEPT = "its log is kept in the bundle: loads/*/server.log"
_PORT_TRIES = 3
_LOG_MAX_BYTES = 1 << 20


class PortTaken(ServerError):
    def __init__(self, port: int, where: str) -> None:
        super().__init__(
            f"port {port} is used by another program", where=where, hint="leave out `port`: bakeoff finds a free one"
        )


#: How products say that they could not get memory, and that the disk is full (28 is ENOSPC).
_NO_MEMORY = re.compile(
    r"Cannot allocate memory|Out of memory|OutOfMemoryError|insufficient memory|Could not reserve enough space"
    r"|Cannot map innodb_buffer_pool_size|could not (resize|create) shared memory|could not map anonymous"
)
_DISK_FULL = re.compile(r"No space left on device|\b(errno|error|OS error):? 28\b")


def failed_start(
    log: str, how_it_ended: str, *, where: str, port: int, errors: Iterable[str] = (), lower: str = ""
) -> BakeoffError:
    """A failed start as one sentence, where the product's log says nothing else that is known. errors: lines of the log
    that are some. lower: the settings of its memory."""
    if "Address already in use" in log:
        return PortTaken(port, where)
    if _NO_MEMORY.search(log):
        what = "the server could not allocate the memory that its settings demand"
        return ServerError(what, where=where, hint=lower and f"lower {lower}")
    if _DISK_FULL.search(log):
        return ServerError("the disk is full", where=where, hint="free some space, or run in a folder on another disk")
    said = "; ".join([*dict.fromkeys(errors)][:3]) or " ".join(log.strip().splitlines()[-3:]) or "no output"
    return ServerError(f"the server did not start ({how_it_ended}): {said}", where=where, hint=LOG_KEPT)


def _secret() -> str:
    return secrets.token_urlsafe(18)


@dataclass(frozen=True)
class Passwords:
    """Made for one system: its servers have the same, as they hold the same data."""

    bench: str = field(default_factory=_secret, repr=False)
    root: str = field(default_factory=_secret, repr=False)
    replication: str = field(default_factory=_secret, repr=False)

    def censored(self, text: str) -> str:
        for secret in astuple(self):
            text = text.replace(secret, "***")
        return text


@dataclass(frozen=True)
class ServerSpec:
    installation: Installation
    settings: Mapping[str, str]
    schema: str
    port: int | None = None  # None: a free one
    tls: bool = False  # with a certificate of its own
    place: Path | None = None  # the folder under which the data go; None: the instance's own
    passwords: Passwords = field(default_factory=Passwords)
    storage: Storage | None = None  # slowed by bakeoff


class ManagedServer(ABC):
    product: ClassVar[str]
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    #: It listens at this address of loopback, and at no other of the machine.
    host = "127.0.0.1"
    #: Options of a start that leaves nothing of before in its memory.
    cold_options: ClassVar[tuple[str, ...]] = ()
    #: Of one under `bakeoff-powerloss`, which sees no write that goes past the C library.
    seen_options: ClassVar[tuple[str, ...]] = ()
    #: Of its unix socket; some products fix it.
    socket_name: ClassVar[str] = "server.sock"
    start_timeout_s = 120.0
    init_timeout_s = 120.0
    stop_timeout_s = 20.0
    #: Writing back every page of a big cache takes its time.
    clean_stop_timeout_s = 1800.0

    def __init__(self, spec: ServerSpec, folder: InstanceFolder, *, where: str) -> None:
        self.spec = spec
        self.folder = folder
        self.where = where
        self.port = 0
        self.bench_password = spec.passwords.bench
        self.root_password = spec.passwords.root
        self.socket = folder.socket_path(self.socket_name)
        self.log = folder.path / "server.log"
        self._place = folder.outside(spec.place) if spec.place else folder.path
        self.data = self._place / "data"
        self._journal: Path | None = None
        self._clock: Clock | None = None
        self._process: ServerProcess | None = None

    # -- what a product says ----------------------------------------------------------------------------------------

    @abstractmethod
    def has_data(self, folder: Path) -> bool: ...

    @abstractmethod
    def make_data(self) -> None:
        """Fills the empty folder `data`. Raises BakeoffError; a helper's failure is `init_failed`'s."""

    @abstractmethod
    def write_config(self) -> None: ...

    @abstractmethod
    def command(self, options: Sequence[str]) -> Sequence[str | Path]:
        """The server's own command line, for `port`; options: of this one start."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether it does what it is there for: one real request. Never raises; asked every few milliseconds."""

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        return failed_start(log, how_it_ended, where=self.where, port=self.port)

    def secret_files(self) -> dict[str, str]:
        """Files (name in the folder, text) that exist only until it has started: accounts and passwords."""
        return {}

    def found_in_log(self, log: str) -> BakeoffError | None:
        """What a start that succeeded has said that makes it no good."""
        return None

    def data_are_whole(self) -> bool:
        """Whether nothing of a stopped server's data lies elsewhere, where no copy would have it."""
        return self.has_data(self.data)

    def before_snapshot(self) -> None:  # noqa: B027  # nothing, where a clean stop does
        """What makes the next stop leave whole and settled data behind."""

    @abstractmethod
    def disconnect(self) -> None:
        """Closes connections of ours, because it is about to end."""

    def data_folders(self) -> list[Path]:
        """The data directory, and where else settings have put some of the data."""
        return [self.data]

    # -- life -------------------------------------------------------------------------------------------------------

    def start(self, *options: str) -> None:
        """Makes the data directory if there is none, starts the server and waits until it answers. options: of this one
        start, in addition to those of its configuration."""
        if self.alive():
            return
        if self.spec.port is not None and not port_is_free(self.spec.port, self.host):
            raise PortTaken(self.spec.port, self.where)
        self.folder.subfolder("tmp")
        self.write_config()
        if not self.has_data(self.data):
            self._init()
        for attempt in range(1, _PORT_TRIES + 1):
            try:
                self._start_once(options)
                return
            except PortTaken:
                self.kill()
                self.port = 0
                if self.spec.port is not None or attempt == _PORT_TRIES:
                    raise
            except BaseException:  # Ctrl-C too: nothing half started stays
                self.kill()
                raise

    def stop(self) -> None:
        """A clean shutdown, or SIGKILL if it does not end in time (it may be frozen)."""
        self.disconnect()
        if self._process is not None:
            self._process.stop(self.stop_timeout_s, self.stop_signal)
            self._process = None

    def end(self) -> None:
        """A clean shutdown, after which all is written, however long that takes. Raises ServerError."""
        self.disconnect()
        if self._process is None or not self._process.stop(self.clean_stop_timeout_s, self.stop_signal):
            raise ServerError(
                f"the server did not shut down cleanly within {self.clean_stop_timeout_s:.0f} s", where=self.where
            )
        self._process = None

    def kill(self) -> None:
        """At once: SIGKILL, frozen or not. Only then our own connections, which may just be waiting for its answer."""
        if self._process is not None:
            self._process.kill()
            self._process = None
        self.disconnect()

    def freeze(self) -> None:
        """It lives, and says nothing more until `thaw`."""
        if self._process is not None:
            self._process.freeze()

    def thaw(self) -> None:
        if self._process is not None:
            self._process.thaw()

    def alive(self) -> bool:
        return self._process is not None and self._process.alive()

    def exit_text(self) -> str:
        """How it ended by itself, in words; empty while it runs, and if we ended it."""
        return self._process.exit_text() if self._process is not None else ""

    def pids(self) -> list[int]:
        process = self._process  # a fault of another thread may end it
        return [process.server_pid] if process is not None and process.alive() else []

    def journal_writes(self) -> Path:
        """From the next start on, what it has not synced is noted in the folder returned: see powerloss.py."""
        self._journal = self._place / "journal"
        self._journal.mkdir(exist_ok=True, mode=0o700)
        give_to_account(self._journal)
        return self._journal

    def lend_clock(self) -> None:
        """From the next start on its clock can be skewed. Raises ServerError."""
        if isinstance(self.spec.installation, ImageInstallation):
            what = "the clock of a server in a container cannot be skewed"
            raise ServerError(what, where=self.where, hint="leave out `image`, or the fault `skew`")
        self._clock = self._clock or Clock(self.folder.path)

    def skew_clock(self, by_s: float) -> None:
        """by_s: ahead of this machine's, or behind; 0: right."""
        if self._clock is not None:
            self._clock.set(by_s)

    # -- data -------------------------------------------------------------------------------------------------------

    def save_data(self, path: Path) -> None:
        """Copies the data of a server that has ended cleanly."""
        if not self.data_are_whole():
            raise ServerError(f"the data directory {self.data} is incomplete", where=self.where)
        copy_tree(self.data, path, where=self.where)

    def load_data(self, path: Path) -> None:
        """Throws the data away and puts the copy in their place. Works on a server that has never run."""
        if not self.has_data(path):
            raise ServerError(f"{path} has no snapshot", where=self.where, hint="load the data again")
        self.kill()
        copy_tree(path, self.data, where=self.where)

    # -- its programs -----------------------------------------------------------------------------------------------

    def run(self, argv: Sequence[str | Path], text: str = "") -> subprocess.CompletedProcess[str]:
        """A helper of the server's, in its folder, to its end."""
        return self.spec.installation.run(
            argv, timeout_s=self.init_timeout_s, cwd=self.folder.path, seen=[self._place], text=text
        )

    def _init(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(mode=0o700)
        give_to_account(self.data)
        try:
            self.make_data()
        except BaseException as error:
            shutil.rmtree(self.data, ignore_errors=True)
            if isinstance(error, subprocess.TimeoutExpired):
                raise ServerError(
                    f"creating the data directory took more than {self.init_timeout_s:.0f} s", where=self.where
                ) from None
            raise

    def init_failed(self, done: subprocess.CompletedProcess[str]) -> BakeoffError:
        """A helper of init that failed; what it said is kept with the log."""
        with self.log.open("a", encoding="utf-8") as log:
            log.write(done.stdout)
        return self._failed(self._log_since(0), f"creating its data directory, exit code {done.returncode}")

    def _start_once(self, options: Sequence[str]) -> None:
        self.port = self._next_port()
        files = {self.folder.path / name: text for name, text in self.secret_files().items()}
        log_begin = self.log.stat().st_size if self.log.exists() else 0
        if isinstance(self.spec.installation, ImageInstallation):
            self.folder.record_runtime(self.spec.installation.runtime)
        try:
            for path, text in files.items():
                write_private(path, text, for_server=True)
            process = self.spec.installation.start(
                self._whole_command(options), log=self.log, cwd=self.folder.path, seen=[self._place]
            )
            self._process = process
            self.folder.record_server(process.pid, process.start_ticks)
            self._wait_until_ready(process, log_begin)
            if self.spec.storage is not None:
                refuse_unloaded(process.server_pid, "storage", self.where)
            if self._clock is not None:
                refuse_unloaded(process.server_pid, "skew", self.where)
        finally:
            for path in files:
                path.unlink(missing_ok=True)

    def _whole_command(self, options: Sequence[str]) -> Sequence[str | Path]:
        storage, journal, clock = self.spec.storage, self._journal, self._clock
        if not (storage or journal or clock):
            return self.command(options)
        before = under(self.folder.path, self.data_folders(), storage=storage, journal=journal, clock=clock)
        seen = self.seen_options if storage or journal else ()
        return [*before, *self.command([*seen, *options])]

    def _next_port(self) -> int:
        """The one that it had before, which other nodes and the load may know, as long as that is free."""
        if self.spec.port is not None:
            return self.spec.port
        return self.port if self.port and port_is_free(self.port, self.host) else free_port()

    def _wait_until_ready(self, process: ServerProcess, log_begin: int) -> None:
        deadline = time.monotonic() + self.start_timeout_s
        while process.alive():
            if self.answers():
                if trouble := self.found_in_log(self._log_since(log_begin)):
                    raise trouble
                return
            if time.monotonic() > deadline:
                raise ServerError(
                    f"the server did not answer within {self.start_timeout_s:.0f} s after its start",
                    where=self.where,
                    hint=LOG_KEPT,
                )
            time.sleep(0.02)
        raise self._failed(self._log_since(log_begin), process.exit_text())

    # -- its log ----------------------------------------------------------------------------------------------------

    def log_tail(self, lines: int) -> str:
        return self.spec.passwords.censored("\n".join(self._log_since(0).splitlines()[-lines:]))

    def _failed(self, log: str, how: str) -> BakeoffError:
        return self.explain(self.spec.passwords.censored(log), how)

    def _log_since(self, offset: int) -> str:
        """At most its last megabyte."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(offset, os.fstat(file.fileno()).st_size - _LOG_MAX_BYTES))
                return file.read(_LOG_MAX_BYTES).decode(errors="replace")
        except OSError:
            return ""
