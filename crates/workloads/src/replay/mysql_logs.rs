//! MariaDB's and MySQL's logs: the general one, of all statements when they arrive, and the slow one, of those that have ended.
use super::capture::Builder;
use crate::statement_kind::begins_with;
use bakeoff_model::value::{Civil, Timestamp};
use std::io::{self, BufRead};

/// Of times that have no fraction.
const SECOND_US: u64 = 1_000_000;

/// What a client asks, as servers name it in their general logs.
const COMMANDS: [&str; 31] = [
    "Sleep",
    "Quit",
    "Init DB",
    "Query",
    "Field List",
    "Create DB",
    "Drop DB",
    "Refresh",
    "Shutdown",
    "Statistics",
    "Processlist",
    "Connect",
    "Kill",
    "Debug",
    "Ping",
    "Time",
    "Delayed insert",
    "Change user",
    "Binlog Dump",
    "Table Dump",
    "Connect Out",
    "Register Slave",
    "Register Replica",
    "Prepare",
    "Execute",
    "Long Data",
    "Close stmt",
    "Reset stmt",
    "Set option",
    "Fetch",
    "Reset Connection",
];

/// Whether a line is one that begins an entry of the general log.
pub fn is_general(line: &str) -> bool {
    entry(line, &mut 0).is_some()
}

pub fn is_slow(line: &str) -> bool {
    line.starts_with("# User@Host:") || line.starts_with("# Time:")
}

/// Returns how coarse the times are.
pub fn read_general(input: &mut dyn BufRead, builder: &mut Builder) -> io::Result<u64> {
    let (mut line, mut sql) = (String::new(), String::new());
    let (mut session, mut at_us, mut asks, mut resolution_us) = (0, 0, false, SECOND_US);
    let mut whole = true;
    while read_line(input, &mut line, &mut whole)? {
        let Some(entry) = entry(&line, &mut at_us) else {
            if is_banner(&line) && std::mem::take(&mut asks) {
                builder.statement(session, at_us, &sql, None);
            }
            if asks {
                sql.push('\n');
                sql.push_str(&line);
            }
            continue;
        };
        if asks {
            builder.statement(session, entry.before_us, &sql, None);
        }
        if entry.exact {
            resolution_us = 0;
        }
        session = entry.session;
        asks = matches!(entry.command, "Query" | "Execute");
        sql.clear();
        sql.push_str(entry.argument);
        if matches!(entry.command, "Quit" | "Connect") {
            builder.end(session);
        }
    }
    match whole {
        _ if !asks => {}
        true => builder.statement(session, at_us, &sql, None),
        false => builder.cut_off(),
    }
    Ok(resolution_us)
}

struct Entry<'l> {
    session: u64,
    command: &'l str,
    argument: &'l str,
    /// The time of the entry before.
    before_us: u64,
    exact: bool,
}

/// `TIME\tSESSION COMMAND\tARGUMENT`: MySQL has a time in each, MariaDB where the second is another than before.
fn entry<'l>(line: &'l str, at_us: &mut u64) -> Option<Entry<'l>> {
    let (time, rest) = line.split_once('\t')?;
    let rest = rest.trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let session = rest[..digits].parse().ok()?;
    let (command, argument) = rest[digits..]
        .strip_prefix(' ')?
        .split_once('\t')
        .unwrap_or((&rest[digits + 1..], ""));
    let command = command.trim();
    if !COMMANDS.contains(&command) {
        return None;
    }
    let before_us = *at_us;
    let mut exact = false;
    if !time.trim().is_empty() {
        (*at_us, exact) = moment(time)?;
    }
    Some(Entry {
        session,
        command,
        argument,
        before_us,
        exact,
    })
}

