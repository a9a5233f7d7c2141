//! Each hostile statement is one that was carried out once, on a real server, and changed what was not the plan's.
use super::*;
use crate::script::{Names, Number, Program, Variables, declare};

fn verdict(dialect: &str, place: Place, sql: &str) -> Result<(), Refusal> {
    let tables = ["a", "b", "orders", "accounts_1", "accounts_2"].map(str::to_owned);
    let functions = ["own_function".to_owned()];
    let mut rules = Rules::new(dialect, &tables, &functions);
    for before in [
        "CREATE TABLE orders (id serial, total int)",
        "CREATE INDEX orders_x ON orders (id)",
        "CREATE INDEX IF NOT EXISTS precious_x ON orders (id)",
    ] {
        if let Ok(Some(before)) = rules.read(before, Place::Schema) {
            rules.made.learn(&before, dialect);
        }
    }
    rules.check(sql, place)
}

fn refused(dialect: &str, place: Place, all: &[(&str, &str)]) {
    let mut wrong = vec![];
    for (sql, words) in all {
        match verdict(dialect, place, sql) {
            Ok(()) => wrong.push(format!("{sql}: passes")),
            Err(refusal) if !refusal.what.contains(words) => wrong.push(format!("{sql}: {}", refusal.what)),
            Err(refusal) => assert!(refusal.hint.contains("unchecked_sql"), "{sql}: {}", refusal.hint),
        }
    }
    assert!(wrong.is_empty(), "{dialect} {place:?}:\n{}", wrong.join("\n"));
}

fn passes(dialect: &str, place: Place, all: &[&str]) {
    let refused = |sql: &&str| {
        let refusal = verdict(dialect, place, sql).err()?;
        Some(format!("{sql}: {}", refusal.what))
    };
    let wrong: Vec<String> = all.iter().filter_map(refused).collect();
    assert!(wrong.is_empty(), "{dialect} {place:?}:\n{}", wrong.join("\n"));
}

const EVERYWHERE: &[(&str, &str)] = &[
    ("CREATE TABLE precious (x int)", "`precious`"),
    ("CREATE TABLE other.a (x int)", "in which schema"),
    ("CREATE TEMPORARY TABLE a (x int)", "temporary"),
    ("CREATE TABLE a (x int REFERENCES precious (x))", "restrict"),
    (
        "CREATE TABLE a (x int, FOREIGN KEY (x) REFERENCES precious (x))",
        "restrict",
    ),
    (
        "CREATE TABLE a (x int) AS SELECT own_function(1), evil(2)",
        "`evil`",
    ),
    ("CREATE TABLE a AS SELECT evil(1)", "`evil`"),
    ("CREATE INDEX i ON precious (x)", "`precious`"),
    ("CREATE VIEW v AS SELECT 1", "`CREATE VIEW`"),
    (
        "CREATE TRIGGER t AFTER INSERT ON precious FOR EACH ROW SET @a = 1",
        "bakeoff",
    ),
    ("ALTER TABLE precious ADD COLUMN y int", "`precious`"),
    ("ALTER TABLE a RENAME TO c", "changes of a table"),
    (
        "ALTER TABLE a ADD FOREIGN KEY (x) REFERENCES precious (x)",
        "restrict",
    ),
    ("DROP TABLE a, precious", "`precious`"),
    ("DROP TABLE a CASCADE", "`DROP TABLE`"),
    ("DROP VIEW a", "`DROP VIEW`"),
    ("INSERT INTO precious VALUES (1)", "`precious`"),
    ("INSERT INTO other.a VALUES (1)", "in which schema"),
    ("INSERT INTO precious SELECT x FROM a", "`precious`"),
    ("UPDATE precious SET x = 1", "`precious`"),
    ("DELETE FROM precious", "`precious`"),
    ("DELETE FROM other.a", "in which schema"),
    ("SELECT evil(1)", "`evil`"),
    ("SELECT * FROM evil(1)", "`evil`"),
    ("INSERT INTO a VALUES (evil(1))", "`evil`"),
    ("SELECT 1; DROP TABLE precious", "second statement"),
    ("SELECT 1 /* /* */ ; DROP TABLE precious -- */", "comment"),
    ("SELECT 1 /* /* */ , evil(1) /* */ */", "comment"),
    ("SELECT 1 /*! , evil(1) */", "/*!"),
    ("SELECT 1 /*M! , evil(1) */", "/*!"),
    ("SELECT /*+ SET_VAR(unique_checks = OFF) */ 1", "setting"),
    ("no words of SQL", "cannot be read"),
];

