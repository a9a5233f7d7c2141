//! Sessions that insert records until the system ends, and a ledger of what was acknowledged: which records must exist
//! afterwards? `python/bakeoff/verify/ledger.py` compares the two.
//!
//! A session's file has a line for each event, `MARK NUMBER NS`: `?` the record with this number is sent, `+` it was
//! acknowledged, `-` it was refused for certain. Written by a call each, before and after the request, so what was
//! acknowledged is known even where the engine itself is killed: an embedded database ends with it.
use crate::shared::{not_written, on_records, open_records};
use crate::{Stage, place_of, silent};
use bakeoff_measure::{Sink, threads, words};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::outcome::{Outcome, Trouble};
use bakeoff_model::record::{Fields, Record, RecordSession, Table, TableSpec, ValueType};
use bakeoff_model::row::RowBuf;
use bakeoff_model::time::now_ns;
use bakeoff_model::value::Value;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

const TABLE: Table = Table(0);
/// Of a key, which is the record's value, too.
const KEY_LENGTH: u32 = 15;
const VALUE_LENGTH: u32 = 100;

pub struct Ledger {
    pub stage: Arc<Stage<AnyRecords>>,
    pub folder: PathBuf,
    pub first: u64,
    pub sessions: u32,
    pub duration: Duration,
}

fn table() -> TableSpec {
    TableSpec {
        name: "bakeoff_ledger".to_owned(),
        key_column: "ledger_key".to_owned(),
        key_length: KEY_LENGTH,
        field_names: vec!["field0".to_owned()],
        value_type: ValueType::Varchar(VALUE_LENGTH),
    }
}

fn key(session: u32, number: u64) -> String {
    format!("{session:02}-{number:012}")
}

/// A value by which a torn record is known: its key over and over.
fn value(key: &str) -> String {
    let mut value = key.repeat(VALUE_LENGTH as usize / key.len() + 1);
    value.truncate(VALUE_LENGTH as usize);
    value
}

impl Ledger {
    /// Returns when every session has ended: when the time was over, or its connection was lost.
    pub fn run(&self, sink: &Sink) -> Result<(), Trouble> {
        let begun_ns = now_ns();
        on_records(
            &self.stage,
            place_of(&self.stage, 0),
            table(),
            "the ledger: creating its table",
            async |session| {
                if self.stage.spec.drop_existing {
                    session.drop_table(&table()).await?;
                }
                session.create_table(&table()).await
            },
        )?;
        let (opened, is_open) = channel();
        let (done, ended) = channel();
        for number in 0..self.sessions {
            let (opened, done, stage) = (opened.clone(), done.clone(), self.stage.clone());
            let file = File::create(self.folder.join(format!("{number}.ledger")));
            let mut file = file.map_err(|error| not_written("ledger", &error))?;
            let (duration, first) = (self.duration, self.first);
            threads::spawn("session", "", move || {
                let lives = stage.block_on(insert(&stage, number, first, duration, &mut file, opened));
                let _ = done.send(lives);
            })?;
        }
        drop((opened, done));
        let patience = 3 * self.stage.timeout;
        for _ in 0..self.sessions {
            match is_open.recv_timeout(patience) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(silent(&self.stage, "no session could be opened"));
                }
                // A session that could not be opened says why.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.stage.tell_ready(sink, self.sessions as usize, begun_ns);
        self.gather(&ended, patience)
    }

    fn gather(&self, ended: &Receiver<Result<(), Trouble>>, patience: Duration) -> Result<(), Trouble> {
        for _ in 0..self.sessions {
            match ended.recv_timeout(self.duration + patience) {
                Ok(end) => end?,
                Err(RecvTimeoutError::Timeout) => return Err(silent(&self.stage, "a session has no answer")),
                Err(RecvTimeoutError::Disconnected) => return Err(words::worker_died()),
            }
        }
        Ok(())
    }
}

fn note(file: &mut File, mark: char, number: u64) -> Result<(), Trouble> {
    let line = format!("{mark} {number} {}\n", now_ns());
    file.write_all(line.as_bytes())
        .map_err(|error| not_written("ledger", &error))
}

/// Opens a session, says so, and inserts until the time is over or the connection is lost.
async fn insert(
    stage: &Stage<AnyRecords>,
    number: u32,
    first: u64,
    duration: Duration,
    file: &mut File,
    opened: Sender<()>,
) -> Result<(), Trouble> {
    let client = stage.driver.open(number as usize).await?;
    let endpoint = place_of(stage, number as usize);
    let mut session = open_records(stage, &*client, endpoint, table()).await?;
    let _ = opened.send(());
    drop(opened); // once all sessions are open, or failed, nobody waits for another
    let until_ns = now_ns() + duration.as_nanos() as u64;
    for count in first.. {
        if now_ns() >= until_ns || stage.control.is_stopped() {
            break;
        }
        let key = key(number, count);
        let value = value(&key);
        let record = Record {
            key: key.as_bytes(),
            bytes: value.as_bytes(),
            ends: &[VALUE_LENGTH],
        };
        note(file, '?', count)?;
        match session.insert(TABLE, record).await {
            Ok(Some(0)) => note(file, '-', count)?,
            Ok(_) => note(file, '+', count)?,
            Err(error) => {
                // Of what has an unknown outcome nothing more is noted: it may exist or not.
                if matches!(error.outcome, Outcome::Fail(_)) {
                    note(file, '-', count)?;
                }
                if error.connection_lost {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// A line for each record: its key, and `torn` after it where its value is another. No line where the table is gone.
pub fn find(stage: &Stage<AnyRecords>, folder: &Path, sink: &Sink) -> Result<(), Trouble> {
    let begun_ns = now_ns();
    let mut file =
        BufWriter::new(File::create(folder.join("found")).map_err(|error| not_written("ledger", &error))?);
    let mut written = Ok(());
    on_records(
        stage,
        place_of(stage, 0),
        table(),
        "the ledger: reading its table",
        async |session| {
            stage.tell_ready(sink, 1, begun_ns);
            if !session.table_exists(&table()).await? {
                return Ok(());
            }
            let mut each = |row: &RowBuf| {
                if written.is_ok() {
                    written = file.write_all(line_of(row).as_bytes());
                }
            };
            session
                .scan(TABLE, b"", None, Fields::All, &mut each)
                .await
                .map(drop)
        },
    )?;
    written
        .and_then(|()| file.flush())
        .map_err(|error| not_written("ledger", &error))
}

fn line_of(row: &RowBuf) -> String {
    let cell = |index| {
        let bytes = row.cell(index).and_then(Value::bytes).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let key = cell(0);
    let torn = if cell(1) == value(&key) { "" } else { " torn" };
    format!("{}{torn}\n", key.escape_debug())
}
