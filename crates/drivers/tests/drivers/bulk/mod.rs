//! Bulk loads, case by case, on every SQL system that is at hand.

/// Runs the case on a session of a bench, if it is there.
macro_rules! on {
    ($bench:ty, $session:ident => $case:expr) => {{
        let Some(driver) = <$bench as $crate::bench::Bench>::driver() else {
            return;
        };
        <$bench as $crate::bench::Bench>::run(async {
            let mut session = $crate::bench::open(&driver).await.unwrap();
            <$bench as $crate::bench::Bench>::set_up(&mut session);
            let $session = session.sql();
            $case
        })
    }};
}

/// A test of each of the cases in the same file.
macro_rules! on_client {
    ($bench:ident [$($case:ident),* $(,)?]) => {
        $(#[test]
        fn $case() {
            on!(crate::bench::$bench, session => super::$case(session).await)
        })*
    };
}

/// Tests of the cases on each client, in a module of its name.
macro_rules! on_each_client {
    ([$($client:ident: $bench:ident),* $(,)?], $cases:tt) => {
        $(mod $client {
            on_client!($bench $cases);
        })*
    };
}

mod cases;
mod mysql;
mod postgresql;
mod rows;

use cases::*;

/// A test of each of the cases, on every client whose system is at hand.
macro_rules! on_every_client {
    ([$($case:ident),* $(,)?]) => {
        mod every_client {
            $(
                #[test]
                fn $case() {
                    for system in crate::bench::System::of_sql() {
                        system.run(async { super::$case(&mut system.sql().await).await });
                        system.passed("SQL", stringify!($case));
                    }
                }
            )*
        }
    };
}

macro_rules! for_cases {
    ($on:ident $($clients:tt)?) => {
        $on!($($clients,)? [
            every_value_arrives_as_it_was_given,
            text_may_stop_being_ascii_anywhere,
            no_rows_and_many_rows_are_loaded,
            a_row_larger_than_the_buffer_is_loaded,
            a_duplicate_key_is_an_error_and_loads_nothing,
            a_load_within_a_transaction_is_part_of_it,
            columns_left_out_take_their_defaults,
            a_column_may_be_given_values_of_several_types,
            a_missing_table_is_refused,
        ]);
    };
}

for_cases!(on_every_client);
for_cases!(on_each_client [mysql_wire_without_arrays: MysqlWireWithoutArrays]);
