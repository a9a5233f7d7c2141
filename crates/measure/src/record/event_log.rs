//! Every operation of the window as a row of a CSV file (RFC 4180), with the columns of the Hat Shop's article.
//!
//! A worker puts a fixed entry into a ring of its own, which was made before the run; another thread takes the entries out,
//! makes text of them and writes it. Where it does not keep up the entry is lost and counted: the load never waits for its
//! log. Cost per operation: a copy of an entry and two stores, without memory, lock or text.
use crate::control::Axis;
use crate::threads::client_cost::thread_cpu_ns;
use crate::words::usage;
use bakeoff_model::event::LoggedEvents;
use bakeoff_model::outcome::{Outcome, Trouble, TroubleKind};
use bakeoff_model::run::EventLogSpec;
use bakeoff_model::value::Timestamp;
use bakeoff_model::workload::Operation;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Entries that a worker may be ahead: a fifth of a second at 40,000 operations a second.
const RING: usize = 8192;
/// Bytes of an error that are kept.
const ERROR_BYTES: usize = 120;
/// Of a time stamp: what follows its second and the point.
const US_DIGITS: usize = 6;
/// Between two looks at the rings.
const NAP: Duration = Duration::from_millis(10);

const HEADER: &str = "Test ID,Database Type,Event Type,Time Taken,Success,Error Message,Time Stamp\r\n";

/// The first bytes of an error, of fixed length so that entries are.
#[derive(Clone, Copy)]
pub struct ErrorText {
    bytes: [u8; ERROR_BYTES],
    length: u8,
}

impl Default for ErrorText {
    fn default() -> Self {
        Self {
            bytes: [0; ERROR_BYTES],
            length: 0,
        }
    }
}

