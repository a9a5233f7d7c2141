"""`bakeoff serve` as a browser and a Prometheus see it, while a plan goes on and after it."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from bakeoff.bundle.results_folder import is_written, listed
from bakeoff.locks import read_holder
from bakeoff.provision.certificate import make_certificate
from commands import PROGRAM, bakeoff, started, wait_until, write_plan
from going import Going

PLAN = """
title = "Watched <b>"

[systems.fast]
kind = "null"
latency_ns = 1_000_000

[workload]
kind = "ycsb"
preset = "c"
records = 100

[measure]
warm_up = "1s"
window = "{window}"
repetitions = 1
"""


class _Unmoved(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: object) -> None:
        return None


class Site:
    """As a program that has the token sees it."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address, _, self.token = address.partition("?token=")
        self.process = process
        self._opener = urllib.request.build_opener(_Unmoved)

    def open(
        self,
        path: str,
        *,
        post: bool = False,
        token: str | None = None,
        form: Mapping[str, str] | None = None,
        document: Mapping[str, Any] | None = None,
    ) -> tuple[int, str]:
        data = urlencode(form or {}).encode() if post or form else None
        if document is not None:
            data = json.dumps(document).encode()
        request = urllib.request.Request(self.address + path.lstrip("/"), data=data)
        request.add_header("Authorization", f"Bearer {self.token if token is None else token}")
        request.add_header("Origin", self.address.rstrip("/"))
        try:
            with self._opener.open(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def lines(self, path: str) -> Iterator[str]:
        request = urllib.request.Request(self.address + path.lstrip("/"))
        request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=30) as answer:
            for line in answer:
                yield line.decode()