#[test]
fn what_is_not_the_plans_stays_as_it_is_on_every_system() {
    for dialect in ["mysql", "postgresql", "sqlite", ""] {
        refused(dialect, Place::Schema, EVERYWHERE);
    }
}

#[test]
fn hostile_statements_of_mariadb_are_refused() {
    refused(
        "mysql",
        Place::Schema,
        &[
            ("CREATE OR REPLACE TABLE a (x int)", "OR REPLACE"),
            ("CREATE OR REPLACE TABLE other.precious (x int)", "OR REPLACE"),
            ("CREATE TABLE A (x int)", "`A`"),
            ("ANALYZE DELETE FROM precious", "`ANALYZE DELETE`"),
            ("ANALYZE TABLE a, precious", "`precious`"),
            ("EXECUTE IMMEDIATE 'DELETE FROM precious'", "`EXECUTE IMMEDIATE`"),
            ("PREPARE p FROM 'DELETE FROM precious'", "bakeoff checks"),
            (
                "INSERT INTO precious VALUES (1) ON DUPLICATE KEY UPDATE x = 2",
                "`precious`",
            ),
            ("REPLACE INTO precious VALUES (1)", "`precious`"),
            ("USE other", "`USE`"),
            ("SET GLOBAL sync_binlog = 0", "setting"),
            ("SET SESSION innodb_flush_log_at_trx_commit = 0", "setting"),
            ("SET @a = 1, @@unique_checks = 0", "setting"),
            ("SET @a = evil()", "`evil`"),
            ("SET PASSWORD = 'x'", "setting"),
            ("DROP USER bench", "`DROP USER`"),
            ("SHUTDOWN", "cannot be read"),
            ("RENAME TABLE a TO c, precious TO d", "`RENAME`"),
            ("TRUNCATE precious", "`precious`"),
            (
                "DELETE a, precious FROM a JOIN precious ON a.x = precious.x",
                "`precious`",
            ),
            (
                "UPDATE a JOIN precious ON a.x = precious.x SET precious.x = 1",
                "`precious`",
            ),
            ("SELECT 1 INTO OUTFILE '/tmp/x'", "bakeoff checks"),
            ("SELECT load_file('/etc/passwd')", "`load_file`"),
            ("LOAD DATA INFILE '/etc/passwd' INTO TABLE a", "bakeoff checks"),
            ("CALL evil()", "`evil`"),
            (
                "CREATE TABLE a (x int) ENGINE=MERGE UNION=(precious) INSERT_METHOD=LAST",
                "engine",
            ),
            ("CREATE TABLE a (x int) DATA DIRECTORY='/tmp'", "`DATA`"),
            ("CREATE TABLE a LIKE precious", "`precious`"),
            ("CREATE TABLE b (SELECT sleep(1))", "`SELECT`"),
            ("CREATE TABLE b (SELECT load_file('/etc/hostname'))", "`SELECT`"),
            ("CREATE TABLE b (select x) ENGINE=InnoDB", "`select`"),
            ("CREATE TABLE b ((SELECT sleep(1)))", "cannot be read"),
            (
                "CREATE TABLE b (WITH q AS (SELECT 1) SELECT sleep(1))",
                "bakeoff checks",
            ),
            ("CREATE TABLE b (VALUES ROW(1))", "`VALUES`"),
            ("CREATE TABLE b (TABLE precious)", "`TABLE`"),
            ("CREATE TABLE b (LIKE precious)", "`precious`"),
            ("CREATE TABLE b (x int, LIKE precious)", "`precious`"),
            (
                "CREATE TABLE b (x int) PARTITION BY HASH (x) PARTITIONS 2 SELECT sleep(0.1) AS x",
                "`SELECT`",
            ),
            (
                "CREATE TABLE b (x int) PARTITION BY HASH (x) PARTITIONS 2 AS SELECT sleep(0.1) AS x",
                "`AS`",
            ),
            (
                "CREATE TABLE b (x int) PARTITION BY HASH (x) REPLACE SELECT x FROM precious FOR UPDATE",
                "`REPLACE`",
            ),
            ("DELETE FROM a USING precious AS a WHERE a.x = 1", "`precious`"),
            (
                "DELETE FROM a USING a JOIN precious AS b ON a.x = b.x",
                "`precious`",
            ),
            ("SELECT x FROM precious LOCK IN SHARE MODE", "`precious`"),
            ("INSERT INTO precious PARTITION (p0) VALUES (1)", "`precious`"),
            ("INSERT INTO a PARTITION (p0) VALUES (evil(1))", "`evil`"),
            (
                "SELECT x FROM a WHERE MATCH (t) AGAINST ('x') AND evil(1)",
                "`evil`",
            ),
            ("GRANT ALL ON *.* TO bench", "`GRANT`"),
            ("SELECT 1 # , evil(1)", "#"),
            ("SELECT 'a\\', evil(1), '', 'b'", "backslash"),
            ("SELECT $$ ' $$, evil(1)", "dollars"),
            ("SELECT x FROM precious FOR UPDATE", "`precious`"),
            ("LOCK TABLES precious WRITE", "`LOCK`"),
            ("FLUSH TABLES WITH READ LOCK", "`FLUSH`"),
            ("KILL 1", "`KILL`"),
        ],
    );
}

