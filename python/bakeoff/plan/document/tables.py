"""What a plan may say: one model per table of the TOML file. docs/reference/plan/ explains every key, and a test
checks each against the other.

Types are strict ("5" is no number) and unknown keys are refused, with one exception: options of a system and of a
workload belong to those, so these two tables let unknown keys through and the system or workload checks them. A plan is
copied into every bundle, so it must not contain secrets.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from ...analysis.search import RUNS_MIN
from ...model.faults import SIZED, FaultKind
from ...suggestions import meant
from ...systems.options import PLAN_KEYS
from ...verify.isolation import SCHEDULES
from .fleet import FleetTable, KubernetesTable, SlurmTable, TlsTable
from .recorded_rate import STAGES_MAX, RecordedRate, stages_of
from .units import (
    Cores,
    Count,
    Rate,
    Ratio,
    Seconds,
    Shift,
    StageRate,
    Table,
    Texts,
    UnitError,
    parse_duration_s,
    parse_rate_ops_per_s,
)

Data = Literal["load", "existing"]
Reset = Literal["restore", "reload", "reuse", "none"]
Cache = Literal["warm", "cold", "as-is"]
Arrival = Literal["constant", "poisson", "per_session"]
FailClass = Literal["conflict", "constraint", "refused", "overload", "lost", "other"]


def _secret(value: Any) -> Any:
    hint = 'write { env = "NAME_OF_VARIABLE" } or { file = "path" }; the bundle records only that name'
    if not isinstance(value, dict):
        raise UnitError("a plan must not contain a secret", hint)
    if set(value) not in ({"env"}, {"file"}) or not all(isinstance(v, str) and v for v in value.values()):
        raise UnitError("a secret needs exactly one of `env` and `file`", hint)
    return value


Secret = Annotated[dict[str, str], BeforeValidator(_secret)]


def _start(value: Any) -> Any:
    if value is not True and not isinstance(value, dict):
        raise UnitError("`start` must be true or a table", 'for instance start = { version = "10.11" }')
    return {} if value is True else value


def _address(value: Any) -> Any:
    if not isinstance(value, str) or not value:
        raise UnitError("an address must be a text", 'for instance address = "db1:3306"')
    if "@" in value:
        raise UnitError(
            "an address must contain no user and no password",
            'write user = "..." and password = { env = "NAME" } next to it',
        )
    return value


def _nodes(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, list | int):
        hint = 'for instance nodes = 3, or nodes = [{ name = "n1", address = "db1:3306" }]'
        raise UnitError("it is the number of nodes to start, or a list of existing ones", hint)
    return value


def _tls(value: Any) -> Any:
    if not isinstance(value, bool | dict):
        raise UnitError("`tls` is true, false or a table", 'for instance tls = { ca_file = "ca.pem" }')
    return value


def _date(value: Any) -> Any:
    """TOML has dates of its own."""
    return value.isoformat() if type(value) is datetime.date else value


Amount = Annotated[float, Field(ge=0, le=1e12)]


class PricesTable(Table):
    """[prices], and `prices` of a system."""

    machine_per_hour: Amount | None = None
    storage_per_gb_month: Amount | None = None
    million_requests: Amount | None = None
    million_reads: Amount | None = None
    million_writes: Amount | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] | None = None
    date: Annotated[str | None, BeforeValidator(_date, json_schema_input_type=str)] = None
    source: Annotated[str, Field(min_length=1)] | None = None


class SystemTable(Table):
    """[systems.NAME]. Further options are checked by the kind of system itself."""

    model_config = ConfigDict(extra="allow", strict=True, populate_by_name=True)

    kind: str | None = None
    start: Annotated[Any, BeforeValidator(_start)] = None
    address: Annotated[Any, BeforeValidator(_address)] = None
    #: Of a system of several servers, in place of `address`; or how many are started.
    nodes: Annotated[list[dict[str, Any]] | int | None, BeforeValidator(_nodes)] = None
    user: str | None = None
    password: Secret | None = None
    schema_: str | None = Field(default=None, alias="schema")
    tls: Annotated[Any, BeforeValidator(_tls)] = None
    settings: dict[str, Any] | None = None
    durability: str | None = None
    isolation: str | None = None
    consistency: str | None = None
    data: Data | None = None
    reset: Reset | None = None
    optional: bool = False
    prices: PricesTable | None = None

    @model_validator(mode="after")
    def _consistent(self) -> SystemTable:
        if self.start is not None and self.address is not None:
            raise UnitError(
                "a system is either started by bakeoff or exists already", "write `start` or `address`, not both"
            )
        listed = self.nodes if isinstance(self.nodes, list) else None
        if listed is not None and (self.address is not None or self.start is not None or not listed):
            raise UnitError("`nodes` are addresses of existing servers", "write `nodes` alone, with at least one")
        for node in listed or []:
            if "address" in node:  # else the readers of a node's keys report it
                _address(node["address"])
        for table in (self.start, self.settings, self.model_extra):
            refuse_literal_secrets(table or {})
        return self

    def options(self) -> dict[str, Any]:
        """What the kind of system is given to check: all that the plan says except what the plan itself handles."""
        said: dict[str, Any] = self.model_dump(by_alias=True, exclude_none=True, exclude=PLAN_KEYS)
        if isinstance(self.nodes, list):
            said["address"] = self.nodes[0].get("address")
        return said


def refuse_literal_secrets(tree: dict[str, Any]) -> None:
    """A plan is copied into every bundle."""
    for key, value in tree.items():
        if names_a_secret(key):
            hint = 'where possible, name its place (a system\'s password = { env = "NAME" }); else leave it out'
            raise UnitError(f"`{key}`: a plan must not contain a secret", hint)
        if isinstance(value, dict):
            refuse_literal_secrets(value)


class WorkloadTable(Table):
    """[workload], [workloads.NAME]. All other options are the workload's own."""

    model_config = ConfigDict(extra="allow", strict=True)

    kind: str

    @model_validator(mode="after")
    def _no_secrets(self) -> WorkloadTable:
        refuse_literal_secrets(self.model_extra or {})
        return self