/// `2026-11-28T05:00:00.123456Z`, with or without a fraction, or MariaDB's `261128  5:00:00`; and whether it has a fraction. All
/// of a log are of one time zone.
pub fn moment(text: &str) -> Option<(u64, bool)> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let small = |text: &str| text.trim().parse::<u8>().ok();
    let (date, time) = text.trim().split_once(['T', ' '])?;
    let time = time.trim().trim_end_matches('Z');
    let time = time.split_once(['+', '-']).map_or(time, |(time, _)| time);
    let (year, month, day) = match date.split('-').collect::<Vec<_>>()[..] {
        [year, month, day] => (number(year)?, small(month)?, small(day)?),
        [short] if short.len() == 6 && short.is_ascii() => (
            2000 + number(&short[..2])?,
            small(&short[2..4])?,
            small(&short[4..])?,
        ),
        _ => return None,
    };
    let [hour, minute, second] = time.split(':').collect::<Vec<_>>()[..] else {
        return None;
    };
    let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
    let us = match fraction.len() {
        0 => 0,
        digits @ 1..=6 => number(fraction)? * 10u32.pow(6 - digits as u32),
        _ => return None,
    };
    let civil = Civil {
        year: i32::try_from(year).ok()?,
        month,
        day,
        hour: small(hour)?,
        minute: small(minute)?,
        second: small(second)?,
        us,
    };
    let us = u64::try_from(Timestamp::from_civil(civil)?.us).ok()?;
    Some((us, !fraction.is_empty()))
}

/// Returns how coarse the times are.
pub fn read_slow(input: &mut dyn BufRead, builder: &mut Builder) -> io::Result<u64> {
    let (mut line, mut sql, mut said) = (String::new(), String::new(), Said::default());
    let (mut found, mut begun): (Vec<Ended>, bool) = (vec![], false);
    loop {
        let more = read_line(input, &mut line, &mut true)?;
        let header = header(&line).filter(|_| more);
        begun |= header.is_some();
        let ends = header.is_some() || !more || is_banner(&line);
        if !more && !sql.trim().is_empty() && !sql.trim_end().ends_with(';') {
            builder.cut_off();
            break;
        }
        if ends && !sql.trim().is_empty() {
            found.push(said.ended(Some(std::mem::take(&mut sql))));
        }
        if !more {
            break;
        }
        let words = line.trim();
        if let Some(header) = header {
            match header.trim().strip_prefix("administrator command:") {
                Some(command) if command.trim() == "Quit;" || command.trim() == "Quit" => {
                    found.push(said.ended(None))
                }
                Some(_) => {}
                None => said.read(header),
            }
        } else if let Some(seconds) = timestamp(words).filter(|_| sql.is_empty()) {
            said.timestamp_s = Some(seconds);
        } else if begun && !(sql.is_empty() && (words.is_empty() || is_use(words) || is_banner(words))) {
            if !sql.is_empty() {
                sql.push('\n');
            }
            sql.push_str(&line);
        }
    }
    if !found.is_empty() && found.iter().all(|ended| ended.session == 0) {
        return Err(io::Error::other(NO_SESSIONS));
    }
    // Statements are logged when they have ended, and are replayed when they began.
    let resolution_us = if said.exact { 0 } else { SECOND_US };
    if said.exact {
        found.sort_by_key(|ended| ended.began_us);
    }
    for ended in found {
        match ended.statement {
            Some((sql, rows)) => builder.statement(ended.session, ended.began_us, &sql, rows),
            None => builder.end(ended.session),
        }
    }
    Ok(resolution_us)
}

const NO_SESSIONS: &str =
    "its entries do not say of which session they are, as before MySQL 5.6: replay a general log";

/// `SET last_insert_id=5,insert_id=7,timestamp=1795842000;`: what was set for a statement.
fn timestamp(line: &str) -> Option<u64> {
    let settings = line.strip_prefix("SET ")?.strip_suffix(';')?;
    let (before, seconds) = settings.rsplit_once("timestamp=")?;
    let known =
        |one: &str| one.is_empty() || one.starts_with("last_insert_id=") || one.starts_with("insert_id=");
    let whole = seconds.split('.').next()?.parse().ok()?;
    before.split(',').all(known).then_some(whole)
}

/// A line that tells of the next statement; others that begin with `#` are comments of a statement.
fn header(line: &str) -> Option<&str> {
    let header = line.strip_prefix("# ")?;
    HEADERS
        .iter()
        .any(|known| header.starts_with(known))
        .then_some(header)
}

const HEADERS: [&str; 16] = [
    "Time:",
    "User@Host:",
    "Thread_id:",
    "Query_time:",
    "Rows_",
    "Bytes_",
    "Schema:",
    "Full_scan:",
    "Filesort:",
    "Tmp_table",
    "Pages_",
    "Stored",
    "Priority_queue:",
    "administrator command:",
    "explain:",
    "Warnings:",
];