#[test]
fn hostile_statements_of_postgresql_are_refused() {
    refused(
        "postgresql",
        Place::Schema,
        &[
            (
                "CREATE TABLE a AS WITH d AS (DELETE FROM precious RETURNING 1) SELECT * FROM d",
                "`precious`",
            ),
            (
                "WITH d AS (DELETE FROM precious RETURNING 1) SELECT * FROM d",
                "`precious`",
            ),
            ("EXPLAIN ANALYZE DELETE FROM precious", "`EXPLAIN ANALYZE`"),
            ("EXPLAIN (ANALYZE) DELETE FROM precious", "`EXPLAIN"),
            ("PREPARE p AS DELETE FROM precious", "`PREPARE`"),
            ("EXECUTE p", "`EXECUTE P`"),
            (
                "INSERT INTO precious VALUES (1) ON CONFLICT (x) DO UPDATE SET x = 2",
                "`precious`",
            ),
            ("DROP OWNED BY bench", "cannot be read"),
            ("ALTER SCHEMA public RENAME TO gone", "`ALTER SCHEMA`"),
            ("ALTER SYSTEM SET fsync = off", "bakeoff checks"),
            ("ALTER ROLE bench SET synchronous_commit = off", "`ALTER ROLE`"),
            (
                "ALTER DATABASE bench SET synchronous_commit = off",
                "bakeoff checks",
            ),
            ("COPY a TO PROGRAM 'touch /tmp/x'", "`COPY A`"),
            ("COPY precious FROM '/etc/passwd'", "`COPY PRECIOUS`"),
            ("DO $$ BEGIN DELETE FROM precious; END $$", "cannot be read"),
            (
                "SELECT \"set_config\"('synchronous_commit', 'off', false)",
                "set_config",
            ),
            (
                "SELECT pg_catalog.set_config('synchronous_commit', 'off', false)",
                "set_config",
            ),
            (
                "SELECT SET_CONFIG('synchronous_commit', 'off', false)",
                "`SET_CONFIG`",
            ),
            (
                "UPDATE pg_settings SET setting = 'off' WHERE name = 'synchronous_commit'",
                "`pg_settings`",
            ),
            (
                "UPDATE pg_catalog.pg_settings SET setting = 'off'",
                "in which schema",
            ),
            ("RESET ALL", "`RESET`"),
            ("DISCARD ALL", "`DISCARD`"),
            (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
                "`pg_terminate_backend`",
            ),
            ("SELECT lo_export(1, '/tmp/x')", "`lo_export`"),
            (
                "SELECT * FROM dblink('dbname=x', 'DELETE FROM t') AS t (x int)",
                "`dblink`",
            ),
            ("SELECT pg_read_file('/etc/passwd')", "`pg_read_file`"),
            (
                "SELECT query_to_xml('SELECT 1', true, true, '')",
                "`query_to_xml`",
            ),
            ("SELECT nextval('precious_id_seq')", "`nextval`"),
            (
                "SELECT setval(pg_get_serial_sequence('precious', 'id'), 1)",
                "`setval`",
            ),
            ("SELECT setval('orders_archive_id_seq', 1)", "`setval`"),
            ("SELECT setval('orders_x.precious_seq', 1)", "`setval`"),
            ("SELECT setval('other.orders_id_seq', 1)", "`setval`"),
            ("SELECT nextval('orders_total_seq')", "`nextval`"),
            (
                "SELECT setval(pg_get_serial_sequence('other.orders', 'id'), 1)",
                "`setval`",
            ),
            ("CREATE TABLE a (LIKE precious)", "`precious`"),
            ("CREATE TABLE a (x int, LIKE precious INCLUDING DEFAULTS)", ""),
            ("CREATE TABLE b (x int) PARTITION BY RANGE (evil(x))", "`evil`"),
            (
                "CREATE TABLE b (x int) PARTITION BY RANGE (\"evil\" (x))",
                "`\"evil\"`",
            ),
            (
                "CREATE TABLE b (x int) PARTITION BY RANGE ((other.abs(x)))",
                "`.`",
            ),
            ("SELECT x FROM precious FOR NO KEY UPDATE", "`precious`"),
            ("SELECT x FROM precious FOR KEY SHARE", "`precious`"),
            ("DROP INDEX precious_x", "`precious_x`"),
            ("DROP INDEX other.orders_x", "in which schema"),
            ("DROP INDEX \"ORDERS_X\"", "`ORDERS_X`"),
            ("DROP INDEX orders_x CASCADE", "`DROP INDEX`"),
            ("SELECT array(SELECT evil(x) FROM a)", "`evil`"),
            ("SELECT array(DELETE FROM precious RETURNING x)", "`precious`"),
            (
                "CREATE TABLE a (x int DEFAULT nextval('precious_id_seq'))",
                "`nextval`",
            ),
            ("CREATE TABLE a (x int) INHERITS (precious)", "`INHERITS`"),
            (
                "CREATE TABLE a PARTITION OF precious FOR VALUES IN (1)",
                "`precious`",
            ),
            ("ALTER TABLE a INHERIT precious", "cannot be read"),
            ("ALTER TABLE a OWNER TO other", "changes of a table"),
            ("SELECT 1 INTO precious", "INTO"),
            ("TRUNCATE a CASCADE", "CASCADE"),
            ("TRUNCATE a, precious", "`precious`"),
            ("ANALYZE", "`ANALYZE`"),
            ("VACUUM FULL precious", "`precious`"),
            ("DELETE FROM \"A\"", "`A`"),
            ("COMMENT ON TABLE precious IS 'x'", "`precious`"),
            ("COMMENT ON DATABASE x IS 'x'", "`COMMENT`"),
            (
                "MERGE INTO precious USING a ON true WHEN MATCHED THEN DELETE",
                "`precious`",
            ),
            ("SELECT x FROM precious FOR UPDATE", "`precious`"),
            ("NOTIFY a", "`NOTIFY`"),
            ("CREATE EXTENSION dblink", "`CREATE EXTENSION`"),
            (
                "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
                "`CREATE FUNCTION`",
            ),
        ],
    );
}

