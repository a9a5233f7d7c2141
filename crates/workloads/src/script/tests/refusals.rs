//! What is refused before anything starts: scripts, settings in them, queries of checks that do more than ask.
use super::programs::compile;
use crate::script::{check_query, statements};

#[test]
fn what_cannot_be_a_script_is_refused_with_its_place() {
    for (text, place, what, hint) in [
        (
            "SELECT 1;\n\\sett a 1",
            (2, 1),
            "no command \\sett",
            "did you mean `set`?",
        ),
        ("\\set a 1 +", (1, 11), "a value was expected", "a value is"),
        ("\\set a 1 \\\n + foo(1)", (2, 4), "no function `foo`", ""),
        ("\\set 1a 1", (1, 6), "`1a` is no name", "letters"),
        ("\\set", (1, 5), "takes a name and an expression", "\\set name"),
        (
            "\\set customer 1\n  SELECT :custommer;",
            (2, 10),
            "nothing sets the variable `custommer`",
            "`customer`?",
        ),
        ("\\shell rm -rf /", (1, 1), "a plan runs no commands", "\\set"),
        ("\\setshell x date", (1, 1), "a plan runs no commands", "\\set"),
        ("\\if 1\nSELECT 1;", (1, 1), "this \\if does not end", "\\endif"),
        ("\\endif", (1, 1), "no \\if for this", "\\if"),
        (
            "\\if 1\n\\else\n\\else\n\\endif",
            (3, 1),
            "\\else stands after no \\if",
            "at most one",
        ),
        (
            "\\if 1\n\\else 2\n\\endif",
            (2, 6),
            "\\else takes nothing, and `2`",
            "line",
        ),
        ("\\gset", (1, 1), "\\gset must follow", "SELECT"),
        (
            "UPDATE t SET a = 1;\n\\gset",
            (2, 1),
            "\\gset must follow",
            "RETURNING",
        ),
        (
            "SELECT 1 a \\gset a-",
            (1, 17),
            "cannot begin the name",
            "letters",
        ),
        (
            "\\sleep x",
            (1, 1),
            "`x` is neither a whole number",
            "\\sleep 10 ms",
        ),
        ("\\sleep 1 min", (1, 1), "no unit `min`", "us, ms or s"),
        (
            "SELECT 'a;\nSELECT 2;",
            (1, 8),
            "a text (') does not end",
            "close",
        ),
        ("SELECT 1 /* a;", (1, 10), "a comment (/*) does not end", "close"),
        ("SELECT 1\\; SELECT 2;", (1, 9), "joined by \\;", "semicolon"),
        (
            "BEGIN;\nSELECT 1;",
            (2, 10),
            "ends inside a transaction",
            "COMMIT",
        ),
        (
            "BEGIN; BEGIN; END; END;",
            (1, 8),
            "begins inside another",
            "COMMIT",
        ),
        ("COMMIT;", (1, 1), "ends that never began", "BEGIN"),
        (
            "SELECT 1;\n  END;\nSELECT 2;\n",
            (2, 3),
            "ends that never began",
            "BEGIN",
        ),
        (
            "SELECT 1;\nUPDATE t SET v = v + 1\0 WHERE id = 1;",
            (2, 23),
            "a NUL character",
            "take it out",
        ),
        (
            "COMMIT AND CHAIN;",
            (1, 1),
            "cannot be asked of every system",
            "READ ONLY",
        ),
        (
            "BEGIN FAST; END;",
            (1, 1),
            "cannot be asked of every system",
            "ISOLATION LEVEL",
        ),
        ("\\endpipeline", (1, 1), "no pipeline for this", "\\startpipeline"),
        (
            "\\startpipeline\n\\startpipeline",
            (2, 1),
            "open already",
            "\\endpipeline",
        ),
        (
            "\\startpipeline\nSELECT 1;",
            (1, 1),
            "this pipeline does not end",
            "\\endpipeline",
        ),
        (
            "\\startpipeline\nSET @a = 1;\n\\endpipeline",
            (2, 1),
            "prepared statements only",
            "before",
        ),
        (
            "\\startpipeline\nSELECT 1 a \\gset\n\\endpipeline",
            (2, 12),
            "cannot be used in a pipeline",
            "after",
        ),
        (
            "\\if 1\n\\startpipeline\n\\endif\n\\endpipeline",
            (3, 1),
            "\\endif cuts a pipeline",
            "the other",
        ),
        (
            "\\startpipeline\n\\if 1\n\\endpipeline\n\\endif",
            (3, 1),
            "\\endpipeline cuts a pipeline",
            "the other",
        ),
        ("-- nothing", (1, 1), "the script has no command", "SQL"),
    ] {
        let error = compile(text).unwrap_err();
        assert_eq!((error.line, error.column), place, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
        assert!(
            error.hint.contains(hint) && !error.hint.is_empty(),
            "{text:?}: {}",
            error.hint
        );
    }
    let error = statements("schema.sql", "CREATE TABLE a (b int);\n\\set a 1").unwrap_err();
    assert_eq!(
        error.to_string(),
        "schema.sql, line 2, column 1 (\\set a 1): \\set is in a file of plain statements"
    );
}

#[test]
fn a_query_of_a_check_asks_and_nothing_else() {
    for query in [
        "SELECT a FROM t WHERE b = 'DELETE';",
        "(SELECT 1) UNION (SELECT 2)",
        "-- all\nWITH x AS (SELECT 1) SELECT own_function(1) FROM x",
        "VALUES (1)",
    ] {
        assert_eq!(check_query("a check", query), Ok(()), "{query}");
    }
    for (query, place, what) in [
        ("DELETE FROM t", (1, 1), "does more than ask"),
        ("SELECT 1 FROM t\nFOR UPDATE", (1, 1), "does more than ask"),
        (
            "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x",
            (1, 1),
            "does more than ask",
        ),
        (
            "(WITH x AS (SELECT 1) DELETE FROM t)",
            (1, 1),
            "does more than ask",
        ),
        ("SELECT 1 INTO OUTFILE 'x'", (1, 1), "does more than ask"),
        ("EXPLAIN ANALYZE UPDATE t SET a = 1", (1, 1), "does more than ask"),
        ("SELECT 1;\nDROP TABLE t", (2, 1), "a second statement follows"),
        ("SELECT 1 AS a \\gset", (1, 15), "for scripts"),
        ("UPDATE t SET a = 1\0 WHERE b = 1", (1, 19), "a NUL character"),
        (" ", (1, 1), "there is no query"),
    ] {
        let error = check_query("a check", query).unwrap_err();
        assert_eq!((error.line, error.column), place, "{query}: {error}");
        assert!(error.what.contains(what), "{query}: {error}");
    }
}
