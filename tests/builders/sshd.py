"""An SSH server of a test on loopback, with a key made for it: it is `load1` and `load2`, and `away` is nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bakeoff.provision.process import free_port, port_is_free

HOSTS = ("load1", "load2")
AWAY = "away"


class NoSshd(Exception):
    """Why there can be none, in words."""


@dataclass(frozen=True)
class Sshd:
    pid: int
    home: Path  # whose .ssh/config names the hosts, all of them this machine

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.home)}


def installed() -> str:
    """The program, from Debian's openssh-server. Raises NoSshd."""
    if shutil.which("sshd", path="/usr/sbin:/usr/bin") is None:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise NoSshd("there is no sshd, and only root installs openssh-server")
        quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}  # nothing is started by it
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "openssh-server"]):
            done = subprocess.run(command, env=quietly, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise NoSshd(f"openssh-server cannot be installed: {done.stderr[-200:]}")
    return shutil.which("sshd", path="/usr/sbin:/usr/bin") or ""


@contextmanager
def started(folder: Path) -> Iterator[Sshd]:
    """folder: empty, of the caller's own."""
    program, ssh, port = installed(), folder / ".ssh", free_port()
    ssh.mkdir(mode=0o700)
    for name in ("host_key", "id_ed25519"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(ssh / name)]
        subprocess.run(command, check=True, capture_output=True, timeout=30)
    shutil.copy(ssh / "id_ed25519.pub", ssh / "authorized_keys")
    (ssh / "known_hosts").write_text(f"[127.0.0.1]:{port} {(ssh / 'host_key.pub').read_text()}")
    (ssh / "config").write_text(
        f"Host {' '.join(HOSTS)}\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {ssh}/id_ed25519\n"
        f"  UserKnownHostsFile {ssh}/known_hosts\nHost {AWAY}\n  HostName 127.0.0.1\n  Port 1\n"
    )
    options = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": ssh / "host_key",
        "AuthorizedKeysFile": ssh / "authorized_keys",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
    }
    (ssh / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in options.items()))
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # it asks for this folder
    with open(ssh / "log", "w") as log:
        server = subprocess.Popen([program, "-D", "-e", "-f", str(ssh / "sshd_config")], stderr=log)
    try:
        deadline = time.monotonic() + 30
        while port_is_free(port):
            assert server.poll() is None, (ssh / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield Sshd(server.pid, folder)
    finally:
        server.terminate()
        server.wait(30)
