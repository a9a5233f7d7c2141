"""LinkBench in a plan: property files of the original in addition to the engine's options. A workload file
(FBWorkload.properties), or a configuration (LinkConfigMysql.properties), which goes before the workload file that it
names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import PlanError
from .base import Asked, Hints, read_text
from .property_files import Properties, PropertyFile, as_boolean, as_number, as_whole, file_option, with_file

FILE_OPTIONS = [file_option("linkbench_file", "A workload or configuration file")]


def read(options: dict[str, Any], base_dir: Path) -> Asked:
    """The [workload] table without `kind`. Raises PlanError."""
    return with_file(options, base_dir, "linkbench_file", read_linkbench_file)


SHARES = (
    *("addlink", "deletelink", "updatelink", "countlink", "getlink", "getlinklist"),
    *("getnode", "addnode", "updatenode", "deletenode"),
)
#: Properties that are options of the same name, with how their text is read.
MAPPED: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("startid1", "maxid1", "link_type_count", "loader_chunk_size", "id2gen_config"), as_whole),
    "generate_nodes": as_boolean,
    **dict.fromkeys(("link_datasize", "node_datasize", "getlinklist_history", *SHARES), as_number),
    **dict.fromkeys(("link_multiget_dist_min", "link_multiget_dist_max"), as_whole),
    **dict.fromkeys(("link_multiget_dist_prob", "read_uncorr_blend", "write_uncorr_blend"), as_number),
}
#: Streams of ids: each a `_function` with a `_shape` of its own.
STREAMS = ("read", "read_uncorr", "write", "write_uncorr", "node_read", "node_update", "node_delete")
#: Kinds of payload: each a class with `_startbyte`, `_endbyte`, and so on.
GENERATORS = ("link_add_datagen", "link_up_datagen", "node_add_datagen", "node_up_datagen")
_PARTS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("startbyte", "endbyte", "motif_length"), as_whole),
    "uniqueness": as_number,
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
    **dict.fromkeys(("host", "port", "user", "password", "dbid"), "it belongs in [systems.NAME]"),
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
}


def read_linkbench_file(path: Path) -> PropertyFile:
    """Raises PlanError naming the file, the line and the property."""
    properties = Properties.read(path, "linkbench_file")
    paths = [path]
    if named := properties.get("workload_file"):
        found = _find(path, named.value)
        if found is None:
            raise named.error(f"the workload file `{named.value}` does not exist", "put it next to this file")
        properties = Properties(Properties.read(found, "linkbench_file") | properties)
        paths.append(found)
    return _Reader(paths, properties).read()


def _find(beside: Path, name: str) -> Path | None:
    """The original looks in its own folder, in which the property files have a folder `config`."""
    places = (beside.parent / name, beside.parent.parent / name, beside.parent / Path(name).name)
    return next((place for place in places if place.is_file()), None)


@dataclass
class _Reader:
    paths: list[Path]
    properties: Properties

    def read(self) -> PropertyFile:
        found = PropertyFile(advice=self.properties.ignored(KNOWN, IGNORED, IGNORED_PREFIXES), sources=list(self.paths))
        for name, convert in MAPPED.items():
            if name in self.properties:
                found.options[name] = self.properties.value(name, convert)
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
            found.advice.append(f"{said.path.name} contains a password, so the bundle keeps no copy of it")
        return found

    def _access(self, stream: str) -> dict[str, Any] | None:
        """A shape alone is that of Zipf, as the original's own file has it for `write_uncorr`."""
        function, shape = f"{stream}_function", f"{stream}_shape"
        said = self.properties.get(function)
        kind = said.value.rsplit(".", 1)[-1] if said else "ZipfDistribution"
        if said is None and shape not in self.properties:
            return None
        if kind == "UniformDistribution":
            return {"kind": "uniform"}
        if said is not None and kind != "ZipfDistribution":
            hint = "use ZipfDistribution or UniformDistribution"
            raise said.error(f"`{function}` cannot be {said.value}", hint)
        if said is not None and shape not in self.properties:
            raise said.error(f"`{shape}` is missing", "a Zipf distribution needs a shape, such as 0.8")
        return {"kind": "zipf", "shape": self.properties.value(shape, as_number)}

    def _datagen(self, generator: str) -> dict[str, Any]:
        said = self.properties[generator]
        parts = {part: f"{generator}_{part}" for part in _PARTS}
        made = {
            part: self.properties.value(name, _PARTS[part]) for part, name in parts.items() if name in self.properties
        }
        match said.value.rsplit(".", 1)[-1]:
            case "UniformDataGenerator":
                made["uniqueness"] = 1.0
            case "MotifDataGenerator":
                pass
            case _:
                hint = "use MotifDataGenerator or UniformDataGenerator"
                raise said.error(f"`{generator}` cannot be {said.value}", hint)
        for part in ("startbyte", "endbyte", "uniqueness"):
            if part not in made:
                raise said.error(f"`{generator}_{part}` is missing", "a generator needs all of its parts")
        return made

    def _refuse_random_id2s(self) -> None:
        if self.properties.get("randomid2max") and self.properties.value("randomid2max", as_whole) != 0:
            said = self.properties["randomid2max"]
            what = "`randomid2max` must be 0"
            raise said.error(what, "links point to the ids after their node's")

    def _link_counts(self, found: PropertyFile) -> None:
        said = self.properties.get("nlinks_func")
        if said is not None and said.value.lower() != "real":
            hint = 'use real; or write nlinks_func = { kind = "constant", links = 4 } in the plan'
            raise said.error(f"`nlinks_func` cannot be {said.value}", hint)
        if (data := self.properties.get("data_file")) is None:
            return
        path = _find(data.path, data.value)
        if path is None:
            found.advice.append(f"{data.value} does not exist: bakeoff's own table gives the number of links per node")
            return
        found.options["nlinks_func"] = {"kind": "real", "points": read_distribution(path)}
        found.sources.append(path)

    def _hints(self) -> Hints:
        """Rates and requests are of one thread."""
        said = {name: self.properties.value(name, as_number) for name in HINTS if name in self.properties}
        threads = int(said["requesters"]) if said.get("requesters") else None
        rate, requests = max(said.get("requestrate", 0.0), 0.0), said.get("requests", 0.0)
        return Hints(
            threads=threads,
            rate_ops_per_s=rate * (threads or 1) or None,
            operations=int(requests) * (threads or 1) or None,
            window_s=said.get("maxtime") or None,
        )


