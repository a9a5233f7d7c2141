//! The options of LinkBench. Of each: its type, default, bounds and meaning, here and nowhere else; the reference page is made
//! from these lines. Names are the original's where it has one, and of the operations' shares they are the operations'.
use super::sysbench::IndexTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct LinkbenchSpec {
    /// Id of the first node.
    #[schemars(range(min = 1))]
    pub startid1: u64,
    /// One more than the last node's id.
    #[schemars(range(min = 2, max = 1_000_000_000_001u64))]
    pub maxid1: u64,
    /// false: links and counts alone.
    pub generate_nodes: bool,
    /// Types of links, among which a node's links are divided.
    #[schemars(range(min = 1, max = 1000))]
    pub link_type_count: u32,
    /// How many links nodes have, see below.
    pub nlinks_func: LinkCounts,
    /// Median bytes of a link's payload.
    #[schemars(range(min = 1, max = 255))]
    pub link_datasize: f64,
    /// Bytes of the payload of loaded and added links.
    pub link_add_datagen: Datagen,
    /// Bytes of the payload of updated links.
    pub link_up_datagen: Datagen,
    /// Median bytes of a node's payload.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub node_datasize: f64,
    /// Bytes of the payload of loaded and added nodes.
    pub node_add_datagen: Datagen,
    /// Bytes of the payload of updated nodes.
    pub node_up_datagen: Datagen,
    /// Share of requests that add a link, or rewrite it if it exists.
    #[schemars(range(min = 0))]
    pub addlink: f64,
    /// Share that hide a link.
    #[schemars(range(min = 0))]
    pub deletelink: f64,
    /// Share that write a link which is likely to be there: the statements of `addlink`.
    #[schemars(range(min = 0))]
    pub updatelink: f64,
    /// Share that read how many links of one type a node has.
    #[schemars(range(min = 0))]
    pub countlink: f64,
    /// Share that read a few links of one node by their ids.
    #[schemars(range(min = 0))]
    pub getlink: f64,
    /// Share that read a node's newest links of one type.
    #[schemars(range(min = 0))]
    pub getlinklist: f64,
    /// Share that read a node.
    #[schemars(range(min = 0))]
    pub getnode: f64,
    /// Share that add a node.
    #[schemars(range(min = 0))]
    pub addnode: f64,
    /// Share that rewrite a node.
    #[schemars(range(min = 0))]
    pub updatenode: f64,
    /// Share that delete a node.
    #[schemars(range(min = 0))]
    pub deletenode: f64,
    /// Per cent of `getlinklist` that go on where an earlier, longer list was cut off.
    #[schemars(range(min = 0, max = 100))]
    pub getlinklist_history: f64,
    /// Links at which a list is cut off; the original's is 10000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub range_limit: u32,
    /// Fewest links of a `getlink`.
    #[schemars(range(min = 1, max = 128))]
    pub link_multiget_dist_min: u32,
    /// One more than the most links of a `getlink`.
    #[schemars(range(min = 2, max = 129))]
    pub link_multiget_dist_max: u32,
    /// Chance that a `getlink` asks for no further link: their number is geometric.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub link_multiget_dist_prob: f64,
    /// Whose links are read; the node with most links first.
    pub read_function: Access,
    /// Whose links are read; in an order that has nothing to do with their number.
    pub read_uncorr_function: Access,
    /// Per cent of reads by `read_uncorr_function`, the rest by `read_function`.
    #[schemars(range(min = 0, max = 100))]
    pub read_uncorr_blend: f64,
    /// Whose links are written; the node with most links first.
    pub write_function: Access,
    /// Whose links are written; in an order that has nothing to do with their number.
    pub write_uncorr_function: Access,
    /// Per cent of writes by `write_uncorr_function`, the rest by `write_function`.
    #[schemars(range(min = 0, max = 100))]
    pub write_uncorr_blend: f64,
    /// Which nodes are read.
    pub node_read_function: Access,
    /// Which nodes are written.
    pub node_update_function: Access,
    /// Which nodes are deleted.
    pub node_delete_function: Access,
    /// 1: each user writes links to ids of its own, those that leave its number when divided by the number of users.
    #[schemars(range(max = 1))]
    pub id2gen_config: u32,
    /// Ids that are loaded at a time, in one transaction.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub loader_chunk_size: u64,
    /// Parts of the table of links, by a hash of `id1`, where the system has that; 1: it is not divided.
    #[schemars(range(min = 1, max = 1024))]
    pub partitions: u32,
    /// When the index `id1_type` is made.
    pub index_time: IndexTime,
    /// Appended to CREATE TABLE: `ENGINE=RocksDB`, `ROW_FORMAT=COMPRESSED`.
    pub create_table_options: String,
    /// Whose ways these are, see below.
    pub compat: LinkbenchCompat,
}

