"""sysbench's OLTP family in a plan: options under their original names, resolved into what the engine is asked.

`resolve` goes option > `compat` > default, and refuses what cannot be run. The defaults are those of sysbench 1.0.20.
The engine generates data and events; `data_identity` says when two of its data sets are the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from ..errors import PlanError
from ..model.boundary import Retry
from ..nearest import one_of
from .base import Hints
from .options import (
    U32_MAX,
    OptionTable,
    Positive,
    Small,
    complaint,
    option_words,
    refuse_unknown,
    refuse_unless,
)
from .sysbench_scripts import SCRIPTS, Statements, statements

__all__ = ["OPTIONS", "SCRIPT_WORDS", "SUMMARY", "SysbenchWorkload", "resolve"]

SUMMARY = "sysbench's OLTP scripts: point and range selects, updates, deletes and inserts (akopytov/sysbench 1.0.20)"
SCRIPT_WORDS = {name: script.words for name, script in SCRIPTS.items()}

#: The same number as GENERATOR_VERSION in crates/workloads/src/sysbench/mod.rs (a test holds them together): raised
#: when the same options and seed give other data than before.
GENERATOR_VERSION = 1

#: Column id is an INTEGER.
_ID_MAX = 2**31 - 1
#: Values of one statement; MySQL's own limit.
_VALUES_MAX = 65_535
#: id and k (4 bytes each), c and pad (CHAR of 120 and 60).
_ROW_BYTES = 188
#: An ignored error starts the event again, without end in the original.
_WITHOUT_END = U32_MAX
_IGNORED_BY_DEFAULT = [1213, 1020, 1205]

Ratio = Annotated[float, Field(gt=0, lt=1)]


class SysbenchSpec(OptionTable):
    """What the engine is asked: field by field crates/model/src/run/sysbench.rs, whose comments say what each means."""

    kind: Literal["sysbench"] = "sysbench"
    script: Literal[
        "oltp_read_write",
        "oltp_read_only",
        "oltp_write_only",
        "oltp_point_select",
        "oltp_update_index",
        "oltp_update_non_index",
        "oltp_delete",
        "oltp_insert",
        "bulk_insert",
        "select_random_points",
        "select_random_ranges",
    ] = "oltp_read_write"
    tables: Positive = 1
    table_size: Annotated[int, Field(ge=1, le=_ID_MAX)] = 10_000
    range_size: Positive = 100
    point_selects: Small = 10
    simple_ranges: Small = 1
    sum_ranges: Small = 1
    order_ranges: Small = 1
    distinct_ranges: Small = 1
    index_updates: Small = 1
    non_index_updates: Small = 1
    delete_inserts: Small = 1
    range_selects: bool = True
    skip_trx: bool = False
    auto_inc: bool = True
    secondary: bool = False
    create_secondary: bool = True
    mysql_storage_engine: str = "innodb"
    reconnect: Small = 0
    random_points: Annotated[int, Field(ge=1, le=_VALUES_MAX)] = 10
    number_of_ranges: Annotated[int, Field(ge=1, le=_VALUES_MAX // 2)] = 10
    delta: Small = 5
    rand_type: Literal["uniform", "gaussian", "special", "pareto", "zipfian"] = "special"
    rand_spec_iter: Positive = 12
    rand_spec_pct: Annotated[int, Field(ge=0, le=100)] = 1
    rand_spec_res: Annotated[int, Field(ge=0, le=99)] = 75
    rand_pareto_h: Ratio = 0.2
    rand_zipfian_exp: Annotated[float, Field(ge=0, le=100)] = 0.8
    db_ps_mode: Literal["auto", "disable"] = "auto"
    table_choice: Literal["per_group", "per_transaction"] = "per_group"
    index_time: Literal["after_rows", "before_rows"] = "after_rows"


OPTIONS: tuple[str, ...] = (
    *(name for name in SysbenchSpec.model_fields if name != "kind"),
    "compat",
    "mysql_ignore_errors",
)

#: What another version of the original does differently, where an option of ours can say it.
COMPAT: dict[str, dict[str, Any]] = {
    "1.0": {},
    "0.5": {"table_choice": "per_transaction", "db_ps_mode": "disable", "index_time": "before_rows"},
}

#: Options of the original that are said elsewhere in a plan.
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
    "db_driver": "the system says it: [systems.NAME]",
    "mysql_host": 'it is address = "host:port" in [systems.NAME]',
    "mysql_port": 'it is address = "host:port" in [systems.NAME]',
    "mysql_socket": 'it is address = "/path" in [systems.NAME]',
    "mysql_user": "it is user in [systems.NAME]",
    "mysql_password": 'it is password = { env = "VARIABLE" } in [systems.NAME], and never the password itself',
    "mysql_ssl": "it is tls = true in [systems.NAME]",
    "mysql_db": "it is schema in [systems.NAME]",
}

#: The distribution that k is drawn from at load, and what it is made of.
_SHAPES_OF_RANDOM: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "gaussian": ("rand_spec_iter",),
    "special": ("rand_spec_iter", "rand_spec_pct", "rand_spec_res"),
    "pareto": ("rand_pareto_h",),
    "zipfian": ("rand_zipfian_exp",),
}


@dataclass(frozen=True)
class SysbenchWorkload:
    """A script with every option decided. Interface: `base.Workload`."""

    spec: dict[str, Any]
    hints: Hints
    #: "sysbench oltp_read_write (16 x 250000 rows)"
    label: str
    sources: Sequence[Path] = ()

    @property
    def tables(self) -> Sequence[str]:
        return [f"sbtest{number}" for number in range(1, self.spec["tables"] + 1)]

    @property
    def statements(self) -> Statements:
        """Of one event."""
        return statements(self.spec)

    @property
    def writes(self) -> bool:
        return self.statements.write > 0

    @property
    def keeps_session(self) -> bool:
        return False  # an event is a whole transaction

    @property
    def users_max(self) -> int | None:
        return int(self.spec["tables"]) if self.spec["script"] == "bulk_insert" else None

    @property
    def loaded_rows(self) -> int:
        return 0 if _starts_empty(self.spec) else int(self.spec["tables"] * self.spec["table_size"])

    @property
    def size_estimate_bytes(self) -> int:
        return self.loaded_rows * _ROW_BYTES

    def data_identity(self, seed: int) -> str:
        """Over generator version, seed, and the options that shape the tables and their rows. How they are loaded, and
        what is asked of them afterwards, are left out."""
        text = json.dumps([GENERATOR_VERSION, seed, _shape(self.spec)], sort_keys=True)
        return f"sysbench-{GENERATOR_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def continued(self, turn: int) -> dict[str, Any] | None:
        """Ids that the client makes up are the same in every run; so far no table has any."""
        return None if _starts_empty(self.spec) else self.spec

    def advice(self) -> list[str]:
        if self.spec["script"] == "oltp_delete":
            return ["oltp_delete puts no row back, so later deletes find nothing: use short windows or large tables"]
        if self.spec["skip_trx"] and self.spec["secondary"] and self.statements.write > 1:
            return ["with skip_trx and secondary two threads may store one id twice, and the check of the rows fails"]
        if self.spec["skip_trx"] and self.statements.write > 1 and self.hints.retry == _retry(_IGNORED_BY_DEFAULT):
            return ["with skip_trx two threads may insert the same row; add 1062 to mysql_ignore_errors"]
        return []


def _shape(spec: dict[str, Any]) -> dict[str, Any]:
    if spec["script"] == "bulk_insert":
        return {name: spec[name] for name in ("tables", "mysql_storage_engine")} | {"own": "bulk_insert"}
    names = ["tables", "auto_inc", "secondary", "create_secondary", "index_time", "mysql_storage_engine"]
    shape = {name: spec[name] for name in names}
    if _starts_empty(spec):
        return {**shape, "table_size": 0}
    return shape | {name: spec[name] for name in ("table_size", "rand_type", *_SHAPES_OF_RANDOM[spec["rand_type"]])}


def _starts_empty(spec: dict[str, Any]) -> bool:
    """Scripts that fill tables of their own, or whose ids could be there already."""
    return spec["script"] == "bulk_insert" or (spec["script"] == "oltp_insert" and not spec["auto_inc"])


def resolve(options: dict[str, Any], base_dir: Path) -> SysbenchWorkload:
    """The [workload] table without `kind`. Raises PlanError."""
    said = dict(options)
    for name in said:
        if (hint := ELSEWHERE.get(name.replace("-", "_"))) is not None:
            raise PlanError(f"`{name}` of sysbench has its place elsewhere in a plan", hint=hint)
    refuse_unknown(said, OPTIONS, "sysbench")
    compat = said.pop("compat", "1.0")
    if compat not in COMPAT:
        raise PlanError(f"`compat` cannot be {json.dumps(compat)}", hint=one_of(str(compat), tuple(COMPAT)))
    retry = _retry(said.pop("mysql_ignore_errors", _IGNORED_BY_DEFAULT))
    try:
        spec = SysbenchSpec.model_validate({**COMPAT[compat], **said})
    except ValidationError as error:
        _, what, hint = complaint(error)
        raise PlanError(what, hint=hint) from None
    _refuse_impossible(spec)
    return SysbenchWorkload(spec.model_dump(mode="json"), Hints(retry=retry), _label(spec, options))


#: A system's own code, or all of them: 1213, SQLITE_BUSY.
_CODE = re.compile(r"all|[1-9][0-9]*|[A-Z][A-Z0-9_]*")


def _retry(codes: object) -> Retry:
    """Codes in a list, or in a text as the original has them: "1213,1020"; "all" is every failure."""
    if isinstance(codes, str):
        codes = [part.strip() for part in codes.split(",") if part.strip()]
    known = isinstance(codes, list) and all(
        (isinstance(c, int) and not isinstance(c, bool) and c > 0) or (isinstance(c, str) and _CODE.fullmatch(c))
        for c in codes
    )
    if not known:
        raise PlanError(
            f"`mysql_ignore_errors` cannot be {json.dumps(codes, default=str)}",
            hint='it is a list of the server\'s codes such as [1213, 1020, 1205], or "all"; [] for none',
        )
    assert isinstance(codes, list)
    return Retry(retries=_WITHOUT_END if codes else 0, on_codes=[str(code) for code in codes])


def _refuse_impossible(spec: SysbenchSpec) -> None:
    """What the engine would refuse, said before anything starts."""
    refuse_unless(
        [
            (
                statements(spec.model_dump()).total > 0,
                f"an event of `{spec.script}` has no statement: all its counts are 0",
                "give at least one of them a number, such as point_selects = 10",
            ),
            (
                re.fullmatch(r"[A-Za-z0-9_]*", spec.mysql_storage_engine) is not None,
                f"`mysql_storage_engine` cannot be {json.dumps(spec.mysql_storage_engine)}",
                'it is the name of an engine, such as "innodb", or "" for the server\'s default',
            ),
            (
                spec.tables == 1 or not spec.script.startswith("select_random_"),
                f"`tables` is {spec.tables}, and {spec.script} asks one table only",
                "write tables = 1",
            ),
        ]
    )


def _label(spec: SysbenchSpec, said: dict[str, Any]) -> str:
    """What tells workloads of one report apart: script, size, and every option the plan sets beside them."""
    words = [f"{spec.tables} x {spec.table_size} rows"]
    words += option_words(said, without=("script", "tables", "table_size"))
    return f"sysbench {spec.script} ({', '.join(words)})"
