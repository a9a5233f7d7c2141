"""What Kubernetes and Slurm would be asked for. Neither can be had in a test: the libraries make their requests of it,
which are looked at and not sent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import BakeoffError
from bakeoff.fleet.clusters import cluster_spec, job_options, opened, own_security
from bakeoff.fleet.spec import FleetSpec, Kubernetes, Local, Slurm, Ssh


def test_a_job_of_slurm_is_one_worker_whose_certificates_are_files_of_the_users_alone(tmp_path: Path) -> None:
    SLURMCluster = pytest.importorskip("dask_jobqueue").SLURMCluster
    way = Slurm(3, 8, "4GiB", queue="batch", account="bench", walltime_s=9000.0)
    options = job_options(FleetSpec(way, listen="127.0.0.1"), way, own_security(), str(tmp_path))
    with SLURMCluster(n_workers=0, **options) as cluster:
        script = cluster.job_script()
        assert cluster.scheduler_address.startswith("tls://127.0.0.1:")
    for line in ("-p batch", "-A bench", "-n 1", "--cpus-per-task=8", "--mem=4G", "-t 02:30:00"):
        assert f"#SBATCH {line}\n" in script
    assert "--protocol tls://" in script
    assert "PRIVATE KEY" not in script
    files = [Path(found) for found in re.findall(r"--tls-\S+ (\S+)", script)]
    assert len(files) == 3
    assert {file.parent for file in files} == {tmp_path}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_pods_are_asked_for_by_name_image_and_number() -> None:
    pytest.importorskip("dask_kubernetes")
    spec = cluster_spec(Kubernetes("load", "registry.example/bakeoff-load:1", 5, namespace="bench"))
    assert spec["metadata"]["name"] == "load"
    worker = spec["spec"]["worker"]
    assert worker["replicas"] == 5
    (container,) = worker["spec"]["containers"]
    assert container["image"] == "registry.example/bakeoff-load:1"
    assert container["args"][:4] == ["dask-worker", "--nthreads", "1", "--no-nanny"]


def test_a_cluster_that_exists_already_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = pytest.importorskip("dask_kubernetes.operator")

    def there_already(**asked: Any) -> None:
        assert (asked["namespace"], str(asked["create_mode"])) == ("bench", "CreateMode.CREATE_ONLY")
        raise ValueError("Cluster load already exists")

    monkeypatch.setattr(operator, "KubeCluster", there_already)
    fleet = FleetSpec(Kubernetes("load", "image", 2, namespace="bench"), listen="10.0.0.1")
    with pytest.raises(BakeoffError, match="2 pods of image cannot be reached: Cluster load already"), opened(fleet):
        pass


@pytest.mark.parametrize("way", [Local(2), Ssh(("a", "b"), "python3"), Slurm(2, 1, "1GiB"), Kubernetes("n", "i", 2)])
def test_each_way_knows_how_many_machines_it_has(way: Local | Ssh | Slurm | Kubernetes) -> None:
    machines = FleetSpec(way).machines
    assert machines is not None
    assert len(machines) == 2
