//! The rows that tables are loaded with: of each table how many, and each of them by its number, drawn or read from a file.
use super::cell::{Cell, Known};
use super::csv::Reader;
use super::data::Data;
use super::lists::Weighted;
use super::scripts;
use crate::prelude::*;
use crate::rng::{Random, mix};
use crate::script::{Expression, Names, Number, SyntaxError, parse};
use crate::trouble::refuse;
use bakeoff_model::run::sql::{LoadTable, SqlSpec};
use serde_json::Value as Said;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub columns: Vec<String>,
    pub rows: u64,
    pub source: Source,
}

#[derive(Clone, Debug)]
pub enum Source {
    Drawn(Vec<Column>),
    File(Data),
}

#[derive(Clone, Debug)]
pub struct Column {
    cell: Cell,
    /// Every column draws for itself: adding another column changes no value.
    seed: u64,
}

/// The files that tables are loaded from, each read whole.
pub fn files(spec: &SqlSpec) -> Result<BTreeMap<String, Data>, Trouble> {
    let mut found = BTreeMap::new();
    for (name, load) in &spec.load {
        one_source(name, load)?;
        if let Some(file) = &load.file {
            found.insert(name.clone(), Data::read(name, load, file)?);
        }
    }
    Ok(found)
}

/// Rows are drawn, or read from a file.
fn one_source(table: &str, load: &LoadTable) -> Result<(), Trouble> {
    let of_file = [
        ("header", !load.header.is_empty()),
        ("delimiter", load.delimiter.is_some()),
        ("null", load.null.is_some()),
    ];
    let drawn = [
        ("rows", !load.rows.is_null()),
        ("columns", !load.columns.is_empty()),
    ];
    let (said, why) = match &load.file {
        Some(_) => (drawn.as_slice(), "with `file`, which has its own"),
        None => (of_file.as_slice(), "without a `file`"),
    };
    match said.iter().find(|(_, said)| *said) {
        Some((option, _)) => {
            let what = format!("`load` `{table}` cannot say `{option}` {why}");
            Err(refuse(
                "load",
                what,
                "rows are drawn (`rows`, `columns`) or read (`file`)",
            ))
        }
        None => Ok(()),
    }
}

/// Rows of each table that is loaded, those of files as the plan knows them.
pub fn counts(spec: &SqlSpec, seed: u64) -> Result<BTreeMap<String, u64>, Trouble> {
    let mut names = scripts::names(spec);
    names.bare = true;
    let count = |(name, load): (&String, &LoadTable)| {
        let count = match &load.file {
            Some(file) => file.rows,
            None => count(name, load, spec, seed, &names)?,
        };
        Ok((name.clone(), count))
    };
    spec.load.iter().map(count).collect()
}

/// Tables in the plan's order.
pub fn tables(spec: &SqlSpec, seed: u64, mut files: BTreeMap<String, Data>) -> Result<Vec<Table>, Trouble> {
    let rows = counts(spec, seed)?;
    let mut lists = BTreeMap::new();
    for (name, list) in &spec.lists {
        lists.insert(name.clone(), Arc::new(Weighted::new(name, list)?));
    }
    let mut names = scripts::names(spec);
    names.bare = true;
    names.add(scripts::ROW);
    let known = Known {
        names: &names,
        rows: &rows,
        lists: &lists,
    };
    let table = |(name, load): (&String, &LoadTable)| match files.remove(name) {
        Some(data) => Ok(Table {
            name: name.clone(),
            columns: data.columns.clone(),
            rows: data.file.rows,
            source: Source::File(data),
        }),
        None => Ok(Table {
            name: name.clone(),
            columns: load.columns.keys().cloned().collect(),
            rows: rows.get(name).copied().unwrap_or(0),
            source: Source::Drawn(columns(name, load, seed, &known)?),
        }),
    };
    spec.load.iter().map(table).collect()
}

fn columns(table: &str, load: &LoadTable, seed: u64, known: &Known<'_>) -> Result<Vec<Column>, Trouble> {
    let named = |seed: u64, name: &str| name.bytes().fold(seed, |seed, byte| mix(seed, byte.into()));
    let column = |(name, text): (&String, &String)| {
        let cell = parse(text).and_then(|tree| Cell::compile(&tree, known));
        Ok(Column {
            cell: cell.map_err(|error| refused(table, name, text, &error))?,
            seed: named(named(seed, table), name),
        })
    };
    load.columns.iter().map(column).collect()
}

fn refused(table: &str, part: &str, text: &str, error: &SyntaxError) -> Trouble {
    let column = text.get(..error.at).map_or(0, |before| before.chars().count()) + 1;
    let what = format!(
        "`load` `{table}` `{part}`, column {column} of {text:?}: {}",
        error.what
    );
    refuse("load", what, error.hint.clone())
}

