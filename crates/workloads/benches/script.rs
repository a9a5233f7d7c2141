//! What a `\set` of a script costs itself: `cargo bench -p bakeoff-workloads --bench script`, or `-- PART-OF-A-NAME`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use bakeoff_workloads::rng::Random;
use bakeoff_workloads::script::{AUTOMATIC, Expression, Names, Number};
use std::hint::black_box;

mod stopwatch;
use stopwatch::measure;

fn main() {
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
