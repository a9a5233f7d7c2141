"""Named mixes of YCSB: the six core workloads (Cooper et al., SoCC 2010) and the scenarios of the LeanXcale article."""

from __future__ import annotations

from typing import Any


def _mix(read: float = 0, update: float = 0, insert: float = 0, scan: float = 0, rmw: float = 0) -> dict[str, Any]:
    return {
        "read_proportion": read,
        "update_proportion": update,
        "insert_proportion": insert,
        "scan_proportion": scan,
        "read_modify_write_proportion": rmw,
    }


_ZIPFIAN = {"request_distribution": {"kind": "zipfian"}}
_LATEST = {"request_distribution": {"kind": "latest"}}

#: The article's table, and its smaller size on every system (it gave the two systems unequal ones).
_LX = {
    "records": 40_000,
    "key_length": 100,
    "value_varchar": 255,
    "batch_size": 1000,
    "request_distribution": {"kind": "uniform"},
}

PRESETS: dict[str, dict[str, Any]] = {
    "a": {**_mix(read=0.5, update=0.5), **_ZIPFIAN},
    "b": {**_mix(read=0.95, update=0.05), **_ZIPFIAN},
    "c": {**_mix(read=1), **_ZIPFIAN},
    "d": {**_mix(read=0.95, insert=0.05), **_LATEST},
    "e": {**_mix(insert=0.05, scan=0.95), **_ZIPFIAN, "max_scan_length": 100},
    "f": {**_mix(read=0.5, rmw=0.5), **_ZIPFIAN},
    "lx-load": {**_LX, **_mix(insert=1), "ops_per_transaction": 1000},
    "lx-read": {**_LX, **_mix(read=1)},
    "lx-update": {**_LX, **_mix(update=1)},
    "lx-scan": {**_LX, **_mix(scan=1), "min_scan_length": 1, "max_scan_length": 1000},
    "lx-scan-500-1500": {**_LX, **_mix(scan=1), "min_scan_length": 500, "max_scan_length": 1500},
    "lx-scan-to-end": {**_LX, **_mix(scan=1), "scan_last_keys": 2000},
    "lx-read-update": {**_LX, **_mix(read=0.5, update=0.5)},
}

PRESET_WORDS: dict[str, str] = {
    "a": "update heavy: half reads, half updates, zipfian (session store)",
    "b": "read mostly: 95 % reads, 5 % updates, zipfian (photo tags)",
    "c": "read only, zipfian (profile cache)",
    "d": "read latest: 95 % reads of the newest records, 5 % inserts",
    "e": "short ranges: 95 % scans of up to 100 rows, 5 % inserts (threads of a forum)",
    "f": "read-modify-write: half reads, half read-modify-writes, zipfian (user records)",
    "lx-load": "LeanXcale article: inserts, 1000 to a transaction",
    "lx-read": "LeanXcale article: reads by primary key, uniform",
    "lx-update": "LeanXcale article: updates of one field by primary key, uniform",
    "lx-scan": "LeanXcale article, reading (a): scans of 1 to 1000 rows",
    "lx-scan-500-1500": "LeanXcale article, reading (b): scans of 500 to 1500 rows",
    "lx-scan-to-end": "LeanXcale article, reading (c): from one of the last 2000 keys to the end of the table",
    "lx-read-update": "LeanXcale article: half reads, half updates, uniform",
}
