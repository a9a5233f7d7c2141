//! The statements of a record table, as text and as places in a list.
use crate::record::{Fields, TableSpec, ValueType};
use crate::sql::{Ask, Dialect};
use std::fmt::Write;

/// One form of statement on one table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Read(Fields),
    /// Parameters: first key, limit.
    Scan(Fields),
    /// Parameter: first key. Of a dialect that goes by token: its first and last, in place of the key.
    ScanToEnd(Fields),
    Update(UpdateOf),
    Insert,
    Delete,
    /// Of a dialect that goes by token: between two of them.
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UpdateOf {
    All,
    One(u32),
}

impl Form {
    /// How many places the forms of a table take.
    pub fn slots(spec: &TableSpec) -> usize {
        Form::Count.slot(spec) + 1
    }

    /// The form's place: below [`Form::slots`], and different for every form.
    #[inline]
    pub fn slot(self, spec: &TableSpec) -> usize {
        let fields = spec.field_names.len();
        let selections = fields + 2;
        let of = |selected: Fields| match selected {
            Fields::All => 0,
            Fields::AllByName => 1,
            Fields::One(field) => 2 + field as usize,
        };
        match self {
            Form::Read(selected) => of(selected),
            Form::Scan(selected) => selections + of(selected),
            Form::ScanToEnd(selected) => 2 * selections + of(selected),
            Form::Update(UpdateOf::One(field)) => 3 * selections + field as usize,
            Form::Update(UpdateOf::All) => 3 * selections + fields,
            Form::Insert => 3 * selections + fields + 1,
            Form::Delete => 3 * selections + fields + 2,
            Form::Count => 3 * selections + fields + 3,
        }
    }

    /// Set to what it was given, or gone: a field and a row are so after the second time, too.
    pub fn ask(self, sql: &str) -> Ask<'_> {
        match self {
            Form::Read(_) | Form::Scan(_) | Form::ScanToEnd(_) | Form::Count => Ask::read(sql),
            Form::Update(_) | Form::Delete => Ask::write(sql).idempotent(),
            Form::Insert => Ask::write(sql),
        }
    }

    pub fn sql(self, spec: &TableSpec, dialect: &Dialect) -> String {
        let name = Names { spec, dialect };
        let (table, key, part) = (name.table(), name.key(), name.part());
        let one = dialect.placeholder(1);
        match self {
            Form::Read(selected) => format!(
                "SELECT {} FROM {table} WHERE {part}{key}={one}",
                name.selected(selected)
            ),
            Form::Scan(selected) => {
                let columns = name.selected(selected);
                let limit = dialect.placeholder(2);
                format!("SELECT {columns} FROM {table} WHERE {part}{key}>={one} ORDER BY {key} LIMIT {limit}")
            }
            Form::ScanToEnd(selected) => {
                let columns = name.selected(selected);
                match dialect.pieces_of_records() {
                    Some(ranges) => format!(
                        "SELECT {columns} FROM {table}{}",
                        ranges.condition(dialect, &name.key())
                    ),
                    None => format!("SELECT {columns} FROM {table} WHERE {part}{key}>={one} ORDER BY {key}"),
                }
            }
            Form::Update(UpdateOf::One(field)) => update(spec, dialect, &[field]),
            Form::Update(UpdateOf::All) => update(
                spec,
                dialect,
                &(0..spec.field_names.len() as u32).collect::<Vec<_>>(),
            ),
            Form::Insert => insert(spec, dialect, 1),
            Form::Delete => format!("DELETE FROM {table} WHERE {part}{key}={one}"),
            Form::Count => {
                let piece = dialect
                    .pieces_of_records()
                    .map(|ranges| ranges.condition(dialect, &name.key()));
                format!("SELECT COUNT(*) FROM {table}{}", piece.unwrap_or_default())
            }
        }
    }
}

/// Sets the fields in this order; the last parameter is the key.
pub fn update(spec: &TableSpec, dialect: &Dialect, fields: &[u32]) -> String {
    let name = Names { spec, dialect };
    let set: Vec<String> = fields
        .iter()
        .enumerate()
        .map(|(i, &field)| format!("{}={}", name.field(field as usize), dialect.placeholder(i + 1)))
        .collect();
    let key = dialect.placeholder(fields.len() + 1);
    format!(
        "UPDATE {} SET {} WHERE {}{}={key}",
        name.table(),
        set.join(", "),
        name.part(),
        name.key()
    )
}

