"""From a bundle to what people read: `answer` (the finding as data), `text` (a terminal), `html` (a page and charts).

Read `contest` (who is compared with whom, under which conditions), `answer`, `conclusion` (makes it), `limits`,
`config_diff`, then `figures` and `html`. Statistics are in `bakeoff.analysis`, drawing in `bakeoff.charts`; nothing
here computes or draws.
"""
