//! sysbench OLTP (tag 1.0.20; 0.5 where said), every option resolved. Names are the original's with `-` as `_`.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct SysbenchSpec {
    pub script: SysbenchScript,
    pub tables: u32,
    pub table_size: u64,
    pub range_size: u32,
    pub point_selects: u32,
    pub simple_ranges: u32,
    pub sum_ranges: u32,
    pub order_ranges: u32,
    pub distinct_ranges: u32,
    pub index_updates: u32,
    pub non_index_updates: u32,
    pub delete_inserts: u32,
    pub range_selects: bool,
    pub skip_trx: bool,
    pub auto_inc: bool,
    /// A plain index `xid` on id instead of the primary key.
    pub secondary: bool,
    pub create_secondary: bool,
    /// Appended to CREATE TABLE on MySQL's family; empty: the server's default.
    pub mysql_storage_engine: String,
    /// Another connection after every N events; 0: never.
    pub reconnect: u32,
    /// select_random_points
    pub random_points: u32,
    /// select_random_ranges
    pub number_of_ranges: u32,
    pub delta: u32,
    pub rand_type: SysbenchRandom,
    pub rand_spec_iter: u32,
    pub rand_spec_pct: u32,
    pub rand_spec_res: u32,
    pub rand_pareto_h: f64,
    pub rand_zipfian_exp: f64,
    pub db_ps_mode: PreparedMode,
    pub table_choice: TableChoice,
    /// When the secondary index on k is made.
    pub index_time: IndexTime,
}

impl Default for SysbenchSpec {
    fn default() -> Self {
        Self {
            script: SysbenchScript::OltpReadWrite,
            tables: 1,
            table_size: 10_000,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_selects: true,
            skip_trx: false,
            auto_inc: true,
            secondary: false,
            create_secondary: true,
            mysql_storage_engine: "innodb".into(),
            reconnect: 0,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            rand_type: SysbenchRandom::Special,
            rand_spec_iter: 12,
            rand_spec_pct: 1,
            rand_spec_res: 75,
            rand_pareto_h: 0.2,
            rand_zipfian_exp: 0.8,
            db_ps_mode: PreparedMode::Auto,
            table_choice: TableChoice::PerGroup,
            index_time: IndexTime::AfterRows,
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SysbenchScript {
    OltpReadWrite,
    OltpReadOnly,
    OltpWriteOnly,
    OltpPointSelect,
    OltpUpdateIndex,
    OltpUpdateNonIndex,
    OltpDelete,
    OltpInsert,
    BulkInsert,
    SelectRandomPoints,
    SelectRandomRanges,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SysbenchRandom {
    Uniform,
    Gaussian,
    /// Default of 1.0, 0.5 and 0.4.
    Special,
    Pareto,
    /// Of 1.1.
    Zipfian,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PreparedMode {
    /// Prepared statements, binary protocol.
    Auto,
    /// Values in the statement's text (0.5).
    Disable,
}

/// How many tables one event touches.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TableChoice {
    /// 1.0: each group of statements draws its own.
    PerGroup,
    /// 0.5: one for the whole transaction.
    PerTransaction,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum IndexTime {
    /// 1.0
    AfterRows,
    /// 0.5 of early 2012.
    BeforeRows,
}
