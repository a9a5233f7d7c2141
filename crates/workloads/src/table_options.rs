//! Options that a plan appends to CREATE TABLE, and those of a schema's own tables: known words and their values, nothing
//! else. What is not known could be another statement, another server's table (`ENGINE=FEDERATED`), or a file somewhere
//! (`DATA DIRECTORY`).
use crate::functions;
use crate::script::{Kind, Token, tokens};
use crate::trouble::refuse;
use bakeoff_model::outcome::Trouble;

/// Options of MySQL's family that have one value.
const VALUES: &str = "auto_increment avg_row_length charset checksum collate comment compression delay_key_write encrypted \
    encryption encryption_key_id engine key_block_size max_rows min_rows pack_keys page_checksum page_compressed \
    page_compression_level row_format stats_auto_recalc stats_persistent stats_sample_pages tablespace transactional using";
/// Engines that keep a table's rows in that table: not those that reach others' (MERGE, FEDERATED, CONNECT, SPIDER, CSV).
const ENGINES: &str =
    "archive aria blackhole columnstore heap innodb memory myisam ndb ndbcluster rocksdb tokudb xpand";
/// Words with which a query begins.
const QUERIES: &str = "select table values with";

fn among(word: &str, list: &str) -> bool {
    list.split_whitespace()
        .any(|known| known.eq_ignore_ascii_case(word))
}

/// Refuses a plan's `create_table_options` unless they are options of that table alone.
pub fn validate(options: &str) -> Result<(), Trouble> {
    check(options).map_err(|what| {
        let hint = "write options such as ROW_FORMAT=COMPRESSED or WITH (fillfactor=80), which concern the table itself";
        refuse("create_table_options", format!("`create_table_options`: {what}"), hint)
    })
}

/// Refuses, in words, what is not known to concern that table alone.
fn check(options: &str) -> Result<(), String> {
    let all = tokens(options).map_err(|(_, what)| what.to_owned())?;
    check_tokens(&all, options)
}

/// `tokens`: of `text`, from the first option on.
pub fn check_tokens(tokens: &[Token], text: &str) -> Result<(), String> {
    let all: Vec<(Kind, &str)> = tokens
        .iter()
        .filter(|token| token.kind != Kind::Blank)
        .map(|token| (token.kind, &text[token.from..token.to]))
        .collect();
    if let Some((_, other)) = all.iter().find(|(kind, _)| {
        matches!(
            kind,
            Kind::Comment | Kind::LineComment | Kind::Semicolon | Kind::Backslash | Kind::Variable
        )
    }) {
        return Err(format!("{other:?} is no part of an option"));
    }
    let mut rest = &all[..];
    while let [(_, word), after @ ..] = rest {
        rest = match (word.to_ascii_lowercase().as_str(), after) {
            ("," | "default" | "strict", _) => after,
            ("without", [(_, rowid), after @ ..]) if rowid.eq_ignore_ascii_case("rowid") => after,
            ("character", [(_, set), after @ ..]) if set.eq_ignore_ascii_case("set") => value(word, after)?.1,
            ("with", [(Kind::Open, _), after @ ..]) => parameters(after)?,
            ("partition", after) => partitions(after)?,
            ("engine", after) => engine(word, after)?,
            (known, after) if among(known, VALUES) => value(word, after)?.1,
            _ => return Err(format!("`{word}` is no option of a table that bakeoff knows")),
        };
    }
    Ok(())
}

type Rest<'a, 't> = &'a [(Kind, &'t str)];

/// `= 8`, `8` or `'zlib'`: the value without its quotes, and what follows.
fn value<'a, 't>(option: &str, rest: Rest<'a, 't>) -> Result<(&'t str, Rest<'a, 't>), String> {
    let rest = match rest {
        [(_, "="), rest @ ..] => rest,
        rest => rest,
    };
    match rest {
        [(Kind::Word | Kind::Text | Kind::QuotedName, value), rest @ ..] => {
            Ok((value.trim_matches(['\'', '"', '`']), rest))
        }
        _ => Err(format!("`{option}` has no value")),
    }
}

fn engine<'a, 't>(option: &str, rest: Rest<'a, 't>) -> Result<Rest<'a, 't>, String> {
    let (engine, after) = value(option, rest)?;
    match among(engine, ENGINES) {
        true => Ok(after),
        false => Err(format!(
            "the engine {engine} is not known to keep its rows in the table itself"
        )),
    }
}

/// PostgreSQL's `(fillfactor = 80, toast.autovacuum_enabled = off)`.
fn parameters<'a, 't>(mut rest: Rest<'a, 't>) -> Result<Rest<'a, 't>, String> {
    loop {
        rest = match rest {
            [(Kind::Close, _), rest @ ..] => return Ok(rest),
            [
                (Kind::Word | Kind::Text, _) | (_, "=" | "," | "." | "-"),
                rest @ ..,
            ] => rest,
            [(_, other), ..] => return Err(format!("{other:?} is no part of a storage parameter")),
            [] => return Err("a parenthesis is not closed".into()),
        };
    }
}