pub fn create_table(spec: &TableSpec, dialect: &Dialect) -> String {
    let name = Names { spec, dialect };
    let typed = |template: &str, length: u32| template.replace("{}", &length.to_string());
    let value_type = match spec.value_type {
        ValueType::Text => dialect.text_type.to_owned(),
        ValueType::Varchar(length) => typed(dialect.varchar_type, length),
    };
    let (key, key_type) = (name.key(), typed(dialect.key_type, spec.key_length));
    let (mut columns, primary_key) = match dialect.one_part {
        None => (format!("{key} {key_type} PRIMARY KEY"), String::new()),
        Some(part) => (
            format!("{part} {}, {key} {key_type}", dialect.byte_type),
            format!(", PRIMARY KEY ({part}, {key})"),
        ),
    };
    for field in 0..spec.field_names.len() {
        // Writing to a String cannot fail.
        let _ = write!(columns, ", {} {value_type}", name.field(field));
    }
    format!(
        "CREATE TABLE {} ({columns}{primary_key}){}",
        name.table(),
        dialect.table_suffix
    )
}

pub fn drop_table(spec: &TableSpec, dialect: &Dialect) -> String {
    format!("DROP TABLE IF EXISTS {}", Names { spec, dialect }.table())
}

/// This many rows in one statement; each row's parameters are the key and all fields.
pub fn insert(spec: &TableSpec, dialect: &Dialect, rows: usize) -> String {
    let name = Names { spec, dialect };
    let columns = spec.field_names.len() + 1;
    let part = dialect.one_part.map(|part| format!("{part}, "));
    let mut sql = format!(
        "INSERT INTO {} ({}{}, {}) VALUES ",
        name.table(),
        part.as_deref().unwrap_or_default(),
        name.key(),
        name.fields()
    );
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        sql.push_str(if part.is_some() { "0, " } else { "" });
        for column in 0..columns {
            sql.push_str(if column == 0 { "" } else { ", " });
            sql.push_str(&dialect.placeholder(row * columns + column + 1));
        }
        sql.push(')');
    }
    sql
}

struct Names<'a> {
    spec: &'a TableSpec,
    dialect: &'a Dialect,
}

