//! What YCSB costs itself, per operation: `cargo bench -p bakeoff-workloads --bench ycsb`, or `-- PART-OF-A-NAME`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use bakeoff_model::run::{RequestDistribution, YcsbSpec};
use bakeoff_workloads::keys::{Permutation, Scrambled, Zipfian, fnv64};
use bakeoff_workloads::prelude::*;
use bakeoff_workloads::rng::Random;
use bakeoff_workloads::ycsb::Ycsb;
use std::hint::black_box;

#[path = "../tests/session/mod.rs"]
mod session;
use session::{NoProbe, Yes, now};

mod stopwatch;
use stopwatch::measure;

fn ignore<T>(_: T) {}

fn spec(request_distribution: RequestDistribution) -> YcsbSpec {
    YcsbSpec {
        records: 100_000,
        read_proportion: 1.0,
        update_proportion: 0.0,
        request_distribution,
        ..Default::default()
    }
}

fn measure_next(name: &str, spec: &YcsbSpec) {
    let ycsb = Ycsb::new(spec, 1, ClientSpec::default()).unwrap();
    let worker = Workload::worker(&ycsb, 0);
    let mut thread = Workload::thread(&ycsb, &worker, ThreadId::FIRST);
    measure(name, || {
        black_box(Workload::next(&ycsb, &worker, &mut thread));
    });
}

fn measure_whole(name: &str, spec: &YcsbSpec) {
    let ycsb = Ycsb::new(spec, 1, ClientSpec::default()).unwrap();
    let worker = Workload::worker(&ycsb, 0);
    let mut thread = Workload::thread(&ycsb, &worker, ThreadId::FIRST);
    let mut session = AnyRecords::new(Yes::default());
    measure(name, || {
        Workload::next(&ycsb, &worker, &mut thread);
        let answer = now(ycsb.execute(&worker, &mut thread, &mut session, &mut NoProbe));
        black_box(&answer);
        let outcome = bakeoff_model::outcome::Outcome::Ok;
        Workload::settle(
            &ycsb,
            &worker,
            &mut thread,
            Ended::at_once(outcome, false),
            &mut NoProbe,
        );
    });
}

fn main() {
    let mut rng = Random::new(1);
    let (zipfian, scrambled) = (Zipfian::new(100_000, 0.99), Scrambled::new(100_001));
    let permutation = Permutation::new(100_000);
    measure("random number", || ignore(black_box(rng.bits())));
    measure("fnv64", || ignore(black_box(fnv64(black_box(rng.bits())))));
    measure("zipfian rank", || ignore(black_box(zipfian.draw(&mut rng))));
    measure("scrambled zipfian", || {
        ignore(black_box(scrambled.draw(&mut rng)))
    });
    measure("exact zipfian", || {
        ignore(black_box(permutation.of(zipfian.draw(&mut rng))))
    });

    measure_next("next: read, uniform", &spec(RequestDistribution::Uniform));
    measure_next("next: read, zipfian", &spec(RequestDistribution::Zipfian));
    measure_next(
        "next: read, exact zipfian",
        &spec(RequestDistribution::ZipfianExact { theta: 0.99 }),
    );
    measure_next("next: read, latest", &spec(RequestDistribution::Latest));
    let update = YcsbSpec {
        read_proportion: 0.0,
        update_proportion: 1.0,
        ..spec(RequestDistribution::Zipfian)
    };
    measure_next("next: update of 100 bytes, zipfian", &update);
    let insert = YcsbSpec {
        update_proportion: 0.0,
        insert_proportion: 1.0,
        ..update.clone()
    };
    measure_next("next: insert of 1000 bytes", &insert);

    // By name, because then the session of the bench costs nothing.
    let by_name = YcsbSpec {
        read_all_fields_by_name: true,
        ..spec(RequestDistribution::Zipfian)
    };
    measure_whole("next + execute + settle: read, zipfian", &by_name);
    measure_whole("next + execute + settle: update, zipfian", &update);
    measure_whole("next + execute + settle: insert", &insert);
}
