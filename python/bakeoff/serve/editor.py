"""The editor of plans. The page's script sends JSON and gets JSON. A refusal has an `error` with the fields of every
error: what, where, hint.

| address | what |
|---|---|
| `/plan` | the page |
| `/plan/open` | POST `from`: a plan to begin with |
| `/plan/questions` | POST what `bakeoff quick` asks for: the text of such a plan |
| `/plan/check` | POST `text`: what a dry run says of it; `asking`: existing systems are asked, too |
| `/plan/save` | POST `text`, `name`, and the digest of the file that it may replace |
| `/plan/run` | POST `name` and its digest: `bakeoff run` |
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ..bundle.write import new_folder
from ..errors import BakeoffError, PlanError
from ..plan.new_plan import Quick, plan_text
from ..plan.read import read_plan
from . import pages
from .plans import MAX_BYTES, FileExists, Plans
from .processes import Processes
from .received import document_of
from .systems import NOT_ALLOWED

#: A text as JSON may be twice as long as its file.
_BODY_MAX_BYTES = 2 * MAX_BYTES + (16 << 10)


class Editor:
    """allowed: if not, each address answers with 403, checks included: a check reads files that the plan names."""

    def __init__(self, results: Path, processes: Processes, *, allowed: bool) -> None:
        self._results = results.absolute()
        self._plans = Plans(self._results)
        self._processes = processes
        self._allowed = allowed
        #: One by one: a run may go on.
        self._checking = asyncio.Semaphore(1)

    def routes(self) -> list[Route]:
        answers = (self.open, self.questions, self.check, self.save, self.run)
        return [
            Route("/plan", self.page),
            *(Route(f"/plan/{answer.__name__}", self._in_json(answer), methods=["POST"]) for answer in answers),
        ]

    def _in_json(self, answer: Callable[[dict[str, Any]], Any]) -> Callable[[Request], Any]:
        async def answered(request: Request) -> Response:
            try:
                self._refuse_unless_allowed()
                return JSONResponse(await answer(await document_of(request, _BODY_MAX_BYTES)))
            except HTTPException as error:
                return JSONResponse({"error": _as_json(BakeoffError(error.detail))}, error.status_code)
            except FileExists as error:
                return JSONResponse({"error": _as_json(error), "exists": error.digest}, 409)
            except BakeoffError as error:
                return JSONResponse({"error": _as_json(error)}, 422)

        return answered

    def _refuse_unless_allowed(self) -> None:
        if not self._allowed:
            raise HTTPException(403, NOT_ALLOWED)

    async def page(self, request: Request) -> Response:
        self._refuse_unless_allowed()
        return HTMLResponse(await run_in_threadpool(pages.plan, self._plans))

    async def open(self, said: dict[str, Any]) -> dict[str, Any]:
        return asdict(await run_in_threadpool(self._plans.text_of, _text(said, "from")))

    async def questions(self, said: dict[str, Any]) -> dict[str, Any]:
        return {"text": await run_in_threadpool(plan_text, _quick(said))}

    async def check(self, said: dict[str, Any]) -> dict[str, Any]:
        text, name, asking = _text(said, "text"), _text(said, "name"), said.get("asking") is True
        async with self._checking:
            one = await run_in_threadpool(self._plans.check, text, name, asking=asking)
        summary, found = pages.checked(one)
        return {"valid": one.error is None, "line": one.line, "summary": summary, "found": found}

    async def save(self, said: dict[str, Any]) -> dict[str, Any]:
        name = _text(said, "name")
        digest = await run_in_threadpool(self._plans.save, _text(said, "text"), name, _text(said, "replaces"))
        return {"name": name, "digest": digest}

    async def run(self, said: dict[str, Any]) -> dict[str, Any]:
        """Plans that need --allow-drop, --allow-changes or --allow-cost are refused: those are for the terminal."""
        path = await run_in_threadpool(self._plans.unchanged, _text(said, "name"), _text(said, "digest"))
        flags = {"--together": said.get("together"), "--allow-disturbed": said.get("disturbed")}
        options = [flag for flag, wanted in flags.items() if wanted is True]
        bundle, begun = await run_in_threadpool(self._begin, path, options)
        if begun:
            return {"address": f"/bundles/{quote(bundle.name, safe='')}"}
        return {"waits": "It has not begun yet. Once it has, it is in the list of bundles."}

    def _begin(self, path: Path, options: list[str]) -> tuple[Path, bool]:
        """Returns the new bundle, and whether it has begun. Raises BakeoffError with the command's message."""
        plan = read_plan(path, must_run=False)
        bundle = new_folder(self._results, plan.record.title)
        words = [sys.executable, "-P", "-m", "bakeoff", "run", str(path), "--out", str(bundle), "--quiet", *options]
        try:
            return bundle, self._processes.begin(bundle, words)
        except BakeoffError:
            with suppress(OSError):
                os.rmdir(bundle)
            raise


def _as_json(error: BakeoffError) -> dict[str, str]:
    return {"what": error.what, "where": error.where, "hint": error.hint}


def _text(said: dict[str, Any], name: str) -> str:
    found = said.get(name)
    if not isinstance(found, str):
        raise HTTPException(422, f"The request has no text `{name}`.")
    return found


def _quick(said: dict[str, Any]) -> Quick:
    """Raises PlanError for what is no answer to the questions."""
    chosen = said.get("systems")
    systems = [one for one in chosen if isinstance(one, str) and one] if isinstance(chosen, list) else []
    if not systems:
        raise PlanError("no system is chosen", hint="choose one or more of them")
    users = [_whole(word, "users") for word in _text(said, "threads").replace(",", " ").split()]
    return Quick(
        systems,
        _text(said, "workload"),
        users or [8],
        size=_text(said, "size").strip() or None,
        window=_text(said, "window").strip(),
        repetitions=_whole(_text(said, "repetitions"), "repetitions"),
    )


def _whole(word: str, what: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= 9 and int(word)):
        raise PlanError(f"{word!r} is not a number of {what}", hint="write a whole number such as 8")
    return int(word)
