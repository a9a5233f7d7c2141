"""sysbench in a plan: the engine's options, and options of the original that have their place elsewhere in a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import PlanError
from .base import Asked

#: Each with where it is said.
ELSEWHERE = {
    "time": 'it is window = "10s" in [measure]',
    "events": "it is operations = 10_000 in [measure]",
    "max_time": 'it is window = "10s" in [measure]',
    "max_requests": "it is operations = 10_000 in [measure]",
    "warmup_time": 'it is warm_up = "10s" in [measure]',
    "rand_seed": "it is seed = 1 at the top of the plan",
    "report_interval": "every second is recorded; `bakeoff report --format sysbench` prints them",
    "percentile": "all percentiles are recorded",
    "histogram": "histograms are recorded",
    "db_driver": "it belongs in [systems.NAME]",
    "mysql_host": 'it is address = "host:port" in [systems.NAME]',
    "mysql_port": 'it is address = "host:port" in [systems.NAME]',
    "mysql_socket": 'it is address = "/path" in [systems.NAME]',
    "mysql_user": "it is user in [systems.NAME]",
    "mysql_password": 'it is password = { env = "VARIABLE" } in [systems.NAME], and never the password itself',
    "mysql_ssl": "it is tls = true in [systems.NAME]",
    "mysql_db": "it is schema in [systems.NAME]",
}


def read(options: dict[str, Any], base_dir: Path) -> Asked:
    """The [workload] table without `kind`. Raises PlanError."""
    for name in options:
        if (hint := ELSEWHERE.get(name.replace("-", "_"))) is not None:
            raise PlanError(f"`{name}` of sysbench belongs elsewhere in a plan", hint=hint)
    return Asked(dict(options))
