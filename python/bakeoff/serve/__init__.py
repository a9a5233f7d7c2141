"""`bakeoff serve`: a folder of results as a local site. It reads bundles and events, and writes nothing but the answers
that `bakeoff compare` records.

Read `app` (what is at which address), then `access` (who may ask), `going` (a plan that is being carried out),
`history` (the list of bundles), `pages` (words and figures) and `openmetrics`.
"""