#[test]
fn hostile_statements_of_sqlite_are_refused() {
    refused(
        "sqlite",
        Place::Schema,
        &[
            ("ATTACH 'other.sqlite' AS other", "`ATTACH`"),
            ("INSERT INTO other.precious VALUES (1)", "in which schema"),
            ("INSERT OR REPLACE INTO precious VALUES (1)", "`precious`"),
            ("REPLACE INTO precious VALUES (1)", "`precious`"),
            ("PRAGMA synchronous = OFF", "`PRAGMA`"),
            ("PRAGMA writable_schema = ON", "`PRAGMA`"),
            ("UPDATE sqlite_master SET sql = ''", "`sqlite_master`"),
            ("SELECT load_extension('x')", "`load_extension`"),
            ("SELECT writefile('x', 'y')", "`writefile`"),
            ("VACUUM INTO 'copy.sqlite'", "`VACUUM`"),
            ("VACUUM", "`VACUUM`"),
            ("DELETE FROM a USING precious AS a", "`precious`"),
            ("DROP INDEX precious_x", "`precious_x`"),
            ("SELECT E'\\', evil(1), '", "backslash"),
        ],
    );
}

#[test]
fn a_check_only_reads() {
    for dialect in ["mysql", "postgresql", "sqlite"] {
        refused(
            dialect,
            Place::Check,
            &[
                ("DELETE FROM a", "only reads"),
                ("SELECT x FROM a FOR UPDATE", "locks"),
                ("SELECT evil(1)", "`evil`"),
                ("ANALYZE a", "only reads"),
                ("SET @a = 1", "`SET A`"),
            ],
        );
        passes(
            dialect,
            Place::Check,
            &[
                "SELECT COUNT(*), SUM(x) FROM a JOIN precious ON a.x = precious.x WHERE a.x > 1 GROUP BY a.x",
                "WITH c AS (SELECT 1) SELECT own_function(1) FROM c",
                "SELECT x FROM information_schema.tables",
            ],
        );
    }
}

