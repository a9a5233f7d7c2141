"""What goes on, sent to an OpenTelemetry collector while a plan runs: the metrics of `openmetrics`, as OTLP in JSON
over HTTP (https://opentelemetry.io/docs/specs/otlp/), which needs no package.

A run is never disturbed: it puts events into a queue that loses them when it is full, a thread of its own sends, and
failures are counted and reported once, at the end. Addresses and headers are those of the standard variables
(https://opentelemetry.io/docs/specs/otel/protocol/exporter/); headers may be secrets, and appear in no message.
"""

from __future__ import annotations

import http.client
import json
import math
import platform
import queue
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from .. import __version__
from ..bundle.events import Event, RunEnds
from ..errors import PlanError
from ..model.boundary import Document
from . import openmetrics
from .going import Going

PATH = "/v1/metrics"
EVERY_S = 5.0
TIMEOUT_S = 5.0
#: Events that wait: some minutes of a run, where the thread does not come to it.
_WAITING_MAX = 10_000
#: At the end, for the last figures.
_END_S = 6.0
_ANSWER_MAX_BYTES = 64 << 10
_UNITS = {"seconds": "s", "": ""}
_CUMULATIVE = 2


@dataclass(frozen=True)
class Collector:
    """url: where metrics are sent; it has no secrets."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    every_s: float = EVERY_S
    timeout_s: float = TIMEOUT_S
    certificate: str | None = None
    resource: Mapping[str, str] = field(default_factory=dict)


def collector(said: str | None, environment: Mapping[str, str]) -> Collector | None:
    """said: of --otlp, else the environment's; None where neither names one. Raises PlanError."""
    url, where = said, "--otlp"
    if url is None:
        if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or _says(environment, "EXPORTER") == "none":
            return None
        where = next((name for name in _names("ENDPOINT") if environment.get(name)), "")
        if not where:
            return None
        if (protocol := _says(environment, "PROTOCOL")) == "grpc":
            hint = "name a collector's address for HTTP with --otlp http://host:4318"
            raise PlanError(f"bakeoff sends OTLP over HTTP, not by {protocol}", where=where, hint=hint)
        url = environment[where]
    return Collector(
        _address(url, where, whole=where == "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
        _pairs(_says(environment, "HEADERS")),
        _seconds(environment, ("OTEL_METRIC_EXPORT_INTERVAL",), EVERY_S),
        _seconds(environment, _names("TIMEOUT"), TIMEOUT_S),
        _says(environment, "CERTIFICATE") or None,
        _pairs(environment.get("OTEL_RESOURCE_ATTRIBUTES", ""))
        | {"service.name": environment.get("OTEL_SERVICE_NAME") or "bakeoff", "service.version": __version__}
        | {"host.name": platform.node()},
    )


def _names(what: str) -> tuple[str, ...]:
    if what == "EXPORTER":
        return ("OTEL_METRICS_EXPORTER",)
    return f"OTEL_EXPORTER_OTLP_METRICS_{what}", f"OTEL_EXPORTER_OTLP_{what}"


def _says(environment: Mapping[str, str], what: str) -> str:
    return next((environment[name] for name in _names(what) if environment.get(name)), "")


def _address(url: str, where: str, *, whole: bool) -> str:
    """whole: with the path of metrics."""
    try:
        parts = urlsplit(url)
        right = url.isprintable() and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right or "@" in parts.netloc or parts.query or parts.fragment:
        hint = "http://host:4318 or https://host:4318; a key or password goes into OTEL_EXPORTER_OTLP_HEADERS"
        raise PlanError("this is no address of a collector for OTLP over HTTP", where=where, hint=hint)
    return url if whole else url.rstrip("/") + PATH


def _pairs(words: str) -> dict[str, str]:
    """ "a=b,c=d", percent-encoded; what is none is left out."""
    pairs = (part.partition("=") for part in words.split(","))
    return {name.strip(): unquote(value.strip()) for name, equals, value in pairs if equals and name.strip()}


def _seconds(environment: Mapping[str, str], names: Sequence[str], default: float) -> float:
    """Of milliseconds, by the first of these variables that is set; a second at least. Raises PlanError."""
    where = next((name for name in names if environment.get(name)), "")
    if not where:
        return default
    if not re.fullmatch(r"[1-9][0-9]{0,11}", environment[where], re.ASCII):
        what = f"{environment[where][:50]!r} is not a number of milliseconds from 1 to 10^12"
        raise PlanError(what, where=where, hint="write a whole number such as 5000")
    return max(1.0, int(environment[where]) / 1e3)


class Exporter:
    """A listener of events. bundle: its name. say: for the one warning, in the thread that calls `close`."""

    def __init__(self, to: Collector, bundle: str, say: Callable[[str], object]) -> None:
        self._to = to
        self._bundle = bundle
        self._say = say
        self._events: queue.Queue[Event] = queue.Queue(_WAITING_MAX)
        self._going = Going()
        #: When each run was first seen: its counters begin then.
        self._began_ns: dict[str, int] = {}
        self._sent = self._failed = self._lost = 0
        self._why = ""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._send_all, name="otlp", daemon=True)
        self._thread.start()

    def write(self, event: Document) -> None:
        """Never waits."""
        try:
            self._events.put_nowait(cast(Event, event))
        except queue.Full:
            self._lost += 1

    def close(self) -> None:
        """Sends the last figures, unless that takes too long."""
        self._ending.set()
        self._thread.join(_END_S)
        if self._thread.is_alive():
            self._failed, self._why = self._failed + 1, self._why or "no answer"
        if self._failed or self._lost:
            lost = f", and {self._lost} events were too many" if self._lost else ""
            words = f"{self._failed} of {self._sent + self._failed} exports to {self._to.url} failed{lost}"
            self._say(f"warning: {words}" + (f": {self._why}" if self._why else ""))

    def _send_all(self) -> None:
        try:
            ending = False
            while not ending:
                ending = self._ending.wait(self._to.every_s)
                self._export()
        except Exception as error:  # whatever it is, the run goes on
            self._failed, self._why = self._failed + 1, type(error).__name__

    def _export(self) -> None:
        """Each run's last figures, too, however short it was."""
        while not self._events.empty():
            event = self._events.get_nowait()
            if isinstance(event, RunEnds) and self._going.run:
                self._send()
            self._going.add([event])
        if self._going.version:
            self._send()

    def _send(self) -> None:
        now_ns = time.time_ns()
        run = self._going.run.id if self._going.run else ""
        began_ns = self._began_ns.setdefault(run, now_ns)
        samples = openmetrics.samples(self._bundle, self._going)
        body = json.dumps(document(samples, self._to.resource, began_ns, now_ns), allow_nan=False).encode()
        try:
            trouble = self._post(body)
        except (OSError, http.client.HTTPException, ValueError) as error:  # whose words may have a header's value
            self._count(getattr(error, "strerror", None) or type(error).__name__)
        else:
            self._count(trouble)

    def _count(self, trouble: str) -> None:
        self._sent, self._failed = self._sent + (not trouble), self._failed + bool(trouble)
        self._why = trouble or self._why

    def _post(self, body: bytes) -> str:
        """Why the collector did not take all of it, else "". No redirection is followed: it could lead the headers
        elsewhere."""
        parts = urlsplit(self._to.url)
        host, port = parts.hostname or "", parts.port
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            tls = ssl.create_default_context(cafile=self._to.certificate)
            connection = http.client.HTTPSConnection(host, port, timeout=self._to.timeout_s, context=tls)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=self._to.timeout_s)
        try:
            connection.request(
                "POST", parts.path or "/", body, {**self._to.headers, "Content-Type": "application/json"}
            )
            answer = connection.getresponse()
            said = answer.read(_ANSWER_MAX_BYTES)
            return _rejected(said) if 200 <= answer.status < 300 else f"HTTP {answer.status}"
        finally:
            connection.close()