/// `word`, and what follows it.
fn keyword<'a, 't>(rest: Rest<'a, 't>, word: &str) -> Option<Rest<'a, 't>> {
    match rest {
        [(Kind::Word, first), after @ ..] if first.eq_ignore_ascii_case(word) => Some(after),
        _ => None,
    }
}

fn unexpected(rest: Rest<'_, '_>) -> String {
    match rest {
        [(_, other), ..] => format!("`{other}` in a partition is not known to bakeoff"),
        [] => "what is said of partitions does not end".into(),
    }
}

/// What follows PARTITION.
fn partitions<'a, 't>(rest: Rest<'a, 't>) -> Result<Rest<'a, 't>, String> {
    let rest = keyword(rest, "by").ok_or("`PARTITION` stands without BY")?;
    let mut rest = count(partitioning(rest)?, "partitions")?;
    if let Some(by) = keyword(rest, "subpartition").and_then(|after| keyword(after, "by")) {
        rest = count(partitioning(by)?, "subpartitions")?;
    }
    match rest {
        [(Kind::Open, _), after @ ..] => definitions(after, "partition"),
        rest => Ok(rest),
    }
}

fn count<'a, 't>(rest: Rest<'a, 't>, word: &str) -> Result<Rest<'a, 't>, String> {
    keyword(rest, word).map_or(Ok(rest), |after| Ok(value(word, after)?.1))
}

/// `LINEAR HASH (x + y)`, `KEY (x)`, `RANGE COLUMNS (x, y)`, `SYSTEM_TIME INTERVAL 1 DAY`.
fn partitioning<'a, 't>(rest: Rest<'a, 't>) -> Result<Rest<'a, 't>, String> {
    let rest = keyword(rest, "linear").unwrap_or(rest);
    if let Some(history) = keyword(rest, "system_time") {
        return match (keyword(history, "limit"), keyword(history, "interval")) {
            (Some([(Kind::Word, _), after @ ..]), _) => Ok(after),
            (_, Some([(Kind::Word | Kind::Text, _), (Kind::Word, _), after @ ..])) => Ok(after),
            _ => Ok(history),
        };
    }
    if let Some(after) = keyword(rest, "hash") {
        return computed(after);
    }
    if let Some(after) = keyword(rest, "key") {
        return computed(count(after, "algorithm")?);
    }
    match keyword(rest, "range").or_else(|| keyword(rest, "list")) {
        Some(after) => computed(keyword(after, "columns").unwrap_or(after)),
        None => Err(unexpected(rest)),
    }
}

/// Columns or expressions in parentheses, without a query and without a function that is not known.
fn computed<'a, 't>(rest: Rest<'a, 't>) -> Result<Rest<'a, 't>, String> {
    if !matches!(rest, [(Kind::Open, _), ..]) {
        return Err(unexpected(rest));
    }
    let mut depth = 0usize;
    for (at, (kind, word)) in rest.iter().enumerate() {
        let is_called = matches!(rest.get(at + 1), Some((Kind::Open, _)));
        match kind {
            Kind::Open => depth += 1,
            Kind::Close if depth == 1 => return Ok(&rest[at + 1..]),
            Kind::Close => depth -= 1,
            Kind::Word if among(word, QUERIES) => return Err(unexpected(&rest[at..])),
            Kind::Word if !is_called || functions::is_known(word) => {}
            Kind::QuotedName if !is_called => {}
            Kind::Text => {}
            Kind::Sign if matches!(*word, "," | "+" | "-" | "*" | "/" | "%") => {}
            _ => return Err(unexpected(&rest[at..])),
        }
    }
    Err("a parenthesis is not closed".into())
}

/// `PARTITION p0 VALUES LESS THAN (10) COMMENT 'x', ...)`; `each`: PARTITION or SUBPARTITION.
fn definitions<'a, 't>(mut rest: Rest<'a, 't>, each: &str) -> Result<Rest<'a, 't>, String> {
    loop {
        let named = keyword(rest, each).ok_or_else(|| unexpected(rest))?;
        let [(Kind::Word | Kind::QuotedName, _), after @ ..] = named else {
            return Err(unexpected(named));
        };
        rest = bounds(after)?;
        while let [(Kind::Word, option), after @ ..] = rest {
            rest = match option.to_ascii_lowercase().as_str() {
                "storage" => after,
                "engine" => engine(option, after)?,
                "comment" | "max_rows" | "min_rows" | "tablespace" => value(option, after)?.1,
                _ => return Err(unexpected(rest)),
            };
        }
        if let [(Kind::Open, _), after @ ..] = rest
            && each == "partition"
        {
            rest = definitions(after, "subpartition")?;
        }
        rest = match rest {
            [(_, ","), after @ ..] => after,
            [(Kind::Close, _), after @ ..] => return Ok(after),
            _ => return Err(unexpected(rest)),
        };
    }
}

