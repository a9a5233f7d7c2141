//! What statements of a schema make besides tables. A name says nothing: only what is made here is the plan's.
use sqlparser::ast::{
    ColumnDef, ColumnOption, CreateIndex, CreateTable, DataType, Ident, ObjectName, Statement,
};

#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Of columns that count by themselves, as PostgreSQL names them.
    sequences: Vec<String>,
    indexes: Vec<String>,
}

impl Made {
    /// `statement`: one that may be carried out, after all that were learnt before.
    pub fn learn(&mut self, statement: &Statement, dialect: &str) {
        match statement {
            // An existing one may be somebody else's.
            Statement::CreateTable(CreateTable {
                name,
                columns,
                if_not_exists: false,
                ..
            }) => {
                let Some(table) = alone(name) else { return };
                let counting = columns.iter().filter(|column| counts(column));
                self.sequences.extend(counting.map(|column| {
                    let column = folded(&column.name, dialect);
                    format!("{}_{column}_seq", folded(table, dialect))
                }));
            }
            Statement::CreateIndex(CreateIndex {
                name: Some(name),
                if_not_exists: false,
                ..
            }) => self.indexes.extend(alone(name).map(|name| folded(name, dialect))),
            _ => {}
        }
    }

    /// `text`: as it is given to nextval, which reads it as a name in SQL.
    pub fn is_own_sequence(&self, text: &str) -> bool {
        let quoted = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .map(str::to_owned);
        self.sequences
            .contains(&quoted.unwrap_or_else(|| text.to_ascii_lowercase()))
    }

    pub fn is_own_index(&self, name: &Ident, dialect: &str) -> bool {
        self.indexes.contains(&folded(name, dialect))
    }
}

/// The name, if it says no schema.
fn alone(name: &ObjectName) -> Option<&Ident> {
    match &*name.0 {
        [part] => part.as_ident(),
        _ => None,
    }
}

/// As the system compares it: all but PostgreSQL take no notice of quotes.
fn folded(name: &Ident, dialect: &str) -> String {
    match name.quote_style {
        Some(_) if dialect == "postgresql" => name.value.clone(),
        _ => name.value.to_ascii_lowercase(),
    }
}

fn counts(column: &ColumnDef) -> bool {
    const SERIAL: [&str; 6] = [
        "serial",
        "serial4",
        "bigserial",
        "serial8",
        "smallserial",
        "serial2",
    ];
    let is_serial = match &column.data_type {
        DataType::Custom(name, _) => {
            let name = name.to_string().to_ascii_lowercase();
            SERIAL.contains(&&*name)
        }
        _ => false,
    };
    let is_identity = |option: &ColumnOption| {
        matches!(
            option,
            ColumnOption::Generated {
                generation_expr: None,
                ..
            }
        )
    };
    is_serial || column.options.iter().any(|option| is_identity(&option.option))
}