#[test]
fn what_people_write_for_their_own_tables_passes() {
    for dialect in ["mysql", "postgresql", "sqlite", ""] {
        passes(
            dialect,
            Place::Schema,
            &[
                "CREATE TABLE a (id INT NOT NULL PRIMARY KEY, t VARCHAR(40) DEFAULT ';', d DECIMAL(8, 2), \
                 placed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, FOREIGN KEY (id) REFERENCES b (id))",
                "CREATE TABLE IF NOT EXISTS a (x int CHECK (x > 0))",
                "CREATE UNIQUE INDEX i ON a (x, y)",
                "ALTER TABLE a ADD COLUMN y int",
                "ALTER TABLE a ADD CONSTRAINT k PRIMARY KEY (x)",
                "DROP TABLE IF EXISTS a",
                "INSERT INTO a (x, y) VALUES (1, 'it''s'), (2, 'two')",
                "INSERT INTO a SELECT x + 1 FROM precious",
                "ANALYZE a",
                "/* ours */ SELECT COUNT(*) FROM a",
            ],
        );
        passes(
            dialect,
            Place::Script,
            &[
                "UPDATE a SET x = x + 1 WHERE id = 1",
                "UPDATE a SET x = (SELECT MAX(x) FROM precious)",
                "DELETE FROM a WHERE x IN (SELECT x FROM precious)",
                "INSERT INTO a (x) VALUES (CURRENT_TIMESTAMP)",
                "SELECT COALESCE(SUM(x), 0) FROM a LEFT JOIN b ON a.x = b.x WHERE a.x BETWEEN 1 AND 2 LIMIT 1",
                "WITH c AS (SELECT x FROM a) SELECT * FROM c",
                "SELECT own_function(1)",
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                "SAVEPOINT s",
                "ROLLBACK TO SAVEPOINT s",
                "RELEASE SAVEPOINT s",
            ],
        );
    }
    passes(
        "mysql",
        Place::Schema,
        &[
            "CREATE TABLE a (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, KEY k (x)) ENGINE=InnoDB DEFAULT \
             CHARSET=utf8mb4 ROW_FORMAT=COMPRESSED",
            "CREATE TABLE a (x int) PARTITION BY HASH (x) PARTITIONS 4",
            "ANALYZE TABLE a, b",
            "REPLACE INTO a VALUES (1)",
            "TRUNCATE TABLE a",
            "ALTER TABLE a ADD INDEX i (x), ADD FOREIGN KEY (x) REFERENCES b (id)",
            "INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE x = VALUES(x)",
            "INSERT IGNORE INTO a VALUES (1)",
            "INSERT INTO a PARTITION (p0, p1) (x) VALUES (1)",
            "INSERT INTO a PARTITION (p0) VALUES (1)",
            "CREATE TABLE a (`select` int, `like` int, period int, `table` int)",
            "CREATE TABLE a (x int) PARTITION BY RANGE (YEAR(x)) (PARTITION p0 VALUES LESS THAN (TO_DAYS('2020-01-01')) ENGINE = InnoDB)",
        ],
    );
    passes(
        "mysql",
        Place::Script,
        &[
            "SELECT x FROM a WHERE id = 1 FOR UPDATE",
            "SET @a = greatest(1, 2), @b := 2",
            "UPDATE a JOIN b ON a.x = b.x SET a.x = 1",
            "DELETE a FROM a JOIN b ON a.x = b.x",
            "DELETE FROM a USING a JOIN b ON a.x = b.x",
            "SELECT x FROM a WHERE id = 1 LOCK IN SHARE MODE",
            "SELECT x FROM a WHERE MATCH (t, u) AGAINST ('x')",
            "SELECT x, MATCH (t) AGAINST (1 IN BOOLEAN MODE) AS score FROM a",
            "SELECT /*+ MAX_EXECUTION_TIME(1000) */ x FROM a",
        ],
    );
    passes(
        "postgresql",
        Place::Schema,
        &[
            "CREATE TABLE a (bid int NOT NULL, filler char(88)) WITH (fillfactor=100)",
            "CREATE UNLOGGED TABLE a (id bigserial PRIMARY KEY, j jsonb)",
            "CREATE TABLE orders (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY)",
            "CREATE TABLE a (x int) PARTITION BY HASH (x)",
            "CREATE TABLE a PARTITION OF b FOR VALUES WITH (MODULUS 4, REMAINDER 0)",
            "SELECT setval(pg_get_serial_sequence('orders', 'id'), (SELECT MAX(id) FROM orders))",
            "SELECT setval('orders_id_seq', 100)",
            "ANALYZE a, b (x), orders",
            "VACUUM ANALYZE a",
            "COMMENT ON TABLE a IS 'x'",
            "COMMENT ON COLUMN a.x IS 'x'",
            "CREATE INDEX i ON a USING gin (j) WHERE x > 1",
            "TRUNCATE A RESTART IDENTITY",
            "ALTER TABLE a SET (fillfactor = 80)",
            "CREATE TABLE a (LIKE b)",
            "CREATE TABLE a (\"like\" int, \"select\" int, values int)",
            "DROP INDEX orders_x",
            "DROP INDEX IF EXISTS ORDERS_X",
        ],
    );
    passes(
        "postgresql",
        Place::Script,
        &[
            "SELECT x FROM a WHERE id = 1 FOR UPDATE SKIP LOCKED",
            "INSERT INTO a VALUES (1) ON CONFLICT (x) DO UPDATE SET x = excluded.x RETURNING x",
            "WITH gone AS (DELETE FROM a WHERE x = 1 RETURNING x) INSERT INTO b SELECT x FROM gone",
            "UPDATE a SET x = b.x FROM b WHERE a.id = b.id",
            "SELECT nextval('orders_id_seq')",
            "SELECT x FROM a WHERE id = 1 FOR NO KEY UPDATE",
            "SELECT x FROM a FOR KEY SHARE OF a SKIP LOCKED",
            "SELECT array(SELECT x FROM a)",
            "DELETE FROM a USING precious WHERE a.x = precious.x",
            "SELECT x::int, j->>'k' FROM a WHERE t LIKE 'a\\%' ESCAPE '\\'",
            "SET CONSTRAINTS ALL DEFERRED",
        ],
    );
    passes(
        "sqlite",
        Place::Schema,
        &[
            "CREATE TABLE a (x INTEGER PRIMARY KEY AUTOINCREMENT, t) WITHOUT ROWID, STRICT",
            "INSERT OR REPLACE INTO A VALUES (1)",
            "SELECT strftime('%s', 'now') FROM a",
            "DROP INDEX Orders_X",
        ],
    );
}