@contextmanager
def serving(folder: Path) -> Iterator[Site]:
    process = started("serve", cwd=folder)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), (address, process.stderr and process.stderr.read())
        yield Site(address, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_a_plan_is_watched_measured_from_outside_stopped_and_resumed(tmp_path: Path) -> None:
    going = Going(write_plan(tmp_path, PLAN.format(window="10m")))
    try:
        going.measured_run()
        (folder,) = (tmp_path / "bakeoff-results").iterdir()
        with serving(tmp_path) as site:
            wait_until(lambda: folder.name in site.open("/")[1], "the bundle is listed")
            assert site.open("/", token="wrong")[0] == 403
            status, page = site.open(f"/bundles/{folder.name}")
            assert status == 200
            assert "Watched &lt;b&gt;" in page
            told = "".join(
                line for line, _ in zip(site.lines(f"/bundles/{folder.name}/events"), range(40), strict=False)
            )
            assert "operations/s" in told
            assert "polyline" in told
            metrics = site.open("/metrics")[1]
            assert re.search(r'^bakeoff_operations_total\{bundle="[^"]*",run="b01-.*"\} [1-9]', metrics, re.MULTILINE)
            assert "machine.cpu_busy_s_per_s" in metrics
            assert site.open(f"/bundles/{folder.name}/stop", post=True)[0] == 303
            assert going.process.wait(60) == 130
            assert not (folder / "live.jsonl").exists()
            wait_until(lambda: 'class="answer"' in site.open(f"/bundles/{folder.name}")[1], "its report is shown")
            assert site.open("/metrics")[1].splitlines()[-1] == "# EOF"
            assert ">Resume</button>" in site.open("/")[1]
            assert site.open(f"/bundles/{folder.name}/resume", post=True)[0] == 303
            wait_until(lambda: "data-events=" in site.open(f"/bundles/{folder.name}")[1], "it goes on")
            assert site.open(f"/bundles/{folder.name}/stop", post=True)[0] == 303
            wait_until(lambda: not is_written(folder), "it has ended again")
            assert listed(folder).state == "interrupted"
    finally:
        going.end()


def test_reports_are_made_from_the_data_and_any_two_bundles_are_compared(tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = bakeoff(
            "run", write_plan(tmp_path, PLAN.format(window="1s")), "--out", f"bakeoff-results/{name}", cwd=tmp_path
        )
        assert done.code == 0, done.err
    (tmp_path / "bakeoff-results/a/report.html").write_text("<script>somebody else's</script>")
    with serving(tmp_path) as site:
        status, page = site.open("/bundles/a")
        assert (status, "somebody else's" in page) == (200, False)
        assert "Watched &lt;b&gt;" in page
        status, page = site.open("/compare?before=a&after=b")
        assert status == 200, page
        sides = " ".join(str(tmp_path / "bakeoff-results" / name) for name in ("a", "b"))
        assert f"<pre>bakeoff compare {sides} --html compare.html</pre>" in page
        assert site.open("/compare?before=a&after=../a")[0] == 404
        assert site.open("/bundles/..%2f..%2fetc")[0] == 404
        assert site.open("/compare?before=a&after=a")[0] == 422
        assert site.open("/bundles/b/note", form={"note": "with <new> disks"})[0] == 303
        assert listed(tmp_path / "bakeoff-results/b").note == "with <new> disks"
        assert "with &lt;new&gt; disks" in site.open("/?words=disks")[1]
        assert site.open("/bundles/b/note", post=True)[0] == 422
        status, page = site.open("/bundles/b/resume", post=True)
        assert (status, "this plan was not stopped here" in page) == (409, True)
        status, page = site.open("/track?title=Watched%20%3Cb%3E")
        assert (status, page.count("<circle")) == (200, 2), page
        status, page = site.open("/claims/hatshop")
        assert (status, "S4-1" in page) == (200, True), page
        assert site.open("/claims/none")[0] == 404
    assert listed(tmp_path / "bakeoff-results/b").state == "complete"


def test_a_plan_is_run_from_its_text_and_ends_as_any_other(tmp_path: Path) -> None:
    with serving(tmp_path) as site:

        def ask(path: str, **said: Any) -> tuple[int, Any]:
            status, answer = site.open(path, document=said)
            return status, json.loads(answer)

        status, saved = ask("/plan/save", text=PLAN.format(window="10m"), name="my.toml", replaces="")
        assert status == 200, saved
        status, begun = ask("/plan/run", **saved, disturbed=True)
        assert status == 200, begun
        (folder,) = (tmp_path / "bakeoff-results").iterdir()
        assert begun["address"] == f"/bundles/{folder.name}"
        try:
            assert "data-events=" in site.open(begun["address"])[1]
            own, of_site = os.getpriority(os.PRIO_PROCESS, 0), os.getpriority(os.PRIO_PROCESS, site.process.pid)
            assert os.getpriority(os.PRIO_PROCESS, writing(folder)) == own < of_site
            status, refused = ask("/plan/run", **saved)
            assert (status, "--together" in refused["error"]["what"]) == (422, True), refused
            assert list((tmp_path / "bakeoff-results").iterdir()) == [folder]
            assert site.open(f"/bundles/{folder.name}/stop", post=True)[0] == 303
            wait_until(lambda: not is_written(folder), "it has ended")
            assert site.open(f"/bundles/{folder.name}/resume", post=True)[0] == 303
            assert os.getpriority(os.PRIO_PROCESS, writing(folder)) == own
        finally:
            site.open(f"/bundles/{folder.name}/stop", post=True)
            wait_until(lambda: not is_written(folder), "it has ended again")
        assert "my.toml" in site.open("/plan")[1]


def writing(bundle: Path) -> int:
    """The process that writes into it."""
    handle = os.open(bundle / "bundle.lock", os.O_RDONLY)
    try:
        return read_holder(handle).pid
    finally:
        os.close(handle)


def test_what_an_installation_says_is_followed_to_its_end(tmp_path: Path) -> None:
    with serving(tmp_path) as site:
        assert site.open("/systems/mariadb/events")[0] == 404
        assert site.open("/systems/install", form={"kind": "mariadb", "version": "0.0.1"})[0] == 303
        said = "".join(site.lines("/systems/mariadb/events"))
        assert "data: bakeoff systems install mariadb@0.0.1\n" in said
        assert "data: error: mariadb 0.0.1 cannot be downloaded" in said
        assert said.endswith("event: end\ndata: \n\n")
        page = site.open("/systems")[1]
        assert "error: mariadb 0.0.1 cannot be downloaded" in page
        assert 'data-events="/systems' not in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--results", "nowhere"], "there is no folder nowhere"),
        (["--bind", "0.0.0.0"], "--bind needs --certificate and --key and --password-file"),
        (["--password-file", "x"], "it is for --bind"),
        (["--allow-runs"], "it is for --bind"),
        (["--port", "70000"], "70000 is not a port"),
    ],
)
def test_wrong_options_end_with_a_sentence(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "bakeoff-results").mkdir()
    done = bakeoff("serve", *arguments, cwd=tmp_path)
    assert (done.code, words in done.err) == (2, True), done.err


@pytest.mark.parametrize("runs", [[], ["--allow-runs"]])
def test_other_machines_need_tls_and_the_password(tmp_path: Path, runs: list[str]) -> None:
    (tmp_path / "bakeoff-results").mkdir()
    tls = make_certificate(tmp_path)
    (tmp_path / "password").write_text("correct horse battery\n")
    files = ["--certificate", tls.certificate, "--key", tls.key, "--password-file", tmp_path / "password"]
    process = subprocess.Popen(
        [*PROGRAM, "serve", "--bind", "127.0.0.1", *map(str, files), *runs],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(tls.authority))
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address, timeout=30, context=context)
        manager = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        manager.add_password(None, address, "anybody", "correct horse battery")
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.HTTPBasicAuthHandler(manager)
        )
        with opener.open(address, timeout=30) as answer:
            assert "Bundles" in answer.read().decode()
        with nullcontext() if runs else pytest.raises(urllib.error.HTTPError, match="403"):
            opener.open(f"{address}plan", timeout=30).close()
    finally:
        process.terminate()
        process.communicate(timeout=20)
