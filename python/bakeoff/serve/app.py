"""What is at which address.

| address | what |
|---|---|
| `/` | the bundles; `?words=` seeks |
| `/bundles/NAME` | its report; of a plan that goes on, the run so far |
| `/bundles/NAME/events` | of a plan that goes on, the changing part of its page, as server-sent events |
| `/bundles/NAME/stop` | POST: as Ctrl-C in its terminal |
| `/compare?before=NAME&after=NAME` | two bundles in one page |
| `/track?title=TITLE` | the bundles of one plan over time |
| `/claims/ARTICLE` | an article's claims, by the bundles that there are |
| `/metrics` | what goes on, as OpenMetrics |
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ..bundle.read import Bundle
from ..bundle.results_folder import is_written
from ..claims.article import names as articles
from ..errors import BakeoffError
from ..locks import open_plain, read_holder
from ..report.charts.scales import POINTS_MAX
from . import openmetrics, pages
from .access import REPORT_POLICY, Access
from .going import Going, Watched
from .history import History

#: Between two looks at what changed: of a plan that goes on, of the folder.
LOOK_EVERY_S = 1.0
FOLDER_EVERY_S = 5.0
#: Between two drawings of a chart, at least.
CHART_EVERY_S = 2.0
PAGE_TIMEOUT_S = 120.0
#: Of reports that were made: the least recently wanted go first.
REPORTS_KEPT = 8


def application(results: Path, access: Access) -> Starlette:
    site = _Site(results)
    routes = [
        Route("/", site.history),
        Route("/bundles/{name}", site.bundle),
        Route("/bundles/{name}/events", site.events),
        Route("/bundles/{name}/stop", site.stop, methods=["POST"]),
        Route("/compare", site.compare),
        Route("/track", site.track),
        Route("/claims/{article}", site.claims),
        Route("/metrics", site.metrics),
        Route("/serve.css", _style),
        Route("/serve.js", _script),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=access)],
        exception_handlers={HTTPException: _refused, BakeoffError: _failed},
        lifespan=site.open,
    )


class _Site:
    def __init__(self, results: Path) -> None:
        self._history = History(results)
        self._live: dict[str, _Live] = {}
        self._reports: dict[tuple[str, int], str] = {}

    @asynccontextmanager
    async def open(self, app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(self._watch_folder())
        yield
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching

    async def _watch_folder(self) -> None:
        while True:
            await run_in_threadpool(self._history.look)
            for one in self._history.going():  # of a long run, before somebody waits for it
                await self._live_of(one.folder)
            await asyncio.sleep(FOLDER_EVERY_S)

    async def history(self, request: Request) -> Response:
        words = request.query_params.get("words", "")
        found = self._history.find(words)
        return HTMLResponse(await run_in_threadpool(pages.history, found, words, self._history.there))

    async def bundle(self, request: Request) -> Response:
        folder = self._folder(request)
        now = await self._live_of(folder)
        if now is not None:
            chart = await self._live[folder.name].chart()
            return HTMLResponse(pages.going(folder.name, now, chart))
        report = await run_in_threadpool(self._report, folder)
        return HTMLResponse(report, headers={"Content-Security-Policy": REPORT_POLICY})

    async def events(self, request: Request) -> Response:
        folder = self._folder(request)
        return StreamingResponse(self._bodies(folder), media_type="text/event-stream")

    async def stop(self, request: Request) -> Response:
        folder = self._folder(request)
        await run_in_threadpool(_stop, folder)
        return RedirectResponse(request.url_for("bundle", name=folder.name).path, 303)

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
        page = await run_in_threadpool(_written, words)
        return HTMLResponse(page, headers={"Content-Security-Policy": REPORT_POLICY})

    async def metrics(self, request: Request) -> Response:
        going = {one.name: now for one in self._history.going() if (now := await self._live_of(one.folder))}
        return Response(openmetrics.text_of(going), media_type=openmetrics.CONTENT_TYPE)

    def _folder(self, request: Request) -> Path:
        return self._folder_named(request.path_params["name"])

    def _folder_named(self, name: str) -> Path:
        folder = self._history.folder_of(name)
        if folder is None:
            raise HTTPException(404, f"There is no bundle {name!r} in {self._history.results}.")
        return folder

    async def _live_of(self, folder: Path) -> Going | None:
        """What goes on there, at most a second old. However many watch, its events are read and drawn once."""
        if not is_written(folder):
            self._live.pop(folder.name, None)
            return None
        live = self._live.setdefault(folder.name, _Live(folder))
        return await live.now()

    async def _bodies(self, folder: Path) -> AsyncIterator[str]:
        """As events, until the plan ends or nobody reads them any more."""
        version = -1
        while True:
            now = await self._live_of(folder)
            if now is None:
                yield "event: end\ndata: \n\n"
                return
            if now.version != version:
                version = now.version
                body = await self._live[folder.name].body()
                yield "".join(f"data: {line}\n" for line in body.splitlines()) + "\n"
            await asyncio.sleep(LOOK_EVERY_S)

    def _report(self, folder: Path) -> str:
        """Made from the data, whatever report.html lies in the folder: that may be anybody's."""
        from ..report.answer import answer_of
        from ..report.charts.figures import figures_of
        from ..report.html.write import render_html

        key = folder.name, (folder / "bundle.json").stat().st_mtime_ns
        if key not in self._reports:
            bundle = Bundle.open(folder)
            answer = answer_of(bundle)
            self._reports[key] = render_html(bundle, answer, figures_of(bundle, answer))
        page = self._reports[key] = self._reports.pop(key)
        while len(self._reports) > REPORTS_KEPT:
            del self._reports[next(iter(self._reports))]
        return page