/// A statement with the rows that it answered with, or a session.
struct Ended {
    session: u64,
    began_us: u64,
    statement: Option<(String, Option<u64>)>,
}

/// What the lines before a statement say of it.
#[derive(Default)]
struct Said {
    session: u64,
    /// When it ended, or `timestamp_s`, when it began.
    time_us: Option<u64>,
    timestamp_s: Option<u64>,
    duration_us: u64,
    rows_sent: Option<u64>,
    /// Times have a fraction.
    exact: bool,
}

impl Said {
    fn read(&mut self, header: &str) {
        if let Some(time) = header.trim().strip_prefix("Time:") {
            if let Some((us, exact)) = moment(time) {
                (self.time_us, self.exact) = (Some(us), exact);
            }
            return;
        }
        let mut words = header.split_whitespace();
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_default();
            match word {
                "Id:" | "Thread_id:" => self.session = value().parse().unwrap_or(self.session),
                "Rows_sent:" => self.rows_sent = value().parse().ok(),
                "Query_time:" => self.duration_us = (value().parse().unwrap_or(0.0) * 1e6) as u64,
                _ => {}
            }
        }
    }

    fn ended(&mut self, sql: Option<String>) -> Ended {
        let by_timestamp = self.timestamp_s.take().map(|seconds| seconds * SECOND_US);
        let by_time = self.time_us.map(|us| us.saturating_sub(self.duration_us));
        let rows = self.rows_sent.take();
        Ended {
            session: self.session,
            began_us: if self.exact {
                by_time.or(by_timestamp)
            } else {
                by_timestamp.or(by_time)
            }
            .unwrap_or_default(),
            statement: sql.map(|sql| {
                // What others answer with, servers do not count.
                let counted = begins_with(&sql, &["select", "with", "values", "table"]);
                let rows = rows.filter(|_| counted);
                (sql, rows)
            }),
        }
    }
}

/// Where the log tells which schema the next statement is of.
fn is_use(line: &str) -> bool {
    line.len() > 4
        && line
            .get(..4)
            .is_some_and(|word| word.eq_ignore_ascii_case("use "))
        && line.ends_with(';')
}

/// What a server writes when it opens the log.
fn is_banner(line: &str) -> bool {
    (line.contains(", Version: ") && line.ends_with("started with:"))
        || (line.starts_with("Tcp port: ") && line.contains("Unix socket: "))
        || (line.starts_with("Time") && line.ends_with("Argument"))
}

