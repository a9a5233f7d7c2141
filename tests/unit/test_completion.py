"""Each shell itself is asked what it would complete, and man what it makes of the page."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bakeoff.cli import main, parser
from bakeoff.cli.reference import walk

#: Loads the script, and prints what would be completed after the words of a line, one a line.
ASKING = {
    "bash": r"""
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
        complete -p bakeoff >/dev/null && "$(complete -p bakeoff | sed 's/.*-F \([^ ]*\).*/\1/')"
        printf '%s\n' "${COMPREPLY[@]}"
    """,
    "fish": """
        source $argv[1]
        complete --do-complete (string join ' ' -- $argv[2..]) | string split --fields 1 \\t
        true
    """,
}
#: zsh completes at a prompt alone, so it gets one.
ZSH = r"""
import os, pty, re, select, sys, time
script, line = sys.argv[1], sys.argv[2]
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", COLUMNS="200", LINES="200", PS1="ready> ")
    os.execvp("zsh", ["zsh", "-f", "-i"])
def send(text): os.write(terminal, text.encode())
def until(mark, within_s=20.0):
    heard, end = "", time.monotonic() + within_s
    while mark not in heard and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            heard += os.read(terminal, 65536).decode(errors="replace")
    return heard
send(f"fpath=({os.path.dirname(script)} $fpath); autoload -Uz compinit; compinit -u -D\n")
send("LISTMAX=9999; bindkey '^X' list-choices; echo LOA''DED\n")
until("LOADED")
send(f"{line}\x18")
print(until("\0", 3.0))
"""


def completed(shell: str, script: Path, line: str, folder: Path) -> list[str]:
    """Words that the shell offers at the end of the line."""
    if shell == "zsh":
        command = ["python3", "-c", ZSH, str(script), line]
    else:
        words = line.split(" ") if shell == "bash" else [line]
        command = [shell, "-c", ASKING[shell], *(["asking"] * (shell == "bash")), str(script), *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_names_and_plans(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} on this machine")
    assert main(["completion", shell]) == 0
    script = tmp_path / "functions/_bakeoff"  # the name by which zsh finds it
    script.parent.mkdir()
    script.write_text(capsys.readouterr().out)
    (tmp_path / "my.toml").touch()
    (tmp_path / "other.txt").touch()
    for line, offered, not_offered in (
        ("bakeoff ", {"run", "quick", "completion"}, {"hatshop"}),
        ("bakeoff systems ", {"install", "remove"}, {"quick"}),
        ("bakeoff run --o", {"--only", "--out"}, {"--against"}),
        ("bakeoff run ", {"my.toml"}, {"other.txt"}),
        ("bakeoff quick ", {"mariadb", "sqlite"}, {"my.toml"}),
        ("bakeoff quick sqlite --workload ", {"tpcc", "ycsb-b"}, {"mariadb"}),
        ("bakeoff report bundle --metric ", {"latency_p99"}, {"mariadb"}),
    ):
        words = set(completed(shell, script, line, tmp_path))
        assert offered <= words, line
        assert not not_offered & words, line


@pytest.mark.skipif(not (shutil.which("man") and shutil.which("mandb")), reason="this machine has no man")
def test_the_man_page_has_every_command_and_no_mistake() -> None:
    page = Path(__file__).parents[2] / "docs/reference/bakeoff.1"
    command = ["man", "--warnings", "--local-file", page]
    wide = {**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, env=wide, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "bakeoff - compare databases" in done.stdout
    for name, _ in walk("bakeoff", parser()):
        assert f"'{name}'" in done.stdout.replace("\u2019", "'") or name == "bakeoff", name
