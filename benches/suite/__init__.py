"""`make bench`: bakeoff and its peers on one managed server, in shuffled rounds, as ratios with intervals.

    python -m benches.suite --help          from the repository's root

Read rows.py for what is asked and which bars apply, window.py for how one run is measured, pairs.py for what is made
of many; servers/ and peers/ have one file each, ours.py the engine, special.py what is not an OLTP script. The method
is in docs/method/benchmarks.md.
"""
