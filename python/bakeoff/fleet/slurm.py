"""Jobs of Slurm as load machines, through dask-jobqueue: the scheduler is here, and each job is one worker."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cluster import LOOPBACK_ONLY, QUIET, Cluster, existing, own_security
from .spec import FleetSpec, Slurm

if TYPE_CHECKING:
    from distributed import Security


@contextmanager
def by_slurm(fleet: FleetSpec, way: Slurm) -> Iterator[Cluster]:
    """Once as many jobs run as a run needs. Certificates are files while the plan is carried out, in a folder of the
    user's home, which Slurm's machines share. Raises OSError, TimeoutError."""
    from dask import config
    from dask_jobqueue import SLURMCluster

    security = own_security()
    with (
        config.set(QUIET),
        tempfile.TemporaryDirectory(prefix=".bakeoff-", dir=Path.home()) as folder,
        SLURMCluster(n_workers=way.jobs, **job_options(fleet, way, security, folder)) as made,
        existing(made.scheduler_address, security, listen=fleet.listen) as cluster,
    ):
        cluster.client().wait_for_workers(fleet.min_clients or way.jobs, timeout=fleet.wait_s)
        yield cluster


def job_options(fleet: FleetSpec, way: Slurm, security: Security, folder: str) -> dict[str, Any]:
    """What dask-jobqueue is told. folder: of the certificates' files."""
    scheduler = {"host": fleet.listen, "port": fleet.port + 1 if fleet.port else 0}
    return {
        "queue": way.queue,
        "account": way.account,
        "walltime": _walltime(way.walltime_s),
        "cores": way.cores,
        "memory": way.memory,
        "processes": 1,
        "security": security,
        "shared_temp_directory": folder,
        "scheduler_options": {**scheduler, "dashboard": False, "dashboard_address": LOOPBACK_ONLY},
        "worker_extra_args": ["--no-dashboard"],
    }


def _walltime(seconds: float | None) -> str | None:
    """As sbatch has it: "02:00:00"."""
    if seconds is None:
        return None
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"