def _stage_rates(value: Any) -> list[float]:
    rates = value if isinstance(value, list) else [value]
    if len(rates) not in (1, 2):
        raise UnitError(f"a stage has {len(rates)} rates", "write rate = 1000, or rate = [1000, 5000] for a ramp")
    return [0.0 if rate == 0 and not isinstance(rate, bool) else parse_rate_ops_per_s(rate) for rate in rates]


class StageTable(Table):
    """One of `stages`. rate: the same all the time, or evenly from the first to the second; 0: a pause."""

    rate: Annotated[list[float], BeforeValidator(_stage_rates, json_schema_input_type=StageRate | list[StageRate])]
    for_: Annotated[Seconds, Field(alias="for", gt=0)]

    @property
    def mean(self) -> float:
        return (self.rate[0] + self.rate[-1]) / 2


def _stages(value: Any, info: ValidationInfo) -> Any:
    if value == []:
        raise UnitError("an empty list has no rate", 'write at least one stage: stages = [{ rate = 1000, for = "1m" }]')
    return stages_of(value, (info.context or {}).get("base_dir", Path())) if isinstance(value, dict) else value


class OpenLoop(Table):
    """pacing = { ... }. Rates are over all clients; without one, and without stages, it must be a factor."""

    rate: Rate | None = None
    arrival: Arrival = "poisson"
    stages: Annotated[
        list[StageTable], BeforeValidator(_stages, json_schema_input_type=list[StageTable] | RecordedRate)
    ] = Field(default_factory=list, max_length=STAGES_MAX)
    _recorded: RecordedRate | None = PrivateAttr(None)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_recorded(cls, value: Any, handler: ModelWrapValidatorHandler[OpenLoop]) -> OpenLoop:
        found = handler(value)
        if isinstance(value, Mapping) and isinstance(value.get("stages"), Mapping):
            found._recorded = RecordedRate.model_validate(value["stages"])
        return found

    @property
    def recorded(self) -> RecordedRate | None:
        """Where the stages come from; None: they are in the plan."""
        return self._recorded

    @property
    def stages_s(self) -> float:
        """How long they last; 0: there are none."""
        return sum(stage.for_ for stage in self.stages)

    @property
    def mean_ops_per_s(self) -> float:
        """Over the stages, of which there are some."""
        return sum(stage.mean * stage.for_ for stage in self.stages) / self.stages_s

    @model_validator(mode="after")
    def _has_one_rate(self) -> OpenLoop:
        if self.stages and self.rate is not None:
            raise UnitError("`pacing` has a rate and stages", "stages have their own rates: leave out `rate`")
        if self.stages and not any(stage.mean for stage in self.stages):
            raise UnitError("every stage has the rate 0", "give one of them a rate")
        return self


