//! Named mixes: the six core workloads (Cooper et al., SoCC 2010) and the scenarios of the LeanXcale article.
use bakeoff_model::run::{RequestDistribution, YcsbSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// update heavy: half reads, half updates, zipfian (session store)
    A,
    /// read mostly: 95 % reads, 5 % updates, zipfian (photo tags)
    B,
    /// read only, zipfian (profile cache)
    C,
    /// read latest: 95 % reads of the newest records, 5 % inserts
    D,
    /// short ranges: 95 % scans of up to 100 rows, 5 % inserts, zipfian (threads of a forum)
    E,
    /// read-modify-write: half reads, half read-modify-writes, zipfian (user records)
    F,
    /// LeanXcale article: inserts, 1000 to a transaction
    LxLoad,
    /// LeanXcale article: reads by primary key, uniform
    LxRead,
    /// LeanXcale article: updates of one field by primary key, uniform
    LxUpdate,
    /// LeanXcale article, reading (a): scans of 1 to 1000 rows
    LxScan,
    /// LeanXcale article, reading (b): scans of 500 to 1500 rows
    #[serde(rename = "lx-scan-500-1500")]
    LxScanAround1000,
    /// LeanXcale article, reading (c): from one of the last 2000 keys to the end of the table
    LxScanToEnd,
    /// LeanXcale article: half reads, half updates, uniform
    LxReadUpdate,
}

impl Preset {
    pub fn spec(self) -> YcsbSpec {
        let zipfian = |mix| YcsbSpec {
            request_distribution: RequestDistribution::Zipfian,
            ..mix
        };
        match self {
            Self::A => zipfian(YcsbSpec {
                read_proportion: 0.5,
                update_proportion: 0.5,
                ..nothing()
            }),
            Self::B => zipfian(YcsbSpec {
                read_proportion: 0.95,
                update_proportion: 0.05,
                ..nothing()
            }),
            Self::C => zipfian(YcsbSpec {
                read_proportion: 1.0,
                ..nothing()
            }),
            Self::D => YcsbSpec {
                read_proportion: 0.95,
                insert_proportion: 0.05,
                request_distribution: RequestDistribution::Latest,
                ..nothing()
            },
            Self::E => zipfian(YcsbSpec {
                insert_proportion: 0.05,
                scan_proportion: 0.95,
                max_scan_length: 100,
                ..nothing()
            }),
            Self::F => zipfian(YcsbSpec {
                read_proportion: 0.5,
                read_modify_write_proportion: 0.5,
                ..nothing()
            }),
            Self::LxLoad => YcsbSpec {
                insert_proportion: 1.0,
                ops_per_transaction: 1000,
                ..article()
            },
            Self::LxRead => YcsbSpec {
                read_proportion: 1.0,
                ..article()
            },
            Self::LxUpdate => YcsbSpec {
                update_proportion: 1.0,
                ..article()
            },
            Self::LxScan => scans(1, 1000),
            Self::LxScanAround1000 => scans(500, 1500),
            Self::LxScanToEnd => YcsbSpec {
                scan_proportion: 1.0,
                scan_last_keys: Some(2000),
                ..article()
            },
            Self::LxReadUpdate => YcsbSpec {
                read_proportion: 0.5,
                update_proportion: 0.5,
                ..article()
            },
        }
    }
}

/// A mix of no operation.
fn nothing() -> YcsbSpec {
    YcsbSpec {
        read_proportion: 0.0,
        update_proportion: 0.0,
        ..YcsbSpec::default()
    }
}

/// The article's table, and its smaller size on every system (it gave the two systems unequal ones).
fn article() -> YcsbSpec {
    YcsbSpec {
        records: 40_000,
        key_length: 100,
        value_varchar: Some(255),
        batch_size: 1000,
        ..nothing()
    }
}

fn scans(min_scan_length: u32, max_scan_length: u32) -> YcsbSpec {
    YcsbSpec {
        scan_proportion: 1.0,
        min_scan_length,
        max_scan_length,
        ..article()
    }
}
