//! PostgreSQL and what else speaks its protocol, through our own client on the reactor ([`wire`]).
//!
//! An UPDATE counts the rows it found, changed or not: the server knows no other count.
pub(crate) mod copy;
pub(crate) mod errors;
pub(crate) mod json;
pub(crate) mod kind;
pub(crate) mod numeric;
pub(crate) mod options;
pub(crate) mod settings;
pub mod wire;

use crate::registration::{Options, Registration};
use bakeoff_model::needs::{Offer, Offers};
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::{Dialect, Partitioning};
pub use options::PostgresqlSpec;

pub const DRIVER: Registration = Registration {
    kind: "postgresql",
    options: Options::of::<PostgresqlSpec>(),
    library: || "wire (our own, on the reactor)".into(),
    isolation: &[
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Snapshot,
        Isolation::Serializable,
    ],
    client: wire::CLIENT,
};

const OFFERS: Offers = Offers::of(&[
    Offer::Transactions,
    Offer::Scan,
    Offer::CountsFound,
    Offer::Pipeline,
    Offer::Tls,
    Offer::Patch,
    Offer::Revisions,
    Offer::Find,
    Offer::PathIndex,
]);

pub(crate) static DIALECT: Dialect = Dialect {
    name: "postgresql",
    lower_case_names: true,
    bytes_type: "BYTEA",
    varbytes_type: "BYTEA",
    auto_key: "SERIAL",
    auto_key_big: "BIGSERIAL",
    number_after: Some("SELECT setval(pg_get_serial_sequence('{table}', '{column}'), {last})"),
    numbered_placeholders: true,
    for_update: " FOR UPDATE",
    partitioning: Partitioning::Tables,
    rows_per_insert: 100,
    adds_foreign_keys: true,
    table_exists: "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass(quote_ident(lower($1::text))) AND relkind IN ('r', 'p')",
    only_reads: ["BEGIN READ ONLY", "COMMIT"],
    settings: "SELECT name, setting FROM pg_catalog.pg_settings WHERE name IN ('commit_delay', 'default_transaction_isolation', \
        'default_transaction_read_only', 'fsync', 'full_page_writes', 'session_replication_role', 'synchronous_commit', \
        'wal_sync_method') \
        UNION ALL SELECT 'server', COALESCE(inet_server_addr()::text, '') || ':' || current_setting('port')",
    json: Some(&json::JSON),
    ..Dialect::STANDARD
};
