//! PostgreSQL's logs: the same lines as CSV and as JSON. Statements are logged with `log_statement = 'all'`, when they begin, or
//! with `log_min_duration_statement = 0`, when they have ended.
use super::capture::Builder;
use super::mysql_logs::moment;
use crate::sql::csv::{Format, Place, Reader};
use serde::Deserialize;
use std::collections::HashMap;
use std::io::BufRead;

const MILLISECOND_US: u64 = 1000;

/// Columns of a csvlog that are read, from 0 (PostgreSQL's documentation, "Using CSV-Format Log Output").
const TIME: usize = 0;
const SESSION: usize = 5;
const SEVERITY: usize = 11;
const MESSAGE: usize = 13;
const DETAIL: usize = 14;
const QUERY: usize = 19;

/// What a line says.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Line {
    timestamp: String,
    session_id: String,
    error_severity: String,
    message: String,
    detail: String,
    /// Of an error.
    #[serde(rename = "statement")]
    query: String,
}

pub fn is_json(line: &str) -> bool {
    line.starts_with('{') && line.contains("\"session_id\"")
}

pub fn is_csv(line: &str) -> bool {
    let mut columns = line.split(',');
    let time = columns.next().unwrap_or_default();
    moment_of(time).is_some()
        && columns
            .nth(SESSION - 1)
            .is_some_and(|session| session.contains('.'))
}

/// Returns how coarse the times are.
pub fn read_json(input: &mut dyn BufRead, builder: &mut Builder) -> Result<u64, String> {
    let mut reading = Reading::default();
    let mut text = String::new();
    for number in 1.. {
        text.clear();
        if input.read_line(&mut text).map_err(|error| error.to_string())? == 0 {
            break;
        }
        match serde_json::from_str(&text) {
            Ok(line) => reading.take(&line),
            Err(_) if text.trim().is_empty() => {}
            Err(_) if !text.ends_with('\n') => builder.cut_off(),
            Err(error) => return Err(format!("line {number}: {error}")),
        }
    }
    Ok(reading.finish(builder))
}

pub fn read_csv(input: &mut dyn BufRead, builder: &mut Builder) -> Result<u64, String> {
    let format = Format {
        delimiter: b',',
        null: vec![],
    };
    let (mut rows, mut reading) = (Reader::new(input, format, Place::FIRST), Reading::default());
    loop {
        match rows.advance() {
            Ok(true) if rows.values().len() > QUERY + 1 => {}
            Ok(false) => break,
            _ if rows.is_at_end() => {
                builder.cut_off();
                break;
            }
            Ok(true) => return Err(format!("line {}: it has too few columns", rows.line())),
            Err(wrong) => return Err(format!("line {}: {}", wrong.line, wrong.what)),
        }
        let mut line = Line::default();
        for (column, value) in rows.values().enumerate() {
            let place = match column {
                TIME => &mut line.timestamp,
                SESSION => &mut line.session_id,
                SEVERITY => &mut line.error_severity,
                MESSAGE => &mut line.message,
                DETAIL => &mut line.detail,
                QUERY => &mut line.query,
                _ => continue,
            };
            *place = String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
        }
        reading.take(&line);
    }
    Ok(reading.finish(builder))
}

/// A statement, the end of a session, or an error that answers its last statement.
enum Entry {
    Statement(String),
    End,
    Error,
}

#[derive(Default)]
struct Reading {
    /// By the log's names.
    sessions: HashMap<String, u64>,
    /// The text that each session has sent last, and when.
    last: HashMap<u64, String>,
    latest_us: HashMap<u64, u64>,
    /// With the session, and when it was or began.
    entries: Vec<(u64, u64, Entry)>,
}

impl Reading {
    fn take(&mut self, line: &Line) {
        let next = self.sessions.len() as u64;
        let session = *self.sessions.entry(line.session_id.clone()).or_insert(next);
        let Some(at_us) = moment_of(&line.timestamp) else {
            return;
        };
        if line.error_severity == "ERROR" {
            // One that did not get as far as being logged failed alone.
            let is_last = self.last.get(&session).is_some_and(|last| *last == line.query);
            if !is_last && !line.query.is_empty() {
                self.add(session, at_us, Entry::Statement(line.query.clone()));
            }
            return self.add(session, at_us, Entry::Error);
        }
        let (mut message, mut at_us) = (line.message.as_str(), at_us);
        if let Some(rest) = message.strip_prefix("duration: ") {
            let (duration_ms, rest) = rest.split_once(" ms").unwrap_or_default();
            at_us = at_us.saturating_sub((duration_ms.parse().unwrap_or(0.0) * 1e3) as u64);
            message = rest.trim_start();
        }
        if message.starts_with("disconnection: ") {
            self.add(session, at_us, Entry::End);
        } else if let Some(sql) = message.strip_prefix("statement: ") {
            self.last.insert(session, sql.to_owned());
            self.add(session, at_us, Entry::Statement(sql.to_owned()));
        } else if let Some((name, sql)) = message
            .strip_prefix("execute ")
            .and_then(|rest| rest.split_once(": "))
        {
            self.last.insert(session, sql.to_owned());
            // More rows of a statement that is known.
            if !name.starts_with("fetch from ") {
                self.add(
                    session,
                    at_us,
                    Entry::Statement(with_parameters(sql, &line.detail)),
                );
            }
        }
    }

