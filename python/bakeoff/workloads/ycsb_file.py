"""Property files of the original YCSB, read unchanged and put into our words.

Every property is one of four: it becomes an option of ours, or a hint for the plan (threads, rate, limit), or it
belongs to something this tool does its own way and is reported as ignored, or it is unknown and refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import input_files
from ..errors import PlanError
from .base import Hints
from .property_files import Property, parse, read_text


@dataclass
class YcsbFile:
    options: dict[str, Any] = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)
    ignored: list[str] = field(default_factory=list)
    #: Files that were read.
    sources: list[Path] = field(default_factory=list)


#: recordcount=0, the original's default, means this many.
ALL_RECORDS = 2**31 - 1


def _boolean(text: str) -> bool:
    return text.strip().lower() == "true"  # as Java parses: anything else is false


def _whole(text: str) -> int:
    return int(text.strip())


def _number(text: str) -> float:
    return float(text.strip())


def _insert_order(text: str) -> str:
    return "hashed" if text.strip() == "hashed" else "ordered"


def _group(text: str) -> int:
    """Without autocommit the original commits reads and updates once, when a thread ends."""
    return 1 if _boolean(text) else 0


def _batch(text: str) -> int:
    return max(_whole(text), 1)  # 0 and below switch batches off


#: Property of the original -> (option of ours, how its text is read).
MAPPED: dict[str, tuple[str, Callable[[str], Any]]] = {
    "table": ("table", str.strip),
    "recordcount": ("records", lambda text: _whole(text) or ALL_RECORDS),
    "insertstart": ("insert_start", _whole),
    "insertcount": ("insert_count", _whole),
    "operationcount": ("operation_count", lambda text: _whole(text) or None),
    "fieldcount": ("field_count", _whole),
    "fieldlength": ("field_length", _whole),
    "minfieldlength": ("min_field_length", _whole),
    "fieldnameprefix": ("field_prefix", str.strip),
    "readallfields": ("read_all_fields", _boolean),
    "readallfieldsbyname": ("read_all_fields_by_name", _boolean),
    "writeallfields": ("write_all_fields", _boolean),
    "dataintegrity": ("data_integrity", _boolean),
    "readproportion": ("read_proportion", _number),
    "updateproportion": ("update_proportion", _number),
    "insertproportion": ("insert_proportion", _number),
    "scanproportion": ("scan_proportion", _number),
    "readmodifywriteproportion": ("read_modify_write_proportion", _number),
    "minscanlength": ("min_scan_length", _whole),
    "maxscanlength": ("max_scan_length", _whole),
    "scanlengthdistribution": ("scan_length_distribution", str.strip),
    "insertorder": ("insert_order", _insert_order),
    "zeropadding": ("zero_padding", _whole),
    "core_workload_insertion_retry_limit": ("insertion_retry_limit", _whole),
    "core_workload_insertion_retry_interval": ("insertion_retry_interval_s", _number),
    "db.batchsize": ("batch_size", _batch),
    "jdbc.autocommit": ("ops_per_transaction", _group),
}

#: Properties that become part of a distribution, with the original's defaults.
DISTRIBUTION_DEFAULTS = {
    "requestdistribution": "uniform",
    "hotspotdatafraction": "0.2",
    "hotspotopnfraction": "0.8",
    "exponential.percentile": "95",
    "exponential.frac": "0.8571428571",
}
LENGTH_DEFAULTS = {"fieldlengthdistribution": "constant", "fieldlengthhistogram": "hist.txt"}
HINTS = ("threadcount", "target", "operationcount", "maxexecutiontime")

#: Measurement, output and the command line: this tool does these its own way.
IGNORED = {
    "workload",
    "db",
    "dotransactions",
    "columnfamily",
    "exporter",
    "exportfile",
    "label",
    "status",
    "measurementtype",
    "reportlatencyforeacherror",
    "latencytrackederrors",
    "core_workload_insertion_keep_going_on_error",
    "host",
    "hosts",
    "port",
    "debug",
    "cluster",
}
#: The same by prefix, and the settings of the original's bindings: how to reach a system is said in [systems].
IGNORED_PREFIXES = tuple(
    f"{prefix}."
    for prefix in (
        *("measurement", "histogram", "hdrhistogram", "timeseries", "status", "jdbc", "db", "basicdb"),
        *("accumulo", "as", "arangodb", "asynchbase", "azure", "azurecosmos", "cassandra", "cloudspanner"),
        *("couchbase", "couchbase2", "crail", "dynamodb", "elasticsearch", "es", "foundationdb", "geode"),
        *("google", "googlebigtable", "googledatastore", "griddb", "hbase", "hbase2", "hypertable", "ignite"),
        *("infinispan", "kudu", "maprdb", "maprjsondb", "memcached", "mongodb", "nosqldb", "orientdb"),
        *("postgrenosql", "rados", "redis", "rest", "riak", "rocksdb", "s3", "scylla", "seaweedfs", "seaweed"),
        *("solr", "tablestore", "tarantool", "voltdb", "zookeeper"),
    )
)

KNOWN = {*MAPPED, *DISTRIBUTION_DEFAULTS, *LENGTH_DEFAULTS, *HINTS, *IGNORED}


def read_ycsb_file(path: Path) -> YcsbFile:
    """Raises PlanError naming the file, the line and the property."""
    text = read_text(path, "ycsb_file", encoding="latin-1")  # what java.util.Properties reads
    return _Reader(path, parse(text)).read()


@dataclass
class _Reader:
    path: Path
    properties: dict[str, Property]

    def read(self) -> YcsbFile:
        self._refuse_other_workloads()
        found = YcsbFile(ignored=self._ignored(), sources=[self.path])
        for name, (option, convert) in MAPPED.items():
            if name in self.properties:
                found.options[option] = self._value(name, convert)
        if any(name in self.properties for name in DISTRIBUTION_DEFAULTS):
            found.options["request_distribution"] = self._distribution()
        if any(name in self.properties for name in LENGTH_DEFAULTS):
            found.options["field_length_distribution"] = self._lengths()
            if found.options["field_length_distribution"]["kind"] == "histogram":
                found.sources.append(self._histogram_path())
        found.hints = self._hints()
        return found

    def _ignored(self) -> list[str]:
        ignored = []
        for name, said in self.properties.items():
            if name in KNOWN - IGNORED or name in MAPPED:
                continue
            if name == "workload":
                continue  # looked at by _refuse_other_workloads
            if name in IGNORED or name.startswith(IGNORED_PREFIXES):
                ignored.append(name)
                continue
            near = difflib.get_close_matches(name.lower(), sorted(KNOWN), n=1, cutoff=0.0)
            raise self._error(name, f"unknown property `{name}`", f"did you mean `{near[0]}`?", said)
        return ignored

    def _refuse_other_workloads(self) -> None:
        name = self.properties.get("workload")
        if name and name.value.strip().rsplit(".", 1)[-1] != "CoreWorkload":
            what = f"{name.value.strip()} is not the core workload"
            raise self._error("workload", what, "only CoreWorkload is read from property files")

    def _distribution(self) -> dict[str, Any]:
        kind = self._text("requestdistribution", DISTRIBUTION_DEFAULTS)
        number = {n: self._value(n, _number, DISTRIBUTION_DEFAULTS) for n in list(DISTRIBUTION_DEFAULTS)[1:]}
        if kind == "hotspot":
            data, operations = number["hotspotdatafraction"], number["hotspotopnfraction"]
            return {"kind": kind, "data_fraction": data, "operation_fraction": operations}
        if kind == "exponential":
            percentile, fraction = number["exponential.percentile"], number["exponential.frac"]
            return {"kind": kind, "percentile": percentile, "fraction": fraction}
        known = ("uniform", "zipfian", "latest", "hotspot", "sequential", "exponential")
        if kind not in known:
            hint = f"it is one of: {', '.join(known)}"
            raise self._error("requestdistribution", f"there is no request distribution `{kind}`", hint)
        return {"kind": kind}

    def _lengths(self) -> dict[str, Any]:
        kind = self._text("fieldlengthdistribution", LENGTH_DEFAULTS)
        if kind != "histogram":
            return {"kind": kind}
        return {"kind": kind, **read_histogram(self._histogram_path())}

    def _histogram_path(self) -> Path:
        return self.path.parent / self._text("fieldlengthhistogram", LENGTH_DEFAULTS)

    def _hints(self) -> Hints:
        threads, target, operations, seconds = (self._value(name, _whole, dict.fromkeys(HINTS, "0")) for name in HINTS)
        return Hints(threads or None, float(target) or None, operations or None, float(seconds) or None)

    def _text(self, name: str, defaults: dict[str, str]) -> str:
        said = self.properties.get(name)
        return (said.value if said else defaults[name]).strip()

    def _value(self, name: str, convert: Callable[[str], Any], defaults: dict[str, str] | None = None) -> Any:
        text = self._text(name, defaults or {})
        try:
            return convert(text)
        except ValueError:
            wanted = "a number" if convert is _number else "a whole number"
            raise self._error(name, f"`{name}` must be {wanted}, not `{text[:40]}`", "") from None

    def _error(self, name: str, what: str, hint: str, said: Property | None = None) -> PlanError:
        said = said or self.properties.get(name)
        place = f"{self.path}, line {said.line}" if said else str(self.path)
        return PlanError(what, where=place, hint=hint)


def read_histogram(path: Path) -> dict[str, Any]:
    """A histogram of field lengths: `BlockSize<TAB>n`, then `bucket<TAB>count` a line."""
    hint = "its first line is BlockSize, a tab and a number; each further one a bucket, a tab and a count"
    try:
        lines = input_files.read_text(path, encoding="latin-1").splitlines()
    except OSError as error:
        what = f"the histogram of field lengths cannot be read: {error.strerror or error}"
        raise PlanError(what, where=str(path), hint="its name is relative to the property file") from error
    rows = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    pairs: list[tuple[str, int]] = []
    for number, parts in rows:
        try:
            first, second = parts
            pairs.append((first, int(second)))
            if len(pairs) > 1:
                int(first)
        except ValueError as error:
            raise PlanError("not a histogram of field lengths", where=f"{path}, line {number}", hint=hint) from error
    if not pairs or pairs[0][0].lower() != "blocksize":
        raise PlanError("not a histogram of field lengths", where=str(path), hint=hint)
    block_size = pairs[0][1]
    buckets = [[int(bucket), count] for bucket, count in pairs[1:]]
    return {"block_size": block_size, "buckets": buckets}
