//! Refuses what cannot be run, before anything starts. Bounds of single options stand beside them (run/sysbench.rs).
use super::script::{Script, name};
use crate::prelude::*;
use crate::table_options;
use crate::trouble::{no_such_client, refuse};
use bakeoff_model::run::sysbench::{PreparedMode, SysbenchScript, SysbenchSpec};

/// `users`: of the whole run; `None` in phases before and after it.
pub fn validate(spec: &SysbenchSpec, client: ClientSpec, users: Option<u64>) -> Result<(), Trouble> {
    if client.count == 0 || client.index >= client.count {
        return Err(no_such_client(client.index, client.count));
    }
    check_bounds(spec, "workload")?;
    tables(spec, users)?;
    if spec.script != SysbenchScript::BulkInsert && Script::new(spec).groups.is_empty() {
        let what = format!(
            "an event of `{}` has no statement: all its counts are 0",
            name(spec.script)
        );
        let hint = "give at least one of them a number, such as point_selects = 10";
        return Err(refuse("script", what, hint));
    }
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name(&spec.mysql_storage_engine) {
        let what = format!("`mysql_storage_engine` cannot be {:?}", spec.mysql_storage_engine);
        let hint = "it is the name of an engine, such as \"innodb\", or \"\" for the server's default";
        return Err(refuse("mysql_storage_engine", what, hint));
    }
    table_options::validate(&spec.create_table_options)?;
    pipeline(spec)
}

fn pipeline(spec: &SysbenchSpec) -> Result<(), Trouble> {
    let refused = |why: &str, hint: &str| {
        let what = format!("`pipeline` sends a transaction's prepared statements together, and {why}");
        Err(refuse("pipeline", what, hint))
    };
    if !spec.pipeline {
        Ok(())
    } else if !Script::new(spec).transaction {
        refused(
            "there is no transaction here",
            "leave out `pipeline`; or `skip_trx`, with oltp_read_write, oltp_read_only or oltp_write_only",
        )
    } else if spec.db_ps_mode == PreparedMode::Disable {
        refused("`db_ps_mode` is \"disable\"", "write db_ps_mode = \"auto\"")
    } else {
        Ok(())
    }
}

fn tables(spec: &SysbenchSpec, users: Option<u64>) -> Result<(), Trouble> {
    use SysbenchScript::{BulkInsert, SelectRandomPoints, SelectRandomRanges};
    if matches!(spec.script, SelectRandomPoints | SelectRandomRanges) && spec.tables > 1 {
        let what = format!(
            "`tables` is {}, and {} asks one table only",
            spec.tables,
            name(spec.script)
        );
        return Err(refuse("tables", what, "write tables = 1"));
    }
    let too_many = users.filter(|users| spec.script == BulkInsert && *users > u64::from(spec.tables));
    if let Some(users) = too_many {
        let what = format!(
            "{users} threads, each filling a table of its own, and {} tables",
            spec.tables
        );
        return Err(refuse("tables", what, format!("set tables to {users} at least")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        refused("create_table_options", |s| {
            s.create_table_options = "; DROP TABLE IF EXISTS other.usertable".into()
        });
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
        refused("pipeline", |s| (s.pipeline, s.skip_trx) = (true, true));
        refused("pipeline", |s| {
            (s.pipeline, s.script) = (true, SysbenchScript::OltpPointSelect)
        });
        refused("pipeline", |s| {
            (s.pipeline, s.db_ps_mode) = (true, PreparedMode::Disable)
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
