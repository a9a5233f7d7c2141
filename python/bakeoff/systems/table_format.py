"""How a system stores the rows of its tables on disk, by portable names: a system's option `table_format`, or a factor.

    plain                   as the system does by itself
    page-compressed         each page on its way to the disk, which gives up the space it no longer needs (holes in the
                            file); page-compressed:lz4 names the algorithm
    row-compressed          pages that hold compressed rows; row-compressed:8 gives their size in KiB
    rocksdb                 in a log-structured tree instead of pages in place

A kind of system that knows more than `plain` says how it makes each; see `bakeoff.systems.mysql.formats`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.errors import PlanError
from bakeoff.model.levels import TABLE_FORMAT
from bakeoff.suggestions import one_of

PLAIN = "plain"
ALGORITHMS = ("zlib", "lz4", "lzo", "lzma", "bzip2", "snappy")
BLOCKS_KIB = ("8", "4", "2", "1")
#: By name: what may follow a colon. The first is what is taken where nothing does.
_DETAILS: dict[str, Sequence[str]] = {
    PLAIN: (),
    "page-compressed": ALGORITHMS,
    "row-compressed": BLOCKS_KIB,
    "rocksdb": (),
}


@dataclass(frozen=True)
class TableFormat:
    name: str
    detail: str = ""  # an algorithm, or a size in KiB

    @property
    def foreign_keys(self) -> bool:
        """Whether its tables may refer to each other. MyRocks refuses to make one that does."""
        return self.name != "rocksdb"

    def __str__(self) -> str:
        return f"{self.name}:{self.detail}" if self.detail else self.name


def read_format(text: str, where: str) -> TableFormat:
    """Raises PlanError, which names what is nearest. where: of the system's table."""
    name, colon, detail = text.partition(":")
    place = f"{where}.{TABLE_FORMAT}"
    if name not in _DETAILS:
        raise PlanError(f"unknown table format {text!r}", where=place, hint=one_of(name, _DETAILS))
    details = _DETAILS[name]
    if colon and detail not in details:
        hint = f"after the colon write {', '.join(details[:-1])} or {details[-1]}" if details else f"write {name!r}"
        raise PlanError(f"unknown table format {text!r}", where=place, hint=hint)
    return TableFormat(name, detail or (details[0] if details else ""))


def only_plain(options: dict[str, Any], kind: str, where: str) -> dict[str, Any]:
    """The options of a system of a kind that stores tables in one way, without the word for it. Raises PlanError."""
    if TABLE_FORMAT not in options:
        return options
    if options[TABLE_FORMAT] != PLAIN:
        what = f"{kind} has one table format only, not {options[TABLE_FORMAT]!r}"
        hint = f'for one system only write "NAME.{TABLE_FORMAT}", or leave this system out with [[cells]]'
        raise PlanError(what, where=f"{where}.{TABLE_FORMAT}", hint=hint)
    return {name: value for name, value in options.items() if name != TABLE_FORMAT}