def chart_every_s(length_s: float) -> float:
    return max(CHART_EVERY_S, length_s / POINTS_MAX)


class _Live:
    def __init__(self, folder: Path) -> None:
        self._watched = Watched(folder)
        self._going: Going | None = None
        self._looked_s = -LOOK_EVERY_S
        self._body: tuple[int, str] = (-1, "")
        self._chart = ""
        #: The run that it is of, and up to which second.
        self._drawn: tuple[str, int] = ("", 0)
        self._lock = asyncio.Lock()

    async def now(self) -> Going | None:
        async with self._lock:
            at_s = asyncio.get_running_loop().time()
            if at_s - self._looked_s >= LOOK_EVERY_S / 2:
                self._going = await run_in_threadpool(self._watched.look)
                self._looked_s = at_s
            return self._going

    async def body(self) -> str:
        chart = await self.chart()
        if self._going is not None and self._body[0] != self._going.version:
            self._body = self._going.version, str(pages.body_of(self._going, chart))
        return self._body[1]

    async def chart(self) -> str:
        """Drawn again only when it would look different: a point of a long run stands for minutes."""
        async with self._lock:
            run = self._going.run if self._going else None
            if run is None or run.last is None:
                self._chart, self._drawn = "", ("", 0)
            elif self._drawn[0] != run.id or run.last.second >= self._drawn[1] + chart_every_s(run.last.second):
                self._chart = await run_in_threadpool(pages.chart_of, run)
                self._drawn = run.id, run.last.second
            return self._chart


def _stop(folder: Path) -> None:
    """As Ctrl-C does: the plan ends after its run is stopped, and keeps what is finished."""
    with suppress(OSError):
        handle = open_plain(folder / "bundle.lock", os.O_RDONLY)
        try:
            holder = read_holder(handle)
        finally:
            os.close(handle)
        if holder.pid > 0 and is_written(folder):  # the lock is held, so the process that wrote its number lives
            os.kill(holder.pid, signal.SIGINT)


def _written(words: Sequence[str]) -> str:
    """The page that this command of bakeoff writes; that of `compare` also records its answer. Raises HTTPException
    with the command's message."""
    with tempfile.TemporaryDirectory(prefix="bakeoff-serve-") as place:
        page = Path(place) / "page.html"
        command = [sys.executable, "-m", "bakeoff", *words, "--html", str(page)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PAGE_TIMEOUT_S, check=False)
        if page.is_file():
            return page.read_text(encoding="utf-8")
        raise HTTPException(422, done.stderr or done.stdout)


async def _style(request: Request) -> Response:
    return Response(pages.style(), media_type="text/css")


async def _script(request: Request) -> Response:
    return Response(pages.script(), media_type="text/javascript")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = {404: "Not there", 422: "There is no such page of these bundles"}.get(error.status_code, "Refused")
    return HTMLResponse(pages.trouble(title, str(error.detail)), error.status_code)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, BakeoffError)
    hint = f"\n{error.hint}" if error.hint else ""
    return HTMLResponse(pages.trouble("This bundle cannot be shown", f"{error}{hint}"), 500)
