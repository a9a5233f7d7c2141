"""What was asked of a level or a value, and whether it holds: `limits` by the `evidence` of runs, `searches` for the
level at which they do (`search_verdict`), `thresholds` of `fail_if`, and `contradictions` between these.
"""
