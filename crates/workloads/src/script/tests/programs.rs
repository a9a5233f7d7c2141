//! Scripts and what becomes of them.
use crate::prelude::*;
use crate::script::{
    Counted, Names, Number, Numbered, Program, ScriptError, Step, Variables, declare, statements,
};
use proptest::prelude::*;

static NUMBERED: Dialect = Dialect {
    name: "fake",
    lower_case_names: true,
    numbered_placeholders: true,
    max_params: 1000,
    ..Dialect::STANDARD
};

pub(super) fn compile(text: &str) -> Result<(Program, Names), ScriptError> {
    let mut names = Names::default();
    declare("x.sql", text, &mut names)?;
    Ok((Program::compile("x.sql", text, &names)?, names))
}

pub(super) fn program(text: &str) -> Program {
    compile(text).unwrap_or_else(|error| panic!("{error}\n{text}")).0
}

/// Steps in short, with the statements as they are prepared.
fn steps(text: &str) -> Vec<String> {
    let program = program(text);
    let step = |step: &Step| match step {
        Step::Set { variable, .. } => format!("set {variable}"),
        Step::Unless { to, .. } => format!("unless {to}"),
        Step::Jump { to } => format!("jump {to}"),
        Step::Sleep { unit_ns, .. } => format!("sleep {unit_ns}"),
        Step::Begin(access) if access.read_only => "begin to read".into(),
        Step::Statement(index) => program.statements[*index as usize].sql(&NUMBERED),
        other => format!("{other:?}")
            .to_lowercase()
            .split('(')
            .next()
            .unwrap_or_default()
            .into(),
    };
    program.steps.iter().map(step).collect()
}

#[test]
fn a_script_of_pgbench_is_compiled_as_it_is() {
    let tpcb = "\\set aid random(1, 100000 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n\
        UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
        SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\nEND;\n";
    assert_eq!(
        steps(tpcb),
        [
            "set 4",
            "set 5",
            "begin",
            "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
            "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
            "commit",
        ]
    );
    let program = program(tpcb);
    assert_eq!(program.sets, [4, 5]);
    assert!(!program.reads_only && !program.pipelines);
    let [update, select] = &*program.statements else {
        panic!()
    };
    assert_eq!(
        (update.number, update.counted, update.rows),
        (2, Counted::Write, false)
    );
    assert_eq!(
        (select.number, select.counted, select.rows),
        (3, Counted::Read, true)
    );
}

#[test]
fn statements_end_where_postgresql_ends_them() {
    for (text, found) in [
        ("SELECT ';'; SELECT 2", vec!["SELECT ';'", "SELECT 2"]),
        ("SELECT E'\\';'; SELECT 2;", vec!["SELECT E'\\';'", "SELECT 2"]),
        ("SELECT 'it''s;'", vec!["SELECT 'it''s;'"]),
        (
            "SELECT $a$;$$;$a$; SELECT $$;$$",
            vec!["SELECT $a$;$$;$a$", "SELECT $$;$$"],
        ),
        ("SELECT \"a;\", `b;` FROM t;", vec!["SELECT \"a;\", `b;` FROM t"]),
        ("SELECT 1 -- ;\n, 2; -- no more\n;;", vec!["SELECT 1 \n, 2"]),
        (
            "SELECT /* ; /* ; */ ; */ 1;/* nothing */;",
            vec!["SELECT /* ; /* ; */ ; */ 1"],
        ),
        (
            "CREATE RULE r AS (SELECT 1; SELECT 2);",
            vec!["CREATE RULE r AS (SELECT 1; SELECT 2)"],
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE b SET c = CASE d WHEN 1 THEN 2 END; END; SELECT 1",
            vec![
                "CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE b SET c = CASE d WHEN 1 THEN 2 END; END",
                "SELECT 1",
            ],
        ),
        (
            "SELECT a::int, b[1:2], '12:30', @x := 1 FROM t",
            vec!["SELECT a::int, b[1:2], '12:30', @x := 1 FROM t"],
        ),
    ] {
        let plain = statements("x.sql", text).unwrap();
        assert_eq!(plain.iter().map(|plain| &*plain.sql).collect::<Vec<_>>(), found);
        if !text.contains("CREATE") {
            let compiled = program(text);
            let sql: Vec<String> = compiled
                .statements
                .iter()
                .map(|statement| statement.sql(&NUMBERED))
                .collect();
            assert_eq!(sql, found);
        }
    }
    assert_eq!(statements("x.sql", "SELECT 1;\n\nSELECT\n2").unwrap()[1].line, 3);
}

