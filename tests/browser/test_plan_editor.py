"""The editor of `bakeoff serve` as people use it: from the questions to a finished run, and plans that are wrong; and
what pages of others can do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.bundle.results_folder import listed
from builders.browsing import Tab, browsing
from builders.chromium import Chromium

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title = 'run'\">"
VALID = "document.getElementById('summary').textContent.startsWith('Valid: ')"


@pytest.fixture
def tab(chromium: Chromium, tmp_path: Path) -> Iterator[Tab]:
    """At the editor of a `bakeoff serve` in this folder."""
    command = [sys.executable, "-m", "bakeoff", "serve", "--json"]
    site = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert site.stdout is not None
        address = json.loads("".join(iter(site.stdout.readline, "}\n")) + "}")["address"]
        with browsing(chromium) as tab:
            tab.open(address.replace("/?", "/plan?"))
            tab.until("document.getElementById('questions') != null")
            yield tab
            assert tab.complaints == []
        site.send_signal(signal.SIGINT)
        assert site.wait(20) == 0
    finally:
        if site.poll() is None:
            site.kill()
        site.communicate()


def ask(tab: Tab) -> None:
    """A plan of a second, by the questions."""
    tab.click("#questions input[value=null]")
    for name, words in {"size": "100", "threads": "1", "window": "1s", "repetitions": "1"}.items():
        tab.write(f"#questions [name={name}]", words)
    tab.click("#questions button")
    tab.until(VALID)


def test_from_the_questions_to_a_finished_run(tab: Tab, tmp_path: Path) -> None:
    ask(tab)
    assert tab.ask("document.getElementById('summary').textContent").startswith("Valid: 1 run, about ")
    assert "null runs inside the measuring process" in tab.ask("document.getElementById('found').textContent")
    tab.write("#name", "first.toml")
    tab.click("#disturbed")
    tab.click("#run")
    tab.until("location.pathname.startsWith('/bundles/')")
    tab.until("document.querySelector('.answer') != null", timeout_s=120)
    (bundle,) = (tmp_path / "bakeoff-results").iterdir()
    one = listed(bundle)
    assert (one.state, one.runs_words.partition(",")[0]) == ("complete", "1 of 1")
    assert 'kind = "ycsb"' in (tmp_path / "first.toml").read_text()
    assert os.listdir(tmp_path / "bakeoff-results") == [bundle.name]


def test_an_error_has_its_line_and_is_gone_once_it_is_mended(tab: Tab, tmp_path: Path) -> None:
    ask(tab)
    text = tab.ask("document.getElementById('text').value")
    wrong = text.replace("repetitions", "repetition").replace('title = "', f"title = {json.dumps(HOSTILE + ' ')} # ")
    tab.write("#text", wrong)
    line = wrong[: wrong.index("repetition =")].count("\n") + 1
    tab.until(f"document.getElementById('summary').textContent == 'Line {line}: unknown key `repetition`'")
    assert "did you mean `repetitions`?" in tab.ask("document.getElementById('found').textContent")
    assert tab.ask("document.querySelector('#lines .wrong').textContent.trim()") == str(line)
    assert tab.ask("document.getElementById('text').getAttribute('aria-invalid')") == "true"
    tab.click("#found [data-line]")
    selected = "(t => t.value.slice(t.selectionStart, t.selectionEnd))(document.getElementById('text'))"
    assert tab.ask(selected) == "repetition = 1"
    tab.click("#run")  # it is saved, and refused
    tab.until("document.getElementById('said').textContent.includes('unknown key')")
    tab.write("#text", wrong.replace("repetition =", "repetitions ="))
    tab.until(VALID)
    assert tab.ask("document.querySelector('#lines .wrong')") is None
    tab.click("#save")
    tab.until("document.getElementById('said').textContent == 'Saved my.toml.'")
    assert HOSTILE in json.loads((tmp_path / "my.toml").read_text().split("\n")[0].split(" # ")[0].partition(" = ")[2])
    assert tab.ask("document.title") == "Plan"
    assert list((tmp_path / "bakeoff-results").glob("*")) == []


def test_a_link_on_another_site_opens_the_page_and_its_forms_and_scripts_do_nothing(tab: Tab, tmp_path: Path) -> None:
    """As a link in a chat does. A file is another site, as any other host is."""
    site = tab.ask("location.origin")
    other = tmp_path / "other.html"
    (token,) = (one["value"] for one in tab.call("Network.getCookies", urls=[site])["cookies"])
    other.write_text(
        f'<a href="{site}/systems">Systems</a><form method="post" action="{site}/systems/install">'
        '<input name="kind" value="mariadb"><input name="version" value="0.0.1"><button>Install</button></form>'
        f'<p><a id="new" href="{site}/?token={token}">Bundles</a>'
    )
    tab.open(other.as_uri())
    tab.click("a")
    tab.until(f"location.href == '{site}/systems' && document.readyState == 'complete'")
    assert tab.ask("document.title") == "Systems"
    tab.open(other.as_uri())
    tab.click("button")
    tab.until("location.pathname == '/systems/install' && document.readyState == 'complete'")
    assert tab.ask("document.body.innerText").startswith("Open the whole address")  # it has no cookie
    tab.open(other.as_uri())
    read = f"fetch('{site}/systems', {{credentials: 'include', mode: 'no-cors'}}).then(one => one.type)"
    assert tab.ask(read) == "opaque"
    tab.open(f"{site}/systems")
    assert tab.ask("document.querySelector('pre.install')") is None
    tab.call("Network.clearBrowserCookies")
    tab.open(other.as_uri())
    tab.click("#new")
    tab.until(f"location.href == '{site}/' && document.title == 'Bundles'")


def test_a_plan_that_exists_is_replaced_only_after_a_question(tab: Tab, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("[systems.sqlite]\n")
    ask(tab)
    tab.click("#save")
    tab.until("!document.getElementById('replace').hidden")
    assert (tmp_path / "my.toml").read_text() == "[systems.sqlite]\n"
    tab.click("#replace")
    tab.until("document.getElementById('said').textContent == 'Saved my.toml.'")
    assert "[systems.null]" in (tmp_path / "my.toml").read_text()
