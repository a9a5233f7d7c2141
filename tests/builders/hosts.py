"""Machines made of namespaces, on one machine and without a trace: each has addresses, processes, a clock and a /tmp of
its own, and dies with the process that made it, however that ends.

    with Network(folder) as network:
        load1 = network.host("load1", ahead_s=36_000)      # its monotonic clock is ten hours ahead
        load2 = network.host("load2", delay_s=0.005)       # its packets take 5 ms longer, each way
        worker = load1.start(["dask", "worker", ...])      # its words: folder/load1-0.log
        load1.cut()                                        # nobody hears it any more; `mend` ends that
        load1.kill(worker)
    [*network.controller, "bakeoff", "run", ...]           # a command line that runs at the network's middle

The controller has an address and no more of its own: it sees this machine's files. `lacks` says what keeps a machine
from this. A namespace is held by a process that the kernel kills with its parent, and goes with its last process; the
names of links are those of hosts, and are in the controller's namespace alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from bakeoff.provision.process import start_ticks

_PREFIX = "10.99.0."
_RELAY = Path(__file__).with_name("relay.py")
#: Ends with its parent, also where that is killed.
_HELD = ("setpriv", "--pdeathsig", "KILL", "--")
_LIFE_S = "86400"
_WAIT_S = 30.0
_POLL_S = 0.005


def lacks() -> str | None:
    """What keeps this machine from having such hosts, as a clause; None: nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if missing := [program for program in ("ip", "unshare", "nsenter", "setpriv") if shutil.which(program) is None]:
        return f"{' and '.join(missing)} not found"
    if Path(sys.prefix).is_relative_to("/tmp"):
        return f"{sys.prefix} lies in /tmp, and hosts have a /tmp of their own"
    probe = ["unshare", "--net", "--pid", "--fork", "--mount", "--mount-proc", "--time", "--monotonic", "1", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return f"namespaces are not allowed here: {done.stderr.strip()}" if done.returncode else None


@dataclass
class Host:
    """One machine. ahead_s: of its monotonic clock before the controller's."""

    name: str
    address: str
    ahead_s: int
    folder: Path
    controller_pid: int
    #: Its first process, with which all of it ends; number as this machine has it.
    pid: int
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def tmp(self) -> Path:
        """Its /tmp, as a path of this machine."""
        return Path("/proc", str(self.pid), "root", "tmp")

    def command(self, argv: Sequence[str | Path]) -> list[str]:
        spaces = ("--net", "--pid", "--mount", "--time")
        return [*_HELD, "nsenter", "-t", str(self.pid), *spaces, "--", *map(str, argv)]

    def start(
        self, argv: Sequence[str | Path], *, env: Mapping[str, str] | None = None, asked: bool = False
    ) -> subprocess.Popen[bytes]:
        """In /tmp, which is its home too. asked: its input and output are pipes of ours."""
        with self.log(len(self._started)).open("wb") as log:
            process = subprocess.Popen(
                self.command(["env", "--chdir=/tmp", *argv]),
                env={**_plain_environment(), **(env or {})},
                stdin=subprocess.PIPE if asked else subprocess.DEVNULL,
                stdout=subprocess.PIPE if asked else log,
                stderr=log,
                process_group=0,
            )
        self._started.append(process)
        return process

    def log(self, number: int = 0) -> Path:
        """Of what was started there as the `number`th."""
        return self.folder / f"{self.name}-{number}.log"

    @property
    def last_log(self) -> Path:
        return self.log(len(self._started) - 1)

    def pid_of(self, process: subprocess.Popen[bytes]) -> int:
        """Of what `start` has started there (itself it stands outside), as this machine has it."""
        return _only_child(process.pid)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        os.kill(self.pid_of(process), signal.SIGKILL)
        while process.poll() is None:  # what stands for a frozen one here is frozen with it
            process.send_signal(signal.SIGCONT)
            time.sleep(_POLL_S)

    def freeze(self, process: subprocess.Popen[bytes]) -> None:
        """It alone, not what it has started."""
        os.kill(self.pid_of(process), signal.SIGSTOP)

    def thaw(self, process: subprocess.Popen[bytes]) -> None:
        os.kill(self.pid_of(process), signal.SIGCONT)

    def pids(self) -> list[int]:
        """Of the processes that run on it, but for its first."""
        space = os.readlink(f"/proc/{self.pid}/ns/pid")
        numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        there = [number for number in numbers if number != self.pid and _pid_space(number) == space]
        return [number for number in there if start_ticks(number) is not None]

    def cut(self) -> None:
        """Nothing that it sends arrives, and nothing that is sent to it; it learns of neither."""
        self._link("down")

    def mend(self) -> None:
        self._link("up")

    def _link(self, state: str) -> None:
        _ip(self.controller_pid, "link", "set", self.name, state)


class Network:
    """A controller and hosts on one bridge. folder: for what hosts' processes say."""

    address = f"{_PREFIX}1"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hosts: list[Host] = []
        self._holders: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._controller_pid = self._hold("--net")
            _ip(self._controller_pid, "link", "set", "lo", "up")
            _ip(self._controller_pid, "link", "add", "bridge", "type", "bridge")
            self._address(self._controller_pid, "bridge", self.address)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *ended_by: object) -> None:
        """The kernel ends what runs on a host with its first process, and a namespace with its last."""
        for holder in reversed(self._holders):
            holder.kill()
        for process in [*self._holders, *(process for host in self.hosts for process in host._started)]:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    @property
    def controller(self) -> list[str]:
        """What a command that runs there begins with."""
        return ["nsenter", f"--net=/proc/{self._controller_pid}/ns/net", "--"]

    def host(self, name: str, *, ahead_s: int = 0, delay_s: float = 0.0, hidden: Sequence[Path] = ()) -> Host:
        """hidden: files and folders of this machine that it has not."""
        pid = self._hold(
            *("--net", "--pid", "--fork", "--kill-child=KILL", "--mount", "--mount-proc"),
            *("--time", "--monotonic", str(ahead_s)),
        )
        address = f"{_PREFIX}{len(self.hosts) + 11}"
        host = Host(name, address, ahead_s, self.folder, self._controller_pid, pid)
        mounts = ["mount -t tmpfs -o mode=1777 tmpfs /tmp", *map(_hide, hidden)]
        subprocess.run(host.command(["sh", "-ec", "\n".join(mounts)]), check=True)
        if delay_s:
            self._relay(name, pid, delay_s)
        else:
            _ip(self._controller_pid, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
        _ip(self._controller_pid, "link", "set", name, "master", "bridge", "up")
        _ip(pid, "link", "set", "lo", "up")
        self._address(pid, "eth0", address)
        self.hosts.append(host)
        return host

    def _relay(self, name: str, pid: int, delay_s: float) -> None:
        """Both ends of a link whose frames go through a process of ours; the far end moves to the host."""
        argv = [sys.executable, str(_RELAY), name, "far", str(delay_s)]
        relay = subprocess.Popen([*_HELD, *self.controller, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self._holders.append(relay)
        assert relay.stdout is not None
        if not relay.stdout.readline():
            raise AssertionError("the relay has ended; its words stand above")
        _ip(self._controller_pid, "link", "set", "far", "name", "eth0", "netns", str(pid))

    def _hold(self, *spaces: str) -> int:
        """New namespaces; the number of the process that holds them."""
        holder = subprocess.Popen(
            [*_HELD, "unshare", *spaces, "sh", "-c", f"echo; exec sleep {_LIFE_S}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        self._holders.append(holder)
        assert holder.stdout is not None
        if not holder.stdout.readline():
            raise AssertionError(f"unshare {' '.join(spaces)} failed; its words stand above")
        return _only_child(holder.pid) if "--fork" in spaces else holder.pid

    @staticmethod
    def _address(pid: int, device: str, address: str) -> None:
        _ip(pid, "address", "add", f"{address}/24", "dev", device)
        _ip(pid, "link", "set", device, "up")


def _ip(pid: int, *words: str) -> None:
    subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "ip", *words], check=True)


def _hide(path: Path) -> str:
    return f"mount -t tmpfs tmpfs '{path}'" if path.is_dir() else f"mount --bind /dev/null '{path.resolve()}'"


def _only_child(pid: int) -> int:
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        if children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            return int(children[0])
        time.sleep(_POLL_S)
    raise AssertionError(f"process {pid} has started nothing")


def _pid_space(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _plain_environment() -> dict[str, str]:
    """Of a machine that knows nothing of ours."""
    return {"PATH": os.environ["PATH"], "HOME": "/tmp", "LC_ALL": "C.UTF-8"}
