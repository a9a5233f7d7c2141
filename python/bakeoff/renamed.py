"""Names that were changed, the old one -> the new one. If a plan, command line or metric has an old name, the
message names the new one; a bundle with an old name is read."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

PLAN_KEYS = {"witness": "latency_probe"}
METRICS = {"time_to_back_s": "time_to_server_recovery_s", "fell_again_s": "second_drop_s"}
#: Options, and words that they take.
COMMAND_LINE = {"--every": "--all-metrics", "watched": "samples"}
#: Of a run.
CHECKS = {"witness": "latency probe"}

_EVERYWHERE = PLAN_KEYS | METRICS | COMMAND_LINE
_METRIC = re.compile(rf"\b({'|'.join(METRICS)})\b")


def now_called(word: str, known: Container[str]) -> str:
    """A sentence; empty: it was never the name of any of these."""
    new = _EVERYWHERE.get(word, "")
    found = next((name for name in (new, new.replace("_", " ")) if name in known), "")
    return f"`{word}` is now called `{found}`" if found else ""


def in_metrics(words: str) -> str:
    """A metric's name, or a condition or question about one."""
    return _METRIC.sub(lambda found: METRICS[found[0]], words)


def in_plan(record: Any) -> Any:
    """A bundle's plan.json, which is changed where it holds old names. It may be anything."""
    if not isinstance(record, dict):
        return record
    resolved = record.get("resolved")
    plans = resolved.get("plans") if isinstance(resolved, dict) else None
    for tree in (resolved, *(plans.values() if isinstance(plans, dict) else ())):
        measure = tree.get("measure") if isinstance(tree, dict) else None
        if isinstance(measure, dict):
            tree["measure"] = {PLAN_KEYS.get(key, key): value for key, value in measure.items()}
    search = record.get("search")
    for holder in (record, search if isinstance(search, dict) else {}):
        for key in ("objective", "limits", "fail_if"):
            if isinstance(said := holder.get(key), str):
                holder[key] = in_metrics(said)
            elif isinstance(said, list):
                holder[key] = [in_metrics(one) if isinstance(one, str) else one for one in said]
    return record
