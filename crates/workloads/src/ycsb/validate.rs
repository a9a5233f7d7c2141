//! Refuses what cannot be run, before anything starts. Bounds of single options are in run/ycsb.rs.
use super::key_text::KeyText;
use crate::prelude::*;
use crate::trouble::{check_client, refuse};
use bakeoff_model::run::{FieldLength, YcsbSpec};

pub fn validate(spec: &YcsbSpec, client: ClientSpec) -> Result<(), Trouble> {
    check_bounds(spec, "workload")?;
    records(spec)?;
    fields(spec)?;
    mix(spec)?;
    scans(spec)?;
    check_client(client)
}

/// Rows that the load of all clients stores.
pub fn rows(spec: &YcsbSpec) -> u64 {
    spec.insert_count
        .unwrap_or(spec.records.saturating_sub(spec.insert_start))
}

fn records(spec: &YcsbSpec) -> Result<(), Trouble> {
    let count = rows(spec);
    let end = spec.insert_start.checked_add(count);
    if count == 0 || end.is_none_or(|end| end > spec.records) {
        let what = format!(
            "the slice insert_start {} + {count} does not fit into {} records",
            spec.insert_start, spec.records
        );
        return Err(refuse(
            "insert_start",
            what,
            "insert_start + insert_count must be at most records",
        ));
    }
    let keys = KeyText {
        order: spec.insert_order,
        zero_padding: spec.zero_padding as usize,
    };
    if keys.longest() > spec.key_length as usize {
        let what = format!(
            "keys of up to {} bytes do not fit into {}",
            keys.longest(),
            spec.key_length
        );
        return Err(refuse(
            "key_length",
            what,
            "raise key_length or lower zero_padding",
        ));
    }
    Ok(())
}

fn fields(spec: &YcsbSpec) -> Result<(), Trouble> {
    let varies = matches!(
        spec.field_length_distribution,
        FieldLength::Uniform | FieldLength::Zipfian
    );
    if varies && spec.min_field_length > spec.field_length {
        let (least, most) = (spec.min_field_length, spec.field_length);
        let what = format!("`min_field_length` {least} is more than `field_length` {most}");
        return Err(refuse("min_field_length", what, "lower it"));
    }
    let longest = longest_value(spec);
    if longest == 0 {
        let hint = "give at least one bucket with a count";
        return Err(refuse(
            "field_length_distribution",
            "the histogram of field lengths is empty",
            hint,
        ));
    }
    if let Some(most) = spec.value_varchar.filter(|most| longest > u64::from(*most)) {
        let what = format!("values of up to {longest} bytes do not fit into `value_varchar` {most}");
        return Err(refuse(
            "value_varchar",
            what,
            "raise it, or leave it out for TEXT",
        ));
    }
    if longest.saturating_mul(u64::from(spec.field_count)) > u64::from(u32::MAX) {
        return Err(refuse(
            "field_length",
            "a record would exceed 4 GiB",
            "use fewer or shorter fields",
        ));
    }
    if spec.data_integrity && spec.field_length_distribution != FieldLength::Constant {
        let hint = "write field_length_distribution = \"constant\"";
        return Err(refuse(
            "data_integrity",
            "`data_integrity` needs values of one length",
            hint,
        ));
    }
    Ok(())
}

/// In bytes; 0 where a histogram has none.
fn longest_value(spec: &YcsbSpec) -> u64 {
    match &spec.field_length_distribution {
        FieldLength::Histogram { buckets, .. } if buckets.iter().all(|&(_, count)| count == 0) => 0,
        FieldLength::Histogram { block_size, buckets } => {
            let last = buckets.iter().map(|&(bucket, _)| u64::from(bucket)).max();
            last.map_or(0, |last| (last + 1) * u64::from(*block_size))
        }
        _ => u64::from(spec.field_length),
    }
}