class RetryTable(Table):
    """retry = { ... }."""

    retries: int = Field(default=0, ge=0, le=1_000_000)
    on: list[FailClass] = Field(default_factory=list)
    on_codes: list[str] = Field(default_factory=list)
    backoff: Seconds = 0.0

    @model_validator(mode="after")
    def _says_what(self) -> RetryTable:
        if self.retries > 0 and not self.on and not self.on_codes:
            raise UnitError("`retries` needs `on`: the failures to retry", 'for instance on = ["conflict"]')
        return self


class PlacementTable(Table):
    """placement = { ... }: cores; an empty list leaves it to the kernel."""

    client: Cores = Field(default_factory=list)
    server: Cores = Field(default_factory=list)


def _pacing(value: Any) -> Any:
    if value == "closed":
        return None
    if not isinstance(value, dict | OpenLoop | None):
        raise UnitError(
            f"{value!r} is not a kind of pacing",
            'write pacing = "closed" or pacing = { rate = 5000, arrival = "poisson" }',
        )
    return value


LATENCY_PROBE_RATE_OPS_PER_S = 100.0


def _latency_probe(value: Any) -> Any:
    return value if isinstance(value, bool) else parse_rate_ops_per_s(value)


class ThinkTime(Table):
    """think_time = { ... }; a duration alone is the mean."""

    mean: Annotated[Seconds, Field(gt=0)]
    distribution: Literal["exponential", "constant"] = "exponential"


def _think_time(value: Any) -> Any:
    """0: they do not think."""
    if value is None or isinstance(value, dict):
        return value
    return {"mean": value} if parse_duration_s(value) else None


class MeasureTable(Table):
    """[measure]."""

    threads: int | None = None
    sessions: int | None = None
    routing: str | None = None
    clients: int | None = None
    workers: int | None = None
    runner: str | None = None
    io: str | None = None
    rate: Rate | None = None
    durability: str | None = None
    isolation: str | None = None
    consistency: str | None = None
    pacing: Annotated[
        OpenLoop | None, BeforeValidator(_pacing, json_schema_input_type=Literal["closed"] | OpenLoop)
    ] = None
    think_time: Annotated[
        ThinkTime | None, BeforeValidator(_think_time, json_schema_input_type=Seconds | ThinkTime)
    ] = None
    warm_up: Seconds = 10.0
    window: Seconds | None = None
    operations: Count | None = None
    repetitions: Count = 5
    objective: str = "rate"
    data: Data = "load"
    reset: Reset | None = None
    cache: Cache | None = None
    error_budget: Ratio = 0.001
    timeout: Seconds = 10.0
    retry: RetryTable = Field(default_factory=RetryTable)
    placement: PlacementTable = Field(default_factory=PlacementTable)
    latency_probe: Annotated[Any, BeforeValidator(_latency_probe, json_schema_input_type=bool | Rate)] = False
    vary_seed: bool = False
    event_log: bool | None = None
    check_sample: int = Field(default=100, ge=0, le=10**15)
    on_node_failure: Literal["go on", "end"] = "go on"
    repeat_disturbed: int | None = Field(default=None, ge=0, le=1_000_000)

    @model_validator(mode="after")
    def _stages_are_the_window(self) -> MeasureTable:
        if self.pacing and self.pacing.stages:
            if self.operations is not None:
                raise UnitError("stages last a time, and `operations` is a number", "leave out `operations`")
            if self.window is not None and abs(self.window - self.pacing.stages_s) > 1e-9:
                said = f"the stages last {self.pacing.stages_s:g} s, and `window` says {self.window:g} s"
                raise UnitError(said, "leave out `window`")
        return self

    @property
    def latency_probe_rate_ops_per_s(self) -> float | None:
        """None: no latency probe."""
        if isinstance(self.latency_probe, bool):
            return LATENCY_PROBE_RATE_OPS_PER_S if self.latency_probe else None
        return float(self.latency_probe)

    @property
    def ends_with_a_node(self) -> bool:
        """A run ends as soon as one of its nodes fails that nobody planned to hurt."""
        return self.on_node_failure == "end"


#: Servers give up a connection before.
DELAY_S_MAX = 10.0


