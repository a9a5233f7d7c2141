"""[workload] next to tables [workloads.NAME] has what they share: each takes the options that it does not say."""

from __future__ import annotations

from typing import Any

from .source import Place


def share_options(tree: dict[str, Any]) -> dict[Place, Place]:
    """Copies them within the tree, which loses [workload]; returns where the file says what was copied, by its new
    place."""
    common, tables = tree.get("workload"), tree.get("workloads")
    if not isinstance(common, dict) or not isinstance(tables, dict) or not tables:
        return {}
    copied: dict[Place, Place] = {}
    for name, own in tables.items():
        if isinstance(own, dict):
            copied |= {("workloads", name, key): ("workload", key) for key in common.keys() - own.keys()}
            tables[name] = {**common, **own}
    del tree["workload"]
    return copied
