"""Runs docs/tutorial.md or docs/questions.md, and writes what its commands print and pictures of its reports into it.

    python -m benches.tutorial {tutorial,questions} SCRATCH [--wait | --together]
    python -m benches.tutorial --check      # fails if an output on these pages comes from disturbed runs

SCRATCH: a new folder, or that of an earlier call: existing bundles there are reported again, and only the missing ones
are measured. The arguments after SCRATCH go to every `bakeoff run`, and are not shown. Every block of commands that an
output block follows runs there, in the page's order, next to the plans of plans/PAGE. An output block that ends
in "..." keeps its number of paragraphs. docs/images/PAGE-NAME.png is the first screen of the report in
SCRATCH/NAME. Needs MariaDB (`bakeoff systems install mariadb`) and chromium, the questions PostgreSQL, Galera and
MariaDB 10.2 and 11.8, too. Takes about twenty minutes each.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.builders.chromium import Chromium

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
_COMMANDS = re.compile(r"```sh\n([^`]*)```\n\n```text\n([^`]*)```")
#: Where bundles that are continued are kept as they were.
_BEFORE = "before/"
#: Of the page: what a reader sees without scrolling.
SCREEN = (1300, 950)
PAGES = ("tutorial", "questions")
#: A note such as "hypervisor: 3.4 % of the CPU time" without these words stays below the limit for disturbed runs.
_DISTURBED = re.compile(r"not trustworthy|disturbed", re.IGNORECASE)
#: A disturbed run that was repeated does not count, nor does what a dry run says of those to come.
_REPEATED = re.compile(
    r"\d+ (?:earlier attempts? w\w+ )?disturbed[^.;]*? repeated(?: \([^)]*\))?|repeats of disturbed runs come on top"
)


def main(name: str, scratch: Path, beside: str) -> None:
    page = ROOT / f"docs/{name}.md"
    shutil.copytree(ROOT / f"plans/{name}", scratch, dirs_exist_ok=True)
    text = page.read_text()
    text = _COMMANDS.sub(lambda block: _block(block[1], _printed(block[1], block[2], scratch, beside)), text)
    page.write_text(text)
    browser = Chromium(Path(shutil.which("chromium") or "chromium"), {}, scratch)
    for shown in dict.fromkeys(re.findall(rf"images/{name}-(\w+)\.png", text)):
        width, height = SCREEN
        report = (scratch / shown / "report.html").absolute()
        (IMAGES / f"{name}-{shown}.png").write_bytes(browser.screenshot(report, width=width, height=height))


def disturbed_outputs(page: str) -> list[str]:
    """Outputs that no reader should believe, except examples in a section whose text is about disturbances."""
    found = []
    for section in re.split(r"^(?=## )", page, flags=re.MULTILINE):
        text = re.sub(r"```.*?```", "", section, flags=re.DOTALL)
        for output in re.findall(r"```text\n(.*?)```", section, re.DOTALL):
            words = _DISTURBED.search(_REPEATED.sub("", " ".join(output.split())))
            if words and not re.search("disturb", text, re.IGNORECASE):
                found.append(f"{section.splitlines()[0]}: {words[0]}")
    return found


def check() -> None:
    texts = {page: (ROOT / f"docs/{page}.md").read_text() for page in PAGES}
    found = [f"docs/{page}.md, {one}" for page, text in texts.items() for one in disturbed_outputs(text)]
    if found:
        sys.exit("\n".join(["outputs of disturbed runs: measure again on a quiet machine", *found]))


def _block(commands: str, printed: str) -> str:
    return f"```sh\n{commands}```\n\n```text\n{printed.replace('`', chr(39))}```"


def _printed(commands: str, before: str, scratch: Path, beside: str) -> str:
    """What the commands print to stdout; progress goes to stderr, and is not the page's."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    lines: list[str] = []
    for command in commands.splitlines():
        print(f"$ {command}", file=sys.stderr)
        asked = _asked(command, scratch) or command.replace("bakeoff run", f"bakeoff run {beside}")
        done = subprocess.run(
            asked, shell=True, cwd=scratch, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        lines += done.stdout.replace(_BEFORE, "").rstrip().splitlines()
    printed = "\n".join(lines) + "\n"
    if before.endswith("\n...\n"):
        printed = "\n\n".join(printed.split("\n\n")[: before.count("\n\n")]) + "\n\n...\n"
    return printed


def _asked(command: str, scratch: Path) -> str | None:
    """The command that reports the existing bundle of `command`; None: there is no bundle yet. A bundle that is
    continued is kept as it was before, because the page shows that, too."""
    made, continued = (re.search(rf"--{word} (\w+)", command) for word in ("out", "resume"))
    if made and (scratch / made[1]).exists():
        before = f"{_BEFORE}{made[1]}"
        return f"bakeoff report {before if (scratch / before).exists() else made[1]}"
    if continued:
        before = scratch / f"{_BEFORE}{continued[1]}"
        if before.exists():
            return f"bakeoff report {continued[1]}"
        shutil.copytree(scratch / continued[1], before)
    return None


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check()
    else:
        main(sys.argv[1], Path(sys.argv[2]), " ".join(sys.argv[3:]))
