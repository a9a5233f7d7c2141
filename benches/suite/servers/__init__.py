"""The servers that rows are measured on, by the names of `--system`."""

from ..server import Server
from .mariadb import MariaDbServer
from .postgresql import PostgreSqlServer
from .redis import RedisServer

SERVERS: dict[str, type[Server]] = {one.kind: one for one in (MariaDbServer, PostgreSqlServer, RedisServer)}
