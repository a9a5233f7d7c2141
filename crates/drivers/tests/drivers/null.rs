//! The null driver follows its options exactly: the instrument is tested with it.
use crate::bench::{open, row, run, table};
use bakeoff_drivers::null::{NullDriver, NullSession};
use bakeoff_drivers::null::{NullLatency, NullSpec, NullStall};
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table};
use bakeoff_model::time::{now_ns, set_epoch_ns};

const T: Table = Table(0);

async fn session(driver: &NullDriver, test: &str) -> NullSession {
    let spec = table(test);
    let mut session = open(driver).await.unwrap();
    session.attach(std::slice::from_ref(&spec)).await.unwrap();
    session.create_table(&spec).await.unwrap();
    session
}

#[test]
fn without_a_store_everything_is_acknowledged_and_rows_have_the_right_number_of_cells() {
    run(async {
        let mut null = session(&NullDriver::new(NullSpec::default(), 0), "plain").await;
        for (fields, cells) in [(Fields::All, 4), (Fields::AllByName, 3), (Fields::One(2), 1)] {
            assert_eq!(null.read(T, b"k", fields).await.unwrap().unwrap().len(), cells);
        }
        assert_eq!(
            null.insert(T, row("k", [b"", b"", b""]).record()).await.unwrap(),
            Some(1)
        );
        assert_eq!(
            null.update(
                T,
                b"k",
                &[FieldValue {
                    field: 0,
                    value: b"x"
                }]
            )
            .await
            .unwrap(),
            Some(1)
        );
        let mut rows = 0;
        assert_eq!(
            null.scan(T, b"k", Some(7), Fields::All, &mut |_| rows += 1)
                .await
                .unwrap(),
            7
        );
        assert_eq!(rows, 7);
        assert!(null.count(T).await.is_err(), "what is not kept cannot be counted");
    });
}

#[test]
fn errors_and_wrong_answers_come_as_often_as_asked_and_repeat_with_the_seed() {
    let faults = |seed| {
        run(async {
            let spec = NullSpec {
                error_ratio: 0.1,
                wrong_ratio: 0.2,
                ..NullSpec::default()
            };
            let mut null = session(&NullDriver::new(spec, seed), "faults").await;
            let mut seen = Vec::new();
            for _ in 0..10_000 {
                seen.push(match null.read(T, b"k", Fields::All).await {
                    Ok(Some(_)) => Outcome::Ok,
                    Ok(None) => Outcome::Wrong,
                    Err(error) => error.outcome,
                });
            }
            seen
        })
    };
    let seen = faults(7);
    let count = |outcome| seen.iter().filter(|seen| **seen == outcome).count();
    // Five standard deviations either way.
    assert!(count(Outcome::Fail(FailClass::Other)).abs_diff(1000) < 150);
    assert!(count(Outcome::Wrong).abs_diff(1800) < 200);
    assert_eq!(seen, faults(7));
    assert_ne!(seen, faults(8));
}

/// A machine may sleep for longer; the latencies themselves are tested in the driver's own file.
#[test]
fn latency_is_waited_for() {
    for latency in [NullLatency::Constant, NullLatency::Exponential] {
        run(async {
            let spec = NullSpec {
                latency_ns: 200_000,
                latency,
                ..NullSpec::default()
            };
            let mut null = session(&NullDriver::new(spec, 1), "latency").await;
            let begin_ns = now_ns();
            for _ in 0..300 {
                null.read(T, b"k", Fields::All).await.unwrap();
            }
            let mean_ns = (now_ns() - begin_ns) / 300;
            assert!(mean_ns >= 150_000, "{latency:?}: {mean_ns} ns");
        });
    }
}

#[test]
fn an_operation_in_a_stall_is_answered_when_the_stall_ends() {
    run(async {
        let stalled = |at_s, for_s| NullSpec {
            stalls: vec![NullStall { at_s, for_s }],
            ..NullSpec::default()
        };
        let epoch_ns = now_ns();
        set_epoch_ns(epoch_ns);
        let mut null = session(&NullDriver::new(stalled(600.0, 600.0), 1), "before").await;
        null.read(T, b"k", Fields::All).await.unwrap();
        assert!(now_ns() - epoch_ns < 600_000_000_000, "before the stall");
        let epoch_ns = now_ns();
        set_epoch_ns(epoch_ns);
        let mut null = session(&NullDriver::new(stalled(0.0, 0.1), 1), "stall").await;
        null.read(T, b"k", Fields::All).await.unwrap();
        let answered_ns = now_ns() - epoch_ns;
        assert!(
            answered_ns >= 100_000_000,
            "answered {answered_ns} ns after the epoch, within the stall"
        );
    });
}

#[test]
fn lost_writes_are_acknowledged_and_not_there() {
    run(async {
        let spec = NullSpec {
            store: true,
            lost_write_ratio: 0.5,
            ..NullSpec::default()
        };
        let mut null = session(&NullDriver::new(spec, 3), "lost").await;
        for i in 0..1000 {
            assert_eq!(
                null.insert(T, row(&i.to_string(), [b"", b"", b""]).record())
                    .await
                    .unwrap(),
                Some(1)
            );
        }
        let stored = null.count(T).await.unwrap();
        assert!(stored.abs_diff(500) < 80, "{stored}");
    });
}