impl Names<'_> {
    fn table(&self) -> String {
        self.dialect.quoted(&self.spec.name)
    }

    fn key(&self) -> String {
        self.dialect.quoted(&self.spec.key_column)
    }

    /// Of a condition on the key: what stands before it.
    fn part(&self) -> String {
        let part = self.dialect.one_part;
        part.map(|part| format!("{part}=0 AND ")).unwrap_or_default()
    }

    fn field(&self, field: usize) -> String {
        self.dialect.quoted(&self.spec.field_names[field])
    }

    fn fields(&self) -> String {
        let names: Vec<String> = (0..self.spec.field_names.len())
            .map(|field| self.field(field))
            .collect();
        names.join(", ")
    }

    fn selected(&self, selected: Fields) -> String {
        match selected {
            Fields::All if self.dialect.star_as_declared => "*".to_owned(),
            Fields::All => format!("{}, {}", self.key(), self.fields()),
            Fields::AllByName => self.fields(),
            Fields::One(field) => self.field(field as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::TokenRanges;
    use std::collections::BTreeSet;

    const DIALECT: Dialect = Dialect {
        name: "test",
        table_suffix: " WITH X",
        max_params: 100,
        rows_per_insert: 10,
        ..Dialect::STANDARD
    };

    fn spec() -> TableSpec {
        TableSpec {
            name: "t".into(),
            key_column: "k".into(),
            key_length: 50,
            field_names: vec!["a".into(), "b".into()],
            value_type: ValueType::Varchar(20),
        }
    }

    #[test]
    fn every_form_has_a_place_of_its_own_and_the_places_leave_no_gap() {
        let selections = [Fields::All, Fields::AllByName, Fields::One(0), Fields::One(1)];
        let mut forms = vec![
            Form::Update(UpdateOf::All),
            Form::Update(UpdateOf::One(0)),
            Form::Update(UpdateOf::One(1)),
            Form::Insert,
            Form::Delete,
            Form::Count,
        ];
        forms.extend(
            selections
                .iter()
                .flat_map(|&s| [Form::Read(s), Form::Scan(s), Form::ScanToEnd(s)]),
        );
        let slots: BTreeSet<usize> = forms.iter().map(|form| form.slot(&spec())).collect();
        assert_eq!(slots, (0..Form::slots(&spec())).collect());
        assert_eq!(slots.len(), forms.len());
    }

    #[test]
    fn statements_are_those_of_the_specification() {
        let sql = |form: Form| form.sql(&spec(), &DIALECT);
        assert_eq!(sql(Form::Read(Fields::All)), r#"SELECT * FROM "t" WHERE "k"=?"#);
        assert_eq!(
            sql(Form::Read(Fields::AllByName)),
            r#"SELECT "a", "b" FROM "t" WHERE "k"=?"#
        );
        assert_eq!(
            sql(Form::Scan(Fields::One(1))),
            r#"SELECT "b" FROM "t" WHERE "k">=? ORDER BY "k" LIMIT ?"#
        );
        assert_eq!(
            sql(Form::ScanToEnd(Fields::All)),
            r#"SELECT * FROM "t" WHERE "k">=? ORDER BY "k""#
        );
        assert_eq!(
            sql(Form::Update(UpdateOf::All)),
            r#"UPDATE "t" SET "a"=?, "b"=? WHERE "k"=?"#
        );
        assert_eq!(
            sql(Form::Insert),
            r#"INSERT INTO "t" ("k", "a", "b") VALUES (?, ?, ?)"#
        );
        assert_eq!(sql(Form::Delete), r#"DELETE FROM "t" WHERE "k"=?"#);
        assert_eq!(
            create_table(&spec(), &DIALECT),
            r#"CREATE TABLE "t" ("k" VARCHAR(50) PRIMARY KEY, "a" VARCHAR(20), "b" VARCHAR(20)) WITH X"#
        );
    }

    #[test]
    fn a_table_that_lies_in_the_order_of_a_hash_is_read_by_it_and_its_columns_are_named() {
        let hashed = Dialect {
            star_as_declared: false,
            token_ranges: Some(TokenRanges { function: "token" }),
            ..DIALECT
        };
        assert_eq!(
            Form::Count.sql(&spec(), &hashed),
            r#"SELECT COUNT(*) FROM "t" WHERE token("k")>=? AND token("k")<=?"#
        );
        assert_eq!(
            Form::ScanToEnd(Fields::All).sql(&spec(), &hashed),
            r#"SELECT "k", "a", "b" FROM "t" WHERE token("k")>=? AND token("k")<=?"#
        );
        assert_eq!(
            Form::Read(Fields::All).sql(&spec(), &hashed),
            r#"SELECT "k", "a", "b" FROM "t" WHERE "k"=?"#
        );
    }

    #[test]
    fn where_all_rows_lie_in_one_part_it_is_named_before_each_key() {
        let parted = Dialect {
            token_ranges: Some(TokenRanges { function: "token" }),
            one_part: Some("part"),
            ..DIALECT
        };
        let sql = |form: Form| form.sql(&spec(), &parted);
        assert_eq!(
            create_table(&spec(), &parted),
            r#"CREATE TABLE "t" (part SMALLINT, "k" VARCHAR(50), "a" VARCHAR(20), "b" VARCHAR(20), PRIMARY KEY (part, "k")) WITH X"#
        );
        assert_eq!(
            sql(Form::Insert),
            r#"INSERT INTO "t" (part, "k", "a", "b") VALUES (0, ?, ?, ?)"#
        );
        assert_eq!(
            sql(Form::Scan(Fields::One(0))),
            r#"SELECT "a" FROM "t" WHERE part=0 AND "k">=? ORDER BY "k" LIMIT ?"#
        );
        assert_eq!(
            sql(Form::ScanToEnd(Fields::One(0))),
            r#"SELECT "a" FROM "t" WHERE part=0 AND "k">=? ORDER BY "k""#
        );
        assert_eq!(
            sql(Form::Update(UpdateOf::One(1))),
            r#"UPDATE "t" SET "b"=? WHERE part=0 AND "k"=?"#
        );
        assert_eq!(sql(Form::Delete), r#"DELETE FROM "t" WHERE part=0 AND "k"=?"#);
        assert_eq!(sql(Form::Count), r#"SELECT COUNT(*) FROM "t""#);
    }

    #[test]
    fn numbered_placeholders_count_through_all_rows() {
        let numbered = Dialect {
            numbered_placeholders: true,
            ..DIALECT
        };
        assert_eq!(
            insert(&spec(), &numbered, 2),
            r#"INSERT INTO "t" ("k", "a", "b") VALUES ($1, $2, $3), ($4, $5, $6)"#
        );
        assert_eq!(
            update(&spec(), &numbered, &[1]),
            r#"UPDATE "t" SET "b"=$1 WHERE "k"=$2"#
        );
    }

    #[test]
    fn names_are_lower_case_where_unquoted_ones_are() {
        let spec = TableSpec {
            name: "UserTable".into(),
            ..spec()
        };
        let folding = Dialect {
            lower_case_names: true,
            ..DIALECT
        };
        assert_eq!(drop_table(&spec, &folding), r#"DROP TABLE IF EXISTS "usertable""#);
        assert_eq!(drop_table(&spec, &DIALECT), r#"DROP TABLE IF EXISTS "UserTable""#);
    }

    #[test]
    fn quotes_in_names_are_doubled() {
        let spec = TableSpec {
            name: r#"a"b"#.into(),
            ..spec()
        };
        assert_eq!(drop_table(&spec, &DIALECT), r#"DROP TABLE IF EXISTS "a""b""#);
    }
}