/// Without the end of the line; false: there are no more. What is no UTF-8 is replaced. whole: the last line has an end.
fn read_line(input: &mut dyn BufRead, line: &mut String, whole: &mut bool) -> io::Result<bool> {
    let mut bytes = std::mem::take(line).into_bytes();
    bytes.clear();
    let read = input.read_until(b'\n', &mut bytes)?;
    if read > 0 {
        *whole = bytes.ends_with(b"\n");
    }
    while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        bytes.pop();
    }
    *line = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(read > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::capture::Capture;

    type How = fn(&mut dyn BufRead, &mut Builder) -> io::Result<u64>;

    fn read(how: How, log: &str) -> Capture {
        let mut builder = Builder::default();
        let resolution_us = how(&mut log.as_bytes(), &mut builder).unwrap();
        builder.finish(resolution_us)
    }

    fn found(capture: &Capture) -> Vec<(u64, &str)> {
        capture
            .statements
            .iter()
            .map(|one| (one.at_us, capture.sql(one)))
            .collect()
    }

    #[test]
    fn a_general_log_of_mysql() {
        let log = "/usr/sbin/mysqld, Version: 9.7.0 (MySQL). started with:\nTcp port: 1  Unix socket: s\n\
            Time                 Id Command    Argument\n\
            2026-11-28T05:00:00.000100Z\t    8 Connect\tu@localhost on test using Socket\n\
            2026-11-28T05:00:00.000200Z\t    8 Query\tSELECT 1\n\
            2026-11-28T05:00:00.500200Z\t    9 Prepare\tSELECT ?\n\
            2026-11-28T05:00:01.000200Z\t    9 Execute\tSELECT 5,\n'two lines'\n\
            2026-11-28T05:00:01.100200Z\t    8 Quit\t\n\
            2026-11-28T05:00:02.000200Z\t    8 Query\tSELECT 2\n";
        let capture = read(read_general, log);
        let expected = [
            (0, "SELECT 1"),
            (1_000_000, "SELECT 5,\n'two lines'"),
            (2_000_000, "SELECT 2"),
        ];
        assert_eq!(found(&capture), expected);
        assert_eq!(capture.sessions.len(), 3);
    }

    #[test]
    fn a_general_log_of_mariadb_has_times_of_seconds() {
        let log = "mariadbd, Version: 10.11.6-MariaDB. started with:\n\
            261128  5:00:00\t     4 Connect\tu@localhost on test using Socket\n\
            \t\t     4 Query\tSELECT 1\n\
            \t\t     4 Query\tSELECT 2\n\
            261128  5:00:03\t     4 Execute\tUPDATE t SET a = 1\n\
            \t\t     4 Quit\t\n";
        let capture = read(read_general, log);
        assert_eq!(
            found(&capture),
            [
                (0, "SELECT 1"),
                (500_000, "SELECT 2"),
                (3_000_000, "UPDATE t SET a = 1")
            ]
        );
    }

    #[test]
    fn a_slow_log_has_rows_and_when_statements_began() {
        let log = "# Time: 2026-11-28T05:00:01.500000Z\n# User@Host: u[u] @ localhost []  Id:     8\n\
            # Query_time: 1.000000  Lock_time: 0.000001 Rows_sent: 3  Rows_examined: 3\n\
            use test;\nSET timestamp=1795842000;\nSELECT 1;\n\
            # Time: 2026-11-28T05:00:01.600000Z\n# User@Host: u[u] @ localhost []  Id:     9\n\
            # Query_time: 1.500000  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 3\n\
            SET last_insert_id=3,timestamp=1795842000;\nDELETE FROM t\n# why, Version: 1\nWHERE a = 1;\n\
            # Time: 2026-11-28T05:00:01.700000Z\n# User@Host: u[u] @ localhost []  Id:     8\n\
            # Query_time: 0.000000  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
            SET timestamp=1795842001;\n# administrator command: Quit;\n";
        let capture = read(read_slow, log);
        assert_eq!(
            found(&capture),
            [
                (0, "DELETE FROM t\n# why, Version: 1\nWHERE a = 1"),
                (400_000, "SELECT 1")
            ]
        );
        assert_eq!(
            capture.statements.iter().map(|one| one.rows).collect::<Vec<_>>(),
            [None, Some(3)]
        );
    }

    #[test]
    fn a_slow_log_without_sessions_is_refused_and_begins_with_an_entry() {
        let entry =
            "# User@Host: u[u] @ localhost []\n# Query_time: 0.1\nSET timestamp=1795842000;\nSELECT 1;\n";
        let error = read_slow(&mut entry.as_bytes(), &mut Builder::default()).unwrap_err();
        assert_eq!(error.to_string(), NO_SESSIONS);
        let rotated = format!("DELETE FROM t;\n{}", entry.replace("[]", "[]  Id: 8"));
        assert_eq!(found(&read(read_slow, &rotated)), [(0, "SELECT 1")]);
    }

    #[test]
    fn half_a_statement_at_the_end_is_left_out() {
        let general =
            "261128  5:00:00\t     4 Query\tSELECT 1\n\t\t     4 Query\tDELETE FROM t\nWHERE a = 1\n";
        let slow = "# User@Host: u[u] @ localhost []  Id:     8\nSET timestamp=1795842000;\nSELECT 1;\n\
            # User@Host: u[u] @ localhost []  Id:     8\nSET timestamp=1795842001;\nDELETE FROM t\nWHERE a = 1;\n";
        for (how, log) in [(read_general as How, general), (read_slow, slow)] {
            let whole = read(how, log);
            assert_eq!((whole.statements.len(), whole.cut_off), (2, false));
            for end in ["DELETE", "FROM t", "WHERE a ="] {
                let cut = read(how, &log[..log.find(end).unwrap() + end.len()]);
                assert_eq!((cut.statements.len(), cut.cut_off), (1, true), "{end}");
            }
        }
        assert!(!read(read_general, &format!("{general}\t\t     4 Quit\t")).cut_off);
    }

    #[test]
    fn what_is_no_log_has_no_statements() {
        for how in [read_general, read_slow] {
            assert!(read(how, "# \nnothing\n\t\n\t\tx\n1\t2\n").statements.is_empty());
        }
    }
}
