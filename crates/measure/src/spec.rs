//! Reading a run document, and refusing what cannot be run, in words.
use crate::user::watchdog::TIMEOUT_MIN_S;
use crate::words::usage;
use bakeoff_model::FORMAT;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::{ExperimentSpec, Limit, Pacing, RunSpec};

/// What one process may be asked for: beyond it a typing error is likelier than a wish.
const MOST_THREADS: u32 = 100_000;

/// Checks the format first, so that a newer document is named as such instead of by its first unknown key.
pub fn parse(text: &str) -> Result<RunSpec, Trouble> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| unreadable(&e))?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        None => {
            return Err(usage(
                "`format` is missing or no number",
                "run.json",
                format!("write \"format\": {FORMAT}"),
            ));
        }
        Some(format) if format > u64::from(FORMAT) => {
            let what = format!("the document has format {format}, this engine reads up to {FORMAT}");
            return Err(usage(
                what,
                "run.json: format",
                "use an engine as new as the controller",
            ));
        }
        Some(0) => {
            return Err(usage(
                "there is no format 0",
                "run.json: format",
                format!("write \"format\": {FORMAT}"),
            ));
        }
        Some(_) => {}
    }
    let spec: RunSpec = serde_json::from_str(text).map_err(|e| unreadable(&e))?;
    check(&spec)?;
    Ok(spec)
}

fn unreadable(error: &serde_json::Error) -> Trouble {
    usage(
        error.to_string(),
        "run.json",
        "`bakeoff-engine schema` prints what a run document may hold",
    )
}

pub fn check(spec: &RunSpec) -> Result<(), Trouble> {
    let refuse = |what: String, key: &str, hint: &str| Err(usage(what, &format!("run.json: {key}"), hint));
    if spec.threads == 0 || spec.threads > MOST_THREADS {
        return refuse(
            format!("{} threads", spec.threads),
            "threads",
            "ask for 1 to 100000",
        );
    }
    if let Some(sessions) = spec
        .sessions
        .filter(|sessions| *sessions == 0 || *sessions > spec.threads)
    {
        let what = format!("{sessions} sessions for {} threads", spec.threads);
        return refuse(
            what,
            "sessions",
            "a pool has at least 1 session and at most as many as threads",
        );
    }
    if spec.client.count == 0 || spec.client.index >= spec.client.count {
        let what = format!("client {} of {}", spec.client.index, spec.client.count);
        return refuse(what, "client", "`index` counts from 0 and stays below `count`");
    }
    if let Pacing::Open {
        rate_ops_per_s,
        stages,
        ..
    } = &spec.pacing
    {
        positive(*rate_ops_per_s, "pacing.rate_ops_per_s")?;
        for stage in stages {
            positive(stage.for_s, "pacing.stages.for_s")?;
            not_negative(stage.from_ops_per_s, "pacing.stages.from_ops_per_s")?;
            not_negative(stage.to_ops_per_s, "pacing.stages.to_ops_per_s")?;
        }
        if !stages.is_empty() && !matches!(spec.limit, Limit::Time { .. }) {
            let hint = "stages last a time, so give the window's length";
            return refuse("stages with a number of operations".into(), "limit", hint);
        }
    }
    if let Pacing::Thinking { mean_s, .. } = spec.pacing {
        positive(mean_s, "pacing.mean_s")?;
    }
    match spec.limit {
        Limit::Time { window_s } => positive(window_s, "limit.window_s")?,
        Limit::Operations { operations: 0, .. } => {
            return refuse("0 operations".into(), "limit.operations", "ask for at least 1");
        }
        Limit::Operations { max_s, .. } => max_s.map_or(Ok(()), |s| positive(s, "limit.max_s"))?,
    }
    not_negative(spec.warm_up_s, "warm_up_s")?;
    positive(spec.timeout_s, "timeout_s")?;
    if spec.timeout_s < TIMEOUT_MIN_S {
        let hint = "at least 0.01 s: what is overdue is looked for once a millisecond at most";
        return refuse(format!("a timeout of {} s", spec.timeout_s), "timeout_s", hint);
    }
    not_negative(spec.retry.backoff_s, "retry.backoff_s")?;
    if let Some(code) = spec.retry.on_codes.iter().find(|code| !is_code(code)) {
        let hint = "codes are the system's own, such as \"1213\"; neither a timeout nor a wrong answer is tried again";
        return refuse(format!("{code:?} is no error code"), "retry.on_codes", hint);
    }
    if !(0.0..=1.0).contains(&spec.error_budget_ratio) {
        let what = format!("error budget {}", spec.error_budget_ratio);
        return refuse(what, "error_budget_ratio", "it is a share, from 0 to 1");
    }
    match &spec.experiment {
        Some(ExperimentSpec::Isolation { blocked_after_s, .. }) => {
            positive(*blocked_after_s, "experiment.blocked_after_s")?;
        }
        Some(ExperimentSpec::Ledger { seconds, .. }) => positive(*seconds, "experiment.seconds")?,
        Some(ExperimentSpec::Transactions {
            seconds,
            nodes_back_within_s,
            ..
        }) => {
            positive(*seconds, "experiment.seconds")?;
            if *nodes_back_within_s != 0.0 {
                positive(*nodes_back_within_s, "experiment.nodes_back_within_s")?;
            }
        }
        Some(ExperimentSpec::Convergence {
            seconds, deadline_s, ..
        }) => {
            positive(*seconds, "experiment.seconds")?;
            positive(*deadline_s, "experiment.deadline_s")?;
        }
        Some(ExperimentSpec::Staleness {
            seconds,
            writes_per_s,
            reads_per_s,
            ..
        }) => {
            positive(*seconds, "experiment.seconds")?;
            positive(*writes_per_s, "experiment.writes_per_s")?;
            positive(*reads_per_s, "experiment.reads_per_s")?;
        }
        Some(ExperimentSpec::LedgerFound { .. }) | None => {}
    }
    if let Some(rate) = spec.latency_probe_rate_ops_per_s {
        positive(rate, "latency_probe_rate_ops_per_s")?;
    }
    Ok(())
}

