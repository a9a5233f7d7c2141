//! The options of `documents`. Of each: its type, default, bounds and meaning, here and nowhere else; the reference page is
//! made from these lines.
use super::{InsertOrder, RequestDistribution};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct DocumentsSpec {
    /// Name of the one collection (of the table, in an SQL system).
    #[schemars(length(min = 1))]
    pub collection: String,
    /// Documents that exist after the load, over all clients.
    #[schemars(range(min = 1))]
    pub records: u64,
    /// What a document is made from, see below.
    #[schemars(extend("title" = "a table of generators, tables and lists"))]
    pub template: Map<String, Value>,
    /// Paths with an index, such as `address.city`.
    #[schemars(extend("title" = "a list of paths"))]
    pub index: Vec<String>,
    /// Paths that `get_part` reads.
    #[schemars(extend("title" = "a list of paths"))]
    pub part: Vec<String>,
    /// Paths that `patch` sets.
    #[schemars(extend("title" = "a list of paths"))]
    pub patched: Vec<String>,
    /// Path that `find` compares with a value.
    pub find_path: String,
    /// Path that `find_unindexed` compares with a value.
    pub find_unindexed_path: String,
    /// Array of texts in which `contains` looks for one.
    pub contains_path: String,
    /// Path that `count` compares with a value.
    pub count_path: String,
    /// Weight of reads of one document by its key; the sum of all weights need not be 1.
    #[schemars(range(min = 0))]
    pub get: f64,
    /// Weight of reads of some paths of one document by its key.
    #[schemars(range(min = 0))]
    pub get_part: f64,
    /// Weight of replacements of a whole document.
    #[schemars(range(min = 0))]
    pub put: f64,
    /// Weight of writes that set some paths and leave the rest of a document.
    #[schemars(range(min = 0))]
    pub patch: f64,
    /// Weight of new documents.
    #[schemars(range(min = 0))]
    pub insert: f64,
    /// Weight of deletes. A user deletes what it has inserted before; with deletes, that share of its new documents is kept
    /// for them and never read.
    #[schemars(range(min = 0))]
    pub delete: f64,
    /// Weight of finds by `find_path`.
    #[schemars(range(min = 0))]
    pub find: f64,
    /// Weight of finds by `find_unindexed_path`: usually the whole collection is read.
    #[schemars(range(min = 0))]
    pub find_unindexed: f64,
    /// Weight of finds of documents whose array has an element.
    #[schemars(range(min = 0))]
    pub contains: f64,
    /// Weight of counts of documents by `count_path`.
    #[schemars(range(min = 0))]
    pub count: f64,
    /// Weight of reads of documents in the order of their keys.
    #[schemars(range(min = 0))]
    pub range: f64,
    /// Weight of reads of several documents by their keys, in one request where the system has it.
    #[schemars(range(min = 0))]
    pub get_batch: f64,
    /// Weight of several new documents, in one request where the system has it.
    #[schemars(range(min = 0))]
    pub put_batch: f64,
    /// Documents of `get_batch` and `put_batch`.
    #[schemars(range(min = 1, max = 1000))]
    pub batch: u32,
    /// Documents that a find asks for, at most.
    #[schemars(range(min = 1))]
    pub find_limit: u32,
    /// Documents that a range asks for, at most.
    #[schemars(range(min = 1))]
    pub range_limit: u32,
    /// Which documents are asked for, see ycsb.
    pub request_distribution: RequestDistribution,
    /// Keys are hashed, or in the order of their numbers.
    pub insert_order: InsertOrder,
    /// Digits that a key has at least; ordered keys need it to sort as numbers.
    #[schemars(range(max = 500))]
    pub zero_padding: u32,
    /// Every value of a document that was read by its key is compared with what was written.
    pub verify: bool,
    /// Documents per batch of the load.
    #[schemars(range(min = 1, max = 100_000))]
    pub load_batch: u32,
    /// Numbers of keys to leave out before those of inserts: runs on data that runs before them have changed count it up.
    pub inserted_before: u64,
}

impl Default for DocumentsSpec {
    fn default() -> Self {
        Self {
            collection: "documents".into(),
            records: 1000,
            template: template(),
            index: vec![],
            part: ["name", "address.city"].map(String::from).into(),
            patched: ["balance", "address.street"].map(String::from).into(),
            find_path: "account".into(),
            find_unindexed_path: "address.zip".into(),
            contains_path: "tags".into(),
            count_path: "address.city".into(),
            get: 1.0,
            get_part: 0.0,
            put: 0.0,
            patch: 0.0,
            insert: 0.0,
            delete: 0.0,
            find: 0.0,
            find_unindexed: 0.0,
            contains: 0.0,
            count: 0.0,
            range: 0.0,
            get_batch: 0.0,
            put_batch: 0.0,
            batch: 20,
            find_limit: 10,
            range_limit: 50,
            request_distribution: RequestDistribution::Uniform,
            insert_order: InsertOrder::Hashed,
            zero_padding: 1,
            verify: true,
            load_batch: 200,
            inserted_before: 0,
        }
    }
}

/// A customer with an address, tags and orders: about 1 KB.
fn template() -> Map<String, Value> {
    let template = json!({
        "name": "text:10..24",
        "account": "int:0..99999",
        "balance": "float:0..10000",
        "active": "bool",
        "since": "date",
        "address": {
            "street": "text:12..30",
            "zip": "int:10000..99999",
            "city": "enum:Aachen,Berlin,Bremen,Dresden,Erfurt,Hamburg,Kiel,Leipzig,Mainz,Munich,Potsdam,Ulm",
            "location": { "latitude": "float:47..55", "longitude": "float:6..15" },
        },
        "tags": { "each": "enum:new,loyal,abroad,business,student,vip,blocked,credit,partner,staff", "count": "1..4" },
        "orders": {
            "each": {
                "id": "uuid",
                "date": "datetime",
                "lines": { "each": { "article": "string:8", "quantity": "int:1..9", "price": "float:1..200" }, "count": "1..3" },
            },
            "count": "2..3",
        },
        "notes": "text:120..240",
    });
    match template {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