fn mix(spec: &YcsbSpec) -> Result<(), Trouble> {
    if spec.proportions().iter().sum::<f64>() > 0.0 {
        return Ok(());
    }
    let hint = "give at least one of them a weight, or name a preset";
    Err(refuse(
        "read_proportion",
        "the proportions of all operations are 0",
        hint,
    ))
}

fn scans(spec: &YcsbSpec) -> Result<(), Trouble> {
    let (least, most) = (spec.min_scan_length, spec.max_scan_length);
    if least > most {
        let what = format!("`min_scan_length` {least} is more than `max_scan_length` {most}");
        return Err(refuse("min_scan_length", what, "lower it"));
    }
    if let Some(keys) = spec.scan_last_keys.filter(|keys| *keys > rows(spec)) {
        let what = format!(
            "`scan_last_keys` {keys} is more than the {} records there are",
            rows(spec)
        );
        return Err(refuse("scan_last_keys", what, "lower it, or raise records"));
    }
    Ok(())
}

/// The weights in the order in which the original's chooser goes through them.
pub trait Proportions {
    fn proportions(&self) -> [f64; 5];
}

impl Proportions for YcsbSpec {
    fn proportions(&self) -> [f64; 5] {
        [
            self.read_proportion,
            self.update_proportion,
            self.insert_proportion,
            self.scan_proportion,
            self.read_modify_write_proportion,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::{InsertOrder, RequestDistribution};

    #[track_caller]
    fn refused(option: &str, change: impl FnOnce(&mut YcsbSpec)) {
        let mut spec = YcsbSpec::default();
        change(&mut spec);
        let trouble = validate(&spec, ClientSpec::default()).unwrap_err();
        assert_eq!(trouble.place, format!("workload.{option}"));
        assert!(!trouble.hint.is_empty());
        assert_eq!(trouble.kind, TroubleKind::Usage);
    }

    #[test]
    fn the_defaults_are_accepted() {
        assert_eq!(validate(&YcsbSpec::default(), ClientSpec::default()), Ok(()));
    }

    #[test]
    fn impossible_options_are_refused_by_name() {
        refused("records", |s| s.records = 0);
        refused("insert_start", |s| {
            (s.insert_start, s.insert_count) = (900, Some(200))
        });
        refused("insert_start", |s| s.insert_start = 1000);
        refused("insert_count", |s| s.insert_count = Some(u64::MAX));
        refused("insert_start", |s| s.insert_count = Some(i64::MAX as u64));
        refused("key_length", |s| s.key_length = 20);
        refused("key_length", |s| {
            (s.insert_order, s.zero_padding) = (InsertOrder::Ordered, 300)
        });
        refused("field_count", |s| s.field_count = 0);
        refused("min_field_length", |s| {
            (s.min_field_length, s.field_length_distribution) = (200, FieldLength::Uniform);
        });
        refused("field_length_distribution", |s| {
            s.field_length_distribution = FieldLength::Histogram {
                block_size: 10,
                buckets: vec![(1, 0)],
            };
        });
        refused("value_varchar", |s| s.value_varchar = Some(99));
        refused("data_integrity", |s| {
            (s.data_integrity, s.field_length_distribution) = (true, FieldLength::Zipfian);
        });
        refused("read_proportion", |s| {
            (s.read_proportion, s.update_proportion) = (0.0, 0.0)
        });
        refused("read_proportion", |s| s.read_proportion = f64::NAN);
        refused("request_distribution", |s| {
            s.request_distribution = RequestDistribution::ZipfianExact { theta: 1.0 };
        });
        refused("min_scan_length", |s| s.min_scan_length = 2000);
        refused("scan_last_keys", |s| s.scan_last_keys = Some(2000));
    }

    #[test]
    fn a_client_that_does_not_exist_is_refused() {
        let client = ClientSpec { index: 2, count: 2 };
        assert_eq!(
            validate(&YcsbSpec::default(), client).unwrap_err().place,
            "client"
        );
    }
}
