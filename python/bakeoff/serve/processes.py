"""The processes of plans: beginning one, stopping one as Ctrl-C does, and going on with what was stopped here.

To go on, only a command that a process of our user wrote, which we saw at work, is run, in its folder and with its
environment: what other bundles say of their commands may be anybody's.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..bundle import live
from ..bundle.read import read_document
from ..bundle.results_folder import is_written
from ..errors import BakeoffError, BundleError
from ..locks import open_plain, read_holder
from ..model.records.bundle import BundleInfo

#: Until a plan that goes on has its bundle.
_BEGINS_WITHIN_S = 30.0


@dataclass(frozen=True)
class _Command:
    """words: that the process itself wrote into its bundle, for going on with it."""

    words: list[str]
    folder: str
    environment: dict[str, str] = field(repr=False)

    @classmethod
    def of(cls, pid: int, bundle: Path) -> _Command:
        """Raises OSError, BundleError."""
        process = Path(f"/proc/{pid}")
        pairs = (os.fsdecode(one).partition("=") for one in (process / "environ").read_bytes().split(b"\0") if one)
        words = shlex.split(read_document(bundle, "bundle.json", BundleInfo).resume_command)
        return cls(words, os.readlink(process / "cwd"), {name: value for name, _, value in pairs})


class Processes:
    """Called from several threads. Plans run with the priority that this process had when this was created."""

    def __init__(self) -> None:
        self._stopped: dict[Path, _Command] = {}
        self._started: dict[Path, subprocess.Popen[bytes]] = {}
        self._starting = threading.Lock()
        # On Linux each thread has a niceness of its own, and a process that of the thread which starts it.
        self._starter = ThreadPoolExecutor(1)
        self._starter.submit(lambda: None).result()

    def begin(self, bundle: Path, words: Sequence[str]) -> bool:
        """Runs the command of a new plan that writes this bundle. It goes on also when we end. Returns whether it has
        begun. Raises BakeoffError with its message if it is refused."""
        with self._starting:
            return self._start(bundle, _Command(list(words), os.getcwd(), dict(os.environ)), new=True)

    def stop(self, bundle: Path) -> None:
        """The plan ends after its run is stopped, and keeps what is finished. BakeoffError: its process is not one of
        ours on this machine."""
        if not is_written(bundle):
            return
        handle = open_plain(bundle / "bundle.lock", os.O_RDONLY)
        try:
            pid = read_holder(handle).pid
            if not _is_ours(pid, handle):
                hint = "stop it where it was started"
                raise BakeoffError("it runs on another machine, in a container, or as another user", hint=hint)
            with suppress(OSError, BundleError):
                self._stopped[bundle] = _Command.of(pid, bundle)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        finally:
            os.close(handle)

    def can_resume(self, bundle: Path) -> bool:
        command = self._stopped.get(bundle)
        return command is not None and bool(command.words) and not is_written(bundle)

    def resume(self, bundle: Path) -> None:
        """It goes on in the background, also when we end. BakeoffError, with what it said: it does not."""
        with self._starting:
            if is_written(bundle):
                raise BakeoffError("this plan is running")
            if not self.can_resume(bundle):
                raise BakeoffError("this plan was not stopped here", hint="`bakeoff run PLAN --resume` goes on with it")
            before = self._started.get(bundle)
            if before is None or before.poll() is not None:
                self._start(bundle, self._stopped[bundle], new=False)

    def _start(self, bundle: Path, command: _Command, *, new: bool) -> bool:
        """Whether it goes on, or has ended well, within `_BEGINS_WITHIN_S`."""
        with tempfile.TemporaryFile() as said:
            try:
                process = self._starter.submit(_started, command, said).result()
            except OSError as error:
                raise BakeoffError(f"cannot start {command.words[0]}: {error.strerror}") from None
            self._started[bundle] = process
            threading.Thread(target=process.wait, daemon=True).start()  # else it stays a zombie
            give_up_s = time.monotonic() + _BEGINS_WITHIN_S
            while not _goes_on(bundle) and process.poll() is None and time.monotonic() < give_up_s:
                time.sleep(0.05)
            # A run whose check failed ends with an error, too, and has a bundle.
            if process.poll() and not (new and (bundle / "bundle.json").exists()):
                said.seek(0)
                raise BakeoffError(said.read().decode(errors="replace").strip() or "it ended at once")
            return process.poll() is not None or _goes_on(bundle)


def _started(command: _Command, said: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command.words,
        cwd=command.folder,
        env=command.environment,
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        start_new_session=True,
    )


def _goes_on(bundle: Path) -> bool:
    """Rather than that somebody looks into it."""
    with suppress(BundleError):
        held = is_written(bundle) and (bundle / live.NAME).exists()
        return held and read_document(bundle, "bundle.json", BundleInfo).state == "running"
    return False


def _is_ours(pid: int, handle: int) -> bool:
    """Whether this process is of our user, and has this file open: a number in a file may be anybody's."""
    if pid <= 0 or pid == os.getpid():
        return False
    own = os.fstat(handle)
    with suppress(OSError):
        if os.stat(f"/proc/{pid}").st_uid != os.geteuid():
            return False
        for one in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.path.samestat(os.stat(one), own):
                    return True
    return False
