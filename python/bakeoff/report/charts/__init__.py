"""Charts of a report. Each draws SVG from numbers, without a browser, a font or a network.

Read `svg` (the canvas, colours), `scales` and `panel` (axes), then the charts: `sweep` (any value over a factor),
`search`, `spectrum`, `timeline` with `server` beneath, `interval`; `figures` says which numbers of a bundle go where.

Why no chart library (measured 2026-11-21 on two cores): altair takes 0.65 s to import and 0.1 s a chart, its renderer
0.5 s to start and 0.1 to 0.4 s a chart, the script that makes its charts interactive 3.5 s to bundle and 0.9 MB of
report. `bakeoff report` may take 3 s in all. See docs/decisions/0005-bakeoff-draws-its-own-svg-charts.md.

Colours are given twice: as attributes, which every viewer of an SVG file understands, and as classes, which let the
report's style sheet change them in dark mode and in print.
"""
