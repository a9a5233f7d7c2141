"""What a site answers to a request, without a server."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.applications import Starlette
from starlette.responses import Response


def answered(app: Starlette, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Response:
    """headers: with _ for -."""
    path, _, query = path.partition("?")
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in said.items()],
        "scheme": "http",
        "server": ("127.0.0.1", 8001),
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"] if name != b"content-length"}
    return Response(b"".join(part.get("body", b"") for part in sent[1:]), sent[0]["status"], found)
