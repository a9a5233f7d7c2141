"""`bakeoff serve` without a server: a plan that goes on, the list of bundles, who may ask, what programs read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest
from bakeoff.bundle.events import (
    Begin,
    CellDescription,
    Event,
    Loading,
    Phase,
    RunBegins,
    RunEnds,
    Sampled,
    Second,
    WarningEvent,
)
from bakeoff.bundle.live import NAME, LiveLog, LiveReader
from bakeoff.bundle.results_folder import annotate
from bakeoff.cli import main
from bakeoff.cli.commands import serve
from bakeoff.model.records.run import Percentiles
from bakeoff.provision.certificate import Certificate, make_certificate
from bakeoff.serve import openmetrics, pages
from bakeoff.serve.access import Access
from bakeoff.serve.going import Going, Watched
from bakeoff.serve.history import History
from builders.asgi import answered
from builders.bundles import MARIADB, SQLITE, Story, write_bundle
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

ROOT = Path(__file__).parents[2]
HOSTILE = '<script>alert(1)</script>"'
CELLS = [CellDescription(id="c1", label=HOSTILE, system='maria"db', levels={"threads": 4})]


def second(number: int, *, rate: float = 1000.0, p99_ms: float | None = 2.0, warm_up: bool = False) -> Second:
    times = {"mean_ms": 1.0, "p50_ms": 1.0, "p95_ms": 1.5, "p99_ms": p99_ms, "max_ms": 3.0}
    counts = {"reads": 0, "writes": 0, "others": 0, "retries": 0, "retries_after_conflict": 0, "reconnects": 0}
    return Second(
        run="b01-c1", second=number, length_s=1.0, warm_up=warm_up, ok=int(rate), errors=2, rate_ops_per_s=rate,
        **times, **counts,
    )  # fmt: skip


def ended(block: int = 1, attempt: int = 1, standing: str = "valid") -> RunEnds:
    shown: dict[str, Any] = {"run": f"b0{block}-c1", "cell": "c1", "block": block, "state": "done", "failure": ""}
    counted = {"rate_ops_per_s": 1000.0, "error_ratio": 0.0, "errors": {"fail_other": 3}}
    return RunEnds(
        **shown, valid=standing == "valid", standing=standing, attempt=attempt, findings=[],
        **counted, response=Percentiles(p99_ms=2.0),
    )  # fmt: skip


BEGIN: list[Event] = [
    Begin(bakeoff_version="1", title=HOSTILE, bundle="/b", cells=CELLS, runs=4, runs_done=1),
    Loading(system="mariadb", cell="c1", done=10, total=40, elapsed_s=1.0),
    RunBegins(run="b01-c1", cell="c1", block=1),
    Phase(run="b01-c1", phase="running"),
]
FIGURES = {"os.cpu_user_s_per_s": 0.5, "os.cpu_system_s_per_s": 0.25, "machine.cpu_busy_s_per_s": 1.5}
RUNNING = [
    *BEGIN,
    second(0, warm_up=True),
    second(1, p99_ms=None),
    Sampled(run="b01-c1", second=0.0, nodes=[], figures=FIGURES),
    Sampled(run="b01-c1", second=1.0, nodes=[], figures=FIGURES),
]


def going(*events: Event) -> Going:
    now = Going()
    now.add(events)
    return now


def test_a_run_that_goes_on_has_its_seconds_and_what_the_servers_did() -> None:
    run = going(*RUNNING).run
    assert run is not None
    assert (run.phase, run.ok, run.errors) == ("running", 2000, 4)
    setting = run.over_time()
    (drawn,) = setting.runs
    assert setting.warm_up_s == 1.0
    assert drawn.rate.values.tolist() == [1000.0, 1000.0]
    assert drawn.p99_ms.seconds.tolist() == [0.5]  # nothing ended in the other
    assert drawn.metrics["os.cpu_cores"].values.tolist() == [0.75, 0.75]


def test_a_repeated_run_counts_once_and_those_before_a_resumption_too() -> None:
    now = going(*RUNNING, ended(standing="disturbed"), RunBegins(run="b01-c1.2", cell="c1", block=1), ended(attempt=2))
    assert (now.done, now.runs, len(now.ended), now.run) == (2, 4, 2, None)


def test_what_came_from_elsewhere_is_text_on_the_page() -> None:
    now = going(*RUNNING, ended(), *RUNNING[2:], WarningEvent(run="", words=HOSTILE))
    assert now.run is not None
    page = pages.going("a bundle", now, pages.chart_of(now.run))
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;") >= 4
    assert "1,000</b> operations/s" in page
    assert 'data-events="/bundles/a%20bundle/events"' in page


def test_events_that_are_appended_are_read_once_and_others_left_out(tmp_path: Path) -> None:
    log, reader = LiveLog(tmp_path), LiveReader(tmp_path)
    for event in BEGIN:
        log.write(event)
    assert [type(event) for event in reader.events() or []] == [type(event) for event in BEGIN]
    assert reader.events() == []
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'[1]\nnot json\n{"event": "new"}\n{"event": "phase", "run": "b01-c1", "phase": "dra')
    assert reader.events() == []
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'ining"}\n')
    assert reader.events() == [Phase(run="b01-c1", phase="draining")]
    log.close()
    assert reader.events() is None
    assert not (tmp_path / NAME).exists()


def test_another_plan_in_the_same_folder_is_read_from_its_start(tmp_path: Path) -> None:
    watched, first = Watched(tmp_path), LiveLog(tmp_path)
    for event in RUNNING:
        first.write(event)
    assert (now := watched.look()) is not None
    assert now.run is not None
    again = LiveLog(tmp_path)
    again.write(BEGIN[0])
    assert (now := watched.look()) is not None
    assert (now.run, now.runs) == (None, 4)
    again.close()
    assert watched.look() is None


def test_no_link_is_followed_to_the_events(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / NAME).symlink_to(elsewhere)
    log = LiveLog(tmp_path)
    log.write(BEGIN[0])
    log.close()
    assert elsewhere.read_text() == "mine"
    assert LiveReader(tmp_path).events() is None


def test_openmetrics_groups_families_and_escapes_labels() -> None:
    lines = openmetrics.text_of(openmetrics.samples("my\nbundle", going(*RUNNING))).splitlines()
    assert lines[-1] == "# EOF"
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    labels = 'bundle="my\\nbundle",run="b01-c1",system="maria\\"db",cell="<script>alert(1)</script>\\""'
    assert f"bakeoff_operations_total{{{labels}}} 2000.0" in lines
    assert f'bakeoff_response_time_seconds{{{labels},quantile="0.95"}} 0.0015' in lines
    assert f'bakeoff_sample{{{labels},name="os.cpu_user_s_per_s"}} 0.5' in lines
    assert all(line.startswith(("#", *families)) for line in lines)


def test_the_history_seeks_by_words_and_follows_the_folder(tmp_path: Path) -> None:
    for name, sides in (("one", (MARIADB, SQLITE)), ("two", (SQLITE,))):
        write_bundle(tmp_path / name, Story(contenders=sides, threads=(1,), presets=("a",), repetitions=1, window_s=2))
    history = History(tmp_path)
    history.look()
    assert {one.name for one in history.find("")} == {"one", "two"}
    assert [one.name for one in history.find("ONE complete")] == ["one"]
    assert history.folder_of("one") == tmp_path / "one"
    assert [history.folder_of(name) for name in ("..", ".", "", "one/runs", "three")] == [None] * 5
    (tmp_path / "one" / "bundle.json").unlink()
    history.look()
    assert [one.name for one in history.find("")] == ["two"]
    assert "<table>" in pages.history(history.find(""), "", 1, [])


def test_a_note_is_found_and_shown_and_what_was_stopped_can_go_on(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_bundle(tmp_path / name, Story([SQLITE], title="A plan"))
    annotate(tmp_path / "one", HOSTILE)
    history = History(tmp_path)
    history.look()
    assert [one.name for one in history.find("ALERT")] == ["one"]
    page = pages.history(history.find(""), "", 2, ["two"])
    assert 'value="&lt;script&gt;' in page
    assert page.count(">Resume</button>") == 1
    assert 'action="/bundles/two/resume"' in page
    assert 'action="/bundles/one/resume"' not in page


def test_a_damaged_bundle_is_listed_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "bundle.json").write_text("{")
    history = History(tmp_path)
    history.look()
    (one,) = history.find("")
    assert one.state == "damaged"
    assert "bundle.json" in pages.history([one], "", 1, [])


def test_the_dashboard_draws_metrics_that_there_are() -> None:
    document = json.loads((ROOT / "docs/howto/grafana.json").read_text())
    drawn = [target["expr"] for panel in document["panels"] for target in panel["targets"]]
    asked = {name for expression in drawn for name in re.findall(r"bakeoff_\w+", expression)}
    assert asked <= {f"{name}{end}" for name in openmetrics.FAMILIES for end in ("", "_total")}
    assert {name.removesuffix("_total") for name in asked} == openmetrics.FAMILIES.keys() - {"bakeoff_operations"}


HERE = "127.0.0.1:8001"


async def inside(request: Request) -> Response:
    return PlainTextResponse("in")


def asked(access: Access, path: str, method: str = "GET", **headers: str) -> Response:
    route = Route("/{rest:path}", inside, methods=["GET", "POST"])
    app = Starlette(routes=[route], middleware=[Middleware(BaseHTTPMiddleware, dispatch=access)])
    return answered(app, path, method, **{"host": HERE, **headers})


def test_only_the_token_opens_and_is_then_out_of_the_address() -> None:
    access = Access(frozenset([HERE]))
    assert asked(access, "/").status_code == 403
    assert asked(access, "/?token=wrong").status_code == 403
    let_in = asked(access, f"//elsewhere/?token={access.token}&words=a")
    assert (let_in.status_code, let_in.headers["location"]) == (303, "/elsewhere/?words=a")
    cookie = let_in.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=lax"} <= {part.strip() for part in cookie.split(";")}
    inside = asked(access, "/", cookie=cookie.partition(";")[0])
    assert inside.status_code == 200
    assert "default-src 'none'" in inside.headers["content-security-policy"]
    assert asked(access, "/", authorization=f"Bearer {access.token}").status_code == 200


def test_other_names_and_other_peoples_pages_are_refused() -> None:
    access = Access(frozenset([HERE]))
    token = {"authorization": f"Bearer {access.token}"}
    assert asked(access, "/", host="evil.example:8001", **token).status_code == 421
    assert asked(access, "/stop", "POST", **token).status_code == 403
    assert asked(access, "/stop", "POST", origin="http://evil.example", **token).status_code == 403
    assert asked(access, "/stop", "POST", origin=f"http://{HERE}", **token).status_code == 200


def test_pages_of_others_open_links_and_read_nothing() -> None:
    access = Access(frozenset([HERE]))
    token = {"authorization": f"Bearer {access.token}"}
    for site in ("cross-site", "same-site"):  # other ports of this machine are the same site
        opened = {"sec_fetch_site": site, "sec_fetch_dest": "document", "sec_fetch_user": "?1", **token}
        assert asked(access, "/compare", **opened).status_code == 200
        by_nobody = {name: words for name, words in opened.items() if name != "sec_fetch_user"}
        assert asked(access, "/compare", **by_nobody).status_code == 403, "a site sends a browser there by itself"
        for dest in ("iframe", "image", "script", "empty"):
            assert asked(access, "/compare", **{**opened, "sec_fetch_dest": dest}).status_code == 403
    assert asked(access, "/serve.js", sec_fetch_site="same-origin", sec_fetch_dest="script", **token).status_code == 200
    assert asked(access, "/", sec_fetch_site="none", sec_fetch_dest="document", **token).status_code == 200


def test_a_password_opens_under_any_name() -> None:
    import base64

    access = Access(frozenset(), "correct horse battery")
    right = base64.b64encode(b"me:correct horse battery").decode()
    wrong = base64.b64encode(b"me:correct horse").decode()
    assert asked(access, "/", host="bench.example").status_code == 401
    assert asked(access, f"/?token={access.token}").status_code == 401
    assert asked(access, "/", authorization=f"Basic {wrong}").status_code == 401
    assert asked(access, "/", authorization="Basic !").status_code == 401
    assert asked(access, "/", host="bench.example", authorization=f"Basic {right}").status_code == 200


def other_key(tls: Certificate) -> None:
    (tls.key.parent / "other").mkdir()
    tls.key.write_bytes(make_certificate(tls.key.parent / "other").key.read_bytes())


def with_passphrase(tls: Certificate) -> None:
    key = load_pem_private_key(tls.key.read_bytes(), None)
    kept = (Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word"))
    tls.key.write_bytes(key.private_bytes(*kept))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda tls: tls.certificate.unlink(), "there is no file {certificate} (--certificate)"),
        (lambda tls: tls.key.unlink(), "there is no file {key} (--key)"),
        (lambda tls: tls.certificate.write_text("x"), "{certificate} cannot be read as a certificate in PEM"),
        (lambda tls: tls.certificate.write_bytes(tls.key.read_bytes()), "{certificate} cannot be read as a certif"),
        (lambda tls: tls.key.write_text("x"), "{key} cannot be read as a private key in PEM (--key)"),
        (other_key, "{key} is not the key of {certificate} (--key)"),
        (with_passphrase, "{key} is protected by a passphrase (--key)"),
    ],
)
def test_a_wrong_certificate_is_refused_at_the_start(
    harm: Callable[[Certificate], object], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tls = make_certificate(tmp_path)
    harm(tls)
    assert words.format(certificate=tls.certificate, key=tls.key) in refused(tmp_path, tls, capsys)


@pytest.mark.parametrize(("days", "words"), [(31, "expired on 20"), (-2, "is valid only from 20")])
def test_a_certificate_that_is_not_valid_today_is_refused_at_the_start(
    days: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Another(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(days)

    monkeypatch.setattr(serve, "datetime", Another)
    tls = make_certificate(tmp_path)
    assert f"{tls.certificate} {words}" in refused(tmp_path, tls, capsys)


def test_a_password_that_is_no_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be read as a text" in refused(tmp_path, make_certificate(tmp_path), capsys, b"\xff" * 30)


def refused(
    folder: Path, tls: Certificate, capsys: pytest.CaptureFixture[str], password: bytes = b"correct horse battery"
) -> str:
    """What `bakeoff serve` says to this certificate and password."""
    (folder / "password").write_bytes(password)
    files = ("--certificate", tls.certificate, "--key", tls.key, "--password-file", folder / "password")
    assert main(["serve", "--results", str(folder), "--bind", "127.0.0.1", *map(str, files)]) == 2
    return capsys.readouterr().err


def test_a_log_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    log = LiveLog(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", full)
        log.write(BEGIN[0])
    log.write(BEGIN[0])
    log.close()
    assert not (tmp_path / NAME).exists()


def full(*_: object) -> int:
    raise OSError(28, "No space left on device")
