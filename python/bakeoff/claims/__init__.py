"""Claims of an article, judged by runs of it: what the article says as data (`document`), which cells a claim is about
(`select`), what is measured of them (`measured`, `figures`), the kinds of tests (`kinds`), verdicts (`verdict`), where
articles and their plans are (`article`), and a page of all (`page`)."""
