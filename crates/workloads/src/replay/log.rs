//! A log's file: read once from its beginning to its end before anything starts.
use super::capture::{Builder, Capture};
use super::{mysql_logs, postgresql_logs};
use crate::prelude::*;
use crate::trouble::refuse;
use bakeoff_model::run::replay::{LogFormat, ReplaySpec};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The file, its size and age when it was read, and as what.
type Version = (String, u64, SystemTime, LogFormat, bool);

/// The one that was read last: a plan asks of the same one for each of its cells.
static READ: Mutex<Option<(Version, Arc<Capture>)>> = Mutex::new(None);

const BUFFER_BYTES: usize = 256 * 1024;
/// A log may begin with what a server says of itself, and with the end of a statement.
const LINES_LOOKED_AT: usize = 200;

pub fn read(spec: &ReplaySpec) -> Result<Arc<Capture>, Trouble> {
    let Some(log) = &spec.log else {
        return Err(refuse(
            "log",
            "there is no log to replay",
            "log = \"general.log\"",
        ));
    };
    let unreadable = |error: io::Error| {
        let what = format!("{} cannot be read: {error}", log.name);
        refuse("log", what, "it is relative to the plan's folder")
    };
    let found = std::fs::metadata(&log.path).map_err(unreadable)?;
    if !found.is_file() {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    if log.size_bytes != 0 && log.size_bytes != found.len() {
        let what = format!("{} is not what it was when the plan was read", log.name);
        return Err(refuse(
            "log",
            what,
            "let it be while a plan runs: copy a log that still grows",
        ));
    }
    let modified = found.modified().map_err(unreadable)?;
    let version = (
        log.path.clone(),
        found.len(),
        modified,
        spec.log_format,
        spec.unchecked_sql,
    );
    let mut last = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, capture)) = &*last
        && *known == version
    {
        return Ok(capture.clone());
    }
    let capture = Arc::new(read_whole(&log.name, &log.path, spec)?);
    *last = Some((version, capture.clone()));
    Ok(capture)
}

fn read_whole(name: &str, path: &str, spec: &ReplaySpec) -> Result<Capture, Trouble> {
    let unreadable =
        |error: io::Error| refuse("log", format!("{name} cannot be read: {error}"), "see the file");
    let mut input = BufReader::with_capacity(BUFFER_BYTES, File::open(path).map_err(unreadable)?);
    let format = match spec.log_format {
        LogFormat::Auto => guessed(&mut input).map_err(unreadable)?.ok_or_else(|| {
            let what = format!("{name} looks like no log that is known");
            refuse(
                "log_format",
                what,
                "say which it is: log_format = \"general\", \"slow\", \"csvlog\" or \"jsonlog\"",
            )
        })?,
        said => said,
    };
    input.rewind().map_err(unreadable)?;
    let quotes_names = matches!(format, LogFormat::Csvlog | LogFormat::Jsonlog);
    let mut builder = Builder::new(spec.unchecked_sql, quotes_names);
    let resolution_us = match format {
        LogFormat::Slow => mysql_logs::read_slow(&mut input, &mut builder).map_err(|error| error.to_string()),
        LogFormat::Csvlog => postgresql_logs::read_csv(&mut input, &mut builder),
        LogFormat::Jsonlog => postgresql_logs::read_json(&mut input, &mut builder),
        LogFormat::General | LogFormat::Auto => {
            mysql_logs::read_general(&mut input, &mut builder).map_err(|error| error.to_string())
        }
    };
    let resolution_us = resolution_us.map_err(|what| {
        refuse(
            "log",
            format!("{name}, {what}"),
            "is it whole, and of `log_format`?",
        )
    })?;
    let capture = builder.finish(resolution_us);
    match capture.statements.is_empty() {
        true => Err(refuse(
            "log",
            format!("{name} has no statements"),
            "see the page of `replay` for what a server has to log",
        )),
        false => Ok(capture),
    }
}

fn guessed(input: &mut dyn BufRead) -> io::Result<Option<LogFormat>> {
    for line in input.lines().take(LINES_LOOKED_AT) {
        let line = match line {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
            line => line?,
        };
        let known = [
            (mysql_logs::is_slow(&line), LogFormat::Slow),
            (postgresql_logs::is_json(&line), LogFormat::Jsonlog),
            (postgresql_logs::is_csv(&line), LogFormat::Csvlog),
            (mysql_logs::is_general(&line), LogFormat::General),
        ];
        if let Some((_, format)) = known.into_iter().find(|(is, _)| *is) {
            return Ok(Some(format));
        }
    }
    Ok(None)
}