class FaultTable(Table):
    """[[faults]]."""

    at: Seconds
    node: str | None = None
    do: FaultKind
    for_: Annotated[Seconds | None, Field(alias="for")] = None
    by: Shift | None = None
    system: str | None = None

    @model_validator(mode="after")
    def _has_its_size(self) -> FaultTable:
        if self.do not in SIZED:
            if self.by is not None:
                raise UnitError(f"a `{self.do}` has no size", "leave out `by`: only `delay` and `skew` have it")
        elif self.by is None:
            what = {"delay": "how much later packets arrive", "skew": "by how much the clock is wrong"}[self.do]
            raise UnitError(f"`{self.do}` does not say {what}", 'set `by`, as in by = "20ms"')
        elif self.do == "delay" and not 0 < self.by <= DELAY_S_MAX:
            what = f"a delay is longer than 0 and at most {DELAY_S_MAX:g} s"
            raise UnitError(what, 'it counts one way, so an answer takes twice as long: by = "20ms"')
        return self

    @model_validator(mode="after")
    def _ends_once(self) -> FaultTable:
        if self.do == "restart" and self.for_ is not None:
            hint = 'to keep a server away for a while, write do = "stop" with `for`'
            raise UnitError("a `restart` stops a server and starts it at once, so it has no `for`", hint)
        if self.for_ == 0:
            raise UnitError(
                "`for` is how long the server stays away, and must be above 0", 'do = "restart" restarts at once'
            )
        return self


#: Twice what recording resolves; and what nobody calls small.
MATTERS_MIN, MATTERS_MAX = 0.002, 10.0


class CompareTable(Table):
    """[compare]."""

    factor: str | None = None
    baseline: Any = None
    limit: Texts = Field(default_factory=list)
    fail_if: Texts = Field(default_factory=list)
    matters: Annotated[Ratio, Field(ge=MATTERS_MIN, le=MATTERS_MAX)] | None = None
    undecided: Literal["separate", "pass", "fail"] = "separate"


class SearchTable(Table):
    """[search]."""

    highest: str | None = None
    lowest: str | None = None
    while_: Annotated[Texts, Field(min_length=1)] = Field(alias="while")
    from_: Any = Field(default=None, alias="from")
    to: Any = None
    precision: Annotated[Ratio, Field(ge=0.001, le=0.5)] = 0.05
    runs: int = Field(default=25, ge=RUNS_MIN, le=1000)

    @model_validator(mode="after")
    def _one_way(self) -> SearchTable:
        if (self.highest is None) == (self.lowest is None):
            raise UnitError("a search needs `highest` or `lowest`", 'for instance highest = "rate"')
        return self


#: Of `bakeoff verify`, too.
VERIFY_SECONDS, VERIFY_SECONDS_MAX, VERIFY_TRIES_MAX = 6.0, 600.0, 100


def _known_schedule(name: str) -> str:
    if name not in SCHEDULES:
        raise UnitError(f"there is no schedule {name}", meant(name, list(SCHEDULES)))
    return name


_Schedule = Annotated[str, AfterValidator(_known_schedule), WithJsonSchema({"enum": list(SCHEDULES)})]


class VerifyTable(Table):
    """[verify]. seconds: of each kind of random transaction, and of reads; 0: none; None: as the measured time allows.
    schedules: empty: all."""

    seconds: float | None = Field(default=None, ge=0, le=VERIFY_SECONDS_MAX)
    tries: int = Field(default=3, ge=1, le=VERIFY_TRIES_MAX)
    schedules: list[_Schedule] = Field(default_factory=list)
    #: Next to the load of every run.
    probe: bool = False


def _levels(value: Any) -> Any:
    """One level may be written without brackets."""
    levels = value if isinstance(value, list) else [value]
    if not levels:
        raise UnitError("a factor needs at least one level", "for instance threads = [1, 4]")
    for level in levels:
        _scalar(level)
    return levels


def _scalar(value: Any) -> Any:
    if isinstance(value, list | dict):
        hint = "give each a name: tables [workloads.NAME] are a factor, and [workload] has the options that they share"
        raise UnitError("a level is a number, a text, true or false, and neither a list nor a table", hint)
    if not isinstance(value, str | int | float | bool):
        raise UnitError("a level is a number, a text, true or false", "for instance threads = [1, 4]")
    return value


def _flat(value: Any) -> Any:
    """mariadb.settings.x = [1] and "mariadb.settings.x" = [1] are the same factor."""
    if not isinstance(value, dict):
        return value
    flat: dict[str, Any] = {}
    for key, item in value.items():
        inner = _flat(item) if isinstance(item, dict) else {"": item}
        flat.update({f"{key}.{rest}" if rest else key: level for rest, level in inner.items()})
    refuse_literal_secrets(flat)
    return flat