    /// A session's lines are in their order, whatever their times lost by rounding.
    fn add(&mut self, session: u64, at_us: u64, entry: Entry) {
        let latest_us = self.latest_us.entry(session).or_default();
        *latest_us = at_us.max(*latest_us);
        self.entries.push((session, *latest_us, entry));
    }

    fn finish(mut self, builder: &mut Builder) -> u64 {
        self.entries.sort_by_key(|(_, at_us, _)| *at_us);
        for (session, at_us, entry) in self.entries {
            match entry {
                Entry::Statement(sql) => builder.statement(session, at_us, &sql, None),
                Entry::End => builder.end(session),
                Entry::Error => builder.failed(session),
            }
        }
        MILLISECOND_US
    }
}

/// `2026-11-28 05:00:00.123 UTC`. The zone's name is left out: all of a log are of one.
fn moment_of(time: &str) -> Option<u64> {
    let words: Vec<&str> = time.split(' ').collect();
    let [date, time, ..] = words[..] else { return None };
    Some(moment(&format!("{date} {time}"))?.0)
}

/// The statement with its parameters in their places. `detail`: `Parameters: $1 = '5', $2 = NULL`.
fn with_parameters(sql: &str, detail: &str) -> String {
    let Some((_, listed)) = detail
        .split_once(": ")
        .filter(|(word, _)| word.eq_ignore_ascii_case("parameters"))
    else {
        return sql.to_owned();
    };
    let values = values(listed);
    let (mut text, mut rest, mut quote) = (String::new(), sql, None);
    while let Some(c) = rest.chars().next() {
        let digits = rest[c.len_utf8()..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let value = rest
            .get(1..1 + digits)
            .filter(|_| c == '$' && quote.is_none())
            .and_then(|number| number.parse().ok());
        if let Some(value) = value.and_then(|number: usize| values.get(number.wrapping_sub(1))) {
            text.push_str(value);
            rest = &rest[1 + digits..];
            continue;
        }
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            _ => {}
        }
        text.push(c);
        rest = &rest[c.len_utf8()..];
    }
    text
}