#[test]
fn variables_are_parameters_wherever_one_is_allowed() {
    let (program, names) = compile(
        "\\set n 7\nSELECT ':n', :n::int, \":n\", x[:n] FROM t WHERE a=:n LIMIT :n;\nUPDATE t_:n SET a = :n;\nSET @work_mem = :n;",
    )
    .unwrap();
    let [select, update, set] = &*program.statements else {
        panic!()
    };
    assert_eq!(
        select.sql(&NUMBERED),
        "SELECT ':n', $1::int, \":n\", x[$2] FROM t WHERE a=$3 LIMIT $4"
    );
    assert!(select.prepared && !update.prepared && !set.prepared);
    let (mut variables, mut text) = (Variables::new(names.len()), String::new());
    variables.set(4, Number::Int(7));
    update.write(&mut text, &variables).unwrap();
    assert_eq!(text, "UPDATE t_7 SET a = 7");
    assert_eq!(
        update.filled(|place| names.name(place).to_uppercase()),
        "UPDATE t_N SET a = N"
    );
    for (value, written) in [
        (
            Value::Decimal(Decimal { units: 5, scale: 1 }),
            Some("SET @work_mem = 0.5"),
        ),
        (Value::Text(b"12"), Some("SET @work_mem = 12")),
        (Value::Float(3.0), Some("SET @work_mem = 3")),
        (Value::Text(b"1; DROP TABLE t"), None),
    ] {
        variables.take(4, value);
        assert_eq!(set.write(&mut text, &variables).is_ok(), written.is_some());
        assert!(written.is_none_or(|written| text == written), "{text}");
    }
}

#[test]
fn conditions_become_jumps() {
    assert_eq!(
        steps(
            "\\if 1\nSELECT 1;\n\\elif 0\nSELECT 2;\n\\if 1\nSELECT 3;\n\\endif\n\\else\nSELECT 4;\n\\endif\nSELECT 5;"
        ),
        [
            "unless 3", "SELECT 1", "jump 9", "unless 8", "SELECT 2", "unless 7", "SELECT 3", "jump 9",
            "SELECT 4", "SELECT 5",
        ]
    );
}

#[test]
fn commands_take_what_pgbench_lets_them_take() {
    assert_eq!(
        steps(
            "\\SET x 1 + \\\n 2\n\\sleep 10 ms\n\\sleep :x us\n\\sleep 2\nSELECT 1 AS a \\gset\nSELECT 2 AS two;\n\\aset p_"
        ),
        [
            "set 4",
            "sleep 1000000",
            "sleep 1000",
            "sleep 1000000000",
            "SELECT 1 AS a",
            "SELECT 2 AS two"
        ]
    );
    assert_eq!(
        steps("\\startpipeline\nBEGIN;\nSELECT 1;\n\\if 1\n\\syncpipeline\n\\endif\nCOMMIT;\n\\endpipeline"),
        [
            "startpipeline",
            "begin to read",
            "SELECT 1",
            "unless 5",
            "syncpipeline",
            "commit",
            "endpipeline",
        ]
    );
    assert_eq!(
        steps("START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT 1; ROLLBACK WORK;"),
        ["begin to read", "SELECT 1", "rollback"]
    );
    assert_eq!(
        steps("BEGIN; SELECT 1; END;"),
        ["begin to read", "SELECT 1", "commit"],
        "SQLite takes no write lock"
    );
    assert_eq!(
        steps("BEGIN; SAVEPOINT a; ROLLBACK TO a; END TRANSACTION"),
        ["begin", "SAVEPOINT a", "ROLLBACK TO a", "commit"]
    );
}

/// The variables of `\gset`, as PostgreSQL 15 names the columns.
#[test]
fn columns_are_named_as_postgresql_names_them() {
    for (sql, columns) in [
        ("SELECT abalance FROM t", vec!["abalance"]),
        (
            "SELECT a.B, \"Big\", c AS D, e f FROM t a",
            vec!["b", "Big", "d", "f"],
        ),
        (
            "SELECT count(*), sum(x) AS total, max(a + b) FROM t",
            vec!["count", "total", "max"],
        ),
        ("SELECT a::int, (b)::numeric c, now()", vec!["a", "c", "now"]),
        (
            "SELECT case when a then b end, coalesce(a, 1) x FROM t",
            vec!["case", "x"],
        ),
        ("SELECT DISTINCT ON (a, b) c FROM t", vec!["c"]),
        (
            "WITH x AS (SELECT 1 AS y) SELECT y + 1 AS z, (SELECT 1) v FROM x WHERE y = 1",
            vec!["z", "v"],
        ),
        ("SELECT a FROM t UNION SELECT b FROM u", vec!["a"]),
        ("INSERT INTO t SELECT 1 RETURNING id, x AS y", vec!["id", "y"]),
        ("SELECT 1 AS one", vec!["one"]),
    ] {
        let (_, names) = compile(&format!("{sql} \\gset p_")).unwrap();
        let own: Vec<&str> = names.all()[4..].to_vec();
        let expected: Vec<String> = columns.iter().map(|column| format!("p_{column}")).collect();
        assert_eq!(own, expected, "{sql}");
    }
    for sql in [
        "SELECT *",
        "SELECT a.* FROM a",
        "SELECT 1",
        "SELECT a + b FROM t",
        "SELECT a, 'x'",
        "SELECT a IS NULL",
    ] {
        let error = compile(&format!("{sql}\n\\gset")).unwrap_err();
        assert!(
            error.what.contains("a column has no name") && error.line == 1,
            "{error}"
        );
    }
}

