"""One managed server of the MySQL family: its files, its process, its accounts. Knows nothing of plans beyond the
settings it is given.

It listens on 127.0.0.1 and a unix socket. Each start runs an init file that leaves root over the socket and the bench
user over both, with passwords made for this instance; so a data directory copied from another instance opens with ours.
The init file is gone before anybody connects. What products and versions do differently, `mariadb.py`, `mysql.py`
and `galera_process.py` say.
"""

from __future__ import annotations

import re
import subprocess
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import ClassVar

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.provision.files import allocated_bytes, file_bytes, write_private
from bakeoff.provision.installation import Installation
from bakeoff.provision.server import PortTaken, failed_start
from bakeoff.suggestions import meant
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.node import dirty_pages, like, quoted, read_status
from bakeoff.systems.server.control import Login
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer

_UNKNOWN = re.compile(r"unknown (?:variable|option) '(?:--)?([^'=]+)")
_BAD_VALUE = re.compile(r"Error while setting value '(?P<value>[^']*)' to '(?P<name>[^']+)'")
_UNKNOWN_SUFFIX = re.compile(
    r"Unknown suffix '(?P<suffix>.)' used for variable '(?P<name>[^']+)' \(value '(?P<value>[^']*)'"
)
_ERROR_LINE = re.compile(r"^.*\[ERROR\] (?P<text>.+)$", re.MULTILINE)
#: Errors that follow from others or say nothing.
_ECHOES = ("Aborting", "Plugin 'InnoDB' registration as a STORAGE ENGINE failed", "Unknown/unsupported storage engine")


def explain_failed_start(
    log: str, how_it_ended: str, *, where: str, port: int, known: Callable[[], Iterable[str]]
) -> BakeoffError:
    """`known` gives the setting names the server understands; asked only when one was unknown."""
    if found := _UNKNOWN.search(log):
        name = found[1].replace("-", "_")
        return PlanError(
            f"the server does not know the setting {name!r}",
            where=f"{where}.start.settings",
            hint=meant(name, known()),
        )
    if found := _BAD_VALUE.search(log) or _UNKNOWN_SUFFIX.search(log):
        return _bad_value(found, where)
    if "already have another server running on port" in log:
        return PortTaken(port, where)
    lower = "innodb_buffer_pool_size"
    return failed_start(log, how_it_ended, where=where, port=port, errors=_errors(log), lower=lower)


#: Values that the server passes over with a warning, and then runs with something else.
_PASSED_OVER = (
    re.compile(r"option '(?P<name>[^']+)': boolean value '(?P<value>[^']*)' (?:wasn't|was not) recognized"),
    re.compile(r"ignoring option '--(?P<name>[^']+)' due to invalid value '(?P<value>[^']*)'"),
)


def refused_values(log: str, where: str) -> PlanError | None:
    """A value that the server did not take and started without: a benchmark of something else."""
    found = next((match for pattern in _PASSED_OVER if (match := pattern.search(log))), None)
    return None if found is None else _bad_value(found, where)


def _bad_value(found: re.Match[str], where: str) -> PlanError:
    name = found["name"].replace("-", "_")
    return PlanError(f"the server does not take {found['value']!r} as {name!r}", where=f"{where}.start.settings")


def adjusted_settings(log: str) -> list[str]:
    """Settings that the server took, but not as they were asked: its own warnings."""
    return list(dict.fromkeys(re.findall(r"option '[^']+': (?:un)?signed value \S+ adjusted to \S+", log)))


def _errors(log: str) -> list[str]:
    lines = [found["text"].strip() for found in _ERROR_LINE.finditer(log)]
    telling = [line for line in lines if not any(echo in line for echo in _ECHOES)]
    return [re.sub(r"^\S*mariadbd: ", "", line) for line in dict.fromkeys(telling or lines)][:3]


#: What a shell or a configuration file would read as something else than a letter of a name.
_ODD = re.compile(r"""[\s"'`\\#$*?!&|;<>(){}\[\]]""")
#: Where an unpacked copy has what it was built to find elsewhere.
_OWN_FILES = {
    "plugin_dir": ("lib/mysql/plugin", "lib/plugin"),
    "lc_messages_dir": ("share/mysql", "share/mariadb", "share"),
    "character_sets_dir": ("share/mysql/charsets", "share/mariadb/charsets", "share/charsets"),
}


