"""OTLP: what a collector receives while a plan runs, by HTTP, and that a run does without one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError
from bakeoff.serve import openmetrics, otlp
from bakeoff.serve.otlp import Collector, Exporter, collector

from tests.unit.test_serve import RUNNING, going

PLAN = (
    'title = "Exported"\n[systems.null]\n[workload]\nkind = "ycsb"\npreset = "c"\nrecords = 10\n'
    '[measure]\nwarm_up = "0s"\nwindow = "2s"\nrepetitions = 1\n'
)
SECRET = "key-of-nobody"


@dataclass
class Receiver:
    """A collector that keeps what it is sent. status: its answer; waits_s: before it."""

    url: str = ""
    status: int = 200
    answer: bytes = b""
    waits_s: float = 0.0
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)

    def points(self) -> dict[str, list[tuple[dict[str, str], dict[str, Any]]]]:
        """By metric: labels and point, in the order received. Fails where a request is not OTLP/JSON."""
        found: dict[str, list[tuple[dict[str, str], dict[str, Any]]]] = {}
        for path, headers, body in self.requests:
            assert path == "/v1/metrics"
            assert headers["content-type"] == "application/json"
            (resource,) = body["resourceMetrics"]
            assert labels_of(resource["resource"]["attributes"])["service.name"] == "bakeoff"
            (scope,) = resource["scopeMetrics"]
            assert scope["scope"]["name"] == "bakeoff"
            for metric in scope["metrics"]:
                (kind,) = metric.keys() & {"gauge", "sum"}
                assert kind == "gauge" or (metric["sum"]["aggregationTemporality"], metric["sum"]["isMonotonic"]) == (
                    2,
                    True,
                )
                for point in metric[kind]["dataPoints"]:
                    now_ns = int(point["timeUnixNano"])
                    assert abs(now_ns / 1e9 - time.time()) < 600
                    assert int(point.get("startTimeUnixNano", "0")) <= now_ns
                    assert kind == "gauge" or "startTimeUnixNano" in point
                    found.setdefault(metric["name"], []).append((labels_of(point["attributes"]), point))
        return found


def labels_of(attributes: Sequence[dict[str, Any]]) -> dict[str, str]:
    return {one["key"]: one["value"]["stringValue"] for one in attributes}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.requests.append((self.path, {name.lower(): words for name, words in self.headers.items()}, body))
            time.sleep(found.waits_s)
            self.send_response(found.status)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.end_headers()
            self.wfile.write(found.answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"):
        monkeypatch.delenv(name, raising=False)


def exported(receiver: Receiver, **said: Any) -> list[str]:
    """Events of a run, sent to the receiver; the warnings."""
    warnings: list[str] = []
    exporter = Exporter(
        Collector(f"{receiver.url}/v1/metrics", every_s=60, resource={"service.name": "bakeoff"}, **said),
        "b",
        warnings.append,
    )
    for event in RUNNING:
        exporter.write(event)
    exporter.close()
    return warnings


def test_a_collector_gets_what_openmetrics_has(receiver: Receiver) -> None:
    assert exported(receiver) == []
    points = receiver.points()
    expected = [(name, dict(labels), value) for name, labels, value in openmetrics.samples("b", going(*RUNNING))]
    got = [(name, labels, point["asDouble"]) for name, found in points.items() for labels, point in found]
    assert sorted(got, key=repr) == sorted(((name, labels, float(value)) for name, labels, value in expected), key=repr)
    assert not [name for name in points if name.endswith("_total")]  # which a Prometheus adds


def test_a_run_sends_while_it_goes_on_and_its_last_figures(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={SECRET},x-tenant=a%20b")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "1000")
    Path("plan.toml").write_text(PLAN)
    assert main(["run", "plan.toml", "--out", "out", "--allow-disturbed", "--quiet", "--together"]) == 0
    assert len(receiver.requests) > 2
    assert {(headers["api-key"], headers["x-tenant"]) for _, headers, _ in receiver.requests} == {(SECRET, "a b")}
    points = receiver.points()
    counted = [point["asDouble"] for _, point in points["bakeoff_operations"]]
    assert counted == sorted(counted)
    assert counted[-1] > 1_000
    labels, last = points["bakeoff_runs_done"][-1]
    assert (labels, last["asDouble"]) == ({"bundle": "out"}, 1)
    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err
    assert not [path for path in Path("out").rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_a_collector_that_is_not_there_is_warned_of_once_and_the_run_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    words = ["run", "plan.toml", "--out", "out", "--allow-disturbed", "--quiet", "--together"]
    assert main([*words, "--otlp", "http://127.0.0.1:9"]) == 0
    (warning,) = [line for line in capsys.readouterr().err.splitlines() if "127.0.0.1:9" in line]
    assert "exports to http://127.0.0.1:9/v1/metrics failed: Connection refused" in warning


@pytest.mark.parametrize("status", [401, 307])
def test_refusals_and_redirections_are_failures(receiver: Receiver, status: int) -> None:
    receiver.status = status
    (warning,) = exported(receiver)
    assert f"failed: HTTP {status}" in warning


def test_points_that_are_rejected_are_failures(receiver: Receiver) -> None:
    receiver.answer = b'{"partialSuccess": {"rejectedDataPoints": "5", "errorMessage": "too old"}}'
    (warning,) = exported(receiver)
    assert "failed: 5 points were rejected" in warning
    receiver.answer = b'{"partialSuccess": {}}'
    assert exported(receiver) == []


def test_a_header_that_cannot_be_sent_is_in_no_warning(receiver: Receiver) -> None:
    (warning,) = exported(receiver, headers={"api-key": f"{SECRET}\n"})
    assert SECRET not in warning
    assert "failed: ValueError" in warning
    assert SECRET not in repr(Collector(receiver.url, {"api-key": SECRET}))


def test_a_slow_collector_holds_up_no_event_and_ends_in_bounded_time(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "_END_S", 0.2)
    monkeypatch.setattr(otlp, "_WAITING_MAX", 10)
    receiver.waits_s = 1.0
    warnings: list[str] = []
    exporter = Exporter(Collector(f"{receiver.url}/v1/metrics", every_s=60), "b", warnings.append)
    begun = time.monotonic()
    for _ in range(1_000):
        exporter.write(RUNNING[0])
    exporter.close()
    assert time.monotonic() - begun < 0.9
    (warning,) = warnings
    assert "990 events were too many" in warning
    assert "no answer" in warning


def test_the_standard_variables_say_where_and_how() -> None:
    assert collector(None, {}) is None
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://host:4318/otlp/"}
    found = collector(None, {**base, "OTEL_EXPORTER_OTLP_TIMEOUT": "2000", "OTEL_RESOURCE_ATTRIBUTES": "team=db,x"})
    assert found is not None
    assert (found.url, found.timeout_s) == ("https://host:4318/otlp/v1/metrics", 2.0)
    assert found.resource["team"] == "db"
    found = collector(None, {**base, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://other/m"})
    assert found is not None
    assert found.url == "http://other/m"
    for off in ({"OTEL_SDK_DISABLED": "true"}, {"OTEL_METRICS_EXPORTER": "none"}):
        assert collector(None, {**base, **off}) is None
    with pytest.raises(PlanError, match="over HTTP, not by grpc"):
        collector(None, {**base, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})


@pytest.mark.parametrize("words", ["5s", "-1", "0", "1e3", "9" * 13, "٥"])
@pytest.mark.parametrize("name", ["OTEL_METRIC_EXPORT_INTERVAL", "OTEL_EXPORTER_OTLP_TIMEOUT"])
def test_an_interval_that_is_none_is_refused_before_anything_starts(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, words)
    Path("plan.toml").write_text(PLAN)
    assert main(["run", "plan.toml", "--otlp", "http://127.0.0.1:9"]) == 2
    assert f"error: {words!r} is not a number of milliseconds from 1 to 10^12 ({name})" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


@pytest.mark.parametrize(
    "url",
    [
        "localhost:4318",
        "http://host\nname",
        "ftp://host",
        "http://",
        "http://user:hidden@host",
        "http://host/?key=hidden",
    ],
)
def test_an_address_that_cannot_be_is_refused_before_anything_starts(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    assert main(["run", "plan.toml", "--otlp", url]) == 2
    said = capsys.readouterr().err
    assert "this is no address of a collector" in said
    assert "hidden" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]