_Level = str | float | bool
_Nested = dict[str, Any]
Factors = Annotated[
    dict[str, Annotated[list[Any], BeforeValidator(_levels)]],
    BeforeValidator(_flat, json_schema_input_type=dict[str, _Level | list[_Level] | _Nested]),
]
CellTable = Annotated[
    dict[str, Annotated[Any, BeforeValidator(_scalar)]],
    BeforeValidator(_flat, json_schema_input_type=dict[str, _Level | _Nested]),
]


class PlanDocument(Table):
    """The whole file."""

    title: str = Field(min_length=1)
    description: str = ""
    demonstration: bool = False
    seed: int = Field(default=1, ge=0, lt=2**63)
    prices: PricesTable | None = None
    systems: dict[str, SystemTable] = Field(min_length=1)
    workload: WorkloadTable | None = None
    workloads: dict[str, WorkloadTable] = Field(default_factory=dict)
    factors: Factors = Field(default_factory=dict)
    cells: list[CellTable] | None = None
    measure: MeasureTable = Field(default_factory=MeasureTable)
    compare: CompareTable = Field(default_factory=CompareTable)
    search: SearchTable | None = None
    faults: list[FaultTable] = Field(default_factory=list)
    verify: VerifyTable | None = None
    fleet: FleetTable | None = None


#: Every table by its place in the file: for messages and for the reference page's test.
TABLES: dict[tuple[str, ...], type[Table]] = {
    (): PlanDocument,
    ("prices",): PricesTable,
    ("systems", "*"): SystemTable,
    ("workload",): WorkloadTable,
    ("workloads", "*"): WorkloadTable,
    ("measure",): MeasureTable,
    ("measure", "pacing"): OpenLoop,
    ("measure", "pacing", "stages"): StageTable,
    ("measure", "think_time"): ThinkTime,
    ("measure", "retry"): RetryTable,
    ("measure", "placement"): PlacementTable,
    ("compare",): CompareTable,
    ("search",): SearchTable,
    ("faults",): FaultTable,
    ("verify",): VerifyTable,
    ("fleet",): FleetTable,
    ("fleet", "tls"): TlsTable,
    ("fleet", "kubernetes"): KubernetesTable,
    ("fleet", "slurm"): SlurmTable,
}


def keys_of(table: type[Table]) -> list[str]:
    """Keys as the file has them."""
    return [field.alias or name for name, field in table.model_fields.items()]


def plan_tree(document: PlanDocument, *, closed: bool) -> dict[str, Any]:
    """The document as a tree that is itself a plan: defaults filled in, None left out, secrets as names only. closed:
    no cell has a rate, wherever it comes from."""
    tree: dict[str, Any] = document.model_dump(by_alias=True, exclude_none=True)
    for name in ("workloads", "faults"):
        if not tree[name]:
            del tree[name]
    pacing = tree["measure"].get("pacing")
    if pacing and not pacing["stages"]:
        del pacing["stages"]
    if closed:
        tree["measure"]["pacing"] = "closed"
    return tree


_SECRET = re.compile(
    r"password|passwd|passphrase|secret|token|credential|authorization|(api|access|private|encryption)_?key$"
    r"|(^|_)(auth|pass|pwd)($|_)"
)
#: Settings of servers of the MySQL family that say how secrets are handled, and are none.
_HARMLESS = {
    *("authentication_policy", "default_authentication_plugin", "default_password_lifetime"),
    *("disconnect_on_expired_password", "innodb_ft_max_token_size", "innodb_ft_min_token_size"),
    *("max_password_errors", "ngram_token_size", "old_passwords", "password_history", "password_require_current"),
    *("password_reuse_check_interval", "password_reuse_interval", "secure_auth", "show_slave_auth_info"),
    *("strict_password_validation"),
}
_HARMLESS_BEGINNINGS = ("validate_password", "simple_password_check", "cracklib_password_check", "sha256_password_")


def names_a_secret(key: str) -> bool:
    """Of a key, or of a dotted path to one: "mariadb.settings.wsrep_sst_auth"."""
    name = key.rsplit(".", 1)[-1].lower().replace("-", "_")
    return bool(_SECRET.search(name)) and name not in _HARMLESS and not name.startswith(_HARMLESS_BEGINNINGS)