class MySqlProcess(DatabaseServer):
    #: Of a whole data directory.
    redo: ClassVar[str] = "ib_logfile0"
    #: Differences from the server's own defaults, all for a fair and repeatable throwaway; a plan may set any of them.
    defaults: ClassVar[dict[str, str]] = {
        "innodb_buffer_pool_size": "128M",
        "max_connections": "3000",
        "max_prepared_stmt_count": "1048576",  # of all sessions together; the server's own 16,382 end 1,489 of YCSB A's
        "skip_name_resolve": "ON",
    }
    #: Newer servers would make themselves a certificate, which takes seconds.
    without_tls: ClassVar[dict[str, str]] = {}
    cold_options: ClassVar[tuple[str, ...]] = ("--innodb-buffer-pool-load-at-startup=OFF",)
    seen_options: ClassVar[tuple[str, ...]] = ("--loose-innodb-use-native-aio=0",)

    #: Settings under which dirty pages are written at once, in the order that servers take them; no version has all.
    draining: ClassVar[Mapping[str, float]] = {
        "innodb_max_dirty_pages_pct_lwm": 0,
        "innodb_max_dirty_pages_pct": 0,
        "innodb_io_capacity_max": 200_000,
        "innodb_io_capacity": 100_000,
    }

    def make_control(self, timeout_s: float = 5.0) -> Control:
        login = Login(self.socket_address(), "root", self.root_password)
        return Control(login, where=self.where, timeout_s=timeout_s)

    def answers(self) -> bool:
        return self.socket.exists() and self.control.answers()

    # -- data -------------------------------------------------------------------------------------------------------

    def has_data(self, folder: Path) -> bool:
        return (folder / "mysql").is_dir()

    def data_are_whole(self) -> bool:
        return (self.data / self.redo).exists()

    def before_snapshot(self) -> None:
        """History purged and all pages written: a slow shutdown."""
        self.control.rows("SET GLOBAL innodb_fast_shutdown = 0")

    def data_folders(self) -> list[Path]:
        """Nothing but settings puts data elsewhere."""
        said = self.spec.settings
        names = ("innodb_data_home_dir", "innodb_undo_directory", "innodb_log_group_home_dir", "aria_log_dir_path")
        folders = [self.data / said[name] for name in names if said.get(name)]
        home = self.data / said.get("innodb_data_home_dir", "")
        files = [home / part.partition(":")[0] for part in said.get("innodb_data_file_path", "").split(";") if part]
        files += [self.data / said["log_bin"]] if said.get("log_bin") else []
        return list(dict.fromkeys([self.data, *folders, *(file.parent for file in files)]))

    def variables(self, names: Sequence[str]) -> dict[str, str]:
        """Of these global variables those that this version has, in their order."""
        asked = ", ".join(["%s"] * len(names))
        rows = self.control.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({asked})", *names)
        found = {str(name): str(value) for name, value in rows}
        return {name: found[name] for name in names if name in found}

    def size_on_disk_bytes(self) -> int | None:
        return self._size(allocated_bytes)

    def file_size_bytes(self) -> int | None:
        return self._size(file_bytes)

    def _size(self, measure: Callable[[Path], int]) -> int | None:
        folder = self.data / self.spec.schema
        return measure(folder) + sum(map(measure, self.files_beside())) if folder.is_dir() else None

    def files_beside(self) -> Iterable[Path]:
        """That hold rows of the schema's tables and lie elsewhere than in its folder."""
        return ()

    def drain_debt(self, timeout_s: float) -> bool:
        """Writes back all dirty pages, by settings changed for that time and put back."""
        before = self.variables(tuple(self.draining))
        try:
            for name in before:
                self.control.rows(f"SET GLOBAL {name} = {self.draining[name]}")
            return self._dirty_pages_gone(timeout_s)
        finally:
            if self.alive():
                for name, value in reversed(before.items()):
                    self.control.rows(f"SET GLOBAL {name} = {value}")

    def _dirty_pages_gone(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self.alive():
            with suppress(ServerError):
                if not dirty_pages(read_status(self.control)):
                    return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return False

    # -- starting ---------------------------------------------------------------------------------------------------

    def command(self, options: Sequence[str]) -> list[str | Path]:
        return [
            self.spec.installation.program,
            f"--defaults-file={self.config}",
            f"--port={self.port}",
            f"--init-file={self.folder.path / 'init.sql'}",
            *options,
        ]

    def secret_files(self) -> dict[str, str]:
        """With a binary log there may be servers that follow this one: they make their accounts by themselves."""
        unlogged = ["SET sql_log_bin = 0;"] if "log_bin" in self.spec.settings else []
        return {"init.sql": "\n".join([*unlogged, *self.accounts(), ""])}

    @abstractmethod
    def accounts(self) -> list[str]:
        """Statements after which root over the socket and the bench user are all the accounts there are that anybody
        can log in to, and the schema is there. One a line, as init files want it; they run at every start."""

    def bench_accounts(self) -> list[str]:
        """The part of `accounts` that all versions spell alike: the bench user made, with rights on its schema."""
        bench = [f"'{BENCH_USER}'@'{host}'" for host in ("127.0.0.1", "localhost")]
        return [
            *(f"CREATE USER {user} IDENTIFIED BY '{self.bench_password}';" for user in bench),
            f"CREATE DATABASE IF NOT EXISTS {quoted(self.spec.schema)};",
            *(f"GRANT ALL ON {quoted(like(self.spec.schema))}.* TO {user};" for user in bench),
        ]

    def adjusted(self) -> list[str]:
        return adjusted_settings(self.log_tail(10_000))

    def found_in_log(self, log: str) -> BakeoffError | None:
        return refused_values(log, self.where)

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        return explain_failed_start(log, how_it_ended, where=self.where, port=self.port, known=self._known_settings)

    def _known_settings(self) -> frozenset[str]:
        return known_settings(self.spec.installation, self.folder.path)

    def _refuse_odd_names(self) -> None:
        """The script that makes a data directory is a shell's, and takes a name apart at its blanks."""
        programs = [self.spec.installation.base] if self.spec.installation.moved else []
        for path in (self.data, self.folder.path, *programs):
            if odd := _ODD.search(str(path)):
                raise ServerError(
                    f"{self.product} cannot create its data in a folder whose name contains {odd[0]!r}: {path}",
                    where=self.where,
                    hint="choose another folder with --work-dir (for its programs, BAKEOFF_CACHE)",
                )

    # -- configuration ----------------------------------------------------------------------------------------------

    @property
    def config(self) -> Path:
        return self.folder.path / "my.cnf"

    def write_config(self) -> None:
        self._refuse_odd_names()
        fixed = {
            **own_files(self.spec.installation),
            "datadir": str(self.data),
            "tmpdir": str(self.folder.path / "tmp"),
            "socket": str(self.socket),
            "pid_file": str(self.folder.path / "tmp" / "server.pid"),
            "bind_address": "127.0.0.1",
        }
        options = {**self.defaults, **fixed, **self.tls_settings(), **self.spec.settings}
        lines = [_config_line(name, self.spelled(value)) for name, value in options.items()]
        write_private(self.config, "[mysqld]\n" + "\n".join(lines) + "\n", mode=0o644)

    def spelled(self, value: str) -> str:
        """A setting's value as this version's option file wants it."""
        return value

    def tls_settings(self) -> dict[str, str]:
        if not self.spec.tls:
            return self.without_tls
        files = self.make_certificate()
        return {"ssl_ca": str(files.authority), "ssl_cert": str(files.certificate), "ssl_key": str(files.key)}


def own_files(installation: Installation) -> dict[str, str]:
    """Options that tell a copy which is not where it was built to be where its own files are."""
    if not installation.moved:
        return {}
    base = installation.base
    found = {
        name: next((base / place for place in places if (base / place).is_dir()), None)
        for name, places in _OWN_FILES.items()
    }
    return {"basedir": str(base), **{name: str(folder) for name, folder in found.items() if folder}}


@cache
def known_settings(installation: Installation, folder: Path) -> frozenset[str]:
    """All option names it understands, as the configuration file spells them."""
    argv: list[str | Path] = [installation.program, "--no-defaults", "--verbose", "--help"]
    try:
        text = installation.run(argv, timeout_s=30.0, cwd=folder).stdout
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    options, _, variables = text.partition("Variables (--variable-name=value)")
    names = re.findall(r"^\s+(?:-\w, )?--([a-z][a-z0-9-]+)", options, re.MULTILINE)
    names += re.findall(r"^([a-z][a-z0-9-]+) +\S", variables, re.MULTILINE)
    return frozenset(name.replace("-", "_") for name in names)


#: Their options exist only with them.
_LOADED = ("plugin_load", "plugin_load_add", "plugin_dir")


def refuse_unknown(settings: Mapping[str, str], installation: Installation, product: str, where: str) -> None:
    """Settings of a plan that no server of this version would start with. What it does not list may still be an option
    of it (a prefix such as `skip_`, a plugin's, one that it hides), so the program itself decides. Raises PlanError."""
    known = known_settings(installation, Path("/"))
    odd = {name: value for name, value in settings.items() if name not in known and not name.startswith("loose_")}
    loaded = {name: settings[name] for name in _LOADED if name in settings}
    for name, value in odd.items():
        if known and not _is_taken(installation, tuple({**loaded, name: value}.items())):
            what = f"{product} {installation.version} does not know the setting {name!r}"
            raise PlanError(what, where=f"{where}.start.settings.{name}", hint=meant(name, known))


@cache
def _is_taken(installation: Installation, settings: tuple[tuple[str, str], ...]) -> bool:
    """False only where the program says that it does not know one."""
    said = {**own_files(installation), **dict(settings)}
    argv: list[str | Path] = [installation.program, "--no-defaults"]
    argv += [f"--{name}={value}" for name, value in said.items()]
    # From MySQL 8 on help comes before the options are read. The folder of files it was built with need not be here.
    validates = "validate_config" in known_settings(installation, Path("/"))
    argv += ["--secure-file-priv=NULL", "--validate-config"] if validates else ["--verbose", "--help"]
    try:
        done = installation.run(argv, timeout_s=30.0, cwd=Path("/"))
    except (OSError, subprocess.SubprocessError):
        return True
    return done.returncode == 0 or _UNKNOWN.search(done.stdout) is None


#: Of `log_bin`, which takes every value for the name of its files.
_BINARY_LOG = {
    "OFF": "skip_log_bin",
    "0": "skip_log_bin",
    "FALSE": "skip_log_bin",
    "ON": "log_bin",
    "1": "log_bin",
    "TRUE": "log_bin",
}


def _config_line(name: str, value: str) -> str:
    """Option files strip blanks, and take # for a comment."""
    if name == "log_bin" and value.upper() in _BINARY_LOG:
        return _BINARY_LOG[value.upper()]
    return f'{name} = "{value}"' if value != value.strip() or "#" in value else f"{name} = {value}"
