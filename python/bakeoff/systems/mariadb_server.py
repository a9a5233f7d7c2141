"""One private MariaDB: its files, its process, its accounts. Knows nothing of plans beyond the settings it is given.

It listens on 127.0.0.1 and a unix socket. Each start runs an init file that leaves three accounts: root over the
socket, and the bench user over both, with passwords made for this instance; so a data directory copied from another
instance opens with ours. The init file is gone before anybody connects.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.provision.certificate import make_certificate
from bakeoff.provision.files import copy_tree, forget_pages, write_private
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.process import ServerProcess, free_port, give_to_account, port_is_free, run_as_account
from bakeoff.systems.mariadb_log import LOG_KEPT, explain_failed_start, port_taken, refused_values
from bakeoff.systems.mariadb_program import Program
from bakeoff.systems.mysql_control import Control
from bakeoff.systems.mysql_facts import like, quoted
from bakeoff.systems.server_login import Address, Login, Tls

BENCH_USER = "bench"
_START_TIMEOUT_S = 120.0
_INIT_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 20.0
#: Purging history and writing back every page of a big buffer pool takes its time.
_SLOW_SHUTDOWN_TIMEOUT_S = 1800.0
_PORT_TRIES = 3
#: What a shell or a configuration file would read as something else than a letter of a name.
_ODD = re.compile(r"""[\s"'`\\#$*?!&|;<>(){}\[\]]""")
_LOG_MAX_BYTES = 1 << 20

#: Differences from the server's own defaults, all for a fair and repeatable throwaway; a plan may set any of them.
DEFAULTS = {
    "innodb_buffer_pool_size": "128M",
    "innodb_log_file_size": "96M",
    "max_connections": "3000",
    "innodb_buffer_pool_dump_at_shutdown": "OFF",
    "innodb_buffer_pool_load_at_startup": "OFF",
    "skip_name_resolve": "ON",
}


@dataclass
class Timings:
    """How long the last of each took, seconds."""

    init_s: float = 0.0
    start_s: float = 0.0
    stop_s: float = 0.0
    copy_s: float = 0.0


@dataclass(frozen=True)
class ServerSpec:
    """What a private server is asked to be."""

    program: Program
    settings: dict[str, str]
    schema: str
    port: int | None = None  # None: a free one
    tls: bool = False  # with a certificate of its own
    place: Path | None = None  # the folder under which the data go; None: the instance's own