#[test]
fn only_what_changes_nothing_reads() {
    for (sql, reads, counted, rows) in [
        ("SELECT 1", true, Counted::Read, true),
        (
            "/*+ hint */ select replace(a, 'b', 'c') from t",
            true,
            Counted::Read,
            true,
        ),
        ("VALUES (1)", true, Counted::Read, true),
        (
            "WITH x AS (SELECT 1) SELECT replace('a', 'b', 'c') FROM x",
            true,
            Counted::Read,
            true,
        ),
        ("SELECT 'update t'", true, Counted::Read, true),
        ("SELECT 1 FROM t FOR UPDATE", false, Counted::Read, true),
        ("SELECT 1 FROM t FOR SHARE", false, Counted::Read, true),
        ("SELECT nextval('s')", false, Counted::Read, true),
        ("SELECT transfer(1, 2)", false, Counted::Read, true),
        (
            "SELECT count(*), max((a + 1) * 2) FROM t WHERE b IN (1, 2)",
            true,
            Counted::Read,
            true,
        ),
        (
            "WITH x AS (SELECT 1) SELECT 1 FROM x FOR UPDATE",
            false,
            Counted::Read,
            true,
        ),
        (
            "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x",
            false,
            Counted::Read,
            true,
        ),
        (
            "WITH x AS (SELECT 1) INSERT INTO t SELECT 1 FROM x",
            false,
            Counted::Write,
            false,
        ),
        ("INSERT INTO t VALUES (1)", false, Counted::Write, false),
        ("DELETE FROM t RETURNING a", false, Counted::Write, true),
        ("REPLACE INTO t VALUES (1)", false, Counted::Write, false),
        ("TRUNCATE t", false, Counted::Other, false),
    ] {
        let program = program(sql);
        let statement = &program.statements[0];
        assert_eq!(
            (statement.reads, statement.counted, statement.rows),
            (reads, counted, rows),
            "{sql}"
        );
        assert_eq!(program.reads_only, reads);
    }
}

#[test]
fn a_variable_that_is_never_set_has_its_value_built_in() {
    let mut names = Names::default();
    names.fix("scale", Number::Int(3));
    let text = "\\set n 100 * :scale\nSELECT :n, :scale;";
    declare("x.sql", text, &mut names).unwrap();
    let program = Program::compile("x.sql", text, &names).unwrap();
    assert_eq!(program.expressions[0].constant(), Some(Number::Int(300)));
    assert_eq!(program.statements[0].variables, [4, 3]);
    declare("y.sql", "\\set scale 5", &mut names).unwrap();
    let program = Program::compile("x.sql", text, &names).unwrap();
    assert_eq!(program.expressions[0].constant(), None);
}

/// pgbench writes 6.0 as 6, which an integer column takes.
#[test]
fn a_double_that_is_whole_fits_an_integer() {
    let mut variables = Variables::new(1);
    for (double, value) in [
        (6.0, Value::Int(6)),
        (-0.0, Value::Int(0)),
        (6.5, Value::Float(6.5)),
        (1e15, Value::Float(1e15)),
    ] {
        variables.set(0, Number::Double(double));
        assert_eq!(variables.parameter(0), Ok(value));
        assert_eq!(variables.number(0), Ok(Number::Double(double)));
    }
}

#[test]
fn another_attempt_begins_with_the_values_of_the_first() {
    let mut variables = Variables::new(2);
    variables.take(0, Value::Text(b"before"));
    variables.keep(&[0, 1]);
    variables.take(0, Value::Text(b"and after"));
    variables.set(1, Number::Int(1));
    variables.restore(&[0, 1]);
    assert_eq!(variables.parameter(0), Ok(Value::Text(b"before")));
    assert!(variables.parameter(1).is_err());
}

