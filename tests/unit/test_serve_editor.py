"""The editor of plans and the page of systems: what is said of a text, where plans are saved, who may ask."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.serve import pages
from bakeoff.serve.access import Access
from bakeoff.serve.app import application
from bakeoff.serve.installs import Installs
from bakeoff.serve.plans import MAX_BYTES, FileExists, Plans
from bakeoff.systems import SYSTEMS
from builders.asgi import answered
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

HERE = "127.0.0.1:8001"
HOSTILE = "<img src=x onerror=alert(1)>"
PLAN = """title = "A first one"
threads = 1

[systems.null]

[workload]
kind = "ycsb"
preset = "c"
records = 100

[measure]
warm_up = "100ms"
window = "1s"
repetitions = 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plans(folder: Path) -> Plans:
    return Plans(folder / "bakeoff-results")


class Page:
    """As the editor's own script asks."""

    def __init__(self, folder: Path, *, allowed: bool = True) -> None:
        self.access = Access(frozenset([HERE]))
        self.app: Starlette = application(folder / "bakeoff-results", self.access, runs_allowed=allowed)

    def get(self, path: str) -> Response:
        return answered(self.app, path, host=HERE, authorization=f"Bearer {self.access.token}")

    def post(self, path: str, body: bytes, **headers: str) -> Response:
        said = {"host": HERE, "authorization": f"Bearer {self.access.token}", "origin": f"http://{HERE}", **headers}
        return answered(self.app, path, "POST", body, **{name: value for name, value in said.items() if value})

    def ask(self, path: str, **said: Any) -> tuple[int, Mapping[str, Any]]:
        answer = self.post(f"/plan/{path}", json.dumps(said).encode())
        return answer.status_code, json.loads(bytes(answer.body))


def test_a_plan_is_opened_checked_saved_and_saved_again(folder: Path) -> None:
    page = Page(folder)
    assert page.get("/plan").status_code == 200
    (status, made) = page.ask(
        "questions", systems=["null"], workload="ycsb-b", threads="1, 8", size="100", window="1s", repetitions="1"
    )
    assert (status, "threads = [1, 8]" in made["text"]) == (200, True)
    status, found = page.ask("check", text=made["text"], name="my.toml")
    assert (status, found["valid"], found["line"]) == (200, True, None)
    assert found["summary"].startswith("Valid: 2 runs, about ")
    assert "null runs inside the measuring process" in found["found"]
    status, saved = page.ask("save", text=made["text"], name="my.toml", replaces="")
    assert status == 200, saved
    assert (folder / "my.toml").read_text() == made["text"]
    assert page.ask("open", **{"from": "file:my.toml"})[1] == {"text": made["text"], **saved}
    assert page.ask("save", text=PLAN, name="my.toml", replaces=saved["digest"])[0] == 200
    assert (folder / "my.toml").read_text() == PLAN
    assert os.listdir(folder) == ["my.toml"]


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ("repetitions = 2", "repetition = 2", 14, "did you mean `repetitions`?"),
        ("repetitions = 2", "repetitions = ", 14, "plans are TOML"),
        ("repetitions = 2", "repetitions = [2,", 15, "plans are TOML"),
        ("[systems.null]", f'[systems.null]\n"{HOSTILE}" = 1', 4, "&lt;img src=x"),
        ('preset = "c"', 'preset = "z"', 8, "lx-load"),
        ("[systems.null]", f'[systems.db]\nkind = "mariadb"\naddress = "db1"\npassword = "{HOSTILE}"', 7, "env = "),
    ],
)
def test_what_is_wrong_is_said_with_its_line(plans: Plans, before: str, after: str, line: int, words: str) -> None:
    one = plans.check(PLAN.replace(before, after), "my.toml", asking=False)
    assert (one.dry, one.line) == (None, line), one.error
    summary, found = pages.checked(one)
    assert summary.startswith(f"Line {line}: ")
    assert f'data-line="{line}"' in found
    assert words in found
    assert "<img" not in found
    assert "my.toml" not in found