#[test]
fn names_that_the_system_looks_for_elsewhere_are_refused() {
    for (dialect, name) in [("postgresql", "pg_settings"), ("sqlite", "sqlite_master")] {
        let tables = [name.to_owned()];
        let rules = Rules::new(dialect, &tables, &[]);
        assert!(refuse_names(&rules).unwrap_err().what.contains(name));
    }
}

#[test]
fn sequences_are_those_of_tables_that_the_schema_makes_or_that_the_plan_says() {
    let tables = ["orders".to_owned()];
    let verdict = |make: &str, functions: &[String], sql: &str| {
        let mut rules = Rules::new("postgresql", &tables, functions);
        if let Some(made) = rules.read(make, Place::Schema).unwrap() {
            rules.made.learn(&made, "postgresql");
        }
        rules.check(sql, Place::Script)
    };
    let made = "CREATE TABLE orders (id serial, \"No\" serial)";
    for sql in [
        "SELECT nextval('Orders_id_seq')",
        "SELECT nextval('\"orders_id_seq\"')",
        "SELECT nextval('\"orders_No_seq\"')",
    ] {
        verdict(made, &[], sql).unwrap();
    }
    for sql in [
        "SELECT nextval('orders_No_seq')",
        "SELECT nextval('\"Orders_id_seq\"')",
        "SELECT nextval('other.orders_id_seq')",
    ] {
        verdict(made, &[], sql).unwrap_err();
    }
    // It may have been there before, and so may its sequence.
    let next = "SELECT nextval('orders_id_seq')";
    let refusal = verdict("CREATE TABLE IF NOT EXISTS orders (id serial)", &[], next).unwrap_err();
    assert!(
        refusal.hint.contains("functions = [\"nextval\"]"),
        "{}",
        refusal.hint
    );
    let by_column = "SELECT nextval(pg_get_serial_sequence('orders', 'id'))";
    verdict("ANALYZE orders", &[], by_column).unwrap();
    assert!(refusal.hint.contains("pg_get_serial_sequence('orders', 'id')"));
    verdict("ANALYZE orders", &["NextVal".to_owned()], next).unwrap();
    verdict("ANALYZE orders", &["setval".to_owned()], next).unwrap_err();
}