proptest! {
    #[test]
    fn any_script_is_compiled_or_refused(text in "\\PC{0,80}", parts in prop::collection::vec(0usize..28, 0..40)) {
        let _ = compile(&text).map(drop);
        const PARTS: [&str; 28] = [
            "\\set a ", "\\if ", "\\elif ", "\\else", "\\endif", "\n", "\\\n", "\\gset ", "\\sleep ", "\\startpipeline",
            "\\endpipeline", ";", "SELECT ", "BEGIN;", "END;", ":a", "'", "\"", "$$", "/*", "*/", "--", "(", ")", "1", "a",
            "\u{e4}", "returning ",
        ];
        let text: String = parts.into_iter().map(|part| PARTS[part]).collect();
        if let Err(error) = compile(&text) {
            prop_assert!(error.line >= 1 && error.column >= 1 && !error.what.is_empty() && !error.hint.is_empty());
        }
    }
}

/// The texts of its only statement that a check is given, with tables of these names.
fn checked(text: &str, tables: &[&str]) -> Result<Vec<String>, &'static str> {
    let texts = std::cell::RefCell::new(vec![]);
    let tables: Vec<String> = tables.iter().map(|table| (*table).to_owned()).collect();
    let mut program = program(text);
    let each = |text: &str| {
        texts.borrow_mut().push(text.to_owned());
        Ok::<(), &str>(())
    };
    program.statements[0].keep_to(&Numbered::new(&tables), each)?;
    Ok(texts.into_inner())
}

fn written(text: &str, tables: &[&str], values: &[Number]) -> Result<String, &'static str> {
    let tables: Vec<String> = tables.iter().map(|table| (*table).to_owned()).collect();
    let (mut program, _) = compile(text).unwrap();
    let statement = program.statements.last_mut().unwrap();
    statement.keep_to(&Numbered::new(&tables), |_| Ok::<(), &str>(()))?;
    let mut variables = Variables::new(16);
    for (place, value) in statement.variables.iter().zip(values) {
        variables.set(*place, *value);
    }
    let mut sent = String::with_capacity(statement.text_bytes());
    let room = sent.capacity();
    let done = statement.write(&mut sent, &variables);
    assert_eq!(sent.capacity(), room);
    done.map(|()| sent).map_err(|fault| fault.words())
}

#[test]
fn a_negative_number_in_a_text_begins_no_comment() {
    let text = "\\set n 1\n\\set d 1\nUPDATE accounts_:n SET x = 5 -:d WHERE id = 1;";
    let tables = ["accounts_1"];
    let write = |d| written(text, &tables, &[Number::Int(1), d]);
    assert_eq!(
        write(Number::Int(-5)).unwrap(),
        "UPDATE accounts_1 SET x = 5 - -5 WHERE id = 1"
    );
    assert_eq!(
        write(Number::Double(-0.5)).unwrap(),
        "UPDATE accounts_1 SET x = 5 - -0.5 WHERE id = 1"
    );
    assert_eq!(
        write(Number::Int(5)).unwrap(),
        "UPDATE accounts_1 SET x = 5 -5 WHERE id = 1"
    );
    assert_eq!(
        write(Number::Int(i64::MIN)).unwrap(),
        "UPDATE accounts_1 SET x = 5 - -9223372036854775808 WHERE id = 1"
    );
    let column = "\\set n 1\nSELECT x_:n FROM t;";
    assert_eq!(
        written(column, &[], &[Number::Int(-1)]).unwrap_err(),
        "a negative number cannot end a name"
    );
}

#[test]
fn a_text_is_checked_with_numbers_of_each_kind() {
    let text = "\\set n 1\n\\set d 1\n";
    assert_eq!(
        checked(
            &format!("{text}UPDATE accounts_:n SET x_:d = 5 -:d;"),
            &["accounts_2", "accounts_3", "other"]
        )
        .unwrap(),
        [
            "UPDATE accounts_2 SET x_1 = 5 -1",
            "UPDATE accounts_2 SET x_9223372036854775807 = 5 - -1"
        ]
    );
    assert_eq!(
        checked(
            &format!("{text}UPDATE accounts_:n:d SET x = 1;"),
            &["accounts_1", "accounts_11"]
        )
        .unwrap(),
        [
            "UPDATE accounts_11 SET x = 1",
            "UPDATE accounts_19223372036854775807 SET x = 1"
        ]
    );
    // A parameter is never read as a part of the text.
    assert_eq!(
        checked(&format!("{text}UPDATE t SET x = 5 -:d;"), &[]).unwrap(),
        ["UPDATE t SET x = 5 -1"]
    );
    for dollar in [
        "SELECT $:n, 1",
        "SELECT $a:n$ 1",
        "SELECT :n$$ 1 $$",
        "SELECT a$:n",
    ] {
        let refusal = checked(&format!("{text}{dollar};"), &[]).unwrap_err();
        assert!(refusal.contains("next to a $"), "{dollar}: {refusal}");
    }
}
