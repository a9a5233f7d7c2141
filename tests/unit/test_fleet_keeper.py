"""A keeper and our end of its connection, without Dask: the keeper is started by hand, its engine is a script."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from bakeoff.errors import BakeoffError, EngineError
from bakeoff.fleet import keeper_connection, remote_keeper
from bakeoff.fleet.engines import Engines, MachineLost, Place
from bakeoff.fleet.keeper_connection import Link, Machine, Switchboard
from bakeoff.fleet.portable_spec import Carried
from bakeoff.model.boundary import Event, Warning
from bakeoff.provision.certificate import make_certificate

SOURCE = inspect.getsource(remote_keeper)
#: What a fake engine says; `list` is asked of every one.
LISTED = 'if [ "$1" = list ]; then echo \'{"engine_version": "9"}\'; exit; fi\n'
SAYS = 'echo "{\\"event\\":\\"warning\\",\\"what\\":\\"$1\\",\\"at_s\\":0}"'
STUBBORN = "trap '' TERM; while :; do sleep 0.1; done"


class Heard(Engines):
    """Of one client."""

    lead_s = 0.0

    def __init__(self) -> None:
        super().__init__("run 1")
        self.add("client 0 on load1")

    def start(self, document: Path, env: Mapping[str, str], log: Path) -> None: ...

    def places(self) -> list[Place]:
        return []

    def pids(self) -> list[int]:
        return []

    def close(self) -> None: ...

    def _send(self, line: str) -> None: ...

    def until_warning(self, what: str) -> None:
        next(event for _, event in self.events() if isinstance(event, Warning) and event.what == what)

    def end(self) -> BakeoffError:
        with pytest.raises(BakeoffError) as caught:
            list(self.events())
        return caught.value


@dataclass
class Stage:
    """One load machine, whose cache and engine are of the test."""

    folder: Path
    board: Switchboard
    machine: Machine = field(default_factory=lambda: Machine("load1", "tcp://load1"))
    tls: dict[str, str] | None = None
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def engine(self, script: str) -> Path:
        """In place of ours."""
        path = self.folder / "engine"
        path.write_text(f"#!/bin/sh\n{LISTED}say() {{ {SAYS}; }}\n{script}\n")
        path.chmod(0o755)
        return path

    def expect(self, carried: Carried | None = None) -> tuple[Link, Heard]:
        heard = Heard()
        what = carried or Carried("{}", {}, {}, {}, {})
        expected = Link(self.board, self.machine, 0, heard, what, self.folder / "engine.log")
        self.board.expect(expected)
        return expected, heard

    def start(self, token: str, source: str = SOURCE) -> subprocess.Popen[bytes]:
        """As a Dask worker does."""
        work = self.folder / f"work{len(self.started)}"
        work.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=work,
            env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")},
        )
        errand = {"address": ["127.0.0.1", self.board.port], "token": token, "tls": self.tls}
        assert process.stdin is not None
        process.stdin.write(json.dumps(errand).encode() + b"\n")
        process.stdin.flush()
        self.started.append(process)
        return process


#: One that waits long for a beat: these tests have none, but for those of silence.
PATIENT = SOURCE.replace("SILENCE_S = 5.0", "SILENCE_S = 60.0").replace("GRACE_S = 1.5", "GRACE_S = 0.2")
#: One that does not.
HASTY = PATIENT.replace("SILENCE_S = 60.0", "SILENCE_S = 2.0")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    path = tmp_path / "engine"
    monkeypatch.setattr(keeper_connection, "engine_path", lambda: path)
    monkeypatch.setattr(keeper_connection, "engine_sha256", lambda: hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(keeper_connection, "engine_list", lambda: {"engine_version": "9"})
    board = Switchboard("127.0.0.1", None)
    made = Stage(tmp_path, board)
    try:
        yield made
    finally:
        made.board.close()
        for process in made.started:
            with process:
                process.kill()


def begun(stage: Stage, script: str, source: str = PATIENT) -> tuple[Link, Heard, subprocess.Popen[bytes], int]:
    """A client whose engine, this script, has said "begun"."""
    stage.engine(f"say begun; {script}")
    expected, heard = stage.expect()
    process = stage.start(expected.token, source)
    heard.until_warning("begun")
    assert expected.engine_pid is not None
    return expected, heard, process, expected.engine_pid


def until(held: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not held():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_an_engine_is_carried_once_and_kept_by_its_content_for_its_owner_alone(stage: Stage) -> None:
    for times in range(2):
        _, heard, _, _ = begun(stage, "exit 3")
        assert "ended without a result (exit code 3)" in heard.end().what, times
    (kept,) = (stage.folder / "cache" / "bakeoff" / "engines").iterdir()
    assert kept.read_bytes() == (stage.folder / "engine").read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    inode = kept.stat().st_ino
    stage.machine = Machine("load1", "tcp://load1")  # as another run of bakeoff sees it
    begun(stage, "exit 3")
    assert kept.stat().st_ino == inode
    stage.machine = Machine("load1", "tcp://load1")
    kept.write_text("#!/bin/sh\nexit 9\n")  # what another wrote there is not run
    _, heard, _, _ = begun(stage, "exit 3")
    assert "exit code 3" in heard.end().what


def test_a_folder_that_others_may_write_to_is_no_cache(stage: Stage) -> None:
    shared = stage.folder / "cache" / "bakeoff" / "engines"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    begun(stage, "exit 3")
    assert list(shared.iterdir()) == []


def test_an_engine_of_another_version_is_refused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_connection, "engine_list", lambda: {"engine_version": "10"})
    stage.engine("say begun")
    expected, heard = stage.expect()
    stage.start(expected.token)
    assert heard.end().what == "the engine on load1 has version 9, and this bakeoff has 10"


def test_an_engine_that_does_not_run_there_says_why(stage: Stage) -> None:
    (stage.folder / "engine").write_text("#!/bin/sh\necho 'version GLIBC_9 not found' >&2; exit 1\n")
    expected, heard = stage.expect()
    stage.start(expected.token)
    error = heard.end()
    assert error.what == "load1 cannot run the engine: version GLIBC_9 not found"
    assert not isinstance(error, MachineLost)
    assert "glibc" in error.hint


def test_a_machine_of_another_kind_is_refused_before_anything_is_carried(stage: Stage) -> None:
    stage.engine("say begun")
    expected, heard = stage.expect()
    stage.start(expected.token, SOURCE.replace("platform.machine()", "'sparc64'"))
    assert "it is Linux sparc64" in heard.end().what
    assert not (stage.folder / "cache").exists()


def test_files_go_there_and_come_back_and_a_secret_is_in_the_engines_environment_alone(stage: Stage) -> None:
    (stage.folder / "ca.pem").write_text("trust me")
    stage.engine('echo rows >events.csv; echo words >&2; say "$SECRET $(cat input0)"; exec cat >/dev/null')
    carried = Carried(
        "{}", {"input0": stage.folder / "ca.pem"}, {"events.csv": stage.folder / "back.csv"}, {}, {"SECRET": "hunter2"}
    )
    expected, heard = stage.expect(carried)
    process = stage.start(expected.token, PATIENT)
    heard.until_warning("hunter2 trust me")
    told = Path(f"/proc/{process.pid}/environ").read_text() + Path(f"/proc/{process.pid}/cmdline").read_text()
    assert "hunter2" not in told
    assert expected.engine_pid is not None
    psutil.Process(expected.engine_pid).terminate()
    assert "end of its log: words" in heard.end().hint
    assert (stage.folder / "back.csv").read_text() == "rows\n"
    assert (stage.folder / "engine.log").read_text() == "words\n"


def test_lines_longer_than_a_frame_come_whole(stage: Stage) -> None:
    _, heard, _, _ = begun(stage, "say $(head -c 3000000 /dev/zero | tr '\\0' x)")
    assert len(next(event.what for _, event in heard.events() if isinstance(event, Warning))) == 3_000_000


def test_the_start_is_reported_in_the_machines_own_time(stage: Stage) -> None:
    """Here it has our clocks, so that the time named is ours, to within the bound."""
    expected, heard, _, _ = begun(stage, 'read document; read start; say "$(echo "$start" | tr -dc 0-9)"; cat')
    wanted_ns = time.time_ns() + 10**9
    expected.begin(time.monotonic_ns() + wanted_ns - time.time_ns())
    (told,) = [event.what for _, event in _some(heard, 1)]
    place = expected.place(int(told))
    assert abs(int(told) - wanted_ns) <= place.clock_bound_ns + 10**7
    assert abs(place.clock_offset_ns) <= place.clock_bound_ns
    assert place.start_late_ns == 0


def _some(heard: Heard, count: int) -> Iterator[tuple[int, Warning]]:
    events: Iterator[tuple[int, Event]] = heard.events()
    for _ in range(count):
        client, event = next(events)
        assert isinstance(event, Warning)
        yield client, event


# -- each way of ending ------------------------------------------------------------------------------------------------


def test_an_engine_that_obeys_nothing_is_ended_when_the_controller_has_had_enough(stage: Stage) -> None:
    expected, _, process, pid = begun(stage, STUBBORN)
    expected.end(0.1)
    assert expected.over.wait(60)
    assert gone(pid)
    assert process.wait(60) == 0


def test_it_is_ended_when_the_connection_ends(stage: Stage) -> None:
    _, _, process, pid = begun(stage, STUBBORN)
    stage.board.close()
    assert process.wait(60) is not None
    assert gone(pid)


def test_it_is_ended_when_the_worker_ends_and_the_controller_learns_of_it(stage: Stage) -> None:
    _, heard, process, pid = begun(stage, STUBBORN)
    assert process.stdin is not None
    process.stdin.close()
    error = heard.end()
    assert isinstance(error, MachineLost)
    assert error.what == "the load machine load1 was lost: its Dask worker ended"
    assert process.wait(60) is not None
    assert gone(pid)


def test_it_is_ended_when_the_worker_is_silent(stage: Stage) -> None:
    _, heard, process, pid = begun(stage, STUBBORN, HASTY)
    assert "its Dask worker is frozen: it has sent nothing for 2 s" in heard.end().what
    assert process.wait(60) is not None
    assert gone(pid)


def test_it_is_ended_when_the_controller_is_silent(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_keeper, "BEAT_S", 3600.0)
    _, heard, process, pid = begun(stage, STUBBORN, HASTY.replace("_worker_gone(stdin), ", ""))
    assert "received nothing from the controller for 2 s" in heard.end().what
    assert process.wait(60) is not None
    assert gone(pid)


def test_a_controller_that_stood_still_does_not_say_that_a_machine_did(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_keeper, "SILENCE_S", 4.0)
    monkeypatch.setattr(remote_keeper, "BEAT_S", 0.1)
    _, heard, process, pid = begun(stage, STUBBORN, HASTY)
    stage.board.do(time.sleep, 5.0)
    assert re.fullmatch(r"this machine, which controls the run, stalled for \d+ s", heard.end().what)
    assert process.wait(60) is not None
    assert gone(pid)


def test_it_ends_with_a_keeper_that_is_killed(stage: Stage) -> None:
    _, heard, process, pid = begun(stage, "exec cat >/dev/null")
    process.kill()
    assert heard.end().what == "the load machine load1 was lost: the connection to it ended"
    until(lambda: gone(pid))


def test_a_machine_that_begins_with_no_client_is_lost_and_one_that_does_has_more_time(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_connection, "_BEGIN_TIMEOUT_S", 0.5)
    stage.engine("say begun")
    _, heard = stage.expect()
    error = heard.end()
    assert isinstance(error, MachineLost)
    assert "s: it is frozen or cut off, or another run uses it" in error.what
    monkeypatch.setattr(keeper_connection, "_BEGIN_TIMEOUT_S", 3600.0)
    stage.machine.greeted = time.monotonic()
    expected, heard = stage.expect()
    stage.start(expected.token)
    heard.until_warning("begun")


# -- who may come, and what they may say -------------------------------------------------------------------------------


def test_who_knows_no_token_is_let_go_without_a_word_and_each_token_is_good_once(stage: Stage) -> None:
    expected, _, _, _ = begun(stage, "exec cat >/dev/null")
    for token in ("", "0" * 32, expected.token):
        with socket.create_connection(("127.0.0.1", stage.board.port), timeout=60) as stranger:
            stranger.sendall(remote_keeper.frame(remote_keeper.HELLO, {"token": token, "system": "Linux"}))
            assert stranger.recv(1) == b""
    with socket.create_connection(("127.0.0.1", stage.board.port), timeout=60) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert stranger.recv(1) == b""
    assert not expected.over.is_set()


def read(sent: bytes) -> tuple[bytes, bytes]:
    async def reading() -> tuple[bytes, bytes]:
        reader = asyncio.StreamReader()
        reader.feed_data(sent)
        reader.feed_eof()
        return await remote_keeper.read_frame(reader)

    return asyncio.run(reading())


def test_frames_are_read_as_they_were_written() -> None:
    assert read(remote_keeper.frame(remote_keeper.OUT, b"a line\n")) == (remote_keeper.OUT, b"a line\n")
    kind, payload = read(remote_keeper.frame(remote_keeper.HELLO, {"token": "x"}))
    assert (kind, remote_keeper.said(payload)) == (remote_keeper.HELLO, {"token": "x"})


@pytest.mark.parametrize("sent", [b"", b"\0\0", remote_keeper.frame(remote_keeper.OUT, b"a line")[:-1]])
def test_a_frame_that_is_cut_short_is_the_end_of_the_connection(sent: bytes) -> None:
    with pytest.raises(remote_keeper.Gone, match="the connection to it ended"):
        read(sent)


def test_a_frame_that_is_too_long_is_not_waited_for() -> None:
    with pytest.raises(remote_keeper.Gone, match="bytes, and the limit is"):
        read((remote_keeper.FRAME_MAX_BYTES + 1).to_bytes(4, "big") + remote_keeper.OUT)


@pytest.mark.parametrize("payload", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_table_is_refused_in_words(payload: bytes) -> None:
    with pytest.raises(remote_keeper.Gone, match="received a frame of unknown kind"):
        remote_keeper.said(payload)
    with pytest.raises(remote_keeper.Gone, match="received a frame of unknown kind"):
        remote_keeper.stamps(payload)


# -- encrypted ---------------------------------------------------------------------------------------------------------


def context(ca: Path, cert: Path, key: Path) -> ssl.SSLContext:
    """As Dask makes one for a listener."""
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(ca))
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_cert_chain(cert, key)
    return made


@pytest.mark.parametrize("as_text", [True, False])
def test_with_dasks_certificates_all_is_encrypted_and_others_are_not_let_in(stage: Stage, as_text: bool) -> None:
    ours, others = (make_certificate(_made(stage.folder / name)) for name in ("ours", "others"))
    stage.board.close()
    stage.board = Switchboard("127.0.0.1", context(ours.authority, ours.certificate, ours.key))

    def shown(pem: Any) -> dict[str, str]:
        files = {"ca": pem.authority, "cert": pem.certificate, "key": pem.key}
        return {name: path.read_text() if as_text else str(path) for name, path in files.items()}

    stage.tls = shown(ours)
    begun(stage, "exit 3")
    stage.tls = shown(others)
    expected, _ = stage.expect()
    stranger = stage.start(expected.token, PATIENT)
    _, words = stranger.communicate(timeout=60)
    assert b"it cannot reach the controller at 127.0.0.1" in words
    assert b"certificate verify failed" in words
    assert expected.greeting == {}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_an_address_that_is_not_ours_is_refused_in_words() -> None:
    with pytest.raises(EngineError, match=r"load machines cannot connect to 192\.0\.2\.1"):
        Switchboard("192.0.2.1", None)
    first = Switchboard("127.0.0.1", None)
    try:
        with pytest.raises(EngineError) as taken:
            Switchboard("127.0.0.1", None, port=first.port)
    finally:
        first.close()
    assert taken.value.hint == "another run uses this port: wait for it, or choose another port"
