//! The first events of a run's first user, without a session.
use super::Sysbench;
use super::steps::Steps;
use super::text::Texts;
use super::values::Values;
use crate::prelude::*;
use crate::rng::Stream;
use bakeoff_model::run::sysbench::SysbenchScript;

/// Nothing of scripts whose values depend on how many users there are, or on the rows that the table has.
pub fn preview(workload: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    use SysbenchScript as S;
    let WorkloadSpec::Sysbench(spec) = workload else {
        return Ok(vec![]);
    };
    let unknown = [
        S::OltpInsert,
        S::BulkInsert,
        S::SelectRandomPoints,
        S::SelectRandomRanges,
    ];
    if unknown.contains(&spec.script) {
        return Ok(vec![]);
    }
    let sysbench = Sysbench::new(spec, seed, ClientSpec::default(), None)?;
    let mut stream = Stream::new(seed, 0);
    Ok((0..count)
        .map(|_| Previewed {
            operation: sysbench.operation[0].name.clone(),
            lines: sysbench.lines(stream.next_seed()),
        })
        .collect())
}

impl Sysbench {
    /// Statements with their values in them.
    fn lines(&self, event_seed: u64) -> Vec<String> {
        let (mut steps, mut texts) = (Steps::new(event_seed), Texts::default());
        let mut lines = vec![];
        while let Some(step) = steps.next(&self.draws) {
            let (kind, table) = (step.kind, step.table);
            let mut text = String::new();
            self.statements
                .written(&mut text, kind, table, &Values::of(step, &mut texts));
            lines.push(text);
        }
        if self.draws.script.transaction {
            lines.insert(0, "BEGIN".into());
            lines.push("COMMIT".into());
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::sysbench::SysbenchSpec;

    fn previewed(script: SysbenchScript) -> Vec<Previewed> {
        let spec = SysbenchSpec {
            script,
            ..SysbenchSpec::default()
        };
        preview(&WorkloadSpec::Sysbench(spec), 7, 2).unwrap()
    }

    #[test]
    fn an_event_is_its_statements_with_their_values() {
        let found = previewed(SysbenchScript::OltpReadWrite);
        assert_eq!(found.len(), 2);
        let lines = &found[0].lines;
        assert_eq!(
            (lines.len(), lines[0].as_str(), lines[19].as_str()),
            (20, "BEGIN", "COMMIT")
        );
        assert!(
            lines[1].starts_with("SELECT c FROM sbtest1 WHERE id="),
            "{lines:?}"
        );
        assert!(
            lines[18].starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES ("),
            "{lines:?}"
        );
        assert_eq!(previewed(SysbenchScript::OltpPointSelect)[0].lines.len(), 1);
    }

    #[test]
    fn what_depends_on_the_number_of_users_is_not_told() {
        assert_eq!(previewed(SysbenchScript::SelectRandomPoints), []);
    }
}
