"""A page of a running site in headless Chromium, used as people do: clicked, written into, read. Through the browser's
own protocol, on two pipes.

Source: https://chromedevtools.github.io/devtools-protocol/ (`--remote-debugging-pipe`: messages end with a zero byte).
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from builders.chromium import FLAGS, HERE_TOO, NOWHERE, Chromium

TIMEOUT_S = 60.0


class Tab:
    """complaints: errors of scripts, and what the page's policy refused."""

    def __init__(self, to: int, back: int) -> None:
        self._to = to
        self._back = back
        self._rest = b""
        self._number = 0
        self._session = ""
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank", width=1280, height=1000)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        answer = self._answer(method, parameters)
        assert "error" not in answer, (method, answer["error"])
        found: dict[str, Any] = answer["result"]
        return found

    def _answer(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        sent = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            sent["sessionId"] = self._session
        os.write(self._to, json.dumps(sent).encode() + b"\0")
        for message in self._messages():
            if message.get("id") == self._number:
                return message
            self._note(message)
        raise AssertionError("unreachable")

    def _messages(self) -> Iterator[dict[str, Any]]:
        until_s = time.monotonic() + TIMEOUT_S
        while True:
            while b"\0" not in self._rest:
                ready = select.select([self._back], [], [], max(0.0, until_s - time.monotonic()))[0]
                assert ready, "the browser does not answer"
                part = os.read(self._back, 1 << 20)
                assert part, "the browser has ended"
                self._rest += part
            line, _, self._rest = self._rest.partition(b"\0")
            yield json.loads(line)

    def _note(self, message: dict[str, Any]) -> None:
        said = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(said["exceptionDetails"]))
        entry = said["entry"] if message.get("method") == "Log.entryAdded" else {}
        if entry.get("level") == "error" and entry["source"] != "network":  # an answer such as "409 Conflict" is none
            self.complaints.append(entry["text"])

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.until("document.readyState == 'complete' && location.href != 'about:blank'")

    def until(self, expression: str, timeout_s: float = TIMEOUT_S) -> Any:
        """Waits for it to be true, across pages: between two of them nothing is."""
        until_s = time.monotonic() + timeout_s
        while True:
            answer = self._answer("Runtime.evaluate", {"expression": expression, "returnByValue": True})
            if value := answer.get("result", {}).get("result", {}).get("value"):
                return value
            shown = "document.querySelector('main')?.innerText"
            assert time.monotonic() < until_s, (expression, self.ask(shown), self.complaints)
            time.sleep(0.1)

    def click(self, selector: str) -> None:
        """In its middle, where it must be the topmost element."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.ask(f"{element}.scrollIntoView({{block: 'center'}})")
        x, y = self.ask(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({element}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def write(self, selector: str, words: str) -> None:
        """In place of what the field has."""
        self.ask(f"(field => {{ field.focus(); field.select(); }})(document.querySelector({json.dumps(selector)}))")
        self.call("Input.insertText", text=words)


@contextmanager
def browsing(chromium: Chromium) -> Iterator[Tab]:
    """Reaches this machine only."""
    ours = [HERE_TOO if flag == NOWHERE else flag for flag in FLAGS]
    profile = f"--user-data-dir={chromium.new('profile')}"
    command = [str(chromium.program), *ours, "--remote-debugging-pipe", profile]
    (theirs_in, to), (back, theirs_out) = os.pipe(), os.pipe()
    # Out of the way of 3 and 4, which the browser reads and writes.
    given = [fcntl.fcntl(one, fcntl.F_DUPFD, 64) for one in (theirs_in, theirs_out)]

    def place() -> None:
        for want, one in zip((3, 4), given, strict=True):
            os.dup2(one, want)

    process = subprocess.Popen(
        command,
        env={**os.environ, **chromium.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(3, 4),
        preexec_fn=place,
    )
    for one in (theirs_in, theirs_out, *given):
        os.close(one)
    try:
        yield Tab(to, back)
    finally:
        process.kill()
        process.wait()
        os.close(to)
        os.close(back)