def test_what_a_plan_says_is_text_on_the_page(plans: Plans) -> None:
    text = PLAN.replace("A first one", HOSTILE).replace("[workload]", f'description = "{HOSTILE}"\n[workload]', 0)
    summary, found = pages.checked(plans.check(text, "my.toml", asking=False))
    assert summary.startswith("Valid: 2 runs")
    assert "<img" not in found


def test_servers_are_connected_to_only_where_that_is_asked_for(plans: Plans) -> None:
    with listening() as (port, listens):
        system = f'[systems.db]\nkind = "mysql"\naddress = "127.0.0.1:{port}"\nuser = "u"\ntls = false'
        text = PLAN.replace("[systems.null]", system).replace("[measure]", '[measure]\nreset = "none"\ntimeout = "1s"')
        one = plans.check(text, "my.toml", asking=False)
        assert one.unseen == ["db"], one.error
        assert 'id="look"' in pages.checked(one)[1]
        with pytest.raises(BlockingIOError):
            listens.accept()
        one = plans.check(text, "my.toml", asking=True)
        listens.accept()[0].close()
        assert (one.unseen, len(one.refusals)) == ([], 1)
        assert 'class="notice bad"' in pages.checked(one)[1]


@contextmanager
def listening() -> Iterator[tuple[int, socket.socket]]:
    """Somebody who never answers."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        one.setblocking(False)
        yield one.getsockname()[1], one


def test_every_example_can_begin_a_plan_in_a_folder_of_its_own(plans: Plans) -> None:
    examples = plans.examples()
    assert len(examples) > 20
    for one in examples:
        opened = plans.text_of(one.value)
        checked = plans.check(opened.text, opened.name, asking=False)
        assert checked.error is None, (one, checked.error)
    first = plans.text_of("first")
    assert plans.check(first.text, first.name, asking=False).error is None


@pytest.mark.parametrize(
    "name",
    [
        *("../my.toml", "plans/../../my.toml", "/tmp/my.toml", "linked/my.toml", "link.toml", ".my.toml", "my.txt"),
        *("", ".toml", "my.toml/", "my\n.toml", "my\0.toml", "none/my.toml", "bakeoff-results/b/plan.toml"),
    ],
)
def test_nothing_is_saved_or_read_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    for one in (folder / "plans", folder / "bakeoff-results/b", outside):
        one.mkdir(parents=True)
    (outside / "my.toml").write_text(PLAN)
    (folder / "linked").symlink_to(outside)
    (folder / "link.toml").symlink_to(outside / "my.toml")
    plans = Plans(folder / "bakeoff-results", folder)
    with pytest.raises(PlanError):
        plans.save(PLAN, name, "")
    with pytest.raises(PlanError):
        plans.text_of(f"file:{name}")
    assert plans.saved() == []
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == {outside / "my.toml", folder / "link.toml"}


def test_no_file_is_replaced_that_was_not_seen(plans: Plans, folder: Path) -> None:
    (folder / "my.toml").write_text(PLAN)
    (folder / "Cargo.toml").write_text("[package]\n")
    with pytest.raises(FileExists, match="this plan exists") as refused:
        plans.save("new", "my.toml", "")
    with pytest.raises(FileExists, match="is no plan"):
        plans.save(PLAN, "Cargo.toml", "")
    assert [one.title for one in plans.saved()] == ["my.toml"]
    digest = plans.save("new", "my.toml", refused.value.digest)
    assert (folder / "my.toml").read_text() == "new"
    (folder / "my.toml").write_text("changed by somebody else")
    with pytest.raises(FileExists):
        plans.save("newer", "my.toml", digest)
    with pytest.raises(PlanError, match="changed meanwhile"):
        plans.unchanged("my.toml", digest)


def test_a_link_that_leads_nowhere_is_not_followed(plans: Plans, folder: Path) -> None:
    (folder / "my.toml").symlink_to(folder / "elsewhere.toml")
    with pytest.raises(PlanError):
        plans.save(PLAN, "my.toml", "")
    assert not (folder / "elsewhere.toml").exists()


@pytest.mark.parametrize(
    "line",
    ['password = "x"', "  'password'='x'", '# api_key = "x"', 'settings = { wsrep_sst_auth = "a:b" }', 'password = "x'],
)
def test_a_text_with_a_secret_is_not_saved(plans: Plans, folder: Path, line: str) -> None:
    with pytest.raises(PlanError, match="must not contain a secret") as refused:
        plans.save(PLAN + line, "my.toml", "")
    assert '"x"' not in f"{refused.value}{refused.value.hint}"
    assert os.listdir(folder) == []
    plans.save(PLAN + 'password = { env = "NAME" }', "my.toml", "")


@pytest.mark.parametrize(
    "line", ['address = "mysql://u:x@h/db"', 'nodes = [{ address = "u@h:1" }]', "# see https://u:x@h/plans"]
)
def test_a_text_with_a_login_in_an_address_is_not_saved(plans: Plans, folder: Path, line: str) -> None:
    with pytest.raises(PlanError, match="an address must contain no user and no password"):
        plans.save(PLAN + line, "my.toml", "")
    assert os.listdir(folder) == []


def test_answers_to_the_questions_that_are_none_are_refused(folder: Path) -> None:
    page = Page(folder)
    right = {"systems": ["null"], "workload": "ycsb-b", "threads": "1", "size": "", "window": "1s", "repetitions": "1"}
    assert page.ask("questions", **right)[0] == 200
    for wrong, words in (
        ({"systems": []}, "no system is chosen"),
        ({"systems": ["nul"]}, "unknown kind of system"),
        ({"workload": "x"}, "unknown workload"),
        ({"threads": "many"}, "'many' is not a number of users"),
        ({"repetitions": "-1"}, "'-1' is not a number of repetitions"),
        ({"window": "long"}, "long"),
    ):
        status, answer = page.ask("questions", **{**right, **wrong})
        assert (status, words in answer["error"]["what"]) == (422, True), answer


def test_only_our_own_page_with_the_token_may_ask(folder: Path) -> None:
    page, body = Page(folder), json.dumps({"text": PLAN, "name": "my.toml", "replaces": ""}).encode()
    for path in ("/plan/save", "/plan/run", "/plan/check", "/plan/open", "/plan/questions", "/systems/install"):
        assert page.post(path, body, authorization="").status_code == 403
        assert page.post(path, body, origin="").status_code == 403
        assert page.post(path, body, origin="http://evil.example").status_code == 403
        assert page.post(path, body, host="evil.example:8001").status_code == 421
        assert page.get(path).status_code == 405
    assert answered(page.app, "/plan", host=HERE).status_code == 403
    assert os.listdir(folder) == []
    assert page.post("/plan/save", body).status_code == 200


def test_no_page_of_others_posts_to_any_address(folder: Path) -> None:
    page = Page(folder)
    cookie = {"authorization": "", "cookie": f"bakeoff-token-8001={page.access.token}"}
    routes = [one for one in page.app.routes if isinstance(one, Route) and "POST" in (one.methods or ())]
    assert {"/bundles/{name}/note", "/plan/run", "/systems/install"} < {one.path for one in routes}
    for route in routes:
        path = route.path.replace("{name}", "b")
        for origin in ("", "null", "http://evil.example", f"http://{HERE}.evil.example", "http://127.0.0.1:8002"):
            refused = page.post(path, b"{}", origin=origin, **cookie)
            assert (refused.status_code, b"Only a page of this server" in bytes(refused.body)) == (403, True), path
        for site in ("cross-site", "same-site", "none, cross-site"):
            said = {"sec_fetch_site": site, "sec_fetch_dest": "document", **cookie}
            assert page.post(path, b"{}", **said).status_code == 403, path
        assert page.post(path, b"{}", sec_fetch_site="same-origin", **cookie).status_code in (400, 404, 409, 422), path


def test_where_runs_are_not_allowed_nothing_of_it_is_there(folder: Path) -> None:
    page, body = Page(folder, allowed=False), json.dumps({"text": PLAN, "name": "my.toml", "replaces": ""}).encode()
    for path in ("/plan/save", "/plan/run", "/plan/check", "/plan/open", "/plan/questions", "/systems/install"):
        answer = page.post(path, body)
        assert (answer.status_code, b"--allow-runs" in bytes(answer.body)) == (403, True)
    assert page.get("/plan").status_code == 403
    assert b">Install</button>" not in bytes(page.get("/systems").body)
    assert os.listdir(folder) == []


def test_a_request_that_is_no_object_or_too_large_is_refused(folder: Path) -> None:
    page = Page(folder)
    half = rb'{"from": "file:\ud800", "text": "", "name": "\ud800.toml", "replaces": "", "digest": ""}'
    large = b" " * (3 * MAX_BYTES)
    wrong = {b"": 400, b"[]": 400, b"{": 400, b"[" * 100_000: 400, b"\xff": 400, half: 400, b"{}": 422, large: 413}
    for path in ("/plan/check", "/plan/open", "/plan/questions", "/plan/run", "/plan/save"):
        for body, status in wrong.items():
            answer = page.post(path, body)
            assert answer.headers["content-type"] == "application/json", (path, body[:99])
            error = json.loads(bytes(answer.body))["error"]
            assert answer.status_code == status, (path, body[:99])
            assert error["what"]
    assert page.ask("save", text="\ud800", name="my.toml", replaces="")[0] == 400
    assert os.listdir(folder) == []


def test_what_was_not_saved_is_not_run(folder: Path) -> None:
    page = Page(folder)
    digest = page.ask("save", text=PLAN, name="my.toml", replaces="")[1]["digest"]
    assert page.ask("run", name="my.toml", digest="other")[1]["error"]["what"] == "this plan was changed meanwhile"
    assert page.ask("run", name="other.toml", digest=digest)[0] == 422
    wrong = page.ask("save", text=PLAN.replace("null", "nul"), name="my.toml", replaces=digest)[1]["digest"]
    status, answer = page.ask("run", name="my.toml", digest=wrong)
    assert (status, answer["error"]["where"]) == (422, "my.toml, line 4, [systems.nul] kind")
    assert os.listdir(folder) == ["my.toml"]


@pytest.mark.parametrize(
    ("kind", "version", "source"),
    [
        *(("none", "", ""), ("sqlite", "", ""), ("--image", "x", ""), ("couchdb", "", "")),
        *(("mariadb", "--image", ""), ("mariadb", "1;ls", ""), ("mariadb", "", "--image"), ("mariadb", "", "npm")),
    ],
)
def test_only_a_version_of_what_can_be_installed_is_installed(kind: str, version: str, source: str) -> None:
    installs = Installs()
    with pytest.raises(PlanError):
        installs.start(kind, version, source)
    assert installs.of(kind) is None


def test_an_installation_from_a_chosen_source_goes_on_when_the_site_ends(tmp_path: Path) -> None:
    program, done = tmp_path / "python", tmp_path / "done"
    program.write_text(f'#!/bin/sh\necho begun\nsleep 0.5\necho "$@"\necho "$@" > {done}.new; mv {done}.new {done}\n')
    program.chmod(0o755)
    source = SYSTEMS["mariadb"].sources().fetching()[0].name
    site = f"""
import sys, time
from bakeoff.serve.installs import Installs
sys.executable = {str(program)!r}
installs = Installs()
installs.start("mariadb", "10.11", {source!r})
while "begun" not in installs.of("mariadb").text:
    time.sleep(0.01)
print(installs.of("mariadb").text, installs.of("mariadb").code)
"""
    said = subprocess.run([sys.executable, "-c", site], check=True, capture_output=True, text=True).stdout
    command = f"systems install mariadb@10.11 --from {source}"
    assert said == f"bakeoff {command}\nbegun None\n"
    until_s = time.monotonic() + 20
    while not done.exists() and time.monotonic() < until_s:
        time.sleep(0.05)
    assert done.read_text() == f"-P -m bakeoff {command}\n"


def test_the_list_of_systems_has_states_sizes_and_versions(folder: Path) -> None:
    page = bytes(Page(folder).get("/systems").body).decode()
    assert page.count('<tr id="') == len(pages.SYSTEMS)
    assert "MiB download, " in page
    assert '<option value="10.11' in page
    assert '<select name="from"><option value="">any source</option><option>' in page
    assert "by address" in page
