//! Named mixes.
use bakeoff_model::run::RequestDistribution;
use bakeoff_model::run::documents::DocumentsSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// a quarter each of new documents, reads, replacements and deletes, uniform
    Crud,
    /// reads of whole documents and of parts of them, zipfian
    Read,
    /// half reads, the rest writes of all kinds, zipfian
    Mixed,
    /// finds, counts and reads, with an index
    Query,
    /// many documents in one request: reads and new ones
    Batch,
}

impl Preset {
    pub fn spec(self) -> DocumentsSpec {
        let nothing = DocumentsSpec {
            get: 0.0,
            ..DocumentsSpec::default()
        };
        let zipfian = RequestDistribution::Zipfian;
        match self {
            Self::Crud => DocumentsSpec {
                insert: 0.25,
                get: 0.25,
                put: 0.25,
                delete: 0.25,
                ..nothing
            },
            Self::Read => DocumentsSpec {
                get: 0.8,
                get_part: 0.2,
                request_distribution: zipfian,
                ..nothing
            },
            Self::Mixed => DocumentsSpec {
                get: 0.5,
                get_part: 0.1,
                put: 0.15,
                patch: 0.2,
                insert: 0.05,
                request_distribution: zipfian,
                ..nothing
            },
            Self::Query => DocumentsSpec {
                get: 0.2,
                find: 0.6,
                count: 0.1,
                contains: 0.05,
                find_unindexed: 0.05,
                index: vec![nothing.find_path.clone(), nothing.count_path.clone()],
                ..nothing
            },
            Self::Batch => DocumentsSpec {
                get_batch: 0.5,
                put_batch: 0.5,
                ..nothing
            },
        }
    }
}
