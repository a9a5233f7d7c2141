"""What the control plane asks the engine before a run, and the answers: a line each, to and from
`bakeoff-engine resolve`. The mirror of crates/model/src/resolve.rs, tested as `boundary` is."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, TypeAdapter

from .boundary import Document, IsolationName, Retry, RunnerName


class OptionFile(Document):
    """Options that a file of the original tool's says."""

    name: str
    options: dict[str, Any]


class DriverRequest(Document):
    """A driver, with the options that a plan says of it."""

    ask: ClassVar[str] = "driver"
    kind: str
    #: What the plan calls the kind of system, for messages; None: as the driver.
    system: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    runner: RunnerName | None = None
    isolation: IsolationName | None = None


class WorkloadRequest(Document):
    """A workload as a plan says it."""

    ask: ClassVar[str] = "workload"
    kind: str
    options: dict[str, Any] = Field(default_factory=dict)
    file: OptionFile | None = None
    driver: DriverRequest | None = None
    seed: int = 0


class PreviewRequest(Document):
    """The first operations of the first user."""

    ask: ClassVar[str] = "preview"
    #: As run.json has it.
    workload: dict[str, Any]
    seed: int = 0
    count: int


class WriteEventsRequest(Document):
    """The list of events that a run with this workload and seed begins with, into a file."""

    ask: ClassVar[str] = "write_events"
    #: As run.json has it.
    workload: dict[str, Any]
    seed: int = 0
    #: The file that is created, or replaced.
    path: str


#: With `ask` one line to `bakeoff-engine resolve`, which knows the options and checks them.
Request = DriverRequest | WorkloadRequest | PreviewRequest | WriteEventsRequest


class ResolvedDriver(Document):
    """Every option of a plan decided, and what follows from them."""

    answer: Literal["driver"] = "driver"
    #: As the driver of run.json has them, without the system's address and the user.
    options: dict[str, Any]
    #: The client library that is taken.
    client: str
    #: Those that are left with these options, preferred one first.
    runners: list[RunnerName]
    #: What a workload may need; the engine compares.
    offers: dict[str, Any]


class Rate(Document):
    """How many operations ended correctly in a time: a metric under its name, of which more is better."""

    name: str
    #: In a sentence: "number of new orders per minute".
    label: str
    #: What it is, a sentence.
    about: str
    per: Literal["second", "minute"]
    #: Those that it counts, at least one.
    operations: list[str]


class ResponseLimit(Document):
    """A share of an operation must end correctly within a time."""

    operation: str
    #: The share: 0.9.
    percentile: float
    most_s: float


class Resolved(Document):
    """Every option of a workload decided, and what follows from them."""

    answer: Literal["resolved"] = "resolved"
    #: As the engine reads it (`workload` of run.json).
    spec: dict[str, Any]
    #: "YCSB A (records 10000)": what tells the workloads of one report apart.
    label: str
    #: Rows that the load phase stores.
    loaded_rows: int
    #: User bytes after the load, without what a system adds.
    size_estimate_bytes: int
    #: The tables it makes, at least one: of two data sets with the same ones, a schema holds one at a time.
    tables: list[str]
    #: Equal for equal loaded data sets, which cells then share.
    dataset: str
    #: Equal for the same rows however they are stored: such data sets are loaded apart, and compared.
    content: str
    #: Names of those that a run of it has, parts of others included.
    operations: list[str]
    #: Whether the run phase changes data.
    writes: bool
    #: Operations share transactions, so each user needs a session of its own (no pool).
    keeps_session: bool
    #: It asks for other sessions during a run, so a lost one is no sign of trouble.
    replaces_sessions: bool
    #: Most threads over all clients, where each needs a table or an order of its own.
    users_max: int | None
    #: Statements that every session prepares before a run, where the workload counts them.
    prepared_statements: int | None = None
    #: About how long a client takes to prepare its run, without connecting.
    prepares_s: float
    #: How long a run lasts at least that does all of its operations, where they are due at times of their own.
    lasts_s: float
    #: Which failures are tried again where the plan does not say it.
    retry: Retry | None
    #: Where a run may begin on data that other runs have left: what to add to options of `spec` for each of those, so
    #: that it inserts keys of its own. None: it would insert the same rows again.
    continues_by: dict[str, int] | None
    #: Its own metrics, in addition to those that every workload has.
    rates: list[Rate]
    #: Response times that its rules ask for; a run that misses one is reported, and stays valid.
    limits: list[ResponseLimit]
    #: What is allowed but will limit the answer, a sentence each.
    advice: list[str]


class Previewed(Document):
    """An operation as a user would ask it."""

    operation: str
    #: What is drawn for it: its statements with their values, its input.
    lines: list[str]


class Preview(Document):
    """As many as were asked for; none of a workload that cannot tell."""

    answer: Literal["preview"] = "preview"
    operations: list[Previewed]


class Written(Document):
    """A list of events that was written to a file."""

    answer: Literal["written"] = "written"
    events: int
    #: Of the file.
    sha256: str


class Refused(Document):
    """`where` is `workload`, `workload.OPTION`, `driver` or `driver.OPTION` (`runner` and `isolation` among them)."""

    answer: Literal["refused"] = "refused"
    what: str
    where: str
    hint: str
    kind: Literal["usage", "server", "environment"]


class Described(Document):
    """One option, a line of a reference page."""

    name: str
    default: Any
    #: "a whole number from 1 to 65535"
    values: str
    meaning: str
    #: Where a value is one of several names: each with a few words, empty if it says enough.
    names: list[tuple[str, str]] = Field(default_factory=list)


class Listed(Document):
    """A workload of the engine, in `bakeoff-engine list`."""

    kind: str
    summary: str
    #: The option whose names are the presets.
    preset: str
    options: list[Described]


class ListedDriver(Document):
    """A driver of the engine, in `bakeoff-engine list`."""

    kind: str
    runners: list[RunnerName]
    capabilities: dict[str, Any]
    #: Name and version of the client library or of the embedded database; empty: the engine's own code.
    library: str
    workloads: list[str]
    #: `bakeoff verify` can try what it promises.
    experiments: bool
    #: Those of a plan.
    options: list[Described]


Answer = Resolved | ResolvedDriver | Preview | Written | Refused
ANSWER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="answer")])
