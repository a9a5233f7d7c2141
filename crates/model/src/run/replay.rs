//! The options of a captured log that is replayed. Of each: its type, default, bounds and meaning, here and nowhere else; the
//! reference page is made from these lines.
use super::sql::{DataFile, Texts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct ReplaySpec {
    /// The log of a server: its statements, with their sessions and times.
    #[schemars(extend("title" = "a file"))]
    pub log: Option<DataFile>,
    /// What kind of log it is; `auto` looks at its first lines.
    pub log_format: LogFormat,
    /// How many times as fast as captured; 0: each session as fast as it gets its answers.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub speed: f64,
    /// Statements that make the tables and their rows; none: they are there already (`data = "existing"`).
    #[schemars(extend("title" = "a file, or a table of files by system such as { mysql = \"a.sql\", postgresql = \"b.sql\" }"))]
    pub setup: Option<Texts>,
    /// Names of the tables, besides those that `setup` makes. None: those that the log's statements name.
    #[schemars(extend("title" = "a list of names"))]
    pub tables: Vec<String>,
    /// Sends every statement of the log. Otherwise only queries, changes of rows in the plan's schema and settings of a session are
    /// sent; `DROP`, `CREATE`, `SET GLOBAL`, `GRANT` and the like are left out.
    pub unchecked_sql: bool,
    /// Compares the rows of each answer with those of the log, where it has them: a slow log does.
    pub compare_rows: bool,
}

impl Default for ReplaySpec {
    fn default() -> Self {
        Self {
            log: None,
            log_format: LogFormat::Auto,
            speed: 1.0,
            setup: None,
            tables: vec![],
            unchecked_sql: false,
            compare_rows: true,
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Auto,
    /// MariaDB's and MySQL's general log.
    General,
    /// MariaDB's and MySQL's slow log, with `long_query_time = 0`.
    Slow,
    /// PostgreSQL's `log_destination = 'csvlog'`.
    Csvlog,
    /// PostgreSQL's `log_destination = 'jsonlog'`.
    Jsonlog,
}
