"""A server of HTTP that says what was written down beforehand, for products of which there is none to test on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Exchange:
    """A request as `replaying` shows it, and its answer."""

    asked: str
    status: int = 200
    body: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def replaying(exchanges: Sequence[Exchange], shown: Callable[[str, Mapping[str, str], str], str]) -> Iterator[str]:
    """Its address. shown: a request (method and path, fields, body) as an exchange has it. Requests have to come in
    this order, all of them, over whichever connections."""
    heard: list[str] = []
    turn = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            with turn:
                heard.append(shown(f"{self.command} {self.path}", dict(self.headers), body))
                place = len(heard) - 1
            known = place < len(exchanges) and exchanges[place].asked == heard[place]
            said = exchanges[place] if known else Exchange("", 500, f"not expected: {heard[place]}")
            self.send_response_only(said.status)
            for name, value in said.fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body.encode())))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(said.body.encode())

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
    assert heard == [one.asked for one in exchanges]