# ---- The file of observed distributions (Distribution.dat): of its sections only `nlinks`, the number of links that
# nodes have, and of its 20,000 points as many as tell all others by lines between them. ----

#: A number of links, and the per cent of nodes that have no more.
Point = tuple[int, float]

_SECTION = "nlinks"
#: Share of nodes by which a line may miss a point; of few nodes no more than a hundredth of them.
LOSS_MAX = 1e-6
LOSS_OF_TAIL_MAX = 0.01
#: Up to here every number of links keeps its own point.
EXACT_MAX = 10


def read_distribution(path: Path) -> list[Point]:
    """Raises PlanError naming the file and the line."""
    points: list[Point] = []
    section = None
    for number, line in enumerate(read_text(path, "data_file").splitlines(), 1):
        words = line.split()
        if len(words) == 1:
            section = words[0]
        elif words and section == _SECTION:
            points.append(_point(words, path, number))
            if len(points) > 1 and not (points[-2][0] < points[-1][0] and points[-2][1] <= points[-1][1]):
                raise _not_rising(path, number, "points must increase")
    if not points:
        raise PlanError(
            f"the section `{_SECTION}` is missing", where=str(path), hint="use the original's Distribution.dat"
        )
    # Sums of shares differ a little from 100.
    points[-1] = (points[-1][0], 100.0)
    return thinned([(links, min(percent, 100.0)) for links, percent in points])


def _point(words: list[str], path: Path, line: int) -> Point:
    try:
        links, percent = words
        return int(links), float(percent)
    except ValueError:
        raise _not_rising(path, line, "not a number of links and a percentage") from None


def _not_rising(path: Path, line: int, what: str) -> PlanError:
    hint = "a line has a number of links and the percentage of nodes with at most that many, both increasing"
    return PlanError(what, where=f"{path}, line {line}", hint=hint)


def thinned(points: Sequence[Point]) -> list[Point]:
    """Those of the points between which lines tell the others: of the share above, over the number of links, both
    as logarithms; towards a last point, above which there is none, of the share itself."""
    kept, last = [points[0]], 0
    while last < len(points) - 1:
        last = _farthest(points, last)
        kept.append(points[last])
    return kept


def _farthest(points: Sequence[Point], first: int) -> int:
    """The last point to which a line from `first` tells all between."""
    reached, step = first + 1, 2
    if points[first][0] < EXACT_MAX:
        return reached
    while first + step < len(points) and _tells(points, first, first + step):
        reached = first + step
        step *= 2
    beyond = min(first + step, len(points))
    while reached + 1 < beyond:
        middle = (reached + beyond) // 2
        if _tells(points, first, middle):
            reached = middle
        else:
            beyond = middle
    return reached


def _tells(points: Sequence[Point], first: int, last: int) -> bool:
    (low, _), (high, _) = points[first], points[last]
    above, above_high = _above(points[first]), _above(points[last])
    if above == 0.0:
        return True
    scale = math.log(high / low)
    for point in points[first + 1 : last]:
        way = math.log(point[0] / low) / scale
        told = above * (above_high / above) ** way if above_high > 0.0 else above * (1.0 - way)
        actual = _above(point)
        if abs(told - actual) > min(LOSS_MAX, LOSS_OF_TAIL_MAX * actual):
            return False
    return True


def _above(point: Point) -> float:
    return 1.0 - point[1] / 100.0
