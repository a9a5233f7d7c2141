"""Downloads Debian packages with all they depend on, through the machine's own apt sources and keys, without root.

apt gets lists, an archive folder and an *empty* package status of its own: so it fetches the whole closure, and the
state of the machine's package manager is neither read nor changed. The sources, keys and proxies are the machine's
configured ones; apt checks the signatures as always. Another suite than the machine's is asked of the same mirror, and
must be signed with the same keys.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bakeoff.analysis.wording import bytes_words
from bakeoff.errors import ServerError
from bakeoff.provision.installation import NotOffered
from bakeoff.terminal import said_if_slow

_CONFIG = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
#clear Acquire::IndexTargets::deb::DEP-11;
Dir::State "{root}";
Dir::State::lists "{root}/lists";
Dir::State::status "{root}/status";
Dir::Cache "{root}";
Dir::Cache::archives "{root}/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "{root}";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
APT::Keep-Downloaded-Packages "true";
APT::Get::List-Cleanup "false";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Debug::NoLocking "true";
"""

_ETC = Path("/etc/apt")
_DEBIAN_LINE = re.compile(r"^deb\s+(?P<options>\[[^\]]*\]\s+)?(?P<mirror>\S+/debian/?)\s", re.MULTILINE)
_DEBIAN_STANZA = re.compile(r"^URIs:.*/debian/?\s*$", re.MULTILINE | re.IGNORECASE)
_HOW_TO_DO_WITHOUT = "or install the server yourself and put it on the PATH"


@dataclass(frozen=True)
class Candidate:
    """What the machine's sources would install."""

    package: str
    version: str

    @property
    def upstream(self) -> str:
        """The version without Debian's epoch and revision: `10.11.19` of `1:10.11.19-0+deb12u1`."""
        return upstream_version(self.version)


def upstream_version(debian_version: str) -> str:
    without_epoch = debian_version.split(":", 1)[-1]
    return re.split(r"[-+~]", without_epoch, maxsplit=1)[0]


def missing() -> str | None:
    """None if this machine can fetch Debian packages, else what it lacks."""
    lacking = [program for program in ("apt-get", "apt-cache", "dpkg-deb") if shutil.which(program) is None]
    return f"{' and '.join(lacking)} not found (not a Debian-like system?)" if lacking else None


class PrivateApt:
    """apt with its state in `root`, a scratch folder of the caller's. suite: None for the machine's configured ones."""

    def __init__(self, root: Path, suite: str | None = None) -> None:
        if lacking := missing():
            raise ServerError(f"cannot fetch packages: {lacking}", hint=_HOW_TO_DO_WITHOUT.removeprefix("or "))
        self._config = root / "apt.conf"
        self.archives = root / "archives"
        for folder in (root / "lists" / "partial", self.archives / "partial"):
            folder.mkdir(parents=True, exist_ok=True)
        (root / "status").touch()
        self._config.write_text(_CONFIG.format(root=root))
        self._update_trouble = ""
        self._whose = f"lists of {suite}" if suite else "configured apt sources"
        if suite is not None:
            self._take_suite(suite, root)

    def _take_suite(self, suite: str, root: Path) -> None:
        """Leaves that suite alone as a source, of the mirror that the machine's Debian comes from."""
        found = _of_suite(suite)
        if found is None:
            raise NotOffered(
                f"this machine's apt has no Debian mirror for {suite}",
                hint=f"add a Debian source to {_ETC}/sources.list.d, {_HOW_TO_DO_WITHOUT}",
            )
        extension, text = found
        sources = root / f"suite{extension}"
        sources.write_text(text)
        with self._config.open("a", encoding="utf-8") as config:
            config.write(f'Dir::Etc::sourcelist "{sources}";\nDir::Etc::sourceparts "-";\n')

    def update(self) -> None:
        """Reads the sources' lists. One broken source is no error yet: the packages may come from another."""
        with said_if_slow("apt reads the lists of packages"):
            done = self._run("apt-get", "-q", "update")
        self._update_trouble = _complaints(done.stderr) if done.returncode or "W:" in done.stderr else ""

    def has(self, package: str) -> bool:
        return self._offered(package) is not None

    def _offered(self, package: str) -> str | None:
        found = re.search(r"Candidate: (\S+)", self._run("apt-cache", "policy", package).stdout)
        return found[1] if found and found[1] != "(none)" else None

    def candidate(self, package: str) -> Candidate:
        version = self._offered(package)
        if version is None:
            raise NotOffered(
                f"the {self._whose} have no package {package}{self._because()}",
                hint=f"check /etc/apt/sources.list.d and the network, {_HOW_TO_DO_WITHOUT}",
            )
        return Candidate(package, version)

    def download(self, packages: Sequence[str], alone: Sequence[str] = ()) -> list[Path]:
        """Fetches the packages and everything they depend on, and those of `alone` without; returns the .deb files."""
        self._get(packages, "-y", "--download-only", "install")
        if alone:
            self._get(alone, "download")
        return sorted(self.archives.glob("*.deb"))

    def _get(self, packages: Sequence[str], *how: str) -> None:
        with said_if_slow(f"apt downloads {' '.join(packages)}", self._fetched):
            done = self._run("apt-get", "-q", *how, *packages)
        if done.returncode:
            raise ServerError(
                f"apt could not download {' '.join(packages)}: {_complaints(done.stderr)}{self._because()}",
                hint=f"check the network and proxy settings and try again, {_HOW_TO_DO_WITHOUT}",
            )

    def _fetched(self) -> str:
        return f"{bytes_words(sum(_sizes(self.archives)))} fetched"

    def _because(self) -> str:
        return f"; reading the sources reported: {self._update_trouble}" if self._update_trouble else ""

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        return subprocess.run(
            [program, "-c", str(self._config), *arguments],
            env=environment,
            cwd=self.archives,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def _sizes(folder: Path) -> Iterator[int]:
    for path in folder.rglob("*"):
        with suppress(OSError):  # apt has renamed it meanwhile
            yield path.stat().st_size if path.is_file() else 0


def _of_suite(suite: str) -> tuple[str, str] | None:
    """The machine's first source of Debian with its keys and options, rewritten to name `suite`, and the extension that
    tells apt how it is written. Both ways of writing sources are in use. None: there is none."""
    for path in (_ETC / "sources.list", *sorted((_ETC / "sources.list.d").glob("*"))):
        text = path.read_text(errors="replace") if path.suffix in (".list", ".sources") and path.is_file() else ""
        if path.suffix == ".list" and (line := _DEBIAN_LINE.search(text)):
            return ".list", f"deb {line['options'] or ''}{line['mirror']} {suite} main\n"
        for stanza in re.split(r"\n\s*\n", text) if path.suffix == ".sources" else ():
            if _DEBIAN_STANZA.search(stanza) and not re.search(r"(?mi)^Enabled:\s*no", stanza):
                plain = re.sub(r"(?m)^#.*\n", "", stanza + "\n")
                for field, value in (("Types", "deb"), ("Suites", suite), ("Components", "main")):
                    plain = re.sub(rf"(?mi)^{field}:.*$", f"{field}: {value}", plain)
                return ".sources", plain
    return None


def _complaints(stderr: str) -> str:
    """apt's errors and warnings in one line; what it repeats only once."""
    lines = [line.strip() for line in stderr.splitlines() if line.startswith(("E:", "W:"))]
    return "; ".join(dict.fromkeys(lines))[:600] or stderr.strip()[-300:] or "no message"
