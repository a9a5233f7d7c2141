//! Options that a plan appends to CREATE TABLE, and those of a schema's own tables: known words and their values, nothing
//! else. What is not known could be another statement, another server's table (`ENGINE=FEDERATED`), or a file somewhere
//! (`DATA DIRECTORY`).
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
/// Words of partitions that name a place outside of the table.
const OUTSIDE: &str = "connection data directory engine index";

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
            ("partition", after) => return partitions(after),
            ("engine", after) => {
                let (engine, after) = value(word, after)?;
                if !among(engine, ENGINES) {
                    return Err(format!(
                        "the engine {engine} is not known to keep its rows in the table itself"
                    ));
                }
                after
            }
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

/// Whatever follows PARTITION: it ends the options.
fn partitions(rest: Rest<'_, '_>) -> Result<(), String> {
    let mut depth = 0usize;
    for (kind, word) in rest {
        match kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.checked_sub(1).ok_or("a parenthesis was never opened")?,
            Kind::Word if among(word, OUTSIDE) => {
                return Err(format!("`{word}` in a partition is not known to bakeoff"));
            }
            _ => {}
        }
    }
    match rest {
        [(_, by), ..] if depth == 0 && by.eq_ignore_ascii_case("by") => Ok(()),
        [(_, by), ..] if by.eq_ignore_ascii_case("by") => Err("a parenthesis is not closed".into()),
        _ => Err("`PARTITION` stands without BY".into()),
    }
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
            "PARTITION OF precious FOR VALUES IN (1)",
            "WITH (fillfactor=(SELECT 1))",
            "ENGINE",
            ") ; DROP TABLE x",
        ] {
            assert!(check(options).is_err(), "{options}");
        }
    }
}