/// What `rows` of a table says.
fn count(table: &str, load: &LoadTable, spec: &SqlSpec, seed: u64, names: &Names) -> Result<u64, Trouble> {
    let refused_count = |found: String| {
        let what = format!("`load` `{table}` `rows` cannot be {found}");
        refuse(
            "load",
            what,
            "it is a whole number, or an expression such as \"1000 * scale\"",
        )
    };
    if load.columns.is_empty() {
        let what = format!("`load` `{table}` has neither `columns` nor a `file`");
        let hint = "columns = { id = \"row\" } gives each column an expression";
        return Err(refuse("load", what, hint));
    }
    let text = match &load.rows {
        Said::String(text) => text,
        other => return other.as_u64().ok_or_else(|| refused_count(other.to_string())),
    };
    let expression =
        Expression::compile(text, names).map_err(|error| refused(table, "rows", text, &error))?;
    let values = scripts::values(spec, 0, seed);
    match expression
        .evaluate(values.as_slice(), &mut Random::new(0))
        .and_then(Number::int)
    {
        Ok(count) if count >= 0 => Ok(count as u64),
        Ok(count) => Err(refused_count(count.to_string())),
        Err(fault) => Err(refused_count(format!("{text:?}: {}", fault.words()))),
    }
}

/// Rows of one table, one after the other.
pub enum Successive<'a> {
    Drawn {
        columns: &'a [Column],
        names: &'a [String],
        variables: Vec<Number>,
        /// From 0.
        next: u64,
        text: Vec<u8>,
    },
    File {
        data: &'a Data,
        reader: Reader<BufReader<File>>,
    },
}

impl<'a> Successive<'a> {
    /// From row `first` (from 0) on. `variables`: without the row's number.
    pub fn new(table: &'a Table, first: u64, mut variables: Vec<Number>) -> Result<Self, OpError> {
        Ok(match &table.source {
            Source::Drawn(columns) => {
                variables.push(Number::Null);
                Self::Drawn {
                    columns,
                    names: &table.columns,
                    variables,
                    next: first,
                    text: vec![],
                }
            }
            Source::File(data) => Self::File {
                data,
                reader: data.rows_from(first)?,
            },
        })
    }

    /// The next row into the cleared buffer. About 20 ns a drawn number, and 1 ns a character.
    pub fn fill(&mut self, row: &mut RowBuf) -> Result<(), OpError> {
        match self {
            Self::Drawn {
                columns,
                names,
                variables,
                next,
                text,
            } => {
                *next += 1;
                if let Some(number) = variables.last_mut() {
                    *number = Number::Int(*next as i64);
                }
                for (column, name) in columns.iter().zip(names.iter()) {
                    let mut random = Random::new(mix(column.seed, *next));
                    let drawn = column.cell.draw(variables, &mut random, text, row);
                    drawn.map_err(|why| {
                        let what = format!("column {name} of row {next} has no value: {why}");
                        OpError::fail(FailClass::Other, "VALUE", what)
                    })?;
                }
                Ok(())
            }
            Self::File { data, reader } => {
                match reader.advance() {
                    Ok(true) => {}
                    Ok(false) => {
                        let what = format!("{} has become shorter", data.file.name);
                        return Err(OpError::fail(FailClass::Other, "CSV", what));
                    }
                    Err(wrong) => return Err(data.failure(&wrong)),
                }
                for value in reader.values() {
                    row.push(value.map_or(Value::Null, Value::Text));
                }
                Ok(())
            }
        }
    }

    /// Line of the file that the last row came from.
    pub fn line(&self) -> Option<(&str, u64)> {
        match self {
            Self::Drawn { .. } => None,
            Self::File { data, reader } => Some((&data.file.name, reader.line())),
        }
    }
}

/// User bytes of a row: those of text, and 8 of anything else.
pub fn bytes(row: &RowBuf) -> u64 {
    let bytes = |cell: Value<'_>| match cell {
        Value::Null => 0,
        other => other.bytes().map_or(8, <[u8]>::len) as u64,
    };
    row.cells().map(bytes).sum()
}

/// Rows that stand for a table's, for what they come to in bytes; drawing them shows whether each column has a value.
const SAMPLE: u64 = 100;

