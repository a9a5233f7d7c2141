"""The page of systems.

| address | what |
|---|---|
| `/systems` | the list of `bakeoff systems` |
| `/systems/install` | POST, the form's fields `kind`, `version` and `from`: `bakeoff systems install` |
| `/systems/KIND/events` | what an installation says, as server-sent events |
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from . import pages
from .installs import Install, Installs
from .received import body_of

LOOK_EVERY_S = 0.3
FORM_MAX_BYTES = 4 << 10
NOT_ALLOWED = (
    "Plans are run and systems are installed from here only where `bakeoff serve` serves this machine alone, or was"
    " started with --allow-runs."
)


class SystemsPage:
    def __init__(self, *, allowed: bool) -> None:
        self._allowed = allowed
        self._installs = Installs()

    def routes(self) -> list[Route]:
        return [
            Route("/systems", self.page),
            Route("/systems/install", self.install, methods=["POST"]),
            Route("/systems/{kind}/events", self.events),
        ]

    async def page(self, request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(pages.systems, self._installs, allowed=self._allowed))

    async def install(self, request: Request) -> Response:
        if not self._allowed:
            raise HTTPException(403, NOT_ALLOWED)
        said = parse_qs((await body_of(request, FORM_MAX_BYTES)).decode(errors="replace"))
        kind, version, source = (said.get(name, [""])[0].strip() for name in ("kind", "version", "from"))
        await run_in_threadpool(self._installs.start, kind, version, source)
        return RedirectResponse(f"/systems#{quote(kind, safe='')}", 303)

    async def events(self, request: Request) -> Response:
        one = self._installs.of(request.path_params["kind"])
        if one is None:
            raise HTTPException(404, "Nothing of this kind is being installed.")
        return StreamingResponse(_said(one), media_type="text/event-stream")


async def _said(one: Install) -> AsyncIterator[str]:
    """All of it, each time that it has said more."""
    before = ""
    while True:
        ended, text = one.code is not None, one.text
        if text != before:
            yield "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
        if ended:
            yield "event: end\ndata: \n\n"
            return
        before = text
        await asyncio.sleep(LOOK_EVERY_S)
