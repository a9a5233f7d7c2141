"""`bakeoff-powerloss` (crates/powerloss): starts a program under a library that notes what is not synced, so that it
can be taken away as by a power loss, that makes storage slower, or that sets the clock wrong.
docs/method/power-loss.md."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bakeoff.errors import ServerError
from bakeoff.provision.own_programs import places

PROGRAM = "bakeoff-powerloss"
LIBRARY = "libbakeoff_powerloss.so"
#: What words of slowed storage begin with.
SLOWED = "slowed by bakeoff: "
_TIMEOUT_S = 120.0
#: It waits for killed processes to be gone, and writes back what they had not synced.
_APPLY_TIMEOUT_S = 600.0
_NOT_JUDGED = 1


@dataclass(frozen=True)
class Storage:
    """Of a server, slowed by bakeoff: times ("2ms") and bytes a second ("50MB"), as the program reads them; "": not."""

    sync_latency: str = ""
    jitter: str = ""
    bandwidth: str = ""

    def options(self) -> list[str]:
        given = {"--sync-latency": self.sync_latency, "--jitter": self.jitter, "--bandwidth": self.bandwidth}
        return [word for name, value in given.items() if value for word in (name, value)]

    @property
    def words(self) -> str:
        jitter = f" ± {self.jitter}" if self.jitter else ""
        sync = f"a sync takes {self.sync_latency}{jitter} or more" if self.sync_latency else ""
        bandwidth = f"at most {self.bandwidth}/s are written" if self.bandwidth else ""
        return f"{SLOWED}{' and '.join(filter(None, [sync, bandwidth]))}"


class Clock:
    """A server's time of day, which may be wrong. How long anything takes is as before. folder: where it may read."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "clock"
        self.file.write_bytes(struct.pack("q", 0))
        self.file.chmod(0o644)

    def set(self, by_s: float) -> None:
        """At once. by_s: ahead, or below 0 behind."""
        with self.file.open("r+b", buffering=0) as file:  # not another file: the server has mapped this one
            file.write(struct.pack("q", round(by_s * 1e9)))


def found() -> tuple[Path, Path]:
    """The program and its library. Raises ServerError."""
    program = next((path for path in places(PROGRAM) if path.is_file() and os.access(path, os.X_OK)), None)
    if program is not None:
        # Cargo and `make` put them side by side; a wheel has libraries in the package.
        for folder in (program.parent, program.resolve().parent, Path(__file__).parent):
            if library := next(iter(sorted(folder.glob(f"{Path(LIBRARY).stem}*.so"))), None):
                return program, library
    raise ServerError(
        f"{PROGRAM} is missing, which takes away what a server has not synced, or slows its storage",
        where=", ".join(str(path) for path in places(PROGRAM)),
        hint="reinstall with `pip install .`, or in a source checkout `cargo build --release -p bakeoff-powerloss`",
    )


def under(
    folder: Path,
    data: Iterable[Path],
    *,
    storage: Storage | None = None,
    journal: Path | None = None,
    clock: Clock | None = None,
) -> list[str | Path]:
    """Words before a command that is to run under the library, which watches the files in `data` for a storage or a
    journal. The program is copied to `folder`, where the account of servers can read it. journal: a folder next to the
    data. Raises ServerError."""
    program = _copied_to(folder)
    words: list[str | Path] = [program, "run"]
    for path in dict.fromkeys(data) if storage or journal else ():
        if path.exists():
            words += ["--data", path]
    if journal is not None:
        words += ["--journal", journal]
    if clock is not None:
        words += ["--clock", clock.file]
    return [*words, *(storage.options() if storage else ()), "--"]


def _copied_to(folder: Path) -> Path:
    program, library = found()
    for path, name in ((program, PROGRAM), (library, LIBRARY)):
        if not (folder / name).exists():
            shutil.copyfile(path, folder / name)
            (folder / name).chmod(0o755)
    return folder / PROGRAM


def refuse_unloaded(pid: int, purpose: Literal["storage", "skew"], where: str) -> None:
    """Raises ServerError where a process runs without the library that it was started with. purpose: a word of a
    plan."""
    try:
        loaded = Path(f"/proc/{pid}/maps").read_text()
    except OSError:  # it has ended, or may not be looked at
        loaded = ""
    if Path(LIBRARY).stem not in loaded:
        what = f"the server runs without the library for its {purpose} (the loader refused it, or it is static)"
        raise ServerError(what, where=where, hint=f"leave out `{purpose}`, or take another build of the server")


def not_judged(journal: Path, pids: Sequence[int] = ()) -> str:
    """Why it is not known what the processes under the library had synced, and what would help; "": it is. pids: they
    still run."""
    words = [word for pid in pids for word in ("--process", str(pid))]
    done = _run("check", "--journal", journal, *words)
    if done.returncode == 0:
        return ""
    report: dict[str, Any] = json.loads(done.stdout)
    unseen: dict[str, dict[str, None]] = {}  # files by what would help
    for one in report["blind"]:
        unseen.setdefault(one["advice"], {})[Path(one["detail"]).name] = None
    return (
        "; ".join(f"{', '.join(names)}: {advice}" for advice, names in unseen.items()) or "the library was not loaded"
    )


def lose_power(data: Iterable[Path], journal: Path) -> None:
    """Takes away what killed processes had not synced. Raises ServerError."""
    words = [word for path in dict.fromkeys(data) if path.exists() for word in ("--data", str(path))]
    _run("apply", "--journal", journal, *words)


def self_test(folder: Path) -> None:
    """Whether the library works on this machine and file system. Raises ServerError."""
    done = _run("self-test", "--folder", folder)
    if done.returncode:
        failed = ", ".join(json.loads(done.stdout)["failed"])
        what = f"{PROGRAM} does not work in {folder}: {failed}"
        raise ServerError(what, hint="run in a folder on another file system: --work-dir")


def _run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Raises ServerError where it could not do it; 1 is an answer."""
    program, library = found()
    own = ["--library", str(library)] if words[0] == "self-test" else []
    timeout_s = _APPLY_TIMEOUT_S if words[0] == "apply" else _TIMEOUT_S
    try:
        done = subprocess.run(
            [program, *words, *own], capture_output=True, text=True, timeout=timeout_s, check=False, cwd="/"
        )
    except subprocess.TimeoutExpired:
        hint = "is the disk frozen or overloaded? try again when the machine is idle"
        raise ServerError(f"{PROGRAM} {words[0]} took more than {timeout_s:.0f} s", hint=hint) from None
    except OSError as error:
        raise ServerError(f"{PROGRAM} {words[0]} could not be started: {error.strerror}", where=str(program)) from error
    if done.returncode not in (0, _NOT_JUDGED):
        raise ServerError(f"{PROGRAM} {words[0]} failed: {done.stderr.strip().removeprefix('error: ')}")
    return done
