"""Starts, watches and stops server processes, so that none outlives us.

Every server gets a process group of its own (our Ctrl-C is not its Ctrl-C), stays in our session (one share of the
processor for each thread, docs/decisions/0007) and dies with its parent, SIGKILL included:
`setpriv --pdeathsig KILL`. The kernel sends that signal when the *thread* that started the child ends, so all are
started by one thread that ends with this process. Started by root, a server runs as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.errors import ServerError
from bakeoff.locks import open_plain

#: Below are ports that other programs are known by.
_PORT_MIN = 15_000
_PORTS_TRIED = 200

#: We may have died before setpriv asked for that signal; then nobody would send it. $1 is our pid, the rest the server.
_ONLY_WITH_PARENT = '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"'


@dataclass(frozen=True)
class Account:
    """The unprivileged user that servers run as when we are root."""

    uid: int
    gid: int


def server_account() -> Account | None:
    """`nobody` when we are root, else None: servers then run as ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return Account(65534, 65534)
    return Account(entry.pw_uid, entry.pw_gid)


def give_to_account(path: Path) -> None:
    """Makes the account that servers run as the owner of `path` (nothing to do unless we are root)."""
    if account := server_account():
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def run_to_end(argv: Sequence[str], *, timeout_s: float, text: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """A short helper of a server (making its data directory); output and errors in one text. text: its input."""
    return subprocess.run(
        argv,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        timeout=timeout_s,
        **how,
    )


def free_port() -> int:
    """A TCP port of 127.0.0.1 that was free a moment ago; the server's own start says whether it still is."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def free_port_on(hosts: Sequence[str], *, but: int = 0) -> int:
    """A TCP port that is free on all of these addresses, and that the kernel gives to nobody by itself: it may be a
    while until the last of several servers takes it. but: not this one."""
    for port in random.SystemRandom().sample(range(_PORT_MIN, _first_port_of_the_kernel()), _PORTS_TRIED):
        if port != but and all(port_is_free(port, host) for host in hosts):
            return port
    raise ServerError(f"no port is free on all of {', '.join(hosts)}", hint="set `port`")


def _first_port_of_the_kernel() -> int:
    """Of those that it gives to connections that ask for none."""
    try:
        return max(_PORT_MIN + _PORTS_TRIED, int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]))
    except (OSError, ValueError):
        return 32_768


def port_is_free(port: int, host: str = "127.0.0.1") -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with its pid this names it for good. None: no such one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    after_name = stat.rpartition(")")[2].split()
    return None if after_name[0] in ("Z", "X") else int(after_name[19])


def groups_of(*words: str) -> set[int]:
    """Process groups, but our own, of those whose command line has all of these words."""
    found = set()
    for process in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            command = (process / "cmdline").read_bytes()
            if all(os.fsencode(word) in command for word in words):
                found.add(os.getpgid(int(process.name)))
    return found - {os.getpgrp()}


def wait_until(reached: Callable[[], bool], timeout_s: float, every_s: float = 0.02) -> bool:
    """Whether it was, in time."""
    deadline = time.monotonic() + timeout_s
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(every_s)
    return True


#: Its thread is begun with the first server and ends with the interpreter.
_STARTER = ThreadPoolExecutor(1, thread_name_prefix="server starter")


def _start(argv: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    starting: Future[subprocess.Popen[bytes]] = _STARTER.submit(lambda: subprocess.Popen(argv, **how))
    try:
        return starting.result()
    except BaseException:
        starting.add_done_callback(_end_unheld)
        raise


def _end_unheld(starting: Future[subprocess.Popen[bytes]]) -> None:
    """Of a start that was interrupted: nobody else will end it."""
    if starting.exception() is None:
        starting.result().kill()


class ServerProcess:
    """One running server. `stop` may be called any number of times, also after the server has died by itself."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path, as_account: bool = True
    ) -> None:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise ServerError(
                "cannot start a managed server: setpriv is missing, which stops servers together with bakeoff",
                hint="install util-linux, or measure a running server by its `address`",
            )
        with os.fdopen(open_plain(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode=0o600), "ab") as output:
            self._process = _start(
                [setpriv, "--pdeathsig", "KILL", "--", "sh", "-c", _ONLY_WITH_PARENT, "sh", str(os.getpid()), *argv],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
                **(identity() if as_account else {}),
            )
        self.pid = self._process.pid
        self.start_ticks = start_ticks(self.pid) or 0

    @property
    def server_pid(self) -> int:
        """Of the server itself, where our child only stands for it."""
        return self.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def exit_text(self) -> str:
        """How it ended, in words; empty while it runs."""
        code = self._process.poll()
        return "" if code is None else exit_words(code)

    def stop(self, timeout_s: float, how: signal.Signals = signal.SIGTERM) -> bool:
        """The signal to the server alone, which knows what to tell those it has started, and SIGKILL to its whole group
        if it has not ended in time. True if it ended by itself."""
        if self.alive():
            os.kill(self.pid, how)  # not reaped yet, so the number is still its own
            self._signal(signal.SIGCONT)  # a frozen one (SIGSTOP) would not hear the first
        ended = self._ended_within(timeout_s)
        if not ended:
            self.kill()
        return ended

    def kill(self) -> None:
        """SIGKILL to the server and whatever it started."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def freeze(self) -> None:
        """SIGSTOP to the server and whatever it started: it lives, and says nothing more until `thaw`."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _ended_within(self, timeout_s: float) -> bool:
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is not None:
            return  # its pid may be another's by now
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return


def exit_words(code: int) -> str:
    """How a process ended, by what `subprocess` says of it: negative for a signal."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def end_process(pid: int, ticks: int, timeout_s: float = 5.0) -> bool:
    """SIGKILLs a process left by an earlier bakeoff, only if it is still that very one. True if it was."""
    if start_ticks(pid) != ticks:
        return False
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: start_ticks(pid) != ticks, timeout_s, 0.01)
    return True


def identity() -> dict[str, Any]:
    """The account that servers have, as `subprocess` wants it."""
    account = server_account()
    return {} if account is None else {"user": account.uid, "group": account.gid, "extra_groups": []}
