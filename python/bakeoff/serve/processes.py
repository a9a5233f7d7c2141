"""The processes of plans that go on: stopping one as Ctrl-C does, and going on with what was stopped here.

Only the command of a process that we saw at work is run again, in its folder and with its environment: what a bundle
says of its command may be anybody's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..bundle.results_folder import is_written
from ..errors import BakeoffError
from ..locks import open_plain, read_holder

#: Until a plan that goes on has its bundle.
_BEGINS_WITHIN_S = 30.0
#: What `--resume=FOLDER` takes the place of, with its value.
_REPLACED = ("--out", "--resume", "--repetitions")


@dataclass(frozen=True)
class Command:
    """Of a process of ours, as it was started."""

    words: list[str]
    folder: str
    environment: dict[str, str] = field(repr=False)

    @classmethod
    def of(cls, pid: int) -> Command:
        """Raises OSError."""
        process = Path(f"/proc/{pid}")
        words, environment = ((process / name).read_bytes().split(b"\0")[:-1] for name in ("cmdline", "environ"))
        pairs = (os.fsdecode(one).partition("=") for one in environment)
        said = [os.fsdecode(word) for word in words]
        return cls(said, os.readlink(process / "cwd"), {name: value for name, _, value in pairs})

    def resuming(self, bundle: Path) -> list[str]:
        left: list[str] = []
        before = ""
        for word in self.words:
            name = word.partition("=")[0]
            is_value = before in _REPLACED and not (before == "--resume" and self._is_other(word))
            if name not in _REPLACED and not is_value:
                left.append(word)
            before = word
        return [*left, f"--resume={bundle}"]

    def _is_other(self, word: str) -> bool:
        """Than the bundle that `--resume` may name or not."""
        return word.startswith("-") or not Path(self.folder, word).is_dir()


class Processes:
    def __init__(self) -> None:
        self._stopped: dict[Path, Command] = {}
        self._resumed: dict[Path, subprocess.Popen[bytes]] = {}

    def stop(self, bundle: Path) -> None:
        """The plan ends after its run is stopped, and keeps what is finished. BakeoffError: its process is not one of
        ours on this machine."""
        if not is_written(bundle):
            return
        handle = open_plain(bundle / "bundle.lock", os.O_RDONLY)
        try:
            pid = read_holder(handle).pid
            if not _has_open(pid, handle):
                hint = "stop it where it was started"
                raise BakeoffError("it runs on another machine, in a container, or as another user", hint=hint)
            with suppress(OSError):
                self._stopped[bundle] = Command.of(pid)
            os.kill(pid, signal.SIGTERM)
        finally:
            os.close(handle)

    def can_resume(self, bundle: Path) -> bool:
        return bundle in self._stopped and not is_written(bundle)

    def resume(self, bundle: Path) -> None:
        """It goes on in the background, also when we end. BakeoffError, with what it said: it does not."""
        if not self.can_resume(bundle):
            raise BakeoffError("this plan was not stopped here", hint="`bakeoff run PLAN --resume` goes on with it")
        if (before := self._resumed.get(bundle)) is not None and before.poll() is None:
            return
        command = self._stopped[bundle]
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                command.resuming(bundle),
                cwd=command.folder,
                env=command.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
            self._resumed[bundle] = process
            give_up_s = time.monotonic() + _BEGINS_WITHIN_S
            while not is_written(bundle) and process.poll() is None and time.monotonic() < give_up_s:
                time.sleep(0.05)
            if process.poll():
                said.seek(0)
                raise BakeoffError(said.read().decode(errors="replace").strip() or "it ended at once")


def _has_open(pid: int, handle: int) -> bool:
    """Whether this process has this file open: a number in a file may be anybody's."""
    if pid <= 0 or pid == os.getpid():
        return False
    own = os.fstat(handle)
    with suppress(OSError):
        for one in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.path.samestat(os.stat(one), own):
                    return True
    return False