/// `$1 = 'it''s', $2 = NULL`: what stands for each, as it stands there.
fn values(listed: &str) -> Vec<&str> {
    let (mut found, mut rest) = (vec![], listed);
    while let Some((_, value)) = rest.split_once(" = ") {
        let end = if value.starts_with('\'') {
            let (mut end, bytes) = (1, value.as_bytes());
            while end < bytes.len() && !(bytes[end] == b'\'' && bytes.get(end + 1) != Some(&b'\'')) {
                end += if bytes[end] == b'\'' { 2 } else { 1 };
            }
            (end + 1).min(value.len())
        } else {
            value.find(',').unwrap_or(value.len())
        };
        found.push(&value[..end]);
        rest = &value[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(capture: &super::super::capture::Capture) -> Vec<(u64, &str, bool)> {
        capture
            .statements
            .iter()
            .map(|one| (one.at_us, capture.sql(one), one.failed))
            .collect()
    }

    #[test]
    fn both_kinds_of_log_say_the_same() {
        let csv = "2026-11-28 05:00:00.100 UTC,\"u\",\"db\",10,\"[local]\",65.a,1,\"idle\",2026-11-28 05:00:00 UTC,3/1,0,LOG,00000,\
            \"statement: SELECT \"\"a\"\"\n, 1\",,,,,,,,,\"psql\",\"client backend\",,0\n\
            2026-11-28 05:00:00.300 UTC,\"u\",\"db\",10,\"[local]\",65.a,2,\"INSERT\",2026-11-28 05:00:00 UTC,3/2,0,LOG,00000,\
            \"duration: 150.000 ms  execute s1: INSERT INTO t VALUES ($1, $2, '$1')\",\"Parameters: $1 = 'it''s, so', $2 = NULL\",\
            ,,,,,,,\"psql\",\"client backend\",,0\n\
            2026-11-28 05:00:00.400 UTC,\"u\",\"db\",10,\"[local]\",65.a,3,\"INSERT\",2026-11-28 05:00:00 UTC,3/2,0,ERROR,23505,\
            \"duplicate key\",,,,,,,,,\"psql\",\"client backend\",,0\n";
        let json = "{\"timestamp\":\"2026-11-28 05:00:00.100 UTC\",\"pid\":10,\"session_id\":\"65.a\",\"error_severity\":\"LOG\",\
            \"message\":\"statement: SELECT \\\"a\\\"\\n, 1\"}\n\
            {\"timestamp\":\"2026-11-28 05:00:00.300 UTC\",\"session_id\":\"65.a\",\"error_severity\":\"LOG\",\
            \"message\":\"duration: 150.000 ms  execute s1: INSERT INTO t VALUES ($1, $2, '$1')\",\
            \"detail\":\"Parameters: $1 = 'it''s, so', $2 = NULL\"}\n\
            {\"timestamp\":\"2026-11-28 05:00:00.400 UTC\",\"session_id\":\"65.a\",\"error_severity\":\"ERROR\",\"message\":\"x\"}\n";
        let expected = [
            (0, "SELECT \"a\"\n, 1", false),
            (50_000, "INSERT INTO t VALUES ('it''s, so', NULL, '$1')", true),
        ];
        let (mut of_csv, mut of_json) = (Builder::default(), Builder::default());
        let resolution_us = read_csv(&mut csv.as_bytes(), &mut of_csv).unwrap();
        assert_eq!(found(&of_csv.finish(resolution_us)), expected);
        let resolution_us = read_json(&mut json.as_bytes(), &mut of_json).unwrap();
        assert_eq!(found(&of_json.finish(resolution_us)), expected);
        assert!(is_csv(csv.lines().next().unwrap()) && is_json(json.lines().next().unwrap()));
    }

    #[test]
    fn half_a_line_at_the_end_is_left_out() {
        let row = "2026-11-28 05:00:00.100 UTC,\"u\",\"db\",10,\"[local]\",65.a,1,\"idle\",2026-11-28 05:00:00 UTC,3/1,0,LOG,00000,\
            \"statement: SELECT \"\"a\"\"\n, 1\",,,,,,,,,\"psql\",\"client backend\",,0\n";
        let line = "{\"timestamp\":\"2026-11-28 05:00:00.100 UTC\",\"session_id\":\"65.a\",\"error_severity\":\"LOG\",\
            \"message\":\"statement: SELECT 1\"}\n";
        let read = |how: fn(&mut dyn BufRead, &mut Builder) -> Result<u64, String>, log: &str| {
            let mut builder = Builder::default();
            let resolution_us = how(&mut log.as_bytes(), &mut builder)?;
            let capture = builder.finish(resolution_us);
            Ok::<_, String>((capture.statements.len(), capture.cut_off))
        };
        for end in [
            ",10",
            "statement: SEL",
            "SELECT \"",
            "SELECT \"\"",
            "\n",
            ", 1\",,",
        ] {
            let cut = &row[..row.find(end).unwrap() + end.len()];
            assert_eq!(read(read_csv, &format!("{row}{cut}")), Ok((1, true)), "{end}");
        }
        for end in ["2026", "SELECT", "1\""] {
            let cut = &line[..line.find(end).unwrap() + end.len()];
            assert_eq!(read(read_json, &format!("{line}{cut}")), Ok((1, true)), "{end}");
        }
        assert_eq!(read(read_csv, row.trim_end()), Ok((1, false)));
        assert_eq!(read(read_json, line.trim_end()), Ok((1, false)));
        assert!(read(read_json, &format!("{{\n{line}")).is_err());
        assert!(read(read_csv, &format!("{}\n{row}", &row[..30])).is_err());
    }

    #[test]
    fn values_stand_as_they_were_logged() {
        assert_eq!(
            values("$1 = '5', $2 = NULL, $3 = 'a'''"),
            ["'5'", "NULL", "'a'''"]
        );
        assert_eq!(with_parameters("SELECT $1, $2", ""), "SELECT $1, $2");
        assert_eq!(
            with_parameters("SELECT $12, $1", "parameters: $1 = '5'"),
            "SELECT $12, '5'"
        );
    }
}
