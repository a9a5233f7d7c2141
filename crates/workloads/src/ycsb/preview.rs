//! The first operations of a run's first user, without a session.
use super::{INSERT, READ_MODIFY_WRITE, SCAN, Thread, UPDATE, Ycsb};
use crate::prelude::*;
use crate::rng::Stream;

/// Nothing where all keys would have to be gone through for it.
pub fn preview(workload: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    let WorkloadSpec::Ycsb(spec) = workload else {
        return Ok(vec![]);
    };
    if spec.scan_last_keys.is_some() {
        return Ok(vec![]);
    }
    let ycsb = Ycsb::new(spec, seed, ClientSpec::default())?;
    let cursor = ycsb.space.cursor(&spec.request_distribution);
    let mut thread = ycsb.user(Stream::new(seed, 0), false);
    Ok((0..count)
        .map(|_| {
            let kind = ycsb.draw(&cursor, &mut thread);
            Previewed {
                operation: ycsb.operations[kind].name.clone(),
                lines: ycsb.lines(kind, &thread),
            }
        })
        .collect())
}

impl Ycsb {
    /// The key, and below it the values that are written.
    fn lines(&self, kind: usize, thread: &Thread) -> Vec<String> {
        let key = String::from_utf8_lossy(thread.drawn.key());
        let fields = match kind {
            INSERT => 0..self.fields.field_count(),
            UPDATE | READ_MODIFY_WRITE => self.written_fields(&thread.drawn),
            _ => 0..0,
        };
        let rows = match thread.drawn.limit {
            Some(limit) if kind == SCAN => format!(", at most {limit} records"),
            _ => String::new(),
        };
        let mut lines = vec![format!("{key}{rows}")];
        let mut start = 0;
        for (field, &end) in fields.zip(&thread.ends) {
            let value = String::from_utf8_lossy(&thread.values[start..end as usize]);
            lines.push(format!("{}{field} = {value:?}", self.spec.field_prefix));
            start = end as usize;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::YcsbSpec;

    fn previewed(spec: YcsbSpec) -> Vec<Previewed> {
        preview(&WorkloadSpec::Ycsb(spec), 7, 5).unwrap()
    }

    #[test]
    fn operations_stand_with_their_keys_and_what_they_write() {
        let updates = previewed(YcsbSpec {
            read_proportion: 0.0,
            update_proportion: 1.0,
            ..YcsbSpec::default()
        });
        assert_eq!(updates.len(), 5);
        for one in &updates {
            assert_eq!(
                (one.operation.as_str(), one.lines.len()),
                ("UPDATE", 2),
                "{one:?}"
            );
            assert!(one.lines[0].starts_with("user"), "{one:?}");
            assert!(one.lines[1].starts_with("FIELD"), "{one:?}");
        }
        let reads = previewed(YcsbSpec {
            read_proportion: 1.0,
            update_proportion: 0.0,
            ..YcsbSpec::default()
        });
        assert!(
            reads
                .iter()
                .all(|one| one.operation == "READ" && one.lines.len() == 1)
        );
    }

    #[test]
    fn an_insert_has_all_fields_and_a_scan_its_length() {
        let inserts = previewed(YcsbSpec {
            read_proportion: 0.0,
            update_proportion: 0.0,
            insert_proportion: 1.0,
            field_count: 3,
            ..YcsbSpec::default()
        });
        assert!(inserts.iter().all(|one| one.lines.len() == 4), "{inserts:?}");
        let scans = previewed(YcsbSpec {
            read_proportion: 0.0,
            update_proportion: 0.0,
            scan_proportion: 1.0,
            ..YcsbSpec::default()
        });
        assert!(
            scans.iter().all(|one| one.lines[0].ends_with(" records")),
            "{scans:?}"
        );
    }
}