def _rejected(answer: bytes) -> str:
    """What a collector says that it did not take of what it was sent, as an ExportMetricsServiceResponse; "" if all."""
    try:
        rejected = int(json.loads(answer)["partialSuccess"]["rejectedDataPoints"])
    except (ValueError, KeyError, TypeError):  # it says nothing of the kind
        return ""
    return f"{rejected} points were rejected" if rejected else ""


def document(
    samples: Iterable[openmetrics.Sample], resource: Mapping[str, str], began_ns: int, now_ns: int
) -> dict[str, Any]:
    """An ExportMetricsServiceRequest. began_ns: when the counters began."""
    points: dict[str, list[dict[str, Any]]] = {}
    for name, labels, value in samples:
        if math.isfinite(value):
            point = {"attributes": _attributes(labels), "timeUnixNano": str(now_ns), "asDouble": float(value)}
            points.setdefault(name, []).append(point)
    metrics = [_metric(name, of_family, began_ns) for name, of_family in points.items()]
    scope = {"scope": {"name": "bakeoff", "version": __version__}, "metrics": metrics}
    return {"resourceMetrics": [{"resource": {"attributes": _attributes(resource)}, "scopeMetrics": [scope]}]}


def _metric(name: str, points: list[dict[str, Any]], began_ns: int) -> dict[str, Any]:
    kind, unit, about = openmetrics.FAMILIES[name]
    described = {"name": name, "unit": _UNITS[unit], "description": about}
    if kind == "gauge":
        return {**described, "gauge": {"dataPoints": points}}
    counted = [{**point, "startTimeUnixNano": str(began_ns)} for point in points]
    return {**described, "sum": {"dataPoints": counted, "aggregationTemporality": _CUMULATIVE, "isMonotonic": True}}


def _attributes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": name, "value": {"stringValue": words}} for name, words in labels.items()]
