//! YCSB's options (Cooper et al., SoCC 2010). Of each: its type, default, bounds and meaning, here and nowhere else; the
//! reference page is made from these lines. Property names of the original are given where ours differ.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct YcsbSpec {
    /// Name of the one table.
    #[schemars(length(min = 1))]
    pub table: String,
    /// Column of the primary key, a text.
    #[schemars(length(min = 1))]
    pub key_column: String,
    /// Most characters of a key.
    #[schemars(range(min = 1))]
    pub key_length: u32,
    /// Columns are `FIELD0`, `FIELD1`, ... (`fieldnameprefix`)
    #[schemars(length(min = 1))]
    pub field_prefix: String,
    /// Values are VARCHAR of this length; none: TEXT.
    #[schemars(range(min = 1))]
    pub value_varchar: Option<u32>,
    /// A record is a row of columns, or a document; in an SQL system, a column of JSON.
    pub form: Form,
    /// Rows that exist after the load, over all clients. (`recordcount`)
    #[schemars(range(min = 1))]
    pub records: u64,
    /// First record of the slice that is loaded and asked for, over all clients.
    pub insert_start: u64,
    /// Records of that slice; none: all from `insert_start` on.
    #[schemars(range(min = 1))]
    pub insert_count: Option<u64>,
    /// Bounds the range of `zipfian` keys where the mix inserts; ends nothing. (`operationcount`)
    pub operation_count: Option<u64>,
    /// Fields of a record.
    #[schemars(range(min = 1))]
    pub field_count: u32,
    /// Bytes of a field's value, at most.
    #[schemars(range(min = 1))]
    pub field_length: u32,
    /// Bytes of a field's value at least, where lengths vary.
    pub min_field_length: u32,
    /// How long values are.
    pub field_length_distribution: FieldLength,
    /// false: a read asks for one field, drawn evenly.
    pub read_all_fields: bool,
    /// Name the columns instead of `*`.
    pub read_all_fields_by_name: bool,
    /// An update writes all fields instead of one, drawn evenly.
    pub write_all_fields: bool,
    /// Values that can be verified, and every read verifies them.
    pub data_integrity: bool,
    /// Weight of reads among the operations; the sum of all weights need not be 1.
    #[schemars(range(min = 0))]
    pub read_proportion: f64,
    /// Weight of updates.
    #[schemars(range(min = 0))]
    pub update_proportion: f64,
    /// Weight of inserts.
    #[schemars(range(min = 0))]
    pub insert_proportion: f64,
    /// Weight of scans.
    #[schemars(range(min = 0))]
    pub scan_proportion: f64,
    /// Weight of reads that are followed by an update of the same record.
    #[schemars(range(min = 0))]
    pub read_modify_write_proportion: f64,
    /// Which records are asked for, see below.
    pub request_distribution: RequestDistribution,
    /// Rows that a scan asks for, at least.
    #[schemars(range(min = 1))]
    pub min_scan_length: u32,
    /// Rows that a scan asks for, at most.
    #[schemars(range(min = 1))]
    pub max_scan_length: u32,
    /// How many rows between the two a scan asks for.
    pub scan_length_distribution: ScanLength,
    /// Scans have no limit and begin at one of the last n keys in key order, drawn evenly.
    #[schemars(range(min = 1))]
    pub scan_last_keys: Option<u64>,
    /// Keys are hashed, or in the order of their numbers.
    pub insert_order: InsertOrder,
    /// Digits a key has at least; ordered keys need it to sort as numbers.
    pub zero_padding: u32,
    /// Bytes of values, see below.
    pub payload: Payload,
    /// Rows per batch and transaction of the load; 1: single inserts. (`db.batchsize`)
    pub batch_size: u32,
    /// Operations that are committed together; 1: each commits; 0: one transaction per thread (compat).
    pub ops_per_transaction: u32,
    /// Load only: how often a failed insert is tried again. (`core_workload_insertion_retry_limit`)
    pub insertion_retry_limit: u32,
    /// Load only: pause before it is tried again, times 0.8 to 1.2. (`core_workload_insertion_retry_interval`)
    #[schemars(range(min = 0))]
    pub insertion_retry_interval_s: f64,
}

impl Default for YcsbSpec {
    fn default() -> Self {
        Self {
            table: "usertable".into(),
            key_column: "YCSB_KEY".into(),
            key_length: 255,
            field_prefix: "FIELD".into(),
            value_varchar: None,
            form: Form::Record,
            records: 1000,
            insert_start: 0,
            insert_count: None,
            operation_count: None,
            field_count: 10,
            field_length: 100,
            min_field_length: 1,
            field_length_distribution: FieldLength::Constant,
            read_all_fields: true,
            read_all_fields_by_name: false,
            write_all_fields: false,
            data_integrity: false,
            read_proportion: 0.95,
            update_proportion: 0.05,
            insert_proportion: 0.0,
            scan_proportion: 0.0,
            read_modify_write_proportion: 0.0,
            request_distribution: RequestDistribution::Uniform,
            min_scan_length: 1,
            max_scan_length: 1000,
            scan_length_distribution: ScanLength::Uniform,
            scan_last_keys: None,
            insert_order: InsertOrder::Hashed,
            zero_padding: 1,
            payload: Payload::Printable,
            batch_size: 1000,
            ops_per_transaction: 1,
            insertion_retry_limit: 0,
            insertion_retry_interval_s: 3.0,
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FieldLength {
    Constant,
    Uniform,
    /// Favours the short.
    Zipfian,
    /// The original's histogram file: block size and pairs of bucket and count.
    Histogram {
        #[schemars(range(min = 1))]
        block_size: u32,
        #[schemars(length(min = 1))]
        buckets: Vec<(u32, u64)>,
    },
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RequestDistribution {
    Uniform,
    /// The original's scrambled zipfian, fixed zeta over 10^10 items.
    Zipfian,
    /// Rank by zipf over the table, then a fixed permutation.
    ZipfianExact {
        #[serde(default = "theta")]
        #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
        theta: f64,
    },
    Latest,
    Hotspot {
        #[serde(default = "hotspot_data_fraction")]
        #[schemars(range(min = 0, max = 1))]
        data_fraction: f64,
        #[serde(default = "hotspot_operation_fraction")]
        #[schemars(range(min = 0, max = 1))]
        operation_fraction: f64,
    },
    Sequential,
    Exponential {
        #[serde(default = "exponential_percentile")]
        #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 100))]
        percentile: f64,
        #[serde(default = "exponential_fraction")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        fraction: f64,
    },
}

// The original's own defaults (`ZIPFIAN_CONSTANT`, `hotspotdatafraction`, ...).
fn theta() -> f64 {
    0.99
}
fn hotspot_data_fraction() -> f64 {
    0.2
}
fn hotspot_operation_fraction() -> f64 {
    0.8
}
fn exponential_percentile() -> f64 {
    95.0
}
fn exponential_fraction() -> f64 {
    0.8571428571
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Record,
    Document,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ScanLength {
    Uniform,
    Zipfian,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum InsertOrder {
    Hashed,
    Ordered,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// Uniform over 0x20..=0x7E.
    Printable,
    /// The original's masks (RandomByteIterator).
    Compat,
}