/// User bytes of all tables' rows, by some of them. Refuses a column that has no value there.
pub fn size_estimate_bytes(tables: &[Table], variables: &[Number]) -> Result<u64, Trouble> {
    let mut total = 0;
    for table in tables {
        if let Source::File(data) = &table.source {
            total += data.file.size_bytes;
            continue;
        }
        let sample = SAMPLE.min(table.rows);
        let (mut row, mut of_sample) = (RowBuf::default(), 0);
        for place in 0..sample {
            let number = place * (table.rows - 1) / sample.saturating_sub(1).max(1);
            row.clear();
            let filled =
                Successive::new(table, number, variables.to_vec()).and_then(|mut rows| rows.fill(&mut row));
            filled.map_err(|error| {
                let what = format!("`load` `{}`: {}", table.name, error.message);
                refuse("load", what, "an expression must have a value in every row")
            })?;
            of_sample += bytes(&row);
        }
        total += (of_sample as f64 / sample.max(1) as f64 * table.rows as f64) as u64;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(load: Said) -> SqlSpec {
        serde_json::from_value(json!({"scale": 3, "variables": {"customers": "7"}, "load": load})).unwrap()
    }

    fn row(table: &Table, number: u64) -> Vec<String> {
        let mut row = RowBuf::default();
        let variables = scripts::values(&spec(json!({})), 0, 1);
        let mut rows = Successive::new(table, number - 1, variables).unwrap();
        rows.fill(&mut row).unwrap();
        row.cells().map(|cell| cell.to_string()).collect()
    }

    #[test]
    fn rows_are_the_same_whoever_loads_them_and_whatever_is_next_to_them() {
        let drawn = |load| tables(&spec(load), 1, BTreeMap::new()).unwrap();
        let one = drawn(
            json!({"t": {"rows": 10, "columns": {"id": "row", "k": "random(1, 1000)", "name": "text(5)"}}}),
        );
        let other = drawn(json!({
            "u": {"rows": "customers * scale", "columns": {"t": "rows('t')"}},
            "t": {"rows": 10, "columns": {"name": "text(5)", "k": "random(1, 1000)"}}
        }));
        let [id, k, name] = &row(&one[0], 4)[..] else {
            panic!("three columns");
        };
        assert_eq!(id, "4");
        assert_eq!([name.clone(), k.clone()], row(&other[1], 4)[..]);
        assert_ne!(*k, row(&one[0], 5)[1]);
        assert_eq!(other[0].rows, 21);
        assert_eq!(row(&other[0], 1), ["10"]);
        let seeded = tables(
            &spec(json!({"t": {"rows": 10, "columns": {"k": "random(1, 1000)"}}})),
            2,
            BTreeMap::new(),
        )
        .unwrap();
        assert_ne!(row(&seeded[0], 4)[0], *k);
    }

    #[test]
    fn what_cannot_be_loaded_is_refused_by_table_and_column() {
        let what = |load: Said| {
            let spec = spec(load);
            let made = tables(&spec, 1, BTreeMap::new())
                .and_then(|tables| size_estimate_bytes(&tables, &scripts::values(&spec, 0, 1)));
            made.unwrap_err().what
        };
        assert_eq!(
            what(json!({"t": {"rows": 1, "columns": {"id": "row +"}}})),
            "`load` `t` `id`, column 6 of \"row +\": a value was expected after the end"
        );
        assert_eq!(
            what(json!({"t": {"rows": 5, "columns": {"id": "1 / (5 - row)"}}})),
            "`load` `t`: column id of row 5 has no value: division by zero"
        );
        let sources = |load: Said| files(&spec(load)).unwrap_err().what;
        assert_eq!(
            sources(json!({"t": {"rows": 5, "file": {"name": "t.csv", "path": "t.csv"}}})),
            "`load` `t` cannot say `rows` with `file`, which has its own"
        );
        assert_eq!(
            sources(json!({"t": {"rows": 5, "columns": {"id": "row"}, "delimiter": ";"}})),
            "`load` `t` cannot say `delimiter` without a `file`"
        );
        assert_eq!(
            what(json!({"t": {"rows": 5}})),
            "`load` `t` has neither `columns` nor a `file`"
        );
        assert_eq!(
            what(json!({"t": {"columns": {"id": "row"}}})),
            "`load` `t` `rows` cannot be null"
        );
        assert_eq!(
            what(json!({"t": {"rows": "-scale", "columns": {"id": "row"}}})),
            "`load` `t` `rows` cannot be -3"
        );
    }

    #[test]
    fn bytes_are_those_of_some_rows_times_all() {
        let spec = spec(json!({"t": {"rows": 1000, "columns": {"id": "row", "name": "text(12)"}}}));
        let tables = tables(&spec, 1, BTreeMap::new()).unwrap();
        let values = scripts::values(&spec, 0, 1);
        assert_eq!(size_estimate_bytes(&tables, &values).unwrap(), 20_000);
    }
}
