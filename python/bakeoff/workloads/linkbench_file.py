"""Property files of the original LinkBench, read unchanged and put into our words: a workload file
(FBWorkload.properties), or a configuration (LinkConfigMysql.properties), which goes before the workload file that it
names.

Every property is one of four: it becomes an option of ours, or a hint for the plan (threads, rate, limit), or it
belongs to something this tool does its own way and is reported as ignored, or it is unknown and refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import PlanError
from .base import Hints
from .linkbench_distribution import read_distribution
from .property_files import parse, read_text


@dataclass
class LinkbenchFile:
    options: dict[str, Any] = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)
    advice: list[str] = field(default_factory=list)
    #: Files that were read, but for those that hold a password: a bundle keeps copies.
    sources: list[Path] = field(default_factory=list)


def _whole(text: str) -> int:
    return int(text.strip())


def _number(text: str) -> float:
    return float(text.strip())


def _boolean(text: str) -> bool:
    return text.strip().lower() == "true"  # as Java parses: anything else is false


SHARES = (
    *("addlink", "deletelink", "updatelink", "countlink", "getlink", "getlinklist"),
    *("getnode", "addnode", "updatenode", "deletenode"),
)
#: Properties that are options of the same name, with how their text is read.
MAPPED: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("startid1", "maxid1", "link_type_count", "loader_chunk_size", "id2gen_config"), _whole),
    "generate_nodes": _boolean,
    **dict.fromkeys(("link_datasize", "node_datasize", "getlinklist_history", *SHARES), _number),
    **dict.fromkeys(("link_multiget_dist_min", "link_multiget_dist_max"), _whole),
    **dict.fromkeys(("link_multiget_dist_prob", "read_uncorr_blend", "write_uncorr_blend"), _number),
}
#: Streams of ids: each a `_function` with a `_shape` of its own.
STREAMS = ("read", "read_uncorr", "write", "write_uncorr", "node_read", "node_update", "node_delete")
#: Kinds of payload: each a class with `_startbyte`, `_endbyte`, and so on.
GENERATORS = ("link_add_datagen", "link_up_datagen", "node_add_datagen", "node_up_datagen")
_PARTS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("startbyte", "endbyte", "motif_length"), _whole),
    "uniqueness": _number,
}
HINTS = ("requesters", "requests", "requestrate", "maxtime")
#: Looked at in ways of their own.
OTHERS = ("workload_file", "data_file", "nlinks_func", "randomid2max", "link_multiget_dist")
#: Each with where it is said, or why it means nothing here.
IGNORED = {
    "load_random_seed": "it is seed = 1 at the top of the plan",
    "request_random_seed": "it is seed = 1 at the top of the plan",
    "warmup_time": 'it is warm_up = "10s" in [measure]',
    "max_failed_requests": "failures are counted, and error_budget in [measure] bounds them",
    **dict.fromkeys(("host", "port", "user", "password", "dbid"), "it is said in [systems.NAME]"),
    **dict.fromkeys(
        (
            *("linkstore", "nodestore", "linkstorefactory", "nodestorefactory", "linktable", "nodetable", "counttable"),
            *("loaders", "debuglevel", "displayfreq", "progressfreq", "maxsamples", "datasize", "reportprogress"),
            *("req_progress_interval", "load_progress_interval", "tempdir", "loaddata", "useinputfiles"),
            *("nlinks_config", "nlinks_default", "nlinks_shape", "nlinks_mean"),
            *(f"{stream}_config" for stream in STREAMS),
        ),
        "",
    ),
}
#: Settings of the original's drivers.
IGNORED_PREFIXES = ("mysql_", "rocksdb_", "hbase", "phoenix")

KNOWN = {
    *MAPPED,
    *(f"{stream}_{part}" for stream in STREAMS for part in ("function", "shape")),
    *GENERATORS,
    *(f"{generator}_{part}" for generator in GENERATORS for part in _PARTS),
    *HINTS,
    *OTHERS,
    *IGNORED,
}


@dataclass(frozen=True)
class _Said:
    """A property and the file that it is from."""

    path: Path
    line: int
    text: str


def read_linkbench_file(path: Path) -> LinkbenchFile:
    """Raises PlanError naming the file, the line and the property."""
    properties = _read(path)
    paths = [path]
    if named := properties.get("workload_file"):
        found = _find(path, named.text)
        if found is None:
            raise _error("workload_file", named, f"there is no workload file `{named.text}`", "put it beside this file")
        properties = _read(found) | properties
        paths.append(found)
    return _Reader(paths, properties).read()


def _read(path: Path) -> dict[str, _Said]:
    text = read_text(path, "linkbench_file", encoding="latin-1")  # what java.util.Properties reads
    return {name: _Said(path, said.line, said.value.strip()) for name, said in parse(text).items()}


def _find(beside: Path, name: str) -> Path | None:
    """The original looks in its own folder, in which the property files have a folder `config`."""
    places = (beside.parent / name, beside.parent.parent / name, beside.parent / Path(name).name)
    return next((place for place in places if place.is_file()), None)


def _error(name: str, said: _Said, what: str, hint: str) -> PlanError:
    return PlanError(what, where=f"{said.path}, line {said.line}", hint=hint)


@dataclass
class _Reader:
    paths: list[Path]
    properties: dict[str, _Said]

    def read(self) -> LinkbenchFile:
        found = LinkbenchFile(advice=self._ignored(), sources=list(self.paths))
        for name, convert in MAPPED.items():
            if name in self.properties:
                found.options[name] = self._value(name, convert)
        for stream in STREAMS:
            if (access := self._access(stream)) is not None:
                found.options[f"{stream}_function"] = access
        for stream in ("read", "write"):
            uncorrelated = [name for name in self.properties if name.startswith(f"{stream}_uncorr_")]
            if f"{stream}_function" in self.properties and not uncorrelated:
                found.options[f"{stream}_uncorr_blend"] = 0.0
        for generator in GENERATORS:
            if generator in self.properties:
                found.options[generator] = self._datagen(generator)
        if "getlink" in self.properties and "link_multiget_dist" not in self.properties:
            found.options |= {"link_multiget_dist_min": 1, "link_multiget_dist_max": 2}  # one at a time
        self._refuse_random_id2s()
        self._link_counts(found)
        found.hints = self._hints()
        if said := self.properties.get("password"):
            found.sources.remove(said.path)
            found.advice.append(f"{said.path.name} holds a password, so the bundle keeps no copy of it")
        return found

    def _ignored(self) -> list[str]:
        advice = []
        for name, said in self.properties.items():
            if name in IGNORED or name.startswith(IGNORED_PREFIXES):
                why = IGNORED.get(name)
                words = f"property `{name}` of the original has no meaning here and is ignored"
                advice.append(f"{words}: {why}" if why else words)
            elif name not in KNOWN:
                near = difflib.get_close_matches(name.lower(), sorted(KNOWN), n=1, cutoff=0.0)
                raise _error(name, said, f"unknown property `{name}`", f"did you mean `{near[0]}`?")
        return advice

    def _access(self, stream: str) -> dict[str, Any] | None:
        """A shape alone is that of Zipf, as the original's own file has it for `write_uncorr`."""
        function, shape = f"{stream}_function", f"{stream}_shape"
        said = self.properties.get(function)
        kind = said.text.rsplit(".", 1)[-1] if said else "ZipfDistribution"
        if said is None and shape not in self.properties:
            return None
        if kind == "UniformDistribution":
            return {"kind": "uniform"}
        if said is not None and kind != "ZipfDistribution":
            hint = "ZipfDistribution and UniformDistribution are there"
            raise _error(function, said, f"`{function}` cannot be {said.text}", hint)
        if said is not None and shape not in self.properties:
            raise _error(function, said, f"`{shape}` is missing", "a Zipf distribution has a shape, such as 0.8")
        return {"kind": "zipf", "shape": self._value(shape, _number)}

    def _datagen(self, generator: str) -> dict[str, Any]:
        said = self.properties[generator]
        parts = {part: f"{generator}_{part}" for part in _PARTS}
        made = {part: self._value(name, _PARTS[part]) for part, name in parts.items() if name in self.properties}
        match said.text.rsplit(".", 1)[-1]:
            case "UniformDataGenerator":
                made["uniqueness"] = 1.0
            case "MotifDataGenerator":
                pass
            case _:
                hint = "MotifDataGenerator and UniformDataGenerator are there"
                raise _error(generator, said, f"`{generator}` cannot be {said.text}", hint)
        for part in ("startbyte", "endbyte", "uniqueness"):
            if part not in made:
                raise _error(generator, said, f"`{generator}_{part}` is missing", "a generator has all of its parts")
        return made

    def _refuse_random_id2s(self) -> None:
        if self.properties.get("randomid2max") and self._value("randomid2max", _whole) != 0:
            said = self.properties["randomid2max"]
            what = "`randomid2max` cannot be other than 0"
            raise _error("randomid2max", said, what, "links lead to the ids that follow their node's")

    def _link_counts(self, found: LinkbenchFile) -> None:
        said = self.properties.get("nlinks_func")
        if said is not None and said.text.lower() != "real":
            hint = 'real is there; or say nlinks_func = { kind = "constant", links = 4 } in the plan'
            raise _error("nlinks_func", said, f"`nlinks_func` cannot be {said.text}", hint)
        if (data := self.properties.get("data_file")) is None:
            return
        path = _find(data.path, data.text)
        if path is None:
            found.advice.append(f"there is no {data.text}: how many links nodes have is said by bakeoff's own table")
            return
        found.options["nlinks_func"] = {"kind": "real", "points": read_distribution(path)}
        found.sources.append(path)

    def _hints(self) -> Hints:
        """Rates and requests are of one thread."""
        said = {name: self._value(name, _number) for name in HINTS if name in self.properties}
        threads = int(said["requesters"]) if said.get("requesters") else None
        rate, requests = max(said.get("requestrate", 0.0), 0.0), said.get("requests", 0.0)
        return Hints(
            threads=threads,
            rate_ops_per_s=rate * (threads or 1) or None,
            operations=int(requests) * (threads or 1) or None,
            window_s=said.get("maxtime") or None,
        )

    def _value(self, name: str, convert: Callable[[str], Any]) -> Any:
        said = self.properties[name]
        try:
            return convert(said.text)
        except ValueError:
            wanted = "a number" if convert is _number else "a whole number"
            raise _error(name, said, f"`{name}` must be {wanted}, not `{said.text[:40]}`", "") from None
