"""What is at which address.

| address | what |
|---|---|
| `/` | the bundles; `?words=` seeks |
| `/bundles/NAME` | its report; of a plan that goes on, the run so far |
| `/bundles/NAME/events` | of a plan that goes on, the changing part of its page, as server-sent events |
| `/bundles/NAME/stop` | POST: as Ctrl-C in its terminal |
| `/bundles/NAME/resume` | POST: what was stopped here goes on |
| `/bundles/NAME/note` | POST: words that are kept with it |
| `/compare?before=NAME&after=NAME` | two bundles in one page |
| `/track?title=TITLE` | the bundles of one plan over time |
| `/claims/ARTICLE` | an article's claims, by the bundles that there are |
| `/plan`, `/plan/...` | the editor of plans (`editor`) |
| `/systems`, `/systems/...` | the list of systems, and installing them (`systems`) |
| `/metrics` | what goes on, as OpenMetrics |
"""

from __future__ import annotations

import asyncio
import math
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs, quote

from markupsafe import escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ..bundle.read import Bundle
from ..bundle.results_folder import annotate, is_written
from ..claims.article import names as articles
from ..errors import BakeoffError
from ..report.charts.scales import POINTS_MAX
from . import openmetrics, pages
from .access import REPORT_POLICY, Access
from .editor import Editor
from .going import Going, Watched
from .history import History, Stamp, stamp_of
from .processes import Processes
from .received import body_of
from .systems import SystemsPage

#: Between two looks at what changed: of a plan that goes on, of the folder.
LOOK_EVERY_S = 1.0
FOLDER_EVERY_S = 5.0
#: Between two drawings of a chart, at least.
CHART_EVERY_S = 2.0
PAGE_TIMEOUT_S = 120.0
#: Of reports that were made: the least recently wanted go first.
REPORTS_KEPT = 8
#: Of a note, as a form sends it.
FORM_MAX_BYTES = 16 << 10

T = TypeVar("T")


def application(results: Path, access: Access, *, runs_allowed: bool = True) -> Starlette:
    """runs_allowed: whether who is let in may also run plans, and install systems."""
    processes = Processes()
    site = _Site(results, processes)
    routes = [
        Route("/", site.history),
        Route("/bundles/{name}", site.bundle),
        Route("/bundles/{name}/events", site.events),
        Route("/bundles/{name}/stop", site.stop, methods=["POST"]),
        Route("/bundles/{name}/resume", site.resume, methods=["POST"]),
        Route("/bundles/{name}/note", site.note, methods=["POST"]),
        Route("/compare", site.compare),
        Route("/track", site.track),
        Route("/claims/{article}", site.claims),
        Route("/metrics", site.metrics),
        *Editor(results, processes, allowed=runs_allowed).routes(),
        *SystemsPage(allowed=runs_allowed).routes(),
        Route("/serve.css", _style),
        *(Route(f"/{name}", _script) for name in pages.SCRIPTS),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=access)],
        exception_handlers={HTTPException: _refused, BakeoffError: _failed},
        lifespan=site.open,
    )


