//! The options of a sysbench script in Lua. Of each: its type, default, bounds and meaning, here and nowhere else; the
//! reference page is made from these lines. The document contains the full texts, so that it shows what was run.
use super::sql::TextFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct LuaSpec {
    /// The script: a file, or one of those that sysbench installs, such as `oltp_read_write.lua`.
    #[schemars(extend("title" = "a file"))]
    pub script: Option<TextFile>,
    /// Files that the script requires, where they are not next to it or among sysbench's.
    #[schemars(extend("title" = "a list of files"))]
    pub modules: Vec<TextFile>,
    /// The script's own options, without their dashes, and sysbench's `rand_*` ones.
    #[schemars(extend("title" = "a table such as { tables = 4, table_size = 10000 }"))]
    pub options: Map<String, Value>,
    /// `sysbench.opt.threads` of the script: `prepare` is called once for each, or once where it cannot be shared. A run with more
    /// threads sees its own number.
    #[schemars(range(min = 1, max = 1024))]
    pub script_threads: u32,
    /// Names of the tables that `prepare` makes; `sbtest{1..4}` stands for four. None: those that a trial without a database tells.
    #[schemars(extend("title" = "a list of names"))]
    pub creates: Vec<String>,
    /// A command of the script to call after the load and after each run: it fails where it raises an error or prints a line with
    /// FAILED.
    pub check: Option<String>,
    /// Runs change rows. With `false` they all begin with the data as loaded, and nothing verifies that.
    pub writes: bool,
    /// Other operations for the same seed: runs on data that runs before them have changed count it up.
    pub turn: u64,
}

impl Default for LuaSpec {
    fn default() -> Self {
        Self {
            script: None,
            modules: vec![],
            options: Map::new(),
            script_threads: 16,
            creates: vec![],
            check: None,
            writes: true,
            turn: 0,
        }
    }
}
