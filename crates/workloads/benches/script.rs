//! What scripts cost themselves, a `\set` and whole transactions of pgbench's: `cargo bench -p bakeoff-workloads --bench
//! script`, or `-- PART-OF-A-NAME`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use bakeoff_model::run::sql::{Builtin, SqlSpec};
use bakeoff_workloads::prelude::*;
use bakeoff_workloads::rng::Random;
use bakeoff_workloads::script::{AUTOMATIC, Expression, Names, Number};
use bakeoff_workloads::sql::Sql;
use std::hint::black_box;

#[path = "../tests/session/mod.rs"]
mod session;
use session::sql::YesSql;
use session::{NoProbe, now};

mod stopwatch;
use stopwatch::measure;

fn measure_builtin(name: &str, script: Builtin) {
    let spec = SqlSpec {
        script: Some(script),
        ..SqlSpec::default()
    };
    let sql = Sql::new(&spec, 1, ClientSpec::default(), "postgresql", false).unwrap();
    let id = ThreadId::FIRST;
    let mut thread = Workload::thread(&sql, &(), id);
    let mut session = AnySql::new(YesSql::new());
    now(Workload::attach(&sql, &mut session)).unwrap();
    measure(name, || {
        Workload::next(&sql, &(), &mut thread);
        let answer = now(sql.execute(&(), &mut thread, &mut session, &mut NoProbe));
        black_box(&answer);
        Workload::settle(
            &sql,
            &(),
            &mut thread,
            Ended::at_once(Outcome::Ok, false),
            &mut NoProbe,
        );
    });
}

fn main() {
    measure_builtin("select-only", Builtin::SelectOnly);
    measure_builtin("simple-update", Builtin::SimpleUpdate);
    measure_builtin("tpcb-like", Builtin::TpcbLike);
    let names = Names::default();
    let variables = [Number::Int(10); AUTOMATIC.len()];
    let mut random = Random::new(1);
    for text in [
        "5",
        "random(1, 100000 * :scale)",
        "random_exponential(1, 100000 * :scale, 5)",
        "random_gaussian(1, 100000 * :scale, 5)",
        "random_zipfian(1, 100000, 1.07)",
        "random_zipfian(1, 100000 * :scale, 1.07)",
        "random_zipfian(1, 100000 * :scale, 2)",
        "random_zipfian(1, 100000 * :scale, 1 + :scale / 20.0)",
        "1 + permute(random_zipfian(0, 100000 * :scale - 1, 1.07), 100000 * :scale)",
        "hash(:client_id) % 100",
        "case when :client_id < 5 then 1 else 2 end",
    ] {
        let expression = Expression::compile(text, &names).unwrap();
        measure(text, || {
            let _ = black_box(expression.evaluate(black_box(&variables[..]), &mut random));
        });
    }
}
