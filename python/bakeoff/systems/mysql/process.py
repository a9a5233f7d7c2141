"""One private server of the MySQL family: its files, its process, its accounts. Knows nothing of plans beyond the
settings it is given.

It listens on 127.0.0.1 and a unix socket. Each start runs an init file that leaves root over the socket and the bench
user over both, with passwords made for this instance; so a data directory copied from another instance opens with ours.
The init file is gone before anybody connects. What products and versions do differently, `mariadb_process.py` and
`versions.py` say.
"""

from __future__ import annotations

import re
import subprocess
from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.provision.certificate import make_certificate
from bakeoff.provision.files import write_private
from bakeoff.provision.installation import Installation
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import PrivateServer, ServerSpec
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.facts import like, quoted
from bakeoff.systems.mysql.log import explain_failed_start, refused_values
from bakeoff.systems.server.login import Address, Login, Tls

BENCH_USER = "bench"
#: What a shell or a configuration file would read as something else than a letter of a name.
_ODD = re.compile(r"""[\s"'`\\#$*?!&|;<>(){}\[\]]""")
#: Where an unpacked copy has what it was built to find elsewhere.
_OWN_FILES = {
    "plugin_dir": ("lib/mysql/plugin", "lib/plugin"),
    "lc_messages_dir": ("share/mysql", "share/mariadb", "share"),
    "character_sets_dir": ("share/mysql/charsets", "share/mariadb/charsets", "share/charsets"),
}


class MySqlProcess(PrivateServer):
    #: Section of the option file.
    section: ClassVar[str] = "mysqld"
    #: Of a whole data directory.
    redo: ClassVar[str] = "ib_logfile0"
    #: Differences from the server's own defaults, all for a fair and repeatable throwaway; a plan may set any of them.
    defaults: ClassVar[dict[str, str]] = {
        "innodb_buffer_pool_size": "128M",
        "max_connections": "3000",
        "skip_name_resolve": "ON",
    }
    #: Newer servers would make themselves a certificate, which takes seconds.
    without_tls: ClassVar[dict[str, str]] = {}
    #: Options of a start after which nothing is in its buffer pool that was there before.
    forgetful: ClassVar[tuple[str, ...]] = ("--innodb-buffer-pool-load-at-startup=OFF",)

    def __init__(self, spec: ServerSpec, folder: InstanceFolder, *, where: str) -> None:
        super().__init__(spec, folder, where=where)
        self.authority: Path | None = None  # the certificate that clients are to trust, if there is TLS
        self._control: Control | None = None

    # -- talking ----------------------------------------------------------------------------------------------------

    @property
    def control(self) -> Control:
        """Statements as root, over the socket."""
        if self._control is None:
            login = Login(Address(socket=str(self.socket)), "root", self.root_password)
            self._control = Control(login, where=self.where)
        return self._control

    def bench_login(self, connect: str) -> Login:
        """As the load logs in: over "tcp" or the "socket"."""
        tls = Tls(ca_file=str(self.authority)) if self.authority else None
        return Login(self.bench_address(connect), BENCH_USER, self.bench_password, tls, self.server_key())

    def bench_address(self, connect: str) -> Address:
        return Address(socket=str(self.socket)) if connect == "socket" else Address("127.0.0.1", self.port)

    def server_key(self) -> bytes | None:
        """To which a password may be encrypted over plain TCP, where logging in needs that; PEM."""
        return None

    def server_key_file(self) -> Path | None:
        """The same for the engine."""
        key, path = self.server_key(), self.folder.path / "server_key.pem"
        if key is not None:
            write_private(path, key.decode(), mode=0o644)
        return path if key is not None else None

    def disconnect(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None

    def answers(self) -> bool:
        try:
            return self.socket.exists() and bool(self.control.value("SELECT 1") == 1)
        except ServerError:
            return False

    # -- data -------------------------------------------------------------------------------------------------------

    def has_data(self, folder: Path) -> bool:
        return (folder / "mysql").is_dir()

    def data_are_whole(self) -> bool:
        return (self.data / self.redo).exists()

    def before_snapshot(self) -> None:
        """History purged and all pages written: a slow shutdown."""
        self.control.rows("SET GLOBAL innodb_fast_shutdown = 0")

    def data_folders(self) -> list[Path]:
        elsewhere = self.variables(("innodb_data_home_dir", "innodb_undo_directory", "innodb_log_group_home_dir"))
        return list(dict.fromkeys([self.data, *(self.data / folder for folder in elsewhere.values() if folder)]))

    def variables(self, names: Sequence[str]) -> dict[str, str]:
        """Of these global variables those that this version has, in their order."""
        asked = ", ".join(["%s"] * len(names))
        rows = self.control.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({asked})", *names)
        found = {str(name): str(value) for name, value in rows}
        return {name: found[name] for name in names if name in found}

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
        return {"init.sql": "\n".join([*self.accounts(), ""])}

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
                    f"{self.product} cannot make its data where a folder's name holds {odd[0]!r}: {path}",
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
        lines = [f"{name} = {_config_value(self.spelled(value))}" for name, value in options.items()]
        write_private(self.config, f"[{self.section}]\n" + "\n".join(lines) + "\n", mode=0o644)

    def spelled(self, value: str) -> str:
        """A setting's value as this version's option file wants it."""
        return value

    def tls_settings(self) -> dict[str, str]:
        if not self.spec.tls:
            return self.without_tls
        files = make_certificate(self.folder.path)
        self.authority = files.authority
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
    names = re.findall(r"^\s+(?:-\w, )?--([a-z][a-z0-9-]+)", text, re.MULTILINE)
    return frozenset(name.replace("-", "_") for name in names)


def _config_value(value: str) -> str:
    """Option files strip blanks, and take # for a comment."""
    return f'"{value}"' if value != value.strip() or "#" in value else value
