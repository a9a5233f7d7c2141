"""Pods as load machines, through the operator of dask-kubernetes, which offers plain TCP alone: plans with secrets are
refused before this is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .cluster import Cluster, existing
from .spec import FleetSpec, Kubernetes

#: One thread holds any number of clients.
_WORKER = ["dask-worker", "--nthreads", "1", "--no-nanny"]


@contextmanager
def by_kubernetes(fleet: FleetSpec, way: Kubernetes) -> Iterator[Cluster]:
    """Once as many pods are there as a run needs; they are removed with the plan. Raises OSError, TimeoutError, and
    ValueError where a cluster of that name is there already."""
    from dask_kubernetes.operator import KubeCluster
    from dask_kubernetes.operator.kubecluster.kubecluster import CreateMode
    from distributed import Security

    with (
        KubeCluster(
            namespace=way.namespace,
            custom_cluster_spec=cluster_spec(way),
            create_mode=CreateMode.CREATE_ONLY,
            shutdown_on_close=True,
            quiet=True,
        ) as made,
        existing(made.scheduler_address, Security(), listen=fleet.listen) as cluster,
    ):
        cluster.client().wait_for_workers(fleet.min_clients or way.replicas, timeout=fleet.wait_s)
        yield cluster


def cluster_spec(way: Kubernetes) -> dict[str, Any]:
    """The resource that the operator is given."""
    from dask_kubernetes.operator import make_cluster_spec

    spec: dict[str, Any] = make_cluster_spec(
        name=way.name, image=way.image, n_workers=way.replicas, worker_command=_WORKER
    )
    return spec
