"""`bakeoff serve`: a folder of results as a local site. It reads bundles and events. It writes answers that `bakeoff
compare` records, notes, and plans that its user saves; what runs or installs something is a command of its own.

Read `app` (what is at which address), then `access` (who may ask), `going` (a plan that is being carried out),
`history` (the list of bundles), `editor` with `plans` and `processes` (plans are written, checked, saved and run),
`systems` with `installs`, `pages` (words and figures) and `openmetrics`.
"""
