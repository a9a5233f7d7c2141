//! Refuses what cannot be run, before anything starts.
use super::script::Script;
use crate::trouble::{no_such_client, refuse};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::ClientSpec;
use bakeoff_model::run::sysbench::{SysbenchScript, SysbenchSpec};

/// Ids and k are 32-bit integers with a sign.
const MOST_ROWS: u64 = i32::MAX as u64;
/// Values of one statement; MySQL's own limit.
const MOST_VALUES: u32 = 65_535;

/// `users`: of the whole run; `None` in phases before and after it.
pub fn validate(spec: &SysbenchSpec, client: ClientSpec, users: Option<u64>) -> Result<(), Trouble> {
    if client.count == 0 || client.index >= client.count {
        return Err(no_such_client(client.index, client.count));
    }
    tables(spec, users)?;
    at_least_1("range_size", u64::from(spec.range_size))?;
    at_least_1("random_points", u64::from(spec.random_points))?;
    at_least_1("number_of_ranges", u64::from(spec.number_of_ranges))?;
    if spec.random_points > MOST_VALUES {
        return Err(refuse(
            "random_points",
            "more values than a statement may have",
            "ask for 65535 at most",
        ));
    }
    if spec.number_of_ranges > MOST_VALUES / 2 {
        return Err(refuse(
            "number_of_ranges",
            "more values than a statement may have",
            "ask for 32767 at most",
        ));
    }
    if spec.script != SysbenchScript::BulkInsert && Script::new(spec).groups.is_empty() {
        let hint = "raise the number of one of the script's statements (point_selects, index_updates, ...)";
        return Err(refuse(
            "script",
            "every statement of the script is switched off",
            hint,
        ));
    }
    if !spec
        .mysql_storage_engine
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_')
    {
        let what = format!("`{}` is no name of a storage engine", spec.mysql_storage_engine);
        return Err(refuse(
            "mysql_storage_engine",
            what,
            "name one, such as innodb, or leave it empty",
        ));
    }
    distribution(spec)
}

fn at_least_1(option: &str, value: u64) -> Result<(), Trouble> {
    match value {
        0 => Err(refuse(option, format!("{option} is 0"), "ask for at least 1")),
        _ => Ok(()),
    }
}

fn tables(spec: &SysbenchSpec, users: Option<u64>) -> Result<(), Trouble> {
    at_least_1("tables", u64::from(spec.tables))?;
    at_least_1("table_size", spec.table_size)?;
    if spec.table_size > MOST_ROWS {
        let what = format!("{} rows are more than ids can number", spec.table_size);
        return Err(refuse(
            "table_size",
            what,
            "ask for 2147483647 at most, and for more tables",
        ));
    }
    let one_table = matches!(
        spec.script,
        SysbenchScript::SelectRandomPoints | SysbenchScript::SelectRandomRanges
    );
    if one_table && spec.tables > 1 {
        return Err(refuse(
            "tables",
            "this script asks one table only",
            "set tables to 1",
        ));
    }
    if spec.script == SysbenchScript::BulkInsert
        && let Some(users) = users.filter(|users| *users > u64::from(spec.tables))
    {
        let what = format!(
            "{users} threads, each filling a table of its own, and {} tables",
            spec.tables
        );
        return Err(refuse("tables", what, format!("set tables to {users} at least")));
    }
    Ok(())
}

fn distribution(spec: &SysbenchSpec) -> Result<(), Trouble> {
    at_least_1("rand_spec_iter", u64::from(spec.rand_spec_iter))?;
    if spec.rand_spec_pct > 100 {
        return Err(refuse(
            "rand_spec_pct",
            "more than all of the rows",
            "give percent, 0 to 100",
        ));
    }
    if spec.rand_spec_res > 99 {
        return Err(refuse(
            "rand_spec_res",
            "no draw would be left for the bell",
            "give percent, 0 to 99",
        ));
    }
    if !(spec.rand_pareto_h > 0.0 && spec.rand_pareto_h < 1.0) {
        let what = format!("{} is no share", spec.rand_pareto_h);
        return Err(refuse("rand_pareto_h", what, "give a number between 0 and 1"));
    }
    if !(0.0..=100.0).contains(&spec.rand_zipfian_exp) {
        let what = format!("the exponent {} cannot be drawn with", spec.rand_zipfian_exp);
        return Err(refuse(
            "rand_zipfian_exp",
            what,
            "give a number from 0 (uniform) to 100",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::TroubleKind;

    fn refused(option: &str, change: impl FnOnce(&mut SysbenchSpec)) {
        let mut spec = SysbenchSpec::default();
        change(&mut spec);
        let trouble = validate(&spec, ClientSpec::default(), Some(2)).unwrap_err();
        assert_eq!(
            (trouble.kind, &*trouble.place),
            (TroubleKind::Usage, &*format!("workload.{option}"))
        );
        assert!(!trouble.hint.is_empty());
    }

    #[test]
    fn the_defaults_can_be_run() {
        validate(&SysbenchSpec::default(), ClientSpec::default(), Some(1)).unwrap();
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_the_name_of_its_option() {
        refused("tables", |s| s.tables = 0);
        refused("table_size", |s| s.table_size = 0);
        refused("table_size", |s| s.table_size = 1 << 31);
        refused("range_size", |s| s.range_size = 0);
        refused("random_points", |s| s.random_points = 0);
        refused("random_points", |s| s.random_points = 70_000);
        refused("number_of_ranges", |s| s.number_of_ranges = 0);
        refused("number_of_ranges", |s| s.number_of_ranges = 33_000);
        refused("rand_spec_iter", |s| s.rand_spec_iter = 0);
        refused("rand_spec_pct", |s| s.rand_spec_pct = 101);
        refused("rand_spec_res", |s| s.rand_spec_res = 100);
        refused("rand_pareto_h", |s| s.rand_pareto_h = 1.0);
        refused("rand_pareto_h", |s| s.rand_pareto_h = f64::NAN);
        refused("rand_zipfian_exp", |s| s.rand_zipfian_exp = -0.1);
        refused("mysql_storage_engine", |s| {
            s.mysql_storage_engine = "innodb */ x".into()
        });
        refused("tables", |s| {
            (s.script, s.tables) = (SysbenchScript::SelectRandomPoints, 2)
        });
        refused("tables", |s| {
            (s.script, s.tables) = (SysbenchScript::BulkInsert, 1)
        });
        refused("script", |s| {
            (s.script, s.index_updates) = (SysbenchScript::OltpUpdateIndex, 0)
        });
        refused("script", |s| {
            (s.script, s.point_selects, s.range_selects) = (SysbenchScript::OltpReadOnly, 0, false);
        });
    }

    #[test]
    fn tables_of_a_bulk_insert_are_counted_against_threads_in_a_run_only() {
        let spec = SysbenchSpec {
            script: SysbenchScript::BulkInsert,
            ..SysbenchSpec::default()
        };
        validate(&spec, ClientSpec::default(), None).unwrap();
    }

    #[test]
    fn a_client_that_does_not_exist_is_refused() {
        let client = ClientSpec { index: 2, count: 2 };
        assert_eq!(
            validate(&SysbenchSpec::default(), client, None)
                .unwrap_err()
                .place,
            "client"
        );
    }
}
