"""One managed PostgreSQL: its files, its process, its accounts. Knows nothing of plans beyond the settings it is given.

It listens on 127.0.0.1 and a unix socket. Its superuser has no password and is reached over the socket alone, by the
user that bakeoff runs as: the kernel tells the server who that is (`peer`). The bench user gets a password made for
this instance at each start, so a data directory copied from another instance opens with ours. Who may log in is in
files of ours outside the data directory, whose own let nobody in.
"""

from __future__ import annotations

import os
import pwd
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.provision.files import allocated_bytes, write_private
from bakeoff.provision.installation import Installation
from bakeoff.provision.os_metrics import family, process_table
from bakeoff.provision.process import end_process, start_ticks
from bakeoff.provision.server import failed_start
from bakeoff.suggestions import meant
from bakeoff.systems.postgresql.control import SOCKET_NAME, Control, literal, quoted
from bakeoff.systems.server.control import Address, Login
from bakeoff.systems.server.process import BENCH_USER, DatabaseServer

_UNKNOWN = re.compile(r'unrecognized configuration parameter "([^"]+)"')
_BAD_VALUE = re.compile(
    r'(?:invalid value for parameter "(?P<name>[^"]+)": "(?P<value>[^"]*)"'
    r'|(?P<number>\S+(?: \w+)?) is outside the valid range for parameter "(?P<ranged>[^"]+)" (?P<range>\([^)]*\))'
    r'|parameter "(?P<typed>[^"]+)" requires (?P<what>[^\n]+))'
)
_ERROR_LINE = re.compile(r"(?:FATAL|PANIC|ERROR|initdb: error|LOG: .*could not): *(?P<text>.+)$", re.MULTILINE)


def explain_failed_start(
    log: str, how_it_ended: str, *, where: str, port: int, known: Callable[[], Iterable[str]]
) -> BakeoffError:
    """`known` gives the setting names the server understands; asked only when one was unknown."""
    settings = f"{where}.start.settings"
    if found := _UNKNOWN.search(log):
        return PlanError(
            f"the server does not know the setting {found[1]!r}", where=settings, hint=meant(found[1], known())
        )
    if found := _BAD_VALUE.search(log):
        if found["name"]:
            return PlanError(f"the server does not take {found['value']!r} as {found['name']!r}", where=settings)
        if found["ranged"]:
            what = f"the server does not take {found['number']!r} as {found['ranged']!r}"
            return PlanError(what, where=settings, hint=f"its range is {found['range'].strip('()')}")
        return PlanError(f"the setting {found['typed']!r} requires {found['what']}", where=settings)
    lines = (found["text"].strip() for found in _ERROR_LINE.finditer(log))
    return failed_start(log, how_it_ended, where=where, port=port, errors=lines, lower="shared_buffers")


@cache
def known_settings(installation: Installation) -> frozenset[str]:
    """As the server itself tells, one a line: `name TAB ...`."""
    told = _said(installation, "--describe-config")
    return frozenset(line.partition("\t")[0].lower() for line in told.splitlines() if "\t" in line)


def refuse_unknown(settings: Mapping[str, str], installation: Installation, where: str) -> None:
    """Settings of a plan that no server of this version would start with. A name with a dot is an extension's, and any
    is taken; what is not listed may be hidden or an older name, so the program itself decides. Raises PlanError."""
    known = known_settings(installation)
    for name in settings if known else ():
        if name in known or "." in name:
            continue
        told = _said(installation, "-C", "shared_buffers", "-D", os.devnull, "-c", f"{name}={settings[name]}")
        if _UNKNOWN.search(told):
            what = f"PostgreSQL {installation.version} does not know the setting {name!r}"
            raise PlanError(what, where=f"{where}.start.settings.{name}", hint=meant(name, known))


@cache
def _said(installation: Installation, *words: str) -> str:
    try:
        return installation.run([installation.program, *words], timeout_s=30.0, cwd=Path("/")).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


_SUPERUSER = "postgres"
#: Where extensions of ours lie, out of the way of the plan's tables.
_MONITOR = "bakeoff_monitor"
#: VACUUM and ANALYZE of all that was loaded.
_SETTLE_TIMEOUT_S = 3600.0
#: Differences from the server's own defaults, all for a fair and repeatable throwaway; a plan may set any of them.
DEFAULTS = {"shared_buffers": "128MB", "max_connections": "3000", "password_encryption": "scram-sha-256"}


