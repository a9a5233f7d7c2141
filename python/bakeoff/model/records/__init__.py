"""What a bundle holds, as models. Layout of the folder (all JSON unless said otherwise):

    bundle.json              BundleInfo
    plan.toml                the plan as the user wrote it; files/ has copies of the files it names
    plan.json                PlanRecord: resolved
    machine.json             MachineFacts
    facts/<cell>.json        FactsRecord of the cell's system, read back after start
    loads/<dataset>.json     LoadRecord: one per data set that was loaded
    runs/<run>/run.json      the engine's document (client 0; others run.<n>.json)
    runs/<run>/result.json   RunRecord: all clients merged, server side included: the last file written
    runs/<run>/intervals.parquet   one row per second: second, warm_up, length_s, ok, errors, p50_ms to
                                   max_ms, statements (reads, writes, others), retries,
                                   retries_after_conflict, reconnects, and of each operation "ok.OPERATION";
                                   due, where the rate changes
    runs/<run>/tenths.parquet      one row for each tenth of a second: at_s (since the epoch), ok, and writes, those of
                                   them that write, or may
    runs/<run>/nodes.parquet       of a system of several nodes, one row per second: second, then of each "NODE.ok",
                                   "NODE.errors" and these by outcome, "NODE.p50_ms" (of ok) to "NODE.max_ms",
                                   "NODE.reconnects"
    runs/<run>/histograms.json.gz  HDR histograms of response times by second, operation and outcome, merged over
                                   clients; after an hour of a minute each
    runs/<run>/server.parquet      one row per second, after an hour per minute: second, length_s, then columns
                                   "os.*" and "db.*"; of a system of several nodes "os.NODE.*" and "db.NODE.*",
                                   too, and debt and facts by NODE in the same way
    runs/<run>/engine.log, server.log
    verify/<cell>.json       VerificationRecord: what experiments after the runs showed of a system at one level,
                             where the plan asks for them; it lists all cells that it speaks for
    analyses.jsonl           one AnalysisRecord a line: each answer that was given, with its verdicts
    bundle.lock              held by whoever writes into the bundle
    live.jsonl               events of a plan that is being carried out; taken away at its end
    charts/*.svg *.png, report.html  made by `bakeoff report`

A run's id is "b03-ck3v9x2mq": block 3 and its cell's id, a hash of what that cell is. Everything a report needs is in
PlanRecord, FactsRecords, RunRecords and VerificationRecords.
"""
