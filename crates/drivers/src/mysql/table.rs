//! What a session learns of the tables that it loads.
use super::DIALECT;
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;

/// Where rows go.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Quoted.
    pub name: String,
    pub columns: Vec<Column>,
    /// In all its text columns ASCII means the same, by [`charsets_statement`].
    pub plain_ascii: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Quoted.
    pub name: String,
    /// BLOB, BINARY, VARBINARY: not text in any character set.
    pub bytes: bool,
}

impl Table {
    /// As it is before the server was asked.
    pub fn new(name: &str, columns: &[&str]) -> Self {
        let column = |name: &&str| Column {
            name: DIALECT.quoted(name),
            bytes: false,
        };
        Self {
            name: DIALECT.quoted(name),
            columns: columns.iter().map(column).collect(),
            plain_ascii: false,
        }
    }

    fn is(&self, other: &Self) -> bool {
        let same = |(a, b): (&Column, &Column)| a.name == b.name;
        self.name == other.name
            && self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(same)
    }

    /// A query whose result has the columns' types and no rows.
    pub fn probe(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| &*column.name).collect();
        format!("SELECT {} FROM {} LIMIT 0", names.join(","), self.name)
    }

    /// `bytes`: of each column, by [`Table::probe`]; `plain`: the answer to [`charsets_statement`].
    pub fn learn(&mut self, bytes: impl IntoIterator<Item = bool>, plain: Option<i64>) {
        for (column, bytes) in self.columns.iter_mut().zip(bytes) {
            column.bytes = bytes;
        }
        self.plain_ascii = plain == Some(self.columns.len() as i64);
    }

    /// Whether text of the row means the same read as bytes.
    pub fn is_plain(&self, row: &RowBuf) -> bool {
        let same =
            |(cell, column): (Value<'_>, &Column)| column.bytes || cell.bytes().is_none_or(<[u8]>::is_ascii);
        row.cells().zip(&self.columns).all(same)
    }
}

/// Each asked once.
#[derive(Default)]
pub struct Tables {
    known: Vec<Table>,
    /// The server will not LOAD DATA LOCAL; it is not asked again.
    pub load_data_refused: bool,
}

impl Tables {
    pub fn find(&self, table: &Table) -> Option<Table> {
        self.known.iter().find(|known| known.is(table)).cloned()
    }

    pub fn keep(&mut self, table: &Table) {
        self.known.push(table.clone());
    }
}

/// A query that answers in how many of these columns ASCII means the same as in ASCII. Names: not quoted.
pub fn charsets_statement(table: &str, columns: &[&str]) -> String {
    let text = |name: &str| {
        let digits: String = name.bytes().map(|byte| format!("{byte:02X}")).collect();
        format!("CONVERT(X'{digits}' USING utf8)")
    };
    let columns: Vec<String> = columns.iter().map(|name| text(name)).collect();
    format!(
        "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() \
         AND table_name = {} AND column_name IN ({}) AND (character_set_name IS NULL \
         OR character_set_name IN ('ascii', 'latin1', 'utf8', 'utf8mb3', 'utf8mb4'))",
        text(table),
        columns.join(",")
    )
}
