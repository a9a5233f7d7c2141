//! The options of one's own SQL: a schema, rows, transactions and checks, as people have them in files. Of each: its type,
//! default, bounds and meaning, here and nowhere else; the reference page is made from these lines. The document contains
//! the full texts of files, so that it shows every statement that was sent.
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct SqlSpec {
    /// One of pgbench's own transactions, on its tables; none: `scripts`.
    pub script: Option<Builtin>,
    /// Rows of pgbench's tables, in multiples of 100000 accounts; `:scale` in scripts, and in expressions.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub scale: u32,
    /// The transactions, in pgbench's language, each from a file; their weights say how often one is drawn.
    #[schemars(extend("title" = "a list of files, and of tables such as { file = \"order.sql\", weight = 3 }"))]
    pub scripts: Vec<Script>,
    /// Variables that every script begins with, and that expressions know, as `-D` gives them to pgbench.
    #[schemars(extend("title" = "a table of numbers, such as { customers = 10000 }"))]
    pub variables: IndexMap<String, String>,
    /// Statements that make the tables; none: they are there already (`data = "existing"`).
    #[schemars(extend("title" = "a file, or a table of files by system such as { mysql = \"a.sql\", sqlite = \"b.sql\" }"))]
    pub schema: Option<Texts>,
    /// Statements once all rows are there: indexes, foreign keys, statistics.
    #[schemars(extend("title" = "a file, or a table of files by system"))]
    pub after_load: Option<Texts>,
    /// Names of the tables, besides those that `schema` makes.
    #[schemars(extend("title" = "a list of names"))]
    pub tables: Vec<String>,
    /// Rows of each table, see below.
    #[schemars(extend("title" = "a table for each table, such as { rows = 1000, columns = { id = \"row\" } }"))]
    pub load: IndexMap<String, LoadTable>,
    /// Values that `weighted('NAME')` draws from, each with its weight.
    #[schemars(extend("title" = "a table of files, and of tables such as { north = 3, south = 1 }"))]
    pub lists: IndexMap<String, List>,
    /// What must hold after the load and after each run, see below.
    #[schemars(extend("title" = "a list of tables such as { name = \"no orphan\", empty = \"SELECT ...\" }"))]
    pub checks: Vec<SqlCheck>,
    /// Functions and procedures that statements may call, besides those that are known to change nothing.
    #[schemars(extend("title" = "a list of names"))]
    pub functions: Vec<String>,
    /// Carries out whatever the files say, on whatever tables and settings it concerns: nothing that a statement does is checked.
    pub unchecked_sql: bool,
    /// Other operations for the same seed: runs on data that runs before them have changed count it up.
    pub turn: u64,
}

impl Default for SqlSpec {
    fn default() -> Self {
        Self {
            script: None,
            scale: 1,
            scripts: vec![],
            variables: IndexMap::new(),
            schema: None,
            after_load: None,
            tables: vec![],
            load: IndexMap::new(),
            lists: IndexMap::new(),
            checks: vec![],
            functions: vec![],
            unchecked_sql: false,
            turn: 0,
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Builtin {
    /// Three updates, a select and an insert in a transaction.
    TpcbLike,
    /// An update, a select and an insert in a transaction.
    SimpleUpdate,
    /// One select by primary key.
    SelectOnly,
}

/// What a file holds, and its name as the plan has it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TextFile {
    pub name: String,
    pub text: String,
}

/// A file for every system, and files for systems of one dialect, which go before it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Texts {
    pub file: Option<TextFile>,
    pub mysql: Option<TextFile>,
    pub postgresql: Option<TextFile>,
    pub sqlite: Option<TextFile>,
}

impl Texts {
    /// That of a dialect, by its name.
    pub fn of(&self, dialect: &str) -> Option<&TextFile> {
        own([&self.mysql, &self.postgresql, &self.sqlite], &self.file, dialect)
    }
}

fn own<'t>(
    [mysql, postgresql, sqlite]: [&'t Option<TextFile>; 3],
    other: &'t Option<TextFile>,
    dialect: &str,
) -> Option<&'t TextFile> {
    let own = match dialect {
        "mysql" => mysql,
        "postgresql" => postgresql,
        "sqlite" => sqlite,
        _ => &None,
    };
    own.as_ref().or(other.as_ref())
}

/// One transaction: an operation of the report.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// Of the operation; empty: the file's, without its ending.
    pub name: String,
    pub weight: u32,
    pub file: Option<TextFile>,
    pub mysql: Option<TextFile>,
    pub postgresql: Option<TextFile>,
    pub sqlite: Option<TextFile>,
    /// What its statements must answer.
    pub expect: Vec<Expect>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            name: String::new(),
            weight: 1,
            file: None,
            mysql: None,
            postgresql: None,
            sqlite: None,
            expect: vec![],
        }
    }
}

impl Script {
    /// That of a dialect, by its name.
    pub fn of(&self, dialect: &str) -> Option<&TextFile> {
        own([&self.mysql, &self.postgresql, &self.sqlite], &self.file, dialect)
    }
}

/// What one statement of a script must answer, or the operation is wrong.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Among the script's SQL statements, from 1.
    #[schemars(range(min = 1))]
    pub statement: u32,
    /// Rows that it answers with, or that it changes.
    #[serde(default)]
    pub rows: Option<u64>,
    /// The first value of its first row. Numbers are compared as numbers.
    #[serde(default)]
    #[schemars(extend("title" = "a text or a number"))]
    pub value: Option<Value>,
}

/// Rows that a table is loaded with: drawn, or from a file.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct LoadTable {
    /// How many are drawn: a number, or an expression of `scale` and `variables`.
    #[schemars(extend("title" = "a whole number, or an expression such as \"1000 * scale\""))]
    pub rows: Value,
    /// An expression for each column.
    pub columns: IndexMap<String, String>,
    /// Where they are read from instead.
    pub file: Option<DataFile>,
    /// Columns of the file, where its first line does not name them.
    pub header: Vec<String>,
    /// Between two values of a line.
    pub delimiter: Option<String>,
    /// What stands for NULL where it is not quoted; none: nothing at all.
    pub null: Option<String>,
}

/// Rows in a file, which is not part of the document: it is read where the engine runs.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    /// As the plan has it.
    pub name: String,
    pub path: String,
    /// What it was when the plan was read, so that no other is loaded: rows, bytes and SHA-256. The engine fills it in.
    #[serde(default)]
    pub rows: u64,
    #[serde(default)]
    pub size_bytes: u64,
    #[serde(default)]
    pub sha256: String,
}

/// Values and their weights: from a file, a value and its weight a line, or as the plan has them.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    pub file: Option<TextFile>,
    pub values: IndexMap<String, f64>,
}

/// A query that must answer with no row, or two that must agree in their first rows.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SqlCheck {
    #[schemars(length(min = 1))]
    pub name: String,
    /// A query whose rows are what is wrong.
    #[serde(default)]
    pub empty: Option<String>,
    /// Two queries whose first rows are the same. Numbers are compared as numbers.
    #[serde(default)]
    #[schemars(length(min = 2, max = 2))]
    pub equal: Option<Vec<String>>,
    #[serde(default)]
    pub when: CheckTime,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum CheckTime {
    /// After the load and after each run.
    #[default]
    Always,
    AfterLoad,
    AfterRun,
}