impl Default for LinkbenchSpec {
    fn default() -> Self {
        let of_links = Datagen {
            startbyte: 32,
            endbyte: 100,
            uniqueness: 0.225,
            motif_length: 128,
        };
        let of_nodes = Datagen {
            startbyte: 50,
            endbyte: 220,
            uniqueness: 0.63,
            motif_length: 512,
        };
        Self {
            startid1: 1,
            maxid1: 10_001,
            generate_nodes: true,
            link_type_count: 2,
            nlinks_func: LinkCounts::Real { points: vec![] },
            link_datasize: 8.0,
            link_add_datagen: of_links,
            link_up_datagen: of_links,
            node_datasize: 128.0,
            node_add_datagen: of_nodes,
            node_up_datagen: of_nodes,
            addlink: 8.988_660_1,
            deletelink: 2.990_766_4,
            updatelink: 8.012_212_5,
            countlink: 4.886_356_7,
            getlink: 0.526_114_2,
            getlinklist: 50.711_914_5,
            getnode: 12.932_668_3,
            addnode: 2.573_278_9,
            updatenode: 7.366_437,
            deletenode: 1.011_591_4,
            getlinklist_history: 0.3,
            range_limit: 10_000,
            link_multiget_dist_min: 1,
            link_multiget_dist_max: 128,
            link_multiget_dist_prob: 0.382,
            read_function: Access::Zipf { shape: 0.8 },
            read_uncorr_function: Access::Zipf { shape: 0.8 },
            read_uncorr_blend: 99.5,
            write_function: Access::Zipf { shape: 0.741 },
            write_uncorr_function: Access::Zipf { shape: 0.741 },
            write_uncorr_blend: 95.0,
            node_read_function: Access::Zipf { shape: 0.625 },
            node_update_function: Access::Zipf { shape: 0.606 },
            node_delete_function: Access::Uniform,
            id2gen_config: 0,
            loader_chunk_size: 2048,
            partitions: 16,
            index_time: IndexTime::AfterRows,
            create_table_options: String::new(),
            compat: LinkbenchCompat::None,
        }
    }
}

/// How many links the nodes have.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LinkCounts {
    /// As observed at Facebook: the original's `Distribution.dat`, or the table below.
    Real {
        /// Numbers of links, rising, each with the per cent of nodes that have no more; the last with 100. None: the table.
        #[serde(default)]
        points: Vec<(u64, f64)>,
    },
    /// The same for every node.
    Constant { links: u64 },
}

/// Which of the loaded ids requests are about.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Access {
    /// The id of rank i in proportion to i to the power of minus `shape`.
    Zipf {
        #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
        shape: f64,
    },
    /// Each equally often.
    Uniform,
}

/// Payload: chunks of up to 128 bytes, each new with the chance `uniqueness`, else copied from a buffer of `motif_length`
/// bytes.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
#[schemars(title = "a table { startbyte, endbyte, uniqueness, motif_length }")]
pub struct Datagen {
    pub startbyte: u8,
    pub endbyte: u8,
    /// 1: all bytes are new, the original's UniformDataGenerator.
    #[schemars(range(min = 0, max = 1))]
    pub uniqueness: f64,
    #[serde(default = "motif_length")]
    #[schemars(range(min = 1, max = 65_536))]
    pub motif_length: u32,
}

// The original's `DEFAULT_MOTIF_BUFFER_SIZE`.
fn motif_length() -> u32 {
    512
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum LinkbenchCompat {
    /// What the original's settings say.
    None,
    /// What its code does.
    Original,
}
