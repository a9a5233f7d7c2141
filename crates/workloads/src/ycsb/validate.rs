//! Refuses what cannot be run, before anything starts.
use super::key_text::KeyText;
use crate::trouble::{no_such_client, refuse};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::{ClientSpec, FieldLength, RequestDistribution, YcsbSpec};

pub fn validate(spec: &YcsbSpec, client: ClientSpec) -> Result<(), Trouble> {
    records(spec)?;
    fields(spec)?;
    mix(spec)?;
    distribution(&spec.request_distribution)?;
    scans(spec)?;
    if client.count == 0 || client.index >= client.count {
        return Err(no_such_client(client.index, client.count));
    }
    if !(spec.insertion_retry_interval_s >= 0.0 && spec.insertion_retry_interval_s.is_finite()) {
        return Err(refuse(
            "insertion_retry_interval_s",
            "not a length of time",
            "give seconds, 0 or more",
        ));
    }
    Ok(())
}

fn records(spec: &YcsbSpec) -> Result<(), Trouble> {
    if spec.records == 0 {
        return Err(refuse(
            "records",
            "the table would have no records",
            "ask for at least 1",
        ));
    }
    let count = spec
        .insert_count
        .unwrap_or(spec.records.saturating_sub(spec.insert_start));
    if count == 0
        || spec
            .insert_start
            .checked_add(count)
            .is_none_or(|end| end > spec.records)
    {
        let what = format!(
            "the slice {} + {count} does not fit into {} records",
            spec.insert_start, spec.records
        );
        return Err(refuse(
            "insert_start",
            what,
            "insert_start + insert_count must be at most records",
        ));
    }
    let longest = KeyText {
        order: spec.insert_order,
        zero_padding: spec.zero_padding as usize,
    }
    .longest();
    if longest > spec.key_length as usize {
        let what = format!(
            "keys of up to {longest} bytes do not fit into {}",
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
    if spec.field_count == 0 || spec.field_length == 0 {
        return Err(refuse(
            "field_count",
            "a record needs at least one field of one byte",
            "raise it",
        ));
    }
    let longest = match &spec.field_length_distribution {
        FieldLength::Constant => u64::from(spec.field_length),
        FieldLength::Uniform | FieldLength::Zipfian => {
            if spec.min_field_length > spec.field_length {
                let what = format!(
                    "{} is more than field_length {}",
                    spec.min_field_length, spec.field_length
                );
                return Err(refuse("min_field_length", what, "lower it"));
            }
            u64::from(spec.field_length)
        }
        FieldLength::Histogram { block_size, buckets } => {
            if *block_size == 0 || buckets.iter().all(|&(_, count)| count == 0) {
                let hint = "give a block size and at least one bucket with a count";
                return Err(refuse(
                    "field_length_distribution",
                    "the histogram is empty",
                    hint,
                ));
            }
            let last = buckets
                .iter()
                .map(|&(bucket, _)| u64::from(bucket))
                .max()
                .unwrap_or(0);
            (last + 1) * u64::from(*block_size)
        }
    };
    if spec.value_varchar.is_some_and(|most| longest > u64::from(most)) {
        let what = format!("values of up to {longest} bytes do not fit into the column");
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
        let what = "data_integrity needs values of one length";
        return Err(refuse(
            "data_integrity",
            what,
            "set field_length_distribution to constant",
        ));
    }
    Ok(())
}

fn mix(spec: &YcsbSpec) -> Result<(), Trouble> {
    let weights = spec.proportions();
    if weights.iter().any(|w| !w.is_finite() || *w < 0.0) || weights.iter().sum::<f64>() <= 0.0 {
        let what = "the proportions of operations must be 0 or more, and not all 0";
        return Err(refuse(
            "read_proportion",
            what,
            "give at least one operation a weight",
        ));
    }
    Ok(())
}

fn distribution(distribution: &RequestDistribution) -> Result<(), Trouble> {
    let (ok, what) = match *distribution {
        RequestDistribution::ZipfianExact { theta } => {
            (theta > 0.0 && theta < 1.0, "theta must be between 0 and 1")
        }
        RequestDistribution::Hotspot {
            data_fraction,
            operation_fraction,
        } => (
            (0.0..=1.0).contains(&data_fraction) && (0.0..=1.0).contains(&operation_fraction),
            "the hot spot's fractions must be from 0 to 1",
        ),
        RequestDistribution::Exponential { percentile, fraction } => (
            percentile > 0.0 && percentile < 100.0 && fraction > 0.0 && fraction.is_finite(),
            "percentile must be between 0 and 100, and fraction above 0",
        ),
        _ => (true, ""),
    };
    if ok {
        Ok(())
    } else {
        Err(refuse("request_distribution", what, "see the table of options"))
    }
}

fn scans(spec: &YcsbSpec) -> Result<(), Trouble> {
    if spec.min_scan_length == 0 || spec.min_scan_length > spec.max_scan_length {
        let what = format!(
            "scans of {} to {} rows",
            spec.min_scan_length, spec.max_scan_length
        );
        return Err(refuse(
            "min_scan_length",
            what,
            "give 1 <= min_scan_length <= max_scan_length",
        ));
    }
    let rows = spec.insert_count.unwrap_or(spec.records - spec.insert_start);
    if spec.scan_last_keys.is_some_and(|n| n == 0 || n > rows) {
        let what = format!("there are {rows} records to start a scan from");
        return Err(refuse("scan_last_keys", what, "give 1 to that many"));
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
    use bakeoff_model::outcome::TroubleKind;
    use bakeoff_model::run::InsertOrder;

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
        refused("insert_start", |s| s.insert_count = Some(u64::MAX));
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
