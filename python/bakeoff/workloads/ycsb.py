"""YCSB in a plan: options, presets and property files of the original, resolved into what the engine is asked.

`resolve` goes option > file > preset > default, and refuses what cannot be run. Nothing is generated here: the
engine generates data and operations; `data_identity` says when two of its data sets are the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from ..errors import PlanError
from ..nearest import one_of
from .base import Hints
from .options import (
    U32_MAX,
    Count,
    OptionTable,
    Positive,
    Small,
    complaint,
    option_words,
    refuse_unknown,
    refuse_unless,
)
from .ycsb_file import YcsbFile, read_ycsb_file
from .ycsb_presets import PRESET_WORDS, PRESETS

__all__ = ["OPTIONS", "PRESET_WORDS", "SUMMARY", "YcsbWorkload", "resolve"]

SUMMARY = "records by key: reads, updates, inserts, scans and read-modify-writes (Cooper et al., SoCC 2010)"

#: The same number as GENERATOR_VERSION in crates/workloads/src/ycsb/mod.rs (a test holds them together): raised when
#: the same options and seed give other data than before.
GENERATOR_VERSION = 1

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1)]


class _Plain(OptionTable):
    kind: Literal["uniform", "zipfian", "latest", "sequential"]


class _ZipfianExact(OptionTable):
    kind: Literal["zipfian_exact"]
    theta: Annotated[float, Field(gt=0, lt=1)] = 0.99


class _Hotspot(OptionTable):
    kind: Literal["hotspot"]
    data_fraction: Fraction = 0.2
    operation_fraction: Fraction = 0.8


class _Exponential(OptionTable):
    kind: Literal["exponential"]
    percentile: Annotated[float, Field(gt=0, lt=100)] = 95.0
    fraction: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.8571428571


class _PlainLength(OptionTable):
    kind: Literal["constant", "uniform", "zipfian"]


class _Histogram(OptionTable):
    kind: Literal["histogram"]
    block_size: Positive
    buckets: list[Annotated[list[Count], Field(min_length=2, max_length=2)]] = Field(min_length=1)


def _kind_alone(value: Any) -> Any:
    """`"hotspot"` is short for `{ kind = "hotspot" }`."""
    return {"kind": value} if isinstance(value, str) else value


Distribution = Annotated[
    Annotated[_Plain | _ZipfianExact | _Hotspot | _Exponential, Field(discriminator="kind")],
    BeforeValidator(_kind_alone),
]
Length = Annotated[
    Annotated[_PlainLength | _Histogram, Field(discriminator="kind")],
    BeforeValidator(_kind_alone),
]


class YcsbSpec(OptionTable):
    """What the engine is asked: field by field crates/model/src/run.rs, whose comments say what each means."""

    kind: Literal["ycsb"] = "ycsb"
    table: Name = "usertable"
    key_column: Name = "YCSB_KEY"
    key_length: Positive = 255
    field_prefix: Name = "FIELD"
    value_varchar: Positive | None = None
    records: Count = 1000
    insert_start: Count = 0
    insert_count: Count | None = None
    operation_count: Count | None = None
    field_count: Positive = 10
    field_length: Positive = 100
    min_field_length: Small = 1
    field_length_distribution: Length = _PlainLength(kind="constant")
    read_all_fields: bool = True
    read_all_fields_by_name: bool = False
    write_all_fields: bool = False
    data_integrity: bool = False
    read_proportion: Weight = 0.95
    update_proportion: Weight = 0.05
    insert_proportion: Weight = 0.0
    scan_proportion: Weight = 0.0
    read_modify_write_proportion: Weight = 0.0
    request_distribution: Distribution = _Plain(kind="uniform")
    min_scan_length: Positive = 1
    max_scan_length: Positive = 1000
    scan_length_distribution: Literal["uniform", "zipfian"] = "uniform"
    scan_last_keys: Positive | None = None
    insert_order: Literal["hashed", "ordered"] = "hashed"
    zero_padding: Small = 1
    payload: Literal["printable", "compat"] = "printable"
    batch_size: Small = 1000
    ops_per_transaction: Small = 1
    insertion_retry_limit: Small = 0
    insertion_retry_interval_s: Weight = 3.0


OPTIONS: tuple[str, ...] = ("preset", "ycsb_file", *(name for name in YcsbSpec.model_fields if name != "kind"))

#: Option of the mix -> the operation's name in results.
OPERATIONS = {
    "read_proportion": "READ",
    "update_proportion": "UPDATE",
    "insert_proportion": "INSERT",
    "scan_proportion": "SCAN",
    "read_modify_write_proportion": "READ-MODIFY-WRITE",
}


#: No run stores so many rows.
_INSERTS_OF_A_RUN_MAX = 10**11


@dataclass(frozen=True)
class YcsbWorkload:
    """A workload with every option decided."""

    #: As the engine reads it (`workload` of run.json).
    spec: dict[str, Any]
    hints: Hints
    #: Properties of the original's file that have no meaning here.
    ignored: list[str]
    #: "YCSB A (records 10000)"
    label: str
    #: Files that the options came from; a bundle keeps copies.
    sources: list[Path] = field(default_factory=list)

    @property
    def operations(self) -> dict[str, float]:
        """Share of each operation in the mix; those without one are left out."""
        weights = {name: self.spec[option] for option, name in OPERATIONS.items()}
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items() if weight > 0}

    @property
    def writes(self) -> bool:
        """Whether the run phase changes data."""
        return bool(self.operations.keys() & {"UPDATE", "INSERT", "READ-MODIFY-WRITE"})

    @property
    def inserts(self) -> bool:
        """Whether the run phase adds rows."""
        return "INSERT" in self.operations

    @property
    def tables(self) -> Sequence[str]:
        return [self.spec["table"]]

    @property
    def keeps_session(self) -> bool:
        """Operations share transactions, so each user needs a session of its own (no pool)."""
        return bool(self.spec["ops_per_transaction"] != 1)

    @property
    def users_max(self) -> int | None:
        return None

    @property
    def loaded_rows(self) -> int:
        """Rows that the load phase stores."""
        count = self.spec["insert_count"]
        return int(self.spec["records"] - self.spec["insert_start"] if count is None else count)

    @property
    def size_estimate_bytes(self) -> int:
        """User bytes after the load: keys and values, without what a system adds."""
        number_digits = 19 if self.spec["insert_order"] == "hashed" else len(str(self.spec["records"]))
        key = len("user") + max(number_digits, self.spec["zero_padding"])
        return int(self.loaded_rows * (key + self.spec["field_count"] * _mean_length(self.spec)))

    def continued(self, turn: int) -> dict[str, Any] | None:
        """Inserts begin where `records` says, which is beyond the loaded slice then."""
        if not self.inserts:
            return self.spec
        if self.spec["request_distribution"]["kind"] == "exponential":
            return None  # it is drawn over `records`
        return {
            **self.spec,
            "insert_count": self.loaded_rows,
            "records": self.spec["records"] + turn * _INSERTS_OF_A_RUN_MAX,
        }

    def advice(self) -> list[str]:
        words = [f"property `{name}` of the original has no meaning here and is ignored" for name in self.ignored]
        if self.spec["data_integrity"] and self.writes:
            words.append(
                "with data_integrity, updates write the values that are there already, and some systems then write"
                " nothing"
            )
        return words

    def data_identity(self, seed: int) -> str:
        """Equal for equal loaded data sets: generator version, seed, and the options that shape the table and its
        data. How it is loaded, and what is asked of it afterwards, are left out."""
        text = json.dumps([GENERATOR_VERSION, seed, _shape(self.spec)], sort_keys=True)
        return f"ycsb-{GENERATOR_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _shape(spec: dict[str, Any]) -> dict[str, Any]:
    names = ["table", "key_column", "key_length", "field_prefix", "value_varchar", "insert_start", "field_count"]
    names += ["insert_order", "zero_padding", "data_integrity", "field_length_distribution"]
    lengths = spec["field_length_distribution"]["kind"]
    if lengths != "histogram":
        names.append("field_length")
    if lengths in ("uniform", "zipfian"):
        names.append("min_field_length")
    if not spec["data_integrity"]:
        names.append("payload")
    loaded = spec["records"] - spec["insert_start"] if spec["insert_count"] is None else spec["insert_count"]
    return {**{name: spec[name] for name in names}, "rows": loaded}


def _mean_length(spec: dict[str, Any]) -> float:
    lengths, longest, shortest = spec["field_length_distribution"], spec["field_length"], spec["min_field_length"]
    match lengths["kind"]:
        case "uniform":
            return float(longest + shortest) / 2
        case "zipfian":
            weights = [(length, (length - shortest + 1) ** -0.99) for length in range(shortest, longest + 1)]
            return float(sum(length * weight for length, weight in weights) / sum(weight for _, weight in weights))
        case "histogram":
            buckets = lengths["buckets"]
            blocks = sum((bucket + 1) * count for bucket, count in buckets) / sum(count for _, count in buckets)
            return float(blocks * lengths["block_size"])
        case _:
            return float(longest)


def resolve(options: dict[str, Any], base_dir: Path) -> YcsbWorkload:
    """The [workload] table without `kind`. `base_dir`: what `ycsb_file` is relative to. Raises PlanError."""
    said = dict(options)
    refuse_unknown(said, OPTIONS, "ycsb")
    preset = said.pop("preset", None)
    if preset is not None and (not isinstance(preset, str) or preset not in PRESETS):
        raise PlanError(f"there is no preset `{preset}`", hint=one_of(str(preset), tuple(PRESETS)))
    file_name = said.pop("ycsb_file", None)
    if file_name is not None and not isinstance(file_name, str):
        raise PlanError("`ycsb_file` must be the name of a file")
    file = read_ycsb_file(_locate(base_dir, file_name)) if file_name else YcsbFile()
    spec = _spec({**PRESETS.get(preset or "", {}), **file.options, **said}, said, file_name)
    _refuse_impossible(spec)
    name = preset.upper() if preset else Path(file_name).name if file_name else "custom"
    return YcsbWorkload(
        spec=spec.model_dump(mode="json"),
        hints=file.hints,
        ignored=file.ignored,
        label=_label(name, spec, said),
        sources=file.sources,
    )


def _locate(base_dir: Path, file_name: str) -> Path:
    """Relative to the plan; a plan that lies in a bundle has its files beside it in `files`."""
    path, kept = base_dir / file_name, base_dir / "files" / Path(file_name).name
    return kept if not path.exists() and kept.exists() else path


def _spec(merged: dict[str, Any], said: dict[str, Any], file_name: str | None) -> YcsbSpec:
    try:
        return YcsbSpec.model_validate(merged)
    except ValidationError as error:
        option, what, hint = complaint(error)
        place = "" if option in said or not file_name else f"{file_name}, as `{option}`"
        raise PlanError(what, where=place, hint=hint) from None


def _refuse_impossible(spec: YcsbSpec) -> None:
    """What the engine would refuse, said before anything starts."""
    count = spec.records - spec.insert_start if spec.insert_count is None else spec.insert_count
    longest = _longest_value(spec)
    rules = [
        (spec.records > 0, "`records` is 0", "ask for at least 1"),
        (
            0 < count <= spec.records - spec.insert_start,
            f"the slice insert_start {spec.insert_start} + {count} does not fit into {spec.records} records",
            "insert_start + insert_count must be at most records",
        ),
        (
            len("user") + max(spec.zero_padding, 20) <= spec.key_length,
            f"keys of up to {len('user') + max(spec.zero_padding, 20)} bytes do not fit into {spec.key_length}",
            "raise key_length or lower zero_padding",
        ),
        (
            spec.field_length_distribution.kind not in ("uniform", "zipfian")
            or spec.min_field_length <= spec.field_length,
            f"`min_field_length` {spec.min_field_length} is more than `field_length` {spec.field_length}",
            "lower it",
        ),
        (longest > 0, "the histogram of field lengths is empty", "give at least one bucket with a count"),
        (
            spec.value_varchar is None or longest <= spec.value_varchar,
            f"values of up to {longest} bytes do not fit into `value_varchar` {spec.value_varchar}",
            "raise it, or leave it out for TEXT",
        ),
        (longest * spec.field_count <= U32_MAX, "a record would exceed 4 GiB", "use fewer or shorter fields"),
        (
            not spec.data_integrity or spec.field_length_distribution.kind == "constant",
            "`data_integrity` needs values of one length",
            'write field_length_distribution = "constant"',
        ),
        (
            sum(getattr(spec, option) for option in OPERATIONS) > 0,
            "the proportions of all operations are 0",
            "give at least one of them a weight, or name a preset",
        ),
        (
            spec.min_scan_length <= spec.max_scan_length,
            f"`min_scan_length` {spec.min_scan_length} is more than `max_scan_length` {spec.max_scan_length}",
            "lower it",
        ),
        (
            spec.scan_last_keys is None or spec.scan_last_keys <= count,
            f"`scan_last_keys` {spec.scan_last_keys} is more than the {count} records there are",
            "lower it, or raise records",
        ),
    ]
    refuse_unless(rules)


def _longest_value(spec: YcsbSpec) -> int:
    lengths = spec.field_length_distribution
    if not isinstance(lengths, _Histogram):
        return spec.field_length
    if not any(count for _, count in lengths.buckets):
        return 0
    return max(bucket + 1 for bucket, _ in lengths.buckets) * lengths.block_size


def _label(name: str, spec: YcsbSpec, said: dict[str, Any]) -> str:
    """What tells workloads of one report apart: the mix, the size, and every option the plan sets beside them."""
    words = [f"records {spec.records}"]
    words += option_words(said, without=("records",))
    if spec.ops_per_transaction == 0 and "ops_per_transaction" not in said:
        words.append("one transaction per thread")
    return f"YCSB {name} ({', '.join(words)})"