class _Site:
    def __init__(self, results: Path, processes: Processes) -> None:
        self._history = History(results)
        self._processes = processes
        self._live: dict[str, _Live] = {}
        #: Reports and pages of commands are made one by one: a run may go on.
        self._making = asyncio.Semaphore(1)

    @asynccontextmanager
    async def open(self, app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(self._watch_folder())
        try:
            yield
        finally:
            self._history.ends = True
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    async def _watch_folder(self) -> None:
        while True:
            await run_in_threadpool(self._history.look)
            going = {one.name: one.folder for one in self._history.going()}
            for name in self._live.keys() - going.keys():
                del self._live[name]
            for folder in going.values():  # of a long run, before somebody waits for it
                if (live := self._live_of(folder)) is not None:
                    await live.samples()
            await asyncio.sleep(FOLDER_EVERY_S)

    async def history(self, request: Request) -> Response:
        words = request.query_params.get("words", "")
        found = self._history.find(words)
        stopped = {one.name for one in found if one.state != "complete" and self._processes.can_resume(one.folder)}
        return HTMLResponse(await run_in_threadpool(pages.history, found, words, self._history.there, stopped))

    async def bundle(self, request: Request) -> Response:
        folder = self._folder(request)
        live = self._live_of(folder)
        if live is not None and (page := await live.page()) is not None:
            return HTMLResponse(page)
        async with self._making:
            report = await run_in_threadpool(_report, folder, stamp_of(folder))
        return HTMLResponse(report, headers={"Content-Security-Policy": REPORT_POLICY})

    async def events(self, request: Request) -> Response:
        folder = self._folder(request)
        return StreamingResponse(self._bodies(folder), media_type="text/event-stream")

    async def stop(self, request: Request) -> Response:
        folder = self._folder(request)
        await run_in_threadpool(self._processes.stop, folder)
        return _to_page_of(folder)

    async def resume(self, request: Request) -> Response:
        folder = self._folder(request)
        await run_in_threadpool(self._processes.resume, folder)
        return _to_page_of(folder)

    async def note(self, request: Request) -> Response:
        """The form's only field: `note`."""
        folder = self._folder(request)
        body = await body_of(request, FORM_MAX_BYTES)
        said = parse_qs(body.decode(errors="replace"), keep_blank_values=True)
        if "note" not in said:
            raise HTTPException(422, "The form has no field `note`.")
        await run_in_threadpool(annotate, folder, " ".join(said["note"]))
        await run_in_threadpool(self._history.read, folder.name)
        return RedirectResponse("/", 303)

    async def compare(self, request: Request) -> Response:
        sides = [self._folder_named(request.query_params.get(side, "")) for side in ("before", "after")]
        return await self._page_of("compare", *map(str, sides))

    async def track(self, request: Request) -> Response:
        title = request.query_params.get("title", "")
        return await self._page_of("track", "--results", str(self._history.results), f"--title={title}")

    async def claims(self, request: Request) -> Response:
        article = request.path_params["article"]
        if article not in articles():
            raise HTTPException(404, f"bakeoff has no article {article!r}.")
        return await self._page_of("claims", article, "--no-run", "--results", str(self._history.results))

    async def _page_of(self, *words: str) -> Response:
        async with self._making:
            page = await run_in_threadpool(_written, words)
        return HTMLResponse(page, headers={"Content-Security-Policy": REPORT_POLICY})

    async def metrics(self, request: Request) -> Response:
        live = [live for one in self._history.going() if (live := self._live_of(one.folder)) is not None]
        samples = [sample for one in live for sample in await one.samples() or []]
        return Response(openmetrics.text_of(samples), media_type=openmetrics.CONTENT_TYPE)

    def _folder(self, request: Request) -> Path:
        return self._folder_named(request.path_params["name"])

    def _folder_named(self, name: str) -> Path:
        folder = self._history.folder_of(name)
        if folder is None:
            raise HTTPException(404, f"There is no bundle {name!r} in {self._history.results}.")
        return folder

    def _live_of(self, folder: Path) -> _Live | None:
        """Of a plan that goes on. However many watch, its events are read and drawn once."""
        return self._live.setdefault(folder.name, _Live(folder)) if is_written(folder) else None

    async def _bodies(self, folder: Path) -> AsyncIterator[str]:
        """As events, until the plan ends or nobody reads them any more."""
        before = ""
        while True:
            live = self._live_of(folder)
            body = await live.body() if live is not None else None
            if body is None:
                yield "event: end\ndata: \n\n"
                return
            if body != before:
                yield "".join(f"data: {line}\n" for line in body.splitlines()) + "\n"
            before = body
            await asyncio.sleep(LOOK_EVERY_S)


def _to_page_of(folder: Path) -> Response:
    return RedirectResponse(f"/bundles/{quote(folder.name, safe='')}", 303)


@lru_cache(maxsize=REPORTS_KEPT)
def _report(folder: Path, stamp: Stamp) -> str:
    """Made from the data, whatever report.html lies in the folder: that may be anybody's."""
    from ..report.answer import answer_of
    from ..report.charts.figures import figures_of
    from ..report.html.write import render_html

    bundle = Bundle.open(folder)
    answer = answer_of(bundle)
    return render_html(bundle, answer, figures_of(bundle, answer))


class _Live:
    """One plan that goes on. Whatever is made of it is made by one thread at a time, from events at most a second old;
    None where it has ended."""

    def __init__(self, folder: Path) -> None:
        self._name = folder.name
        self._watched = Watched(folder)
        self._going: Going | None = None
        self._read_s = -math.inf
        self._body: tuple[int, str] = (-1, "")
        self._chart = ""
        #: The run that it is of, and up to which second.
        self._drawn: tuple[str, int] = ("", 0)
        self._lock = asyncio.Lock()

    async def page(self) -> str | None:
        return await self._made(lambda now: pages.going(self._name, now, self._chart_of(now)))

    async def body(self) -> str | None:
        return await self._made(self._body_of)

    async def samples(self) -> list[openmetrics.Sample] | None:
        return await self._made(lambda now: list(openmetrics.samples(self._name, now)))

    async def _made(self, make: Callable[[Going], T]) -> T | None:
        async with self._lock:
            return await run_in_threadpool(self._make, make)

    def _make(self, make: Callable[[Going], T]) -> T | None:
        if time.monotonic() - self._read_s >= LOOK_EVERY_S / 2:
            self._going, self._read_s = self._watched.look(), time.monotonic()
        return None if self._going is None else make(self._going)

    def _body_of(self, now: Going) -> str:
        if self._body[0] != now.version:
            self._body = now.version, str(pages.body_of(now, self._chart_of(now)))
        return self._body[1]

    def _chart_of(self, now: Going) -> str:
        """Drawn again only when it would look different: a point of a long run stands for minutes."""
        run = now.run
        if run is None or run.last is None:
            return ""
        every_s = max(CHART_EVERY_S, run.last.second / POINTS_MAX)
        if self._drawn[0] != run.id or run.last.second >= self._drawn[1] + every_s:
            self._chart, self._drawn = pages.chart_of(run), (run.id, run.last.second)
        return self._chart


def _written(words: Sequence[str]) -> str:
    """The page that this command of bakeoff writes; that of `compare` also records its answer. Raises HTTPException
    with the command's message."""
    with tempfile.TemporaryDirectory(prefix="bakeoff-serve-") as place:
        page = Path(place) / f"{words[0]}.html"
        command = [sys.executable, "-P", "-m", "bakeoff", *words, "--html", str(page)]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PAGE_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise HTTPException(504, f"It took longer than {PAGE_TIMEOUT_S:.0f} s.") from None
        if page.is_file():
            # It shows the command that makes it again, for a file that is gone then.
            return page.read_text(encoding="utf-8").replace(escape(shlex.quote(str(page))), page.name)
        raise HTTPException(422, done.stderr or done.stdout)


async def _style(request: Request) -> Response:
    return Response(pages.style(), media_type="text/css")


async def _script(request: Request) -> Response:
    return Response(pages.script(request.url.path.lstrip("/")), media_type="text/javascript")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = {404: "Not there", 504: "Too slow", 422: "There is no such page of these bundles"}.get(
        error.status_code, "Refused"
    )
    return HTMLResponse(pages.trouble(title, str(error.detail)), error.status_code)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, BakeoffError)
    hint = f"\n{error.hint}" if error.hint else ""
    status = 409 if request.method == "POST" else 500
    return HTMLResponse(pages.trouble("This cannot be done", f"{error}{hint}"), status)