/// Not what we ourselves call an end that no system reported.
fn is_code(code: &str) -> bool {
    !code.is_empty() && code.trim() == code && !matches!(code, "timeout" | "wrong")
}

/// A year of seconds and a billion operations a second are beyond use, and keep nanoseconds within 64 bits.
fn positive(value: f64, key: &str) -> Result<(), Trouble> {
    if value > 0.0 && value <= 1e9 {
        return Ok(());
    }
    Err(usage(
        format!("{value}"),
        &format!("run.json: {key}"),
        "it must be greater than 0 (and at most 1e9)",
    ))
}

fn not_negative(value: f64, key: &str) -> Result<(), Trouble> {
    if value == 0.0 {
        Ok(())
    } else {
        positive(value, key).map_err(|t| Trouble {
            hint: "it must not be negative".into(),
            ..t
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::TroubleKind;

    fn document(extra: &str) -> String {
        format!(
            r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"workload":{{"kind":"ycsb"}}{extra}}}"#
        )
    }

    fn refused(extra: &str) -> Trouble {
        let trouble = parse(&document(extra)).unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::Usage);
        trouble
    }

    #[test]
    fn the_shortest_document_is_accepted() {
        assert_eq!(parse(&document("")).unwrap().threads, 1);
    }

    #[test]
    fn a_newer_format_is_named_as_such_even_with_unknown_keys() {
        let trouble = parse(r#"{"format":2,"news":1}"#).unwrap_err();
        assert!(trouble.what.contains("format 2"), "{trouble}");
    }

    #[test]
    fn an_unknown_key_is_named() {
        assert!(refused(r#","treads":2"#).what.contains("treads"));
    }

    #[test]
    fn impossible_numbers_are_refused_by_their_key() {
        for (extra, key) in [
            (r#","threads":0"#, "threads"),
            (r#","threads":2,"sessions":3"#, "sessions"),
            (r#","sessions":0"#, "sessions"),
            (r#","client":{"index":2,"count":2}"#, "client"),
            (
                r#","pacing":{"kind":"open","rate_ops_per_s":0,"arrival":"constant"}"#,
                "pacing.rate_ops_per_s",
            ),
            (
                r#","pacing":{"kind":"open","rate_ops_per_s":-5,"arrival":"poisson"}"#,
                "pacing.rate_ops_per_s",
            ),
            (
                r#","pacing":{"kind":"open","rate_ops_per_s":5,"arrival":"poisson","stages":[
                    {"for_s":0,"from_ops_per_s":5,"to_ops_per_s":5}]}"#,
                "pacing.stages.for_s",
            ),
            (
                r#","pacing":{"kind":"open","rate_ops_per_s":5,"arrival":"poisson","stages":[
                    {"for_s":1,"from_ops_per_s":-1,"to_ops_per_s":5}]}"#,
                "pacing.stages.from_ops_per_s",
            ),
            (
                r#","limit":{"kind":"operations","operations":5,"max_s":null},"pacing":{"kind":"open","rate_ops_per_s":5,
                    "arrival":"poisson","stages":[{"for_s":1,"from_ops_per_s":5,"to_ops_per_s":5}]}"#,
                "limit",
            ),
            (r#","limit":{"kind":"time","window_s":0}"#, "limit.window_s"),
            (
                r#","limit":{"kind":"operations","operations":0,"max_s":null}"#,
                "limit.operations",
            ),
            (r#","warm_up_s":-1"#, "warm_up_s"),
            (r#","timeout_s":0"#, "timeout_s"),
            (r#","timeout_s":0.009"#, "timeout_s"),
            (r#","retry":{"retries":1,"on_codes":[" 1213"]}"#, "retry.on_codes"),
            (
                r#","retry":{"retries":1,"on_codes":["timeout"]}"#,
                "retry.on_codes",
            ),
            (r#","error_budget_ratio":2"#, "error_budget_ratio"),
            (
                r#","latency_probe_rate_ops_per_s":0"#,
                "latency_probe_rate_ops_per_s",
            ),
        ] {
            let trouble = refused(extra);
            assert!(trouble.place.ends_with(key), "{extra}: {trouble}");
        }
    }

    #[test]
    fn the_run_file_of_an_older_bundle_is_read() {
        let text = document(r#","witness_rate_ops_per_s":100"#);
        assert_eq!(parse(&text).unwrap().latency_probe_rate_ops_per_s, Some(100.0));
    }
}
