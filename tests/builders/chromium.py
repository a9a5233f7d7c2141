"""A headless browser that answers: what does the page become, look like, print as, ask for, complain about."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

#: Nothing leaves this machine, whoever asks; or its own servers are reached.
NOWHERE = "--host-resolver-rules=MAP * ~NOTFOUND"
HERE_TOO = f"{NOWHERE}, EXCLUDE 127.0.0.1"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-component-extensions-with-background-pages",
    "--disable-client-side-phishing-detection",
    "--disable-domain-reliability",
    "--no-pings",
    "--no-default-browser-check",
    "--disable-features=OptimizationHints,MediaRouter,Translate,NetworkTimeServiceQuerying,AutofillServerCommunication",
    NOWHERE,
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)
_CONSOLE = re.compile(r":CONSOLE[:(].*?\] (.*)")
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_TOLD = re.compile(r'<pre id="told">(.*?)</pre>', re.DOTALL)
TIMEOUT_S = 120

DARK = "--blink-settings=preferredColorScheme=0"


@dataclass
class Chromium:
    program: Path
    environment: dict[str, str]
    scratch: Path
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def run(self, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
        """In a profile of its own, so that nothing is carried over."""
        command = [str(self.program), *FLAGS, f"--user-data-dir={self.new('profile')}", *options, page.as_uri()]
        environment = {**os.environ, **self.environment}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)

    def dom(self, page: Path, *options: str) -> str:
        """The page after its scripts have run."""
        return self.run(page, "--dump-dom", *options).stdout

    def complaints(self, page: Path, *options: str) -> list[str]:
        """What was written to the console, errors and violations of the page's policy included."""
        return _CONSOLE.findall(self.run(page, "--dump-dom", *options).stderr)

    def requests(self, page: Path) -> set[str]:
        """Addresses that the page asked for, those on this machine's disk aside."""
        log = self.new("net.json")
        self.run(page, "--dump-dom", f"--log-net-log={log}")
        return asked_by_page(json.loads(log.read_text()))

    def ask(self, page: Path, expression: str, *options: str, edit: Callable[[str], str] = str) -> Any:
        """The value of a JavaScript expression in the page, as JSON. It is asked of a copy that has no policy, and that
        `edit` may have changed."""
        script = (
            "<script>const told = document.createElement('pre'); told.id = 'told';"
            f"told.textContent = JSON.stringify({expression}); document.body.append(told);</script>"
        )
        copy = self.new("page.html")
        copy.write_text(edit(without_policy(page.read_text())).replace("</body>", f"{script}</body>"))
        found = _TOLD.search(self.dom(copy, *options))
        assert found, f"the page could not tell {expression}"
        return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))

    def screenshot(self, page: Path, *options: str, width: int = 1200, height: int = 1600) -> bytes:
        path = self.new("shot.png")
        self.run(page, f"--screenshot={path}", f"--window-size={width},{height}", *options)
        return path.read_bytes()

    def pdf(self, page: Path, *options: str) -> bytes:
        path = self.new("print.pdf")
        self.run(page, f"--print-to-pdf={path}", "--no-pdf-header-footer", *options)
        return path.read_bytes()

    def new(self, name: str) -> Path:
        return self.scratch / f"{next(self._numbers)}-{name}"


def asked_by_page(log: dict[str, Any]) -> set[str]:
    """Of a net log: an ordinary browser asks for updates, the time and accounts by itself, and says so: these requests
    have no origin. All else counts, connections that were only prepared too."""
    asked: dict[bool, set[str]] = {True: set(), False: set()}
    mentioned = set()
    begun = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    for event in log["events"]:
        told = event.get("params", {})
        url = str(told.get("url", ""))
        if not url.startswith(("http:", "https:", "ws:", "wss:")):
            continue
        mentioned.add(url)
        if event["type"] == begun:
            asked[told.get("initiator") == "not an origin"].add(url)
    own_hosts = {urlsplit(url).netloc for url in asked[True]}
    return asked[False] | {url for url in mentioned if urlsplit(url).netloc not in own_hosts}


def without_policy(html: str) -> str:
    return _POLICY.sub("", html)
