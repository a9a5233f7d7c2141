"""How a system's records are reached, by portable words: a system's option `access`, or a factor.

    sql                     by the system's prepared statements
    direct                  below SQL: the same rows, through a way of the server's own that plans nothing

A family whose driver has the option says in `direct_reads` what those reads are; another kind says in
`no_direct_access` why it has none.
"""

from __future__ import annotations

from typing import Any

from bakeoff.errors import PlanError
from bakeoff.model.levels import ACCESS
from bakeoff.systems.base import System
from bakeoff.systems.options import option_names, workloads_of

SQL, DIRECT = "sql", "direct"


def only_sql(options: dict[str, Any], kind: type[System], where: str) -> dict[str, Any]:
    """The options of a system of a kind whose records are reached in one way, without the word for it. Raises
    PlanError."""
    if ACCESS not in options or ACCESS in option_names(kind.driver):
        return options
    if options[ACCESS] != SQL or SQL not in workloads_of(kind.driver):
        what = f"{kind.kind} has no access = {options[ACCESS]!r}: {kind.no_direct_access}"
        hint = f'for one system only write "NAME.{ACCESS}", or leave this system out with [[cells]]'
        raise PlanError(what, where=f"{where}.{ACCESS}", hint=hint)
    return {name: value for name, value in options.items() if name != ACCESS}
