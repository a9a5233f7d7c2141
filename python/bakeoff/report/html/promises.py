"""The section on what systems keep of their promises: a row for each system and level, and a page for each
violation."""

from __future__ import annotations

from typing import Any

from ...findings.promises import PromiseAnswer
from ..words.promises import verdict_meanings


def promise_section(promises: list[PromiseAnswer]) -> dict[str, Any] | None:
    """None where nothing was asked. checks: the heads of the columns, in the order in which they are made. violation:
    of a row the number of its first one, from 1; 0: it has none."""
    if not promises:
        return None
    checks = list(dict.fromkeys(check.name for one in promises for check in one.checks))
    rows: list[dict[str, Any]] = []
    violations: list[dict[str, Any]] = []
    for one in promises:
        by_name = {check.name: check for check in one.checks}
        first = len(violations) + 1 if one.violations else 0
        rows.append({"found": one, "cells": [by_name.get(name) for name in checks], "violation": first})
        violations += [{"system": one.system, "level": one.level, "found": found} for found in one.violations]
    return {
        "checks": checks,
        "rows": rows,
        "meanings": verdict_meanings(promises),
        "violations": violations,
    }
