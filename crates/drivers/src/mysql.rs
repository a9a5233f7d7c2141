//! MariaDB, MySQL, Percona Server and what else speaks their protocol, through our own client on the reactor ([`wire`]).
//!
//! A session counts found rows (those of an UPDATE that changes nothing, too) unless the workload needs it otherwise.
pub(crate) mod bulk;
pub(crate) mod errors;
pub(crate) mod json;
pub(crate) mod kill;
pub(crate) mod options;
pub(crate) mod server_key;
pub(crate) mod settings;
pub(crate) mod table;
pub(crate) mod values;
pub mod wire;

use crate::registration::{Options, Registration};
use bakeoff_model::needs::{Offer, Offers};
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::{Dialect, NumberTaken, Partitioning, Upsert};
pub use options::MysqlSpec;

pub const DRIVER: Registration = Registration {
    kind: "mysql",
    options: Options::of::<MysqlSpec>(),
    library: || "wire (our own, on the reactor)".into(),
    isolation: &[
        Isolation::ReadUncommitted,
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ],
    client: wire::CLIENT,
};

const OFFERS: Offers = Offers::of(&[
    Offer::Transactions,
    Offer::Scan,
    Offer::CountsFound,
    Offer::CountsChanged,
    Offer::PlainIndex,
    Offer::Tls,
    Offer::Patch,
    Offer::Revisions,
    Offer::Find,
    Offer::PathIndex,
]);

pub(crate) static DIALECT: Dialect = Dialect {
    name: "mysql",
    quote: ('`', '`'),
    bytes_type: "LONGBLOB",
    varbytes_type: "VARBINARY({})",
    byte_type: "TINYINT",
    // Servers before 5.6 have whole seconds only.
    timestamp_type: "DATETIME(6)",
    auto_key: "INTEGER NOT NULL AUTO_INCREMENT",
    auto_key_big: "BIGINT NOT NULL AUTO_INCREMENT",
    auto_value: Some(0),
    for_update: " FOR UPDATE",
    upsert: Upsert::OnDuplicateKey,
    upsert_tells: true,
    number_taken: NumberTaken::InsertId, // there is no RETURNING for an UPDATE
    stored_bytes: "CAST({} AS BINARY)",
    force_index: " FORCE INDEX ({})",
    partitioning: Partitioning::Inside,
    rows_per_insert: 100,
    adds_foreign_keys: true,
    foreign_keys_off: "SET SESSION foreign_key_checks = 0",
    table_exists: "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?",
    only_reads: ["START TRANSACTION READ ONLY", "COMMIT"],
    settings: "SHOW VARIABLES WHERE Variable_name IN ('autocommit', 'binlog_format', 'check_constraint_checks', \
        'foreign_key_checks', 'hostname', 'innodb_doublewrite', 'port', 'innodb_flush_log_at_trx_commit', 'rocksdb_flush_log_at_trx_commit', \
        'sql_log_bin', 'sync_binlog', 'transaction_isolation', 'tx_isolation', 'unique_checks', 'wsrep_on')",
    json: Some(&json::MYSQL),
    ..Dialect::STANDARD
};

/// The servers' dialects, which differ in JSON. With these options for tables; no ENGINE of ours: the server's default_storage_engine is a setting like any other. What is leaked is two small values a driver, and a process has one driver.
struct Dialects {
    mariadb: &'static Dialect,
    mysql: &'static Dialect,
}

impl Dialects {
    fn new(table_options: &str) -> Self {
        let table_suffix = match table_options {
            "" => "",
            options => String::leak(format!(" {options}")),
        };
        let with = |json| -> &'static Dialect {
            Box::leak(Box::new(Dialect {
                table_suffix,
                json: Some(json),
                ..DIALECT.clone()
            }))
        };
        Self {
            mariadb: with(&json::MARIADB),
            mysql: with(&json::MYSQL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_for_tables_are_appended_to_each_and_nothing_else_changes() {
        assert_eq!(Dialects::new("").mariadb.table_suffix, "");
        let compressed = Dialects::new("PAGE_COMPRESSED=1").mysql;
        assert_eq!(compressed.table_suffix, " PAGE_COMPRESSED=1");
        let plain = Dialect {
            table_suffix: "",
            ..compressed.clone()
        };
        assert_eq!(format!("{plain:?}"), format!("{DIALECT:?}"));
    }
}
