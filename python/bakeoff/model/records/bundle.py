"""A bundle, its machine, its systems as they were read back, its loads and its analyses, as a bundle holds them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, Field

from ...renamed import in_metrics
from ..boundary import Check, Document

#: 2: in a closed loop an operation counts where it ended, in rates and percentiles alike.
BUNDLE_FORMAT = 2

#: So begins the message of a bundle that says that it was continued.
CONTINUED = "continued "


class BundleInfo(Document):
    format: int = BUNDLE_FORMAT
    #: Drawn when it was begun: a copy has it, too, and it stays when runs are added. "": from before there were ids.
    id: str = ""
    bakeoff_version: str
    created: str  # ISO 8601, UTC
    finished: str | None = None
    title: str
    #: "complete", "interrupted" (Ctrl-C), "failed" (stopped by an error), "running"
    state: Literal["running", "complete", "interrupted", "failed"]
    command: str  # that re-runs it
    resume_command: str = ""  # that goes on with it, from any folder
    demonstration: bool = False
    #: Cells that could not be run at all, with the reason ("mariadb: no mariadbd ...").
    skipped: dict[str, str] = Field(default_factory=dict)
    messages: list[str] = Field(default_factory=list)
    #: Hash of the engine's binary, and of each file that the plan names: a resume with others is refused.
    engine_sha256: str = ""
    inputs: dict[str, str] = Field(default_factory=dict)
    #: Copies of files that the plan names, by their place in the bundle ("files/shop.sql").
    kept: list[str] = Field(default_factory=list)
    #: What its maker calls it ("commit": "3f2a1bc"), for a history.
    labels: dict[str, str] = Field(default_factory=dict)
    #: Disturbed runs count, and nothing was repeated for their sake: its figures carry the mark.
    allow_disturbed: bool = False
    #: Of a bundle from before `analyses.jsonl`: how many repetitions there were each time that an answer was given.
    analysed_repetitions: list[int] = Field(
        default_factory=list, validation_alias=AliasChoices("analysed_repetitions", "looks")
    )


#: By the metric's name of today.
Question = Annotated[str, AfterValidator(in_metrics)]


class VerdictRecord(Document):
    """What an analysis said of one question. level: of the interval that decided it. ratio, low, high: other / base; of
    shares one of which is zero the difference."""

    question: Question  # "rate: <other> against <base>", by the cells' ids, or by their labels between bundles
    verdict: Literal["higher", "lower", "no difference", "equivalent"]
    #: The size that mattered, where one was named, and what was shown of a difference about it.
    matters_ratio: float | None = None
    size: Literal["matters", "small", "open"] | None = None
    repetitions: int
    level: float
    ratio: float
    low: float
    high: float


class AnalysisRecord(Document):
    """An interim analysis: one answer that somebody could act on. Its verdicts stand, whatever is added later.

    data: a hash of what was analysed; the same again is no further analysis. before, after: of a comparison of bundles
    the bundles of each side, by hash. alpha: the chance of a false claim that was spent. family: all that was asked.
    """

    format: int = 1
    when: str  # ISO 8601, UTC
    data: str
    before: list[str] = Field(default_factory=list)
    after: list[str] = Field(default_factory=list)
    alpha: float = Field(ge=0, le=0.05)
    family: list[Question]
    verdicts: list[VerdictRecord] = Field(default_factory=list)


class FactsRecord(Document):
    product: str
    version: str
    settings: dict[str, str]
    portable: dict[str, str]
    #: What the plan asked for, by the system's own names (to show what was set on purpose).
    declared: dict[str, str]
    managed: bool = Field(validation_alias=AliasChoices("managed", "private"))
    #: It ran inside the client's process.
    embedded: bool = False
    #: The product whose protocol it speaks, without being it; "" of a product.
    peer_of: str = ""
    #: Always empty, and written so that bundles made before can be read: each run says what made its load.
    client_library: str = ""
    runner: str = ""


class MachineFacts(Document):
    hostname: str
    os: str
    kernel: str
    cpu_model: str
    cores: int
    memory_bytes: int
    clock_source: str
    filesystem: str
    swap_bytes: int
    virtualisation: str
    cpu_governor: str
    python: str
    engine: str
    warnings: list[str] = Field(default_factory=list)


class LoadRecord(Document):
    dataset: str
    system: str
    rows: int
    elapsed_s: float
    rows_per_s: float
    size_on_disk_bytes: int | None
    #: The same with the holes that compressed pages leave in files. None: not known.
    file_size_bytes: int | None = None
    #: Of the rows' values alone, by the workload's own estimate. None: the bundle is older.
    values_bytes: int | None = None
    checks: list[Check]
    #: What the engine warned of while loading and checking.
    warnings: list[str] = Field(default_factory=list)
    cells: list[str]
