//! The options of sysbench OLTP (tag 1.0.20; 0.5 where said). Of each: its type, default, bounds and meaning, here and
//! nowhere else; the reference page is made from these lines. Names are the original's with `-` as `_`.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct SysbenchSpec {
    /// What an event does, see above.
    pub script: SysbenchScript,
    /// `sbtest1`, `sbtest2`, ...
    #[schemars(range(min = 1, max = 100_000))]
    pub tables: u32,
    /// Rows of each table; ids are 32-bit integers with a sign.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub table_size: u64,
    /// Rows of a range.
    #[schemars(range(min = 1))]
    pub range_size: u32,
    /// Point selects of an event.
    pub point_selects: u32,
    /// Simple ranges of an event.
    pub simple_ranges: u32,
    /// Ranges of an event whose k is summed.
    pub sum_ranges: u32,
    /// Ranges of an event in the order of c.
    pub order_ranges: u32,
    /// Ranges of an event without repeated c.
    pub distinct_ranges: u32,
    /// Updates of the indexed column of an event.
    pub index_updates: u32,
    /// Updates of another column of an event.
    pub non_index_updates: u32,
    /// Rows that an event deletes and inserts again: two statements each.
    pub delete_inserts: u32,
    /// false: no ranges.
    pub range_selects: bool,
    /// No begin and commit: every statement commits.
    pub skip_trx: bool,
    /// The server numbers rows; false: the client does.
    pub auto_inc: bool,
    /// id gets a plain index `xid` instead of the primary key.
    pub secondary: bool,
    /// The index `k_1`, `k_2`, ... on k.
    pub create_secondary: bool,
    /// Storage engine on MySQL's family; empty: the server's default.
    pub mysql_storage_engine: String,
    /// Appended to CREATE TABLE, as in 1.1: `ROW_FORMAT=COMPRESSED`. Not to the tables of `bulk_insert`.
    pub create_table_options: String,
    /// Another connection after every n events; 0: never.
    pub reconnect: u32,
    /// Values of `select_random_points`. (A statement of MySQL's has 65535 at most.)
    #[schemars(range(min = 1, max = 65_535))]
    pub random_points: u32,
    /// Ranges of `select_random_ranges`, two values each.
    #[schemars(range(min = 1, max = 32_767))]
    pub number_of_ranges: u32,
    /// Width of each range of `select_random_ranges`.
    pub delta: u32,
    /// Which rows are asked for, see below.
    pub rand_type: SysbenchRandom,
    /// gaussian, special: draws whose mean is taken.
    #[schemars(range(min = 1))]
    pub rand_spec_iter: u32,
    /// special: per cent of the rows that are special.
    #[schemars(range(max = 100))]
    pub rand_spec_pct: u32,
    /// special: per cent of the draws that go to them.
    #[schemars(range(max = 99))]
    pub rand_spec_res: u32,
    /// pareto: this share of the rows gets 1 minus this share of the draws.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub rand_pareto_h: f64,
    /// zipfian: the exponent; 0 is uniform.
    #[schemars(range(min = 0, max = 100))]
    pub rand_zipfian_exp: f64,
    /// Whether statements are prepared.
    pub db_ps_mode: PreparedMode,
    /// A transaction's statements are sent together, see below.
    pub pipeline: bool,
    /// How many tables one event touches.
    pub table_choice: TableChoice,
    /// When the index on k is made.
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
            create_table_options: String::new(),
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
            pipeline: false,
            table_choice: TableChoice::PerGroup,
            index_time: IndexTime::AfterRows,
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SysbenchScript {
    /// All of it in a transaction: 14 reads and 4 writes.
    OltpReadWrite,
    /// The 14 reads of it in a transaction.
    OltpReadOnly,
    /// The 4 writes of it in a transaction.
    OltpWriteOnly,
    /// One select by primary key.
    OltpPointSelect,
    /// One update of the indexed column by primary key.
    OltpUpdateIndex,
    /// One update of another column by primary key.
    OltpUpdateNonIndex,
    /// One delete by primary key; rows are not put back.
    OltpDelete,
    /// One insert of a new row.
    OltpInsert,
    /// Rows into a table of each thread's own, in large multi-row inserts.
    BulkInsert,
    /// One select of 10 values of the indexed column.
    SelectRandomPoints,
    /// One count over 10 ranges of the indexed column.
    SelectRandomRanges,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SysbenchRandom {
    /// Every row equally often.
    Uniform,
    /// A bell around the middle.
    Gaussian,
    /// Most draws go to few rows, in the middle of the table; the rest in a bell around it. Default of 1.0, 0.5 and 0.4.
    Special,
    /// The first rows get most draws.
    Pareto,
    /// Row i in proportion to i to a negative power, as in 1.1.
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
