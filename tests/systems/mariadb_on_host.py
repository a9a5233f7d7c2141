"""`mariadb_on_host.py ADDRESS`: a managed MariaDB bound to this address. It tells its port and an account for all hosts
as a line of JSON, then answers each line of input, a statement, with a line of rows; and ends with its input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.mysql.mariadb import SOURCES, MariaDb

USER, SCHEMA = "load", "bakeoff"


def main(address: str) -> None:
    installation = SOURCES.find(None)
    spec = ServerSpec(installation, {"bind_address": address}, SCHEMA)
    with_data = InstanceFolder(Path("/tmp/mariadb"))
    server = MariaDb.process_of(installation.version, "the host")(spec, with_data, where="the host")
    server.start()
    try:
        server.control.rows(f"CREATE USER '{USER}'@'%%' IDENTIFIED BY %s", server.bench_password)
        server.control.rows(f"GRANT ALL ON `{SCHEMA}`.* TO '{USER}'@'%'")
        print(json.dumps({"port": server.port, "user": USER, "password": server.bench_password}), flush=True)
        for line in sys.stdin:
            print(json.dumps(server.control.rows(line.strip()), default=str), flush=True)
    finally:
        server.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
