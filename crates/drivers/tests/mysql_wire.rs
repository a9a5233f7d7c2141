//! What is the MySQL protocol's own, through our own client.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // test code throughout
mod bench;
#[path = "mysql_cases/mod.rs"]
mod cases;

use bakeoff_drivers::mysql_wire::WireDriver;
use bakeoff_model::run::TlsSpec;

mod client {
    use bakeoff_drivers::mysql_wire::{WireDriver, WireSession};
    use bakeoff_drivers::records::SqlRecords;
    use bakeoff_model::run::MysqlSpec;
    use std::time::Duration;

    pub use crate::bench::{run_on_reactor as run, wire_driver as driver};
    pub type Session = SqlRecords<WireSession>;

    pub fn driver_within(spec: MysqlSpec, timeout: Duration) -> WireDriver {
        WireDriver::new(spec, None, timeout).unwrap()
    }
}

#[test]
fn tls_is_refused_and_the_client_that_has_it_named() {
    let Some(spec) = bench::mysql_spec() else { return };
    let tls = Some(TlsSpec {
        ca_file: None,
        verify: false,
    });
    let refused = WireDriver::new(
        bakeoff_model::run::MysqlSpec { tls, ..spec },
        None,
        bench::TIMEOUT,
    );
    let trouble = refused.err().unwrap();
    assert!(trouble.hint.contains("mysql_async"), "{trouble:?}");
}