#[test]
fn where_no_negative_number_is_allowed_none_is_written() {
    let tables = ["accounts_1".to_owned()];
    for (dialect, text, of_b) in [
        (
            "postgresql",
            "SELECT x -:a FROM accounts_:n FETCH FIRST :b ROWS ONLY",
            false,
        ),
        (
            "postgresql",
            "SELECT CAST(x -:a AS VARCHAR(:b)) FROM accounts_:n",
            false,
        ),
        (
            "mysql",
            "SELECT CAST(x -:a AS DECIMAL(:b, 2)) FROM accounts_:n",
            false,
        ),
        ("mysql", "SELECT x -:a FROM accounts_:n WHERE x =:b", true),
    ] {
        let text = format!("\\set n 1\n\\set a 1\n\\set b 1\n{text};");
        let mut names = Names::default();
        declare("x.sql", &text, &mut names).unwrap();
        let statement = &mut Program::compile("x.sql", &text, &names).unwrap().statements[0];
        let rules = Rules::new(dialect, &tables, &[]);
        let check = |sql: &str| rules.check(sql, Place::Script);
        statement.keep_to(&Numbered::new(&tables), check).unwrap();
        let written = |a: Number, b: Number| {
            let mut variables = Variables::new(16);
            for (name, value) in [("n", Number::Int(1)), ("a", a), ("b", b)] {
                variables.set(names.place(name).unwrap(), value);
            }
            let mut sent = String::new();
            statement
                .write(&mut sent, &variables)
                .map(|()| check(&sent).unwrap())
        };
        assert_eq!(written(Number::Int(-1), Number::Int(i64::MAX)), Ok(()), "{text}");
        for negative in [Number::Int(-1), Number::Int(i64::MIN), Number::Double(-0.5)] {
            assert_eq!(written(Number::Int(1), negative).is_ok(), of_b, "{text}");
        }
    }
}