class PostgreSqlProcess(DatabaseServer):
    product = "PostgreSQL"
    stop_signal = signal.SIGINT  # "fast": connections are ended, and all is written
    socket_name = f"{SOCKET_NAME}65535"  # the longest; the server puts its port in

    # -- talking ----------------------------------------------------------------------------------------------------

    def make_control(self, timeout_s: float = 5.0) -> Control:
        return self.control_of(self.spec.schema, timeout_s)

    def control_of(self, database: str, timeout_s: float = 5.0) -> Control:
        """One more connection, which whoever asks for it closes."""
        login = Login(self.socket_address(), _SUPERUSER, "")
        return Control(login, database, where=self.where, timeout_s=timeout_s)

    def socket_address(self) -> Address:
        return Address(socket=str(self.socket.with_name(f"{SOCKET_NAME}{self.port}")))

    def answers(self) -> bool:
        control = self.control_of(_SUPERUSER)
        try:
            return control.answers()
        finally:
            control.close()

    # -- life -------------------------------------------------------------------------------------------------------

    def start(self, *options: str) -> None:
        if self.alive():
            return
        super().start(*options)
        try:
            self.make_accounts()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        processes = self._processes()
        self.thaw()  # one that is frozen would keep the first from ending
        super().stop()
        _end(processes)

    def kill(self) -> None:
        """The processes of connections end by themselves when the first has gone, but later than it."""
        processes = self._processes()
        super().kill()
        _end(processes)

    def freeze(self) -> None:
        """Each process of it has a group of its own; the first starts no other once it is frozen."""
        super().freeze()
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)
        super().thaw()

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def pids(self) -> list[int]:
        """The first, and all that it has started: one for each connection, and those that write."""
        first = super().pids()
        return family(first, process_table()) if first else []

    def _processes(self) -> dict[int, int]:
        """With their ticks, so that none is taken for another."""
        return {pid: ticks for pid in self.pids() if (ticks := start_ticks(pid)) is not None}

    # -- data -------------------------------------------------------------------------------------------------------

    def has_data(self, folder: Path) -> bool:
        return (folder / "PG_VERSION").is_file()

    def make_data(self) -> None:
        tool = self.spec.installation.tool("initdb")
        if tool is None:
            raise ServerError(
                f"initdb is missing next to {self.spec.installation.program}",
                where=self.where,
                hint="install the whole PostgreSQL server package",
            )
        # Texts sort by their bytes, on every machine alike. Nothing here needs to survive a power cut.
        how = [f"--username={_SUPERUSER}", "--auth=reject", "--encoding=UTF8", "--locale=C", "--no-sync"]
        done = self.run([tool, "-D", self.data, *how])
        if done.returncode or not self.has_data(self.data):
            raise self.init_failed(done)

    def data_are_whole(self) -> bool:
        running, elsewhere = self.data / "postmaster.pid", self.data / "pg_tblspc"
        return self.has_data(self.data) and not running.exists() and not os.listdir(elsewhere)

    def before_snapshot(self) -> None:
        """Dead rows removed and statistics made, as a server does by itself sooner or later; the stop writes all."""
        control = self.control_of(self.spec.schema, _SETTLE_TIMEOUT_S)
        try:
            control.rows("VACUUM (ANALYZE)")
        finally:
            control.close()

    def drain_debt(self, timeout_s: float) -> bool:
        """A checkpoint: all dirty pages are written, as with every other system. Dead rows stay, as others' history
        does: what is left to VACUUM is reported as debt, not done here."""
        control = self.control_of(self.spec.schema, timeout_s)
        try:
            control.rows("CHECKPOINT")
        except ServerError:
            if not self.answers():
                raise
            return False
        finally:
            control.close()
        return True

    def size_on_disk_bytes(self) -> int | None:
        oid = self.control.value("SELECT oid FROM pg_database WHERE datname = current_database()")
        return allocated_bytes(self.data / "base" / str(oid))

    # -- starting ---------------------------------------------------------------------------------------------------

    def command(self, options: Sequence[str]) -> list[str | Path]:
        return [self.spec.installation.program, f"--config-file={self.config}", "-p", str(self.port), *options]

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        return explain_failed_start(log, how_it_ended, where=self.where, port=self.port, known=self._known_settings)

    def _known_settings(self) -> frozenset[str]:
        return known_settings(self.spec.installation)

    def make_accounts(self) -> None:
        """The bench user with this instance's password, its database, and what we need for looking."""
        database = self.spec.schema
        with closing(self.control_of(_SUPERUSER)) as control:
            if not control.rows("SELECT 1 FROM pg_roles WHERE rolname = $1", BENCH_USER):
                control.rows(f"CREATE ROLE {BENCH_USER}")
            control.rows(f"ALTER ROLE {BENCH_USER} LOGIN PASSWORD {literal(self.bench_password)}")
            if not control.rows("SELECT 1 FROM pg_database WHERE datname = $1", database):
                control.rows(f"CREATE DATABASE {quoted(database)} OWNER {BENCH_USER}")
        with closing(self.control_of(database)) as control:
            if control.rows("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_buffercache'"):
                control.rows(f"CREATE SCHEMA IF NOT EXISTS {_MONITOR}")
                control.rows(f"CREATE EXTENSION IF NOT EXISTS pg_buffercache SCHEMA {_MONITOR}")

    # -- configuration ----------------------------------------------------------------------------------------------

    @property
    def config(self) -> Path:
        return self.folder.path / "postgresql.conf"

    def write_config(self) -> None:
        fixed = {
            "data_directory": str(self.data),
            "hba_file": str(self._write("pg_hba.conf", self.who_may_log_in())),
            "ident_file": str(self._write("pg_ident.conf", f"ours {_our_name()} {_SUPERUSER}\n")),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.socket.parent),
        }
        options = {**DEFAULTS, **fixed, **self._tls_options(), **self.spec.settings}
        self._write(self.config.name, "".join(f"{name} = {_config_value(text)}\n" for name, text in options.items()))

    def who_may_log_in(self) -> str:
        over_tcp = "hostssl" if self.spec.tls else "host"
        bench = f'"{self.spec.schema.replace(chr(34), chr(34) * 2)}" {BENCH_USER}'
        return (
            f"local all {_SUPERUSER} peer map=ours\n"
            f"local {bench} scram-sha-256\n"
            f"{over_tcp} {bench} 127.0.0.1/32 scram-sha-256\n"
        )

    def _tls_options(self) -> dict[str, str]:
        if not self.spec.tls:
            return {}
        files = self.make_certificate()
        return {"ssl": "on", "ssl_cert_file": str(files.certificate), "ssl_key_file": str(files.key)}

    def _write(self, name: str, text: str) -> Path:
        path = self.folder.path / name
        write_private(path, text, mode=0o644)
        return path


def _our_name() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def _end(processes: dict[int, int]) -> None:
    for pid, ticks in processes.items():
        end_process(pid, ticks)


def _config_value(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
