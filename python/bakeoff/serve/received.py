"""What a request carries."""

from __future__ import annotations

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request


async def body_of(request: Request, max_bytes: int) -> bytes:
    """Raises HTTPException where it is larger."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > max_bytes:
            raise HTTPException(413, f"This is more than {max_bytes:,} bytes.")
    return body


async def document_of(request: Request, max_bytes: int) -> dict[str, Any]:
    """A JSON object, whose texts can be written: JSON may have half a letter, such as "\\ud800". Raises
    HTTPException."""
    try:
        found = json.loads(await body_of(request, max_bytes))
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise HTTPException(400, "The request is not a JSON object in UTF-8.")
    return found
