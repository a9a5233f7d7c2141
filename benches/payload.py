"""How far what LinkBench stores compresses, by codec: docs/reference/workloads/linkbench-graph.md, "Payload".

    bakeoff load PLAN       # of LinkBench on SQLite: [systems.sqlite] file = "lb.db"
    python -m benches.payload lb.db

Payload is packed into pages of 16 KiB, as InnoDB does, and each page is compressed alone.
"""

from __future__ import annotations

import sqlite3
import sys

import pyarrow

PAGE_BYTES = 16 << 10
CODECS = {"lz4": pyarrow.Codec("lz4_raw"), "zlib": pyarrow.Codec("gzip"), "zstd": pyarrow.Codec("zstd")}


def main(path: str) -> None:
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for table in ("nodetable", "linktable"):
        column = b"".join(bytes(row[0]) for row in database.execute(f"SELECT data FROM {table} ORDER BY rowid"))
        pages = [column[at : at + PAGE_BYTES] for at in range(0, len(column) - PAGE_BYTES + 1, PAGE_BYTES)]
        if not pages:
            raise SystemExit(f"{table} has less than one page of payload: load more nodes")
        ratios = {
            name: sum(len(codec.compress(page, asbytes=True)) for page in pages) / (len(pages) * PAGE_BYTES)
            for name, codec in CODECS.items()
        }
        found = ", ".join(f"{name} {ratio:.0%}" for name, ratio in ratios.items())
        print(f"{table}: {len(column):,} bytes of payload; compressed by page to {found}")


if __name__ == "__main__":
    main(sys.argv[1])
