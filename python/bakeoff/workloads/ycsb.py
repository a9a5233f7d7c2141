"""YCSB in a plan: property files of the original in addition to the engine's options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import input_files
from ..errors import PlanError
from .base import Asked, Hints
from .property_files import Properties, PropertyFile, as_boolean, as_number, as_whole, file_option, with_file

FILE_OPTIONS = [file_option("ycsb_file", "A property file")]


def read(options: dict[str, Any], base_dir: Path) -> Asked:
    """The [workload] table without `kind`. Raises PlanError."""
    return with_file(options, base_dir, "ycsb_file", read_ycsb_file)


#: recordcount=0, the original's default, means this many.
ALL_RECORDS = 2**31 - 1


def _insert_order(text: str) -> str:
    return "hashed" if text == "hashed" else "ordered"


def _group(text: str) -> int:
    """Without autocommit the original commits reads and updates once, when a thread ends."""
    return 1 if as_boolean(text) else 0


def _batch(text: str) -> int:
    return max(as_whole(text), 1)  # 0 and below switch batches off


#: Property of the original -> (option of ours, how its text is read).
MAPPED: dict[str, tuple[str, Callable[[str], Any]]] = {
    "table": ("table", str),
    "recordcount": ("records", lambda text: as_whole(text) or ALL_RECORDS),
    "insertstart": ("insert_start", as_whole),
    "insertcount": ("insert_count", as_whole),
    "operationcount": ("operation_count", lambda text: as_whole(text) or None),
    "fieldcount": ("field_count", as_whole),
    "fieldlength": ("field_length", as_whole),
    "minfieldlength": ("min_field_length", as_whole),
    "fieldnameprefix": ("field_prefix", str),
    "readallfields": ("read_all_fields", as_boolean),
    "readallfieldsbyname": ("read_all_fields_by_name", as_boolean),
    "writeallfields": ("write_all_fields", as_boolean),
    "dataintegrity": ("data_integrity", as_boolean),
    "readproportion": ("read_proportion", as_number),
    "updateproportion": ("update_proportion", as_number),
    "insertproportion": ("insert_proportion", as_number),
    "scanproportion": ("scan_proportion", as_number),
    "readmodifywriteproportion": ("read_modify_write_proportion", as_number),
    "minscanlength": ("min_scan_length", as_whole),
    "maxscanlength": ("max_scan_length", as_whole),
    "scanlengthdistribution": ("scan_length_distribution", str),
    "insertorder": ("insert_order", _insert_order),
    "zeropadding": ("zero_padding", as_whole),
    "core_workload_insertion_retry_limit": ("insertion_retry_limit", as_whole),
    "core_workload_insertion_retry_interval": ("insertion_retry_interval_s", as_number),
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
IGNORED = dict.fromkeys(
    (
        *("db", "dotransactions", "columnfamily", "exporter", "exportfile", "label", "status", "measurementtype"),
        *("reportlatencyforeacherror", "latencytrackederrors", "core_workload_insertion_keep_going_on_error"),
        *("host", "hosts", "port", "debug", "cluster"),
    ),
    "",
)
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

KNOWN = {*MAPPED, *DISTRIBUTION_DEFAULTS, *LENGTH_DEFAULTS, *HINTS, "workload"}


def read_ycsb_file(path: Path) -> PropertyFile:
    """Raises PlanError naming the file, the line and the property."""
    return _Reader(path, Properties.read(path, "ycsb_file")).read()


@dataclass
class _Reader:
    path: Path
    properties: Properties

    def read(self) -> PropertyFile:
        self._refuse_other_workloads()
        found = PropertyFile(advice=self.properties.ignored(KNOWN, IGNORED, IGNORED_PREFIXES), sources=[self.path])
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

    def _refuse_other_workloads(self) -> None:
        said = self.properties.get("workload")
        if said and said.value.rsplit(".", 1)[-1] != "CoreWorkload":
            raise said.error(f"{said.value} is not CoreWorkload", "bakeoff reads only CoreWorkload from property files")

    def _distribution(self) -> dict[str, Any]:
        kind = self._text("requestdistribution", DISTRIBUTION_DEFAULTS)
        share = {n: self._value(n, as_number, DISTRIBUTION_DEFAULTS) for n in list(DISTRIBUTION_DEFAULTS)[1:]}
        if kind == "hotspot":
            data, operations = share["hotspotdatafraction"], share["hotspotopnfraction"]
            return {"kind": kind, "data_fraction": data, "operation_fraction": operations}
        if kind == "exponential":
            percentile, fraction = share["exponential.percentile"], share["exponential.frac"]
            return {"kind": kind, "percentile": percentile, "fraction": fraction}
        known = ("uniform", "zipfian", "latest", "hotspot", "sequential", "exponential")
        if kind not in known:
            hint = f"it is one of: {', '.join(known)}"
            raise self.properties["requestdistribution"].error(f"unknown request distribution `{kind}`", hint)
        return {"kind": kind}

    def _lengths(self) -> dict[str, Any]:
        kind = self._text("fieldlengthdistribution", LENGTH_DEFAULTS)
        if kind != "histogram":
            return {"kind": kind}
        return {"kind": kind, **read_histogram(self._histogram_path())}

    def _histogram_path(self) -> Path:
        return self.path.parent / self._text("fieldlengthhistogram", LENGTH_DEFAULTS)

    def _hints(self) -> Hints:
        none = dict.fromkeys(HINTS, "0")
        threads, target, operations, seconds = (self._value(name, as_whole, none) for name in HINTS)
        return Hints(threads or None, float(target) or None, operations or None, float(seconds) or None)

    def _text(self, name: str, defaults: dict[str, str]) -> str:
        said = self.properties.get(name)
        return said.value if said else defaults[name]

    def _value(self, name: str, convert: Callable[[str], Any], defaults: dict[str, str] | None = None) -> Any:
        return self.properties.value(name, convert, (defaults or {}).get(name, ""))


def read_histogram(path: Path) -> dict[str, Any]:
    """A histogram of field lengths: `BlockSize<TAB>n`, then `bucket<TAB>count` a line."""
    hint = "the first line is BlockSize, a tab and a number; each further line a bucket, a tab and a count"
    try:
        lines = input_files.read_text(path, encoding="latin-1").splitlines()
    except OSError as error:
        what = f"the histogram of field lengths cannot be read: {error.strerror or error}"
        raise PlanError(what, where=str(path), hint="its path is relative to the property file") from error
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