/// `VALUES LESS THAN (10)`, `VALUES LESS THAN MAXVALUE`, `VALUES IN (1, 2)`, or nothing.
fn bounds<'a, 't>(rest: Rest<'a, 't>) -> Result<Rest<'a, 't>, String> {
    if let Some(after) = keyword(rest, "history").or_else(|| keyword(rest, "current")) {
        return Ok(after);
    }
    let Some(values) = keyword(rest, "values") else {
        return Ok(rest);
    };
    if let Some(after) = keyword(values, "in") {
        return computed(after);
    }
    let than = keyword(values, "less").and_then(|after| keyword(after, "than"));
    let than = than.ok_or_else(|| unexpected(values))?;
    keyword(than, "maxvalue").map_or_else(|| computed(than), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_table_itself_pass() {
        for options in [
            "",
            "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_bin, ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
            "COMPRESSION='zlib' COMMENT 'it''s; fine -- here'",
            "PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL=9",
            "WITH (fillfactor=80, toast.autovacuum_enabled = off) TABLESPACE fast",
            "WITHOUT ROWID, STRICT",
            "PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (1990), PARTITION p1 VALUES LESS THAN MAXVALUE)",
            "PARTITION BY KEY (id1) PARTITIONS 16",
            "PARTITION BY LINEAR KEY ALGORITHM=2 () PARTITIONS 2",
            "partition by range columns (a, `b`) (partition p0 values less than (1, MAXVALUE) engine = InnoDB comment 'x')",
            "PARTITION BY LIST (MOD(x, 4) + 1) (PARTITION p0 VALUES IN (1, 2), PARTITION p1 VALUES IN (NULL, -1))",
            "PARTITION BY RANGE (x) SUBPARTITION BY HASH (TO_DAYS(d)) SUBPARTITIONS 2 \
             (PARTITION p0 VALUES LESS THAN (TO_DAYS('2020-01-01')) (SUBPARTITION s0, SUBPARTITION s1 MAX_ROWS = 5))",
            "PARTITION BY SYSTEM_TIME INTERVAL 1 MONTH (PARTITION p0 HISTORY, PARTITION p1 CURRENT)",
            "PARTITION BY RANGE (a, lower(t) COLLATE \"C\") TABLESPACE fast",
            "CHARACTER SET = latin1",
        ] {
            assert_eq!(check(options), Ok(()), "{options}");
        }
    }

    #[test]
    fn all_else_is_refused() {
        for options in [
            "; DROP TABLE IF EXISTS other.usertable",
            "ENGINE=InnoDB; DROP TABLE x",
            "/*! ; DROP TABLE x */",
            "COMMENT 'open",
            "AS SELECT 1",
            "SELECT * FROM x",
            "INHERITS (precious)",
            "ENGINE=MERGE UNION=(precious) INSERT_METHOD=LAST",
            "ENGINE='FEDERATED'",
            "CONNECTION='mysql://root@other/db/t'",
            "DATA DIRECTORY='/tmp'",
            "PARTITION BY HASH (x) (PARTITION a DATA DIRECTORY = '/tmp')",
            "PARTITION BY HASH (x",
            "PARTITION BY HASH (x) PARTITIONS 2 SELECT sleep(0.1) AS x, load_file('/etc/hostname')",
            "PARTITION BY HASH (x) PARTITIONS 2 AS SELECT 1",
            "PARTITION BY HASH (x) PARTITIONS 2 REPLACE SELECT 1",
            "PARTITION BY HASH (x) PARTITIONS 2 IGNORE (SELECT 1)",
            "PARTITION BY HASH (x) PARTITIONS 2 WITH q AS (SELECT 1) SELECT * FROM q",
            "PARTITION BY HASH (x) (SELECT x FROM precious FOR UPDATE)",
            "PARTITION BY HASH (x) (PARTITION a, PARTITION b) SELECT x FROM precious FOR UPDATE",
            "PARTITION BY HASH (x) (PARTITION a) (SELECT 1)",
            "PARTITION BY RANGE (evil(x))",
            "PARTITION BY RANGE (\"evil\"(x))",
            "PARTITION BY RANGE (other.abs(x))",
            "PARTITION BY RANGE ((SELECT 1))",
            "PARTITION BY RANGE (x) (PARTITION a VALUES LESS THAN (evil(1)))",
            "PARTITION BY RANGE (x) (PARTITION a VALUES LESS THAN ((SELECT 1)))",
            "PARTITION BY HASH (x) (PARTITION a ENGINE = FEDERATED)",
            "PARTITION SELECT 1",
            "PARTITION OF precious FOR VALUES IN (1)",
            "WITH (fillfactor=(SELECT 1))",
            "ENGINE",
            ") ; DROP TABLE x",
        ] {
            assert!(check(options).is_err(), "{options}");
        }
    }
}
