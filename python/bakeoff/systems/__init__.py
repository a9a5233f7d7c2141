"""Systems under test: one file per kind. This list is the table of contents."""

from __future__ import annotations

from bakeoff.systems.avatica.hsqldb import AvaticaHsqldb
from bakeoff.systems.avatica.leanxcale import LeanXcale
from bakeoff.systems.base import System
from bakeoff.systems.cassandra.system import Cassandra
from bakeoff.systems.couchdb.pouchdb_server import PouchDbServer
from bakeoff.systems.couchdb.system import CouchDb
from bakeoff.systems.duckdb.system import Duckdb
from bakeoff.systems.dynamodb.local import DynamoDbLocal
from bakeoff.systems.dynamodb.system import DynamoDb
from bakeoff.systems.fjall import Fjall
from bakeoff.systems.lmdb import Lmdb
from bakeoff.systems.mongodb.java_server import MongoJavaServer
from bakeoff.systems.mongodb.system import MongoDb
from bakeoff.systems.mysql.galera import Galera
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.systems.mysql.mysql import MySql
from bakeoff.systems.null import Null
from bakeoff.systems.postgresql.system import PostgreSql
from bakeoff.systems.redb import Redb
from bakeoff.systems.redis.system import Redis
from bakeoff.systems.redis.valkey import Valkey
from bakeoff.systems.reference import Reference
from bakeoff.systems.riak.system import Riak
from bakeoff.systems.rocksdb import Rocksdb
from bakeoff.systems.simpledb.moto import MotoSimpleDb
from bakeoff.systems.simpledb.system import SimpleDb
from bakeoff.systems.sqlite import Sqlite

SYSTEMS: dict[str, type[System]] = {
    "mariadb": MariaDb,
    "mysql": MySql,
    "galera": Galera,
    "postgresql": PostgreSql,
    "cassandra": Cassandra,
    "redis": Redis,
    "valkey": Valkey,
    "couchdb": CouchDb,
    "pouchdb-server": PouchDbServer,
    "dynamodb": DynamoDb,
    "dynamodb-local": DynamoDbLocal,
    "simpledb": SimpleDb,
    "moto-simpledb": MotoSimpleDb,
    "riak": Riak,
    "redb": Redb,
    "lmdb": Lmdb,
    "fjall": Fjall,
    "rocksdb": Rocksdb,
    "avatica-hsqldb": AvaticaHsqldb,
    "leanxcale": LeanXcale,
    "mongodb": MongoDb,
    "mongo-java-server": MongoJavaServer,
    "sqlite": Sqlite,
    "duckdb": Duckdb,
    "null": Null,
    "reference": Reference,
}
