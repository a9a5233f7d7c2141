//! The operations a user is given: repeatable, and the latency probe's only reads.
use super::*;
use crate::rng::mix;

#[test]
fn a_stream_is_repeated_by_its_seed_and_differs_from_all_others() {
    let hash = |seed, stream| {
        let ycsb = Ycsb::new(&only(READ_MODIFY_WRITE), seed, ClientSpec::default()).unwrap();
        let worker = worker_of(&ycsb);
        let mut thread = thread_of(&ycsb, &worker, stream, false);
        for _ in 0..500 {
            Workload::next(&ycsb, &worker, &mut thread);
        }
        Workload::stream_hash(&ycsb, &thread)
    };
    assert_eq!(hash(1, 0), hash(1, 0));
    let all: std::collections::HashSet<u64> = [hash(1, 0), hash(1, 1), hash(2, 0), hash(2, 1)].into();
    assert_eq!(all.len(), 4);
}

#[test]
fn a_streams_hash_covers_the_first_ten_thousand_operations() {
    let mut bench = Bench::new(only(READ));
    let mut hashes = Vec::new();
    for operations in [9_999, 1, 1, 500] {
        (0..operations).for_each(|_| ignore(bench.next()));
        hashes.push(Workload::stream_hash(bench.ycsb, &bench.thread));
    }
    assert_ne!(hashes[0], hashes[1]);
    assert_eq!(hashes[1], hashes[2]);
    assert_eq!(hashes[2], hashes[3]);
}

#[test]
fn what_other_users_insert_does_not_change_a_streams_hash() {
    let spec = || YcsbSpec {
        insert_proportion: 0.5,
        request_distribution: RequestDistribution::Latest,
        ..only(READ)
    };
    let mut alone = Bench::new(spec());
    let mut beside = Bench::new(spec());
    let worker = worker_of(beside.ycsb);
    for step in 0..300 {
        alone.step();
        beside.step();
        if step % 3 == 0 {
            // Another worker takes blocks and settles them.
            let index = beside.ycsb.space.take_insert(&worker.keys);
            beside.ycsb.space.inserts().unwrap().settle(index, false);
        }
    }
    let hash = |bench: &Bench| Workload::stream_hash(bench.ycsb, &bench.thread);
    assert_eq!(hash(&alone), hash(&beside));
}

#[test]
fn other_options_give_another_hash() {
    let hash = |spec: YcsbSpec| {
        let mut bench = Bench::new(spec);
        (0..100).for_each(|_| ignore(bench.next()));
        Workload::stream_hash(bench.ycsb, &bench.thread)
    };
    let zipfian = YcsbSpec {
        request_distribution: RequestDistribution::Zipfian,
        ..only(READ)
    };
    assert_ne!(hash(only(READ)), hash(only(UPDATE)));
    assert_ne!(hash(only(READ)), hash(zipfian));
    assert_ne!(
        hash(only(SCAN)),
        hash(YcsbSpec {
            max_scan_length: 7,
            ..only(SCAN)
        })
    );
}

#[test]
fn a_latency_probe_only_reads_and_only_where_the_mix_reads() {
    let latency_probe = |spec: &YcsbSpec| {
        let ycsb = Ycsb::new(spec, 1, ClientSpec::default()).unwrap();
        Workload::latency_probe_operation(&ycsb)
    };
    assert_eq!(latency_probe(&only(UPDATE)), None);
    let spec = YcsbSpec {
        update_proportion: 9.0,
        insert_proportion: 9.0,
        ..only(READ)
    };
    assert_eq!(latency_probe(&spec), Some(READ));
    let mut bench = Bench::new(spec);
    bench.thread = thread_of(bench.ycsb, &bench.worker, 99, true);
    (0..500).for_each(|_| assert_eq!(bench.step(), (READ, Outcome::Ok)));
}

/// The keys of 20,000 operations, folded into one number.
fn keys_of(distribution: RequestDistribution, mixed: bool) -> u64 {
    let mut bench = Bench::new(YcsbSpec {
        records: 1000,
        request_distribution: distribution,
        read_proportion: 0.6,
        update_proportion: 0.2,
        scan_proportion: if mixed { 0.1 } else { 0.0 },
        insert_proportion: if mixed { 0.1 } else { 0.0 },
        operation_count: Some(20_000),
        ..YcsbSpec::default()
    });
    let mut folded = Workload::stream_hash(bench.ycsb, &bench.thread);
    for _ in 0..20_000 {
        let kind = Workload::next(bench.ycsb, &bench.worker, &mut bench.thread);
        folded = mix(folded, kind as u64);
        folded = bench
            .thread
            .drawn
            .key()
            .iter()
            .fold(folded, |sum, &byte| mix(sum, byte.into()));
        folded = bench
            .thread
            .values
            .iter()
            .fold(folded, |sum, &byte| mix(sum, byte.into()));
    }
    mix(folded, Workload::stream_hash(bench.ycsb, &bench.thread))
}

/// Changed only together with [`super::super::GENERATOR_VERSION`]. Distributions that need no mathematics of the
/// system's library, so that the numbers are the same on every machine.
#[test]
fn streams_are_those_of_this_generator_version() {
    let hotspot = RequestDistribution::Hotspot {
        data_fraction: 0.2,
        operation_fraction: 0.8,
    };
    for (distribution, reads_and_updates, all_kinds) in [
        (
            RequestDistribution::Uniform,
            0x53ee_1915_25ff_5bc3,
            0xdd04_afcb_b636_08a7,
        ),
        (
            RequestDistribution::Zipfian,
            0x8fde_e815_37dd_9e7a,
            0x01ef_cc01_383f_47d7,
        ),
        (hotspot, 0x5ef8_743b_9650_30ef, 0x7145_0544_49ee_7e07),
    ] {
        assert_eq!(
            keys_of(distribution, false),
            reads_and_updates,
            "{distribution:?}"
        );
        assert_eq!(keys_of(distribution, true), all_kinds, "{distribution:?}");
    }
}
