use super::form::{Form, Named, Table, Verb};
use super::*;
use crate::document::{CollectionSpec, Is, PathKind, PathSpec};
use crate::sql::{Dialect, JsonIndex};

const JSON: Json = Json {
    key_type: "KEY({})",
    column_type: "JSON",
    stored: "stored({})",
    text: "text({})",
    value: |column, path| format!("{column}.{}", path.steps.join(".")),
    compared: |parameter, _| parameter.into(),
    set: |document, path, parameter| format!("set({document}, {}, {parameter})", path.steps.join(".")),
    contains: |column, path, parameter| format!("has({column}.{}, {parameter})", path.steps.join(".")),
    index: |_, path| match path.kind {
        PathKind::Texts(_) => None,
        PathKind::Integer => Some(JsonIndex::On("(an expression)".into())),
        _ => Some(JsonIndex::Column {
            definition: "TEXT AS (x)".into(),
            key: "{}(9)",
        }),
    },
};

const DIALECT: Dialect = Dialect {
    numbered_placeholders: true,
    table_suffix: " WITH X",
    json: Some(&JSON),
    ..Dialect::STANDARD
};

fn spec() -> CollectionSpec {
    let path = |steps: &str, kind, indexed| PathSpec {
        steps: steps.split('.').map(String::from).collect(),
        kind,
        indexed,
    };
    CollectionSpec {
        name: "t".into(),
        key_length: 20,
        paths: vec![
            path("a.b", PathKind::Text(9), true),
            path("n", PathKind::Integer, true),
            path("plain", PathKind::Bool, false),
            path("list", PathKind::Texts(9), false),
        ],
    }
}

fn sql(verb: Verb, select: Select<'_>, named: Named<'_>) -> String {
    let spec = spec();
    Form { verb, select, named }.sql(&Table {
        spec: &spec,
        dialect: &DIALECT,
        json: &JSON,
    })
}

#[test]
fn statements_name_paths_as_the_dialect_does() {
    let (whole, none) = (Select::Whole, Named::None);
    assert_eq!(
        sql(Verb::Get, whole, none),
        r#"SELECT rev, text(doc) FROM "t" WHERE id=$1"#
    );
    assert_eq!(
        sql(Verb::GetBatch { keys: 2 }, Select::Paths(&[1, 0]), none),
        r#"SELECT id, rev, doc.n, doc.a.b FROM "t" WHERE id IN ($1, $2)"#
    );
    assert_eq!(
        sql(Verb::Store, Select::Key, none),
        r#"INSERT INTO "t" (id, rev, doc) VALUES ($1, $2, stored($3)) ON CONFLICT (id) DO UPDATE SET doc=excluded.doc, rev="t".rev+1"#
    );
    assert_eq!(
        sql(Verb::Insert { rows: 2 }, Select::Key, none),
        r#"INSERT INTO "t" (id, rev, doc) VALUES ($1, $2, stored($3)), ($4, $5, stored($6))"#
    );
    assert_eq!(
        sql(Verb::ReplaceAt, Select::Key, none),
        r#"UPDATE "t" SET doc=stored($1), rev=rev+1 WHERE id=$2 AND rev=$3"#
    );
    assert_eq!(
        sql(Verb::Patch, Select::Key, Named::Paths(&[1, 2])),
        r#"UPDATE "t" SET doc=set(set(doc, n, $1), plain, $2), rev=rev+1 WHERE id=$3"#
    );
    let conditions = [
        (0, Is::Equal),
        (1, Is::AtLeast),
        (1, Is::Below),
        (3, Is::Containing),
    ];
    assert_eq!(
        sql(
            Verb::Find { limited: true },
            Select::Key,
            Named::Uses(&conditions)
        ),
        r#"SELECT id, rev FROM "t" WHERE p0=$1 AND doc.n>=$2 AND doc.n<$3 AND has(doc.list, $4) LIMIT $5"#
    );
    assert_eq!(
        sql(Verb::Range { limited: false }, whole, none),
        r#"SELECT id, rev, text(doc) FROM "t" WHERE id>=$1 ORDER BY id"#
    );
}

#[test]
fn a_table_has_a_column_or_an_expression_for_each_index() {
    let mut spec = spec();
    let create = |spec: &CollectionSpec| {
        let (dialect, json) = (&DIALECT, &JSON);
        Table { spec, dialect, json }.create()
    };
    assert_eq!(
        create(&spec).unwrap_or_default(),
        [
            r#"CREATE TABLE "t" (id KEY(20) NOT NULL PRIMARY KEY, rev BIGINT NOT NULL, doc JSON NOT NULL, p0 TEXT AS (x)) WITH X"#,
            r#"CREATE INDEX "t_p0" ON "t" (p0(9))"#,
            r#"CREATE INDEX "t_p1" ON "t" (an expression)"#,
        ]
    );
    spec.paths[3].indexed = true;
    assert!(create(&spec).is_err_and(|error| error.message.contains("no index for the array list")));
}

#[test]
fn a_form_is_known_again_by_what_it_names() {
    fn form<'a>(select: Select<'a>, named: Named<'a>) -> Form<'a> {
        let verb = Verb::Find { limited: true };
        Form { verb, select, named }
    }
    let uses = [(1, Is::Equal)];
    let known = form(Select::Paths(&[2]), Named::Uses(&uses)).keep();
    let condition = |path, is| {
        [Condition {
            path,
            is,
            value: Value::Int(7),
        }]
    };
    let asked = |select, conditions: &[Condition<'_>]| known.is(&form(select, Named::Conditions(conditions)));
    assert!(asked(Select::Paths(&[2]), &condition(1, Is::Equal)));
    assert!(!asked(Select::Paths(&[2]), &condition(1, Is::Below)));
    assert!(!asked(Select::Paths(&[2]), &condition(0, Is::Equal)));
    assert!(!asked(Select::Paths(&[1]), &condition(1, Is::Equal)));
    assert!(!asked(Select::Whole, &condition(1, Is::Equal)));
    assert!(!asked(Select::Paths(&[2]), &[]));
}

#[test]
fn a_batch_is_one_statement_unless_it_is_too_large() {
    let small = Keyed {
        key: b"k",
        json: b"{}",
    };
    assert_eq!(insert_rows(&[small; 50], 100), 50);
    assert_eq!(insert_rows(&[small; 150], 100), 100);
    let bytes = vec![b' '; INSERT_BYTES_MAX / 3];
    let large = Keyed {
        json: &bytes,
        ..small
    };
    assert_eq!(insert_rows(&[large; 50], 100), 2);
}