class MariaDbServer:
    def __init__(self, spec: ServerSpec, folder: InstanceFolder, *, where: str) -> None:
        self.spec = spec
        self.bench_password = secrets.token_urlsafe(18)
        self.timings = Timings()
        self.port = 0
        self.authority: Path | None = None  # the certificate that clients are to trust, if there is TLS
        self._root_password = secrets.token_urlsafe(18)
        self._folder = folder
        self._where = where
        self._process: ServerProcess | None = None
        self._control: Control | None = None
        self.socket = folder.socket_path("server.sock")
        self.log = folder.path / "server.log"
        self.data = (folder.outside(spec.place) if spec.place else folder.path) / "data"

    # -- life -------------------------------------------------------------------------------------------------------

    def start(self, *options: str) -> None:
        """Makes the data directory if there is none, starts the server and waits until it answers. options: of this one
        start, beside those of its configuration."""
        if self.alive():
            return
        if self.spec.port is not None and not port_is_free(self.spec.port):
            raise port_taken(self.spec.port, self._where)
        self._folder.subfolder("tmp")
        self._refuse_odd_names()
        self._write_config()
        if not (self.data / "mysql").is_dir():
            self._init_data()
        for attempt in range(1, _PORT_TRIES + 1):
            try:
                self._start_once(options)
                return
            except ServerError as error:
                self.kill()
                if self.spec.port is not None or attempt == _PORT_TRIES or "is taken" not in error.what:
                    raise
            except BaseException:  # Ctrl-C too: nothing half started stays
                self.kill()
                raise

    def stop(self) -> None:
        """A clean shutdown, or SIGKILL if it does not end in time (it may be frozen)."""
        begin = time.monotonic()
        self._close_control()
        if self._process is not None:
            self._process.stop(_STOP_TIMEOUT_S)
            self._process = None
        self.timings.stop_s = time.monotonic() - begin

    def kill(self) -> None:
        """At once; for data that is thrown away."""
        self._close_control()
        if self._process is not None:
            self._process.kill()
            self._process = None

    def alive(self) -> bool:
        return self._process is not None and self._process.alive()

    def pids(self) -> list[int]:
        return [self._process.pid] if self._process is not None and self._process.alive() else []

    def remove(self) -> None:
        self.kill()
        self._folder.remove()

    # -- data -------------------------------------------------------------------------------------------------------

    def snapshot(self, path: Path) -> None:
        """Slow clean shutdown (history purged, all pages written), copy, start again."""
        self.control.rows("SET GLOBAL innodb_fast_shutdown = 0")
        self._end_cleanly()
        if "ib_logfile0" not in os.listdir(self.data):
            raise ServerError(f"the data directory {self.data} is not whole", where=self._where)
        self.timings.copy_s = self._copy(self.data, path)
        self.start()

    def restore(self, path: Path) -> None:
        """Throws the data away, puts the copy back, starts. Works on a server that has never run."""
        if not (path / "mysql").is_dir():
            raise ServerError(f"there is no snapshot in {path}", where=self._where, hint="load the data again")
        self.kill()
        self.timings.copy_s = self._copy(path, self.data)
        self.start()

    def make_cold(self) -> None:
        """A clean restart, between whose halves the kernel forgets the data. The server would read back what it had in
        its pool before, so it is told not to."""
        folders = self.data_folders()
        self._end_cleanly()
        forget_pages(folders)
        self.start("--innodb-buffer-pool-load-at-startup=OFF")

    def data_folders(self) -> list[Path]:
        """The data directory, and where else settings have put some of the data."""
        names = ("innodb_data_home_dir", "innodb_undo_directory", "innodb_log_group_home_dir")
        elsewhere = (self.control.value(f"SELECT @@{name}") for name in names)
        return list(dict.fromkeys([self.data, *(self.data / str(folder) for folder in elsewhere if folder)]))

    def _end_cleanly(self) -> None:
        self._close_control()
        if self._process is None or not self._process.stop(_SLOW_SHUTDOWN_TIMEOUT_S):
            raise ServerError(
                f"the server did not shut down cleanly within {_SLOW_SHUTDOWN_TIMEOUT_S:.0f} s", where=self._where
            )
        self._process = None

    def _copy(self, source: Path, target: Path) -> float:
        begin = time.monotonic()
        copy_tree(source, target, where=self._where)
        return time.monotonic() - begin

    # -- talking ----------------------------------------------------------------------------------------------------

    @property
    def control(self) -> Control:
        """Statements as root, over the socket."""
        if self._control is None:
            login = Login(Address(socket=str(self.socket)), "root", self._root_password)
            self._control = Control(login, where=self._where)
        return self._control

    def bench_login(self, connect: str) -> Login:
        """As the load logs in: over "tcp" or the "socket"."""
        address = Address(socket=str(self.socket)) if connect == "socket" else Address("127.0.0.1", self.port)
        tls = Tls(ca_file=str(self.authority)) if self.authority else None
        return Login(address, BENCH_USER, self.bench_password, tls)

    def log_tail(self, lines: int) -> str:
        text = "\n".join(self._log_since(0).splitlines()[-lines:])
        for secret in (self._root_password, self.bench_password):
            text = text.replace(secret, "***")
        return text

    def _close_control(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None

    # -- starting ---------------------------------------------------------------------------------------------------

    def _start_once(self, options: Sequence[str]) -> None:
        self.port = self.spec.port or free_port()
        init_file = self._folder.path / "init.sql"
        write_private(init_file, self._account_statements(), for_server=True)
        log_begin = self.log.stat().st_size if self.log.exists() else 0
        argv = [
            str(self.spec.program.path),
            f"--defaults-file={self._config}",
            f"--port={self.port}",
            f"--init-file={init_file}",
            *options,
        ]
        begin = time.monotonic()
        try:
            environment = self.spec.program.child_environment()
            process = ServerProcess(argv, env=environment, log=self.log, cwd=self._folder.path)
            self._process = process
            self._folder.record_server(process.pid, process.start_ticks)
            self._wait_until_ready(process, log_begin)
        finally:
            init_file.unlink(missing_ok=True)
        self.timings.start_s = time.monotonic() - begin

    def _wait_until_ready(self, process: ServerProcess, log_begin: int) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while process.alive():
            if self.socket.exists() and self._answers():
                if trouble := refused_values(self._log_since(log_begin), self._where):
                    raise trouble
                return
            if time.monotonic() > deadline:
                raise ServerError(
                    f"the server did not answer within {_START_TIMEOUT_S:.0f} s of its start",
                    where=self._where,
                    hint=LOG_KEPT,
                )
            time.sleep(0.02)
        raise self._failed(self._log_since(log_begin), process.exit_text())

    def _answers(self) -> bool:
        try:
            return bool(self.control.value("SELECT 1") == 1)
        except ServerError:
            return False

    def _failed(self, log: str, how: str) -> BakeoffError:
        for secret in (self._root_password, self.bench_password):
            log = log.replace(secret, "***")
        return explain_failed_start(
            log,
            how,
            where=self._where,
            port=self.port,
            known=self.spec.program.known_settings,
        )

    def _log_since(self, offset: int) -> str:
        """At most its last megabyte."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(offset, os.fstat(file.fileno()).st_size - _LOG_MAX_BYTES))
                return file.read(_LOG_MAX_BYTES).decode(errors="replace")
        except OSError:
            return ""

    def _refuse_odd_names(self) -> None:
        """MariaDB's script that makes a data directory is a shell's, and takes a name apart at its blanks."""
        for path in (self.data, self._folder.path, self.spec.program.base):
            if odd := _ODD.search(str(path)):
                raise ServerError(
                    f"MariaDB cannot make its data where a folder's name holds {odd[0]!r}: {path}",
                    where=self._where,
                    hint="choose another folder with --work-dir (for its programs, BAKEOFF_CACHE)",
                )

    def _init_data(self) -> None:
        begin = time.monotonic()
        tool = self.spec.program.tool("mariadb-install-db", "mysql_install_db")
        if tool is None:
            raise ServerError(
                f"mariadb-install-db is missing beside {self.spec.program.path}",
                where=self._where,
                hint="install the whole MariaDB server package",
            )
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(mode=0o700)
        give_to_account(self.data)
        argv = [str(tool), f"--defaults-file={self._config}", f"--basedir={self.spec.program.base}"]
        argv += ["--auth-root-authentication-method=normal", "--skip-test-db", "--force"]
        # Nothing here needs to survive a power cut. With syncs 3.7 s, without 1.1 s (busy 2-core machine, 2026-11).
        argv += ["--innodb-flush-method=nosync", "--debug-no-sync"]
        try:
            done = run_as_account(
                argv, env=self.spec.program.child_environment(), timeout_s=_INIT_TIMEOUT_S, cwd=self._folder.path
            )
        except subprocess.TimeoutExpired:
            raise ServerError(
                f"making the data directory took more than {_INIT_TIMEOUT_S:.0f} s", where=self._where
            ) from None
        if done.returncode or not (self.data / "mysql").is_dir():
            shutil.rmtree(self.data, ignore_errors=True)
            with self.log.open("a", encoding="utf-8") as log:
                log.write(done.stdout)
            raise self._failed(self._log_since(0), f"making its data directory, exit code {done.returncode}")
        self.timings.init_s = time.monotonic() - begin

    # -- files ------------------------------------------------------------------------------------------------------

    @property
    def _config(self) -> Path:
        return self._folder.path / "my.cnf"

    def _write_config(self) -> None:
        fixed = {
            **self.spec.program.base_options(),
            "datadir": str(self.data),
            "tmpdir": str(self._folder.path / "tmp"),
            "socket": str(self.socket),
            "pid_file": str(self._folder.path / "tmp" / "server.pid"),
            "bind_address": "127.0.0.1",
        }
        options = {**DEFAULTS, **fixed, **self._tls_options(), **self.spec.settings}
        lines = [f"{name} = {_config_value(value)}" for name, value in options.items()]
        write_private(self._config, "[mariadbd]\n" + "\n".join(lines) + "\n", mode=0o644)

    def _tls_options(self) -> dict[str, str]:
        """Without TLS it is switched off: newer servers would make themselves a certificate, which takes seconds."""
        if not self.spec.tls:
            return {"ssl": "OFF"}
        files = make_certificate(self._folder.path)
        self.authority = files.authority
        return {"ssl_ca": str(files.authority), "ssl_cert": str(files.certificate), "ssl_key": str(files.key)}

    def _account_statements(self) -> str:
        """One statement a line, as init files want it."""
        keep = "'root','mariadb.sys'"
        bench = [f"'{BENCH_USER}'@'{host}'" for host in ("127.0.0.1", "localhost")]
        schema = quoted(self.spec.schema)
        grantable = quoted(like(self.spec.schema))
        return "\n".join(
            [
                f"DELETE FROM mysql.global_priv WHERE NOT (Host = 'localhost' AND User IN ({keep}));",
                "DELETE FROM mysql.db;",
                "DELETE FROM mysql.proxies_priv;",
                "FLUSH PRIVILEGES;",
                f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{self._root_password}';",
                *(f"CREATE USER {user} IDENTIFIED BY '{self.bench_password}';" for user in bench),
                f"CREATE DATABASE IF NOT EXISTS {schema};",
                *(f"GRANT ALL ON {grantable}.* TO {user};" for user in bench),
                "",
            ]
        )


def _config_value(value: str) -> str:
    """Option files strip blanks, and take # for a comment."""
    return f'"{value}"' if value != value.strip() or "#" in value else value