impl ErrorText {
    fn set(&mut self, text: &str) {
        let mut ends = (0..=text.len().min(ERROR_BYTES)).rev();
        // The first byte always is a boundary.
        let length = ends.find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.length = length as u8;
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

/// One operation that has ended.
#[derive(Clone, Copy)]
struct Entry {
    operation: u16,
    outcome: Outcome,
    service_ns: u64,
    end_ns: u64,
    error: ErrorText,
}

/// What a worker needs to write to its ring.
#[derive(Clone)]
pub struct Place {
    entries: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

/// The writing side of one worker; stays on its thread.
pub struct WorkerLog {
    place: Place,
    /// Of the attempt that failed last.
    error: RefCell<ErrorText>,
}

impl WorkerLog {
    pub fn new(place: Place) -> Self {
        Self {
            place,
            error: RefCell::default(),
        }
    }

    /// What an attempt failed by; told before its operation's end is.
    pub fn failed(&self, message: &str) {
        self.error.borrow_mut().set(message);
    }

    #[inline]
    pub fn add(&self, operation: usize, outcome: Outcome, begin_ns: u64, end_ns: u64) {
        let entry = Entry {
            operation: operation as u16,
            outcome,
            service_ns: end_ns.saturating_sub(begin_ns),
            end_ns,
            error: match outcome {
                Outcome::Ok => ErrorText::default(),
                _ => *self.error.borrow(),
            },
        };
        if self.place.entries.try_send(entry).is_err() {
            self.place.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The file and the rings, before there is a time axis.
pub struct EventLog {
    rings: Vec<Receiver<Entry>>,
    lost: Arc<AtomicU64>,
    out: BufWriter<File>,
    /// What every row begins with.
    begin: String,
}

impl EventLog {
    /// Creates the file, or empties it. Returns the workers' places, one each, too.
    pub fn open(spec: &EventLogSpec, workers: usize) -> Result<(Self, Vec<Place>), Trouble> {
        let failed = |error: io::Error| {
            let what = format!("the event log cannot be written: {error}");
            usage(what, &spec.path, "name a file in an existing folder")
        };
        let mut out = BufWriter::with_capacity(1 << 16, File::create(&spec.path).map_err(failed)?);
        out.write_all(HEADER.as_bytes()).map_err(failed)?;
        let lost = Arc::new(AtomicU64::new(0));
        let (places, rings) = (0..workers)
            .map(|_| {
                let (entries, ring) = sync_channel(RING);
                let lost = lost.clone();
                (Place { entries, lost }, ring)
            })
            .unzip();
        let begin = format!("{},{},", cell(&spec.test_id), cell(&spec.database));
        let log = Self {
            rings,
            lost,
            out,
            begin,
        };
        Ok((log, places))
    }

    /// Writes from now on what arrives, in a thread of its own.
    pub fn begin(self, axis: Arc<Axis>, operations: &[Operation]) -> Result<Writing, Trouble> {
        let names = operations.iter().map(|operation| cell(&operation.name)).collect();
        let (over, lost) = (Arc::new(AtomicBool::new(false)), self.lost.clone());
        let told_over = over.clone();
        let writer = Writer {
            log: self,
            axis,
            names,
            rows: 0,
            second: (i64::MIN, String::new()),
        };
        let spawned = std::thread::Builder::new()
            .name("event-log".into())
            .spawn(move || writer.write(&told_over));
        let thread = spawned.map_err(|error| {
            let what = format!("could not start a thread: {error}");
            let hint = "raise the limit of processes (ulimit -u)";
            Trouble::new(TroubleKind::Environment, what, "event log", hint)
        })?;
        Ok(Writing { over, lost, thread })
    }
}

/// A log that is being written.
pub struct Writing {
    over: Arc<AtomicBool>,
    lost: Arc<AtomicU64>,
    thread: JoinHandle<Written>,
}

impl Writing {
    /// No operation ends any more: the rest is written.
    pub fn end(self) -> LoggedEvents {
        self.over.store(true, Ordering::Release);
        let Written { rows, cpu_ns } = self.thread.join().unwrap_or_default();
        LoggedEvents {
            rows,
            lost: self.lost.load(Ordering::Relaxed),
            cpu_ns,
        }
    }
}

/// What a writer's thread did in its life.
#[derive(Default)]
struct Written {
    rows: u64,
    cpu_ns: u64,
}

struct Writer {
    log: EventLog,
    axis: Arc<Axis>,
    names: Vec<String>,
    rows: u64,
    /// The second of the last row, since 1970, and as text.
    second: (i64, String),
}

impl Writer {
    /// Until it is over and all rings are empty. What the disk did not take is lost.
    fn write(mut self, over: &AtomicBool) -> Written {
        let mut text = String::new();
        loop {
            let last = over.load(Ordering::Acquire);
            for ring in 0..self.log.rings.len() {
                while let Ok(entry) = self.log.rings[ring].try_recv() {
                    text.clear();
                    self.row(&entry, &mut text);
                    match self.log.out.write_all(text.as_bytes()) {
                        Ok(()) => self.rows += 1,
                        Err(_) => drop(self.log.lost.fetch_add(1, Ordering::Relaxed)),
                    }
                }
            }
            if last {
                break;
            }
            std::thread::sleep(NAP);
        }
        if self.log.out.flush().is_err() {
            self.log.lost.fetch_add(self.rows, Ordering::Relaxed);
            self.rows = 0;
        }
        Written {
            rows: self.rows,
            cpu_ns: thread_cpu_ns(),
        }
    }

    fn row(&mut self, entry: &Entry, text: &mut String) {
        let tenths_us = (entry.service_ns + 50) / 100;
        let unix_ns = self.axis.epoch_unix_ns + entry.end_ns.saturating_sub(self.axis.epoch_ns);
        let (second, us) = ((unix_ns / 1_000_000_000) as i64, unix_ns / 1000 % 1_000_000);
        if self.second.0 != second {
            let whole = Timestamp {
                us: second * 1_000_000,
            }
            .to_string();
            self.second = (second, whole[..whole.len() - US_DIGITS].to_owned());
        }
        let name = self
            .names
            .get(usize::from(entry.operation))
            .map_or("", String::as_str);
        let begin = &self.log.begin;
        let _ = write!(
            text,
            "{begin}{name},{}.{},{},",
            tenths_us / 10,
            tenths_us % 10,
            entry.outcome == Outcome::Ok
        );
        if entry.outcome != Outcome::Ok {
            let _ = write!(text, "\"{}: ", entry.outcome.name());
            text.push_str(&entry.error.text().replace('"', "\"\""));
            text.push('"');
        }
        let _ = write!(text, ",{}{us:06}\r\n", self.second.1);
    }
}

/// Quoted where it has to be.
fn cell(text: &str) -> String {
    match text.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn spec(name: &str) -> EventLogSpec {
        let path = std::env::temp_dir().join(format!("bakeoff-{name}-{}.csv", std::process::id()));
        EventLogSpec {
            path: path.display().to_string(),
            test_id: "run 1, twice".into(),
            database: "mariadb".into(),
        }
    }

    /// The text that results from `write`, and its counts.
    fn written(name: &str, write: impl FnOnce(&WorkerLog)) -> (String, LoggedEvents) {
        let spec = spec(name);
        let (log, places) = EventLog::open(&spec, 1).unwrap();
        let worker = WorkerLog::new(places[0].clone());
        // 2016-12-12 10:16:12.610, when the clock of operations said 10 s.
        let axis = Arc::new(Axis::new(10 * S, 1_481_537_772_610_000_000, 0, Some(S), false));
        write(&worker);
        let told = log
            .begin(axis, &[Operation::new("create"), Operation::new("read")])
            .unwrap()
            .end();
        let text = std::fs::read_to_string(&spec.path).unwrap();
        std::fs::remove_file(&spec.path).unwrap();
        (text, told)
    }

    #[test]
    fn a_row_has_the_seven_columns_of_the_article() {
        let (text, told) = written("columns", |log| {
            log.add(0, Outcome::Ok, 10 * S, 10 * S + 812_400);
            log.failed("Duplicate entry \"7\", for key 1\nat once");
            log.add(
                1,
                Outcome::Fail(bakeoff_model::outcome::FailClass::Constraint),
                10 * S,
                11 * S,
            );
            log.add(1, Outcome::Ok, 10 * S, 10 * S + 1000);
        });
        let expected = format!(
            "{HEADER}\"run 1, twice\",mariadb,create,812.4,true,,2016-12-12 10:16:12.610812\r\n\
             \"run 1, twice\",mariadb,read,1000000.0,false,\"fail_constraint: Duplicate entry \"\"7\"\", for key 1\nat once\",\
             2016-12-12 10:16:13.610000\r\n\
             \"run 1, twice\",mariadb,read,1.0,true,,2016-12-12 10:16:12.610001\r\n"
        );
        assert_eq!(text, expected);
        assert_eq!((told.rows, told.lost), (3, 0));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (text, told) = written("lost", |log| {
            (0..RING + 5).for_each(|_| log.add(0, Outcome::Ok, 0, 10 * S));
        });
        assert_eq!((told.rows, told.lost), (RING as u64, 5));
        assert!(told.cpu_ns > 0, "the writer's own time is counted");
        assert_eq!(text.lines().count(), 1 + RING);
    }

    #[test]
    fn a_file_that_cannot_be_made_is_refused_before_anything_starts() {
        let nowhere = EventLogSpec {
            path: "/no/such/folder/log.csv".into(),
            ..spec("nowhere")
        };
        let trouble = EventLog::open(&nowhere, 1).map(drop).unwrap_err();
        assert!(trouble.what.contains("cannot be written"), "{trouble}");
    }
}
