"""Who may ask. On this machine alone: whoever has the token of the address that `bakeoff serve` printed, which a cookie
then stands for. For other machines: whoever knows the password, over TLS.

A page of somebody else's, open in the same browser, must reach nothing: names other than ours are refused (DNS
rebinding), only our own pages may change something (`Origin`, `Sec-Fetch-Site`), and of what other sites link to or
load, only a link that is opened is answered. With that one `SameSite=Lax` sends the cookie; `Strict` would lose the
login of who opens our address from a chat, or from a terminal in the browser. Other servers on this machine's loopback
get the cookie, too, as they do of all such sites.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

_NEXT = Callable[[Request], Awaitable[Response]]
#: Nothing is loaded from elsewhere, and no page of others may frame ours.
_POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
#: Of a report, which shows what came from databases: even a script that got into it could read nothing of this site.
REPORT_POLICY = "sandbox allow-scripts allow-popups; frame-ancestors 'none'"


@dataclass(frozen=True)
class Access:
    """hosts: what a browser may call us, "127.0.0.1:8001"; empty: anything, because a password is asked for."""

    hosts: frozenset[str]
    password: str = field(default="", repr=False)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    async def __call__(self, request: Request, call_next: _NEXT) -> Response:
        refusal = self._refusal(request)
        if refusal is None and self._is_new(request):
            refusal = self._let_in(request)
        response = refusal or await call_next(request)
        response.headers.setdefault("Content-Security-Policy", _POLICY)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"  # with none, a form's own POST has no origin
        return response

    def _refusal(self, request: Request) -> Response | None:
        if self.hosts and request.headers.get("host", "") not in self.hosts:
            return PlainTextResponse("This name is not one of this server's.\n", 421)
        if not (self._knows_password(request) if self.password else self._has_token(request)):
            if self.password:
                return PlainTextResponse(
                    "The password is needed.\n", 401, {"WWW-Authenticate": 'Basic realm="bakeoff", charset="UTF-8"'}
                )
            return PlainTextResponse("Open the whole address that `bakeoff serve` printed: it has a token.\n", 403)
        if not _is_link(request) and not _is_of_our_page(request):
            return PlainTextResponse("Only a page of this server may ask for that.\n", 403)
        return None

    def _is_new(self, request: Request) -> bool:
        return not self.password and "token" in request.query_params and request.method == "GET"

    def _let_in(self, request: Request) -> Response:
        """The same address without the token, which then is in no history and no log."""
        rest = request.url.remove_query_params("token").query
        path = "/" + request.url.path.lstrip("/")  # two slashes would begin another server's name
        response = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        response.set_cookie(_cookie(request), self.token, httponly=True, samesite="lax")
        return response

    def _has_token(self, request: Request) -> bool:
        said = (request.query_params.get("token", ""), request.cookies.get(_cookie(request), ""), _bearer(request))
        return any(secrets.compare_digest(one.encode(), self.token.encode()) for one in said)

    def _knows_password(self, request: Request) -> bool:
        kind, _, coded = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "basic":
            return False
        try:
            said = base64.b64decode(coded, validate=True).partition(b":")[2]
        except ValueError:
            return False
        return secrets.compare_digest(said, self.password.encode())


def _cookie(request: Request) -> str:
    """Its name. Cookies do not tell ports apart, and two of us may run."""
    return f"bakeoff-token-{request.url.port or 80}"


def _bearer(request: Request) -> str:
    """Of programs that read metrics."""
    kind, _, said = request.headers.get("authorization", "").partition(" ")
    return said if kind.lower() == "bearer" else ""


def _is_of_our_page(request: Request) -> bool:
    """Programs do not say of which site they are, and reading has no origin."""
    said = request.headers
    reads = request.method in ("GET", "HEAD")
    is_ours = reads or said.get("origin", "").partition("://")[2] == said.get("host", "")
    return is_ours and said.get("sec-fetch-site", "none") in ("same-origin", "none")


def _is_link(request: Request) -> bool:
    """A page that somebody opens by a click, from wherever it is linked: a site alone opens none."""
    said = request.headers
    clicked = said.get("sec-fetch-dest") == "document" and said.get("sec-fetch-user") == "?1"
    return request.method == "GET" and clicked
