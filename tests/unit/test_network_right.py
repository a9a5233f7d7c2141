"""Faults between servers are refused where the kernel would refuse them later."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.faults import FaultKind
from bakeoff.provision.network_right import refuse_without_right

ALL_BUT_IT = "000001ffffffefff"
ONLY_IT = "0000000000001000"


def of_process(folder: Path, rights: str) -> Path:
    """As /proc/PID/status has it. rights: those in effect."""
    status = folder / "status"
    status.write_text(f"Name:\tbakeoff\nCapPrm:\t{ONLY_IT}\nCapEff:\t{rights}\nCapBnd:\t{ONLY_IT}\n")
    return status


@pytest.mark.parametrize("kind", ["partition", "delay"])
def test_a_fault_between_servers_needs_the_right_to_administer_the_network(tmp_path: Path, kind: FaultKind) -> None:
    with pytest.raises(PlanError, match=rf"a {kind} needs root \(CAP_NET_ADMIN\)"):
        refuse_without_right(["freeze", kind], "faults", of_process(tmp_path, ALL_BUT_IT))
    refuse_without_right([kind], "faults", of_process(tmp_path, ONLY_IT))


def test_other_faults_need_no_right(tmp_path: Path) -> None:
    refuse_without_right(["kill", "freeze"], "bakeoff verify", of_process(tmp_path, ALL_BUT_IT))
