"""Pure functions from numbers to statements: no files, no database, nothing of ours but numbers passed in.

Read `histograms` (what one run recorded), `steady` (did it settle), `summary` (over repetitions), `compare`
(two systems), `thresholds` (on a change or a value), `validity` (what may be believed). Each statistic is
explained, with its source and what it cannot tell, under docs/method/.

Import the rooms, not this package: it stays empty so that commands that compute nothing start at once.
"""
