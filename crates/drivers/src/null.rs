//! The test bench of the instrument: a system with known behaviour, and the template of a driver.
//!
//! It answers after a known time, fails or lies as often as it is told, stalls when it is told, and can keep rows in
//! memory so that integrity checks mean something. Processes that follow each other find the rows in files.
//! Cost of an operation with latency 0 and nothing else asked: a few nanoseconds, no allocation, no clock.
mod kept;
mod memory;

use bakeoff_model::driver::Driver;
use bakeoff_model::needs::{Affected, Capabilities, Needs};
use bakeoff_model::outcome::{FailClass, OpError, Trouble, TroubleKind};
use bakeoff_model::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::{NullLatency, NullSpec, RunnerKind};
use bakeoff_model::time::{epoch_ns, now_ns, sleep_until};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use memory::{MemoryTable, Row, Undo};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub const RUNNERS: &[RunnerKind] = &[RunnerKind::Tokio, RunnerKind::Thread, RunnerKind::Reactor];

/// Length of the values that are read when no rows are kept.
const VALUE_LENGTH_BYTES: usize = 100;
/// Rows of a scan to the end of the table when no rows are kept.
const SCAN_TO_END_ROWS: u32 = 1000;

/// When the first session was opened: spans of `stalls` count from here where there is no run with an epoch; 0: none
/// was yet.
static FIRST_OPENED_NS: AtomicU64 = AtomicU64::new(0);

pub fn capabilities() -> Capabilities {
    Capabilities {
        transactions: true,
        scan: true,
        affected: vec![Affected::Found],
        batch_insert: true,
        plain_index: false,
        isolation: Vec::new(),
        cancel: true,
        tls: false,
    }
}

pub struct NullDriver {
    behaviour: Arc<Behaviour>,
    /// Answers at once, always right.
    plain: bool,
    seed: u64,
    sessions: AtomicU64,
    /// The rows of earlier processes were read.
    read: Mutex<bool>,
}

/// The specification, ready for use.
struct Behaviour {
    spec: NullSpec,
    /// (begin, end) in ns after the epoch, in order.
    stalls_ns: Vec<(u64, u64)>,
}

impl NullDriver {
    /// `seed` begins the random stream of each session (faults, exponential latency).
    pub fn new(spec: NullSpec, seed: u64) -> Self {
        let mut stalls_ns: Vec<(u64, u64)> = spec
            .stalls
            .iter()
            .map(|s| (nanos(s.at_s), nanos(s.at_s + s.for_s)))
            .collect();
        stalls_ns.sort_unstable();
        let plain = spec.latency_ns == 0
            && spec.error_ratio <= 0.0
            && spec.wrong_ratio <= 0.0
            && stalls_ns.is_empty();
        Self {
            behaviour: Arc::new(Behaviour { spec, stalls_ns }),
            plain,
            seed,
            sessions: AtomicU64::new(0),
            read: Mutex::new(false),
        }
    }

    fn files(&self) -> Option<&Path> {
        let spec = &self.behaviour.spec;
        spec.store_path.as_deref().filter(|_| spec.store).map(Path::new)
    }
}

/// What lies, fails or loses does so in the measured run alone: with the rest of it a run would not be reached, or begin
/// from other data than it says. Time is kept in every phase.
pub fn faultless(spec: &NullSpec) -> NullSpec {
    NullSpec {
        error_ratio: 0.0,
        wrong_ratio: 0.0,
        lost_write_ratio: 0.0,
        ..spec.clone()
    }
}

fn not_kept(error: &std::io::Error, folder: &Path) -> Trouble {
    Trouble::new(
        TroubleKind::Environment,
        format!("the rows of the null system cannot be kept: {error}"),
        folder.display().to_string(),
        "is there space on that disk? load the data again",
    )
}

fn nanos(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}

impl Driver for NullDriver {
    const RUNNERS: &'static [RunnerKind] = RUNNERS;
    type Client = ();
    type Session = NullSession;

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }
    fn client(&self) -> &'static str {
        "null"
    }
    async fn open(&self, _worker: usize) -> Result<(), Trouble> {
        let Some(folder) = self.files() else {
            return Ok(());
        };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if !*read {
            kept::read(folder).map_err(|error| not_kept(&error, folder))?;
            *read = true;
        }
        Ok(())
    }
    fn close(&self) -> Result<(), Trouble> {
        match self.files() {
            Some(folder) => kept::write(folder).map_err(|error| not_kept(&error, folder)),
            None => Ok(()),
        }
    }
    async fn session(&self, _client: &(), _endpoint: usize, _needs: Needs) -> Result<NullSession, OpError> {
        let _ = FIRST_OPENED_NS.compare_exchange(0, now_ns(), Ordering::Relaxed, Ordering::Relaxed);
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        Ok(NullSession {
            behaviour: self.behaviour.clone(),
            random: Random::new(self.seed, number),
            tables: Vec::new(),
            row: RowBuf::default(),
            plain: self.plain,
            undo: None,
        })
    }
}

pub struct NullSession {
    behaviour: Arc<Behaviour>,
    plain: bool,
    random: Random,
    tables: Vec<Attached>,
    row: RowBuf,
    /// Inside a transaction: how to take its writes back.
    undo: Option<Vec<Undo>>,
}

struct Attached {
    /// Prebuilt answers for when no rows are kept.
    all: RowBuf,
    by_name: RowBuf,
    one: RowBuf,
    memory: Arc<Mutex<MemoryTable>>,
}

impl Attached {
    fn new(spec: &TableSpec) -> Self {
        let value = [b'x'; VALUE_LENGTH_BYTES];
        let row = |cells: usize| {
            let mut row = RowBuf::default();
            (0..cells).for_each(|_| row.push(Value::Text(&value)));
            row
        };
        let fields = spec.field_names.len();
        Self {
            all: row(fields + 1),
            by_name: row(fields),
            one: row(1),
            memory: memory::table(&spec.name),
        }
    }

    /// The answer to a question about `key`: the prebuilt row, with the key that was asked for where rows have one.
    #[inline(always)] // deep in a future the compiler takes every call for a rare one
    fn answer(&mut self, key: &[u8], fields: Fields) -> &RowBuf {
        match fields {
            Fields::All => {
                self.all.set_text(0, key);
                &self.all
            }
            Fields::AllByName => &self.by_name,
            Fields::One(_) => &self.one,
        }
    }
}

/// What the dice say about one operation.
#[derive(Clone, Copy, PartialEq)]
enum Luck {
    Right,
    Wrong,
}

/// How one operation is served; for a plain session without so much as a future (measured: half the cost).
macro_rules! serve {
    ($session:ident) => {
        if $session.plain {
            Luck::Right
        } else {
            $session.serve().await?
        }
    };
}

impl NullSession {
    /// The service time, the stalls and the faults of one operation.
    async fn serve(&mut self) -> Result<Luck, OpError> {
        self.wait().await;
        self.dice()
    }

    async fn wait(&mut self) {
        let spec = &self.behaviour.spec;
        if spec.latency_ns == 0 && self.behaviour.stalls_ns.is_empty() {
            return;
        }
        let latency_ns = match spec.latency {
            NullLatency::Constant => spec.latency_ns,
            NullLatency::Exponential => (self.random.exponential() * spec.latency_ns as f64) as u64,
        };
        let begin_ns = now_ns();
        let epoch_ns = epoch_ns().unwrap_or_else(|| FIRST_OPENED_NS.load(Ordering::Relaxed));
        let end_ns = answer_at(
            &self.behaviour.stalls_ns,
            epoch_ns,
            begin_ns,
            begin_ns + latency_ns,
        );
        if end_ns > begin_ns {
            sleep_until(end_ns).await;
        }
    }

    fn dice(&mut self) -> Result<Luck, OpError> {
        let (error, wrong) = (self.behaviour.spec.error_ratio, self.behaviour.spec.wrong_ratio);
        if error > 0.0 && self.random.ratio() <= error {
            return Err(OpError::fail(
                FailClass::Other,
                "NULL_ERROR",
                "the null driver was told to fail",
            ));
        }
        let lies = wrong > 0.0 && self.random.ratio() <= wrong;
        Ok(if lies { Luck::Wrong } else { Luck::Right })
    }

    async fn read_served(
        &mut self,
        table: Table,
        key: &[u8],
        fields: Fields,
    ) -> Result<Option<&RowBuf>, OpError> {
        if serve!(self) == Luck::Wrong {
            return Ok(None);
        }
        if !self.stores() {
            return Ok(Some(self.tables[table.0 as usize].answer(key, fields)));
        }
        let memory = self.tables[table.0 as usize].memory.clone();
        let found = lock(&memory).read(key, fields, &mut self.row)?;
        Ok(found.then_some(&self.row))
    }

    #[inline]
    fn stores(&self) -> bool {
        self.behaviour.spec.store
    }

    fn attached(&self, table: Table) -> &Attached {
        &self.tables[table.0 as usize]
    }

    /// Applies a write to the memory unless it is one of those to lose.
    fn write(
        &mut self,
        table: Table,
        write: impl FnOnce(&mut MemoryTable) -> Result<(u64, Option<Undo>), OpError>,
    ) -> Result<u64, OpError> {
        let lost_ratio = self.behaviour.spec.lost_write_ratio;
        if lost_ratio > 0.0 && self.random.ratio() <= lost_ratio {
            return Ok(1);
        }
        let memory = &self.tables[table.0 as usize].memory;
        let (rows, undo) = write(&mut lock(memory))?;
        if let (Some(log), Some(undo)) = (&mut self.undo, undo) {
            log.push(undo.of(memory.clone()));
        }
        Ok(rows)
    }
}

/// When an operation begun at `begin_ns` that would be answered at `end_ns` is answered: one that is begun or in
/// flight within a stall waits for the stall's end.
fn answer_at(stalls_ns: &[(u64, u64)], epoch_ns: u64, begin_ns: u64, end_ns: u64) -> u64 {
    stalls_ns.iter().fold(end_ns, |end_ns, &(from_ns, to_ns)| {
        let in_flight = begin_ns < epoch_ns + to_ns && end_ns >= epoch_ns + from_ns;
        if in_flight {
            end_ns.max(epoch_ns + to_ns)
        } else {
            end_ns
        }
    })
}

fn lock(memory: &Mutex<MemoryTable>) -> std::sync::MutexGuard<'_, MemoryTable> {
    // A panic in another session cannot leave a half-made row: rows are replaced whole.
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RecordSession for NullSession {
    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        self.tables = tables.iter().map(Attached::new).collect();
        Ok(())
    }

    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        if self.stores() {
            lock(&memory::table(&table.name)).create()
        } else {
            Ok(())
        }
    }

    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        lock(&memory::table(&table.name)).remove();
        Ok(())
    }

    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError> {
        Ok(lock(&memory::table(&table.name)).exists())
    }

    #[inline]
    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        // Apart from the rest, whose states every answer would pay for.
        if self.plain && !self.stores() {
            return Ok(Some(self.tables[table.0 as usize].answer(key, fields)));
        }
        self.read_served(table, key, fields).await
    }

    #[inline]
    async fn insert(&mut self, table: Table, record: Record<'_>) -> Result<Option<u64>, OpError> {
        match serve!(self) {
            Luck::Wrong => Ok(Some(0)),
            Luck::Right if !self.stores() => Ok(Some(1)),
            Luck::Right => self
                .write(table, |memory| memory.insert(record.key, Row::of(record)))
                .map(Some),
        }
    }

    #[inline]
    async fn update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError> {
        match serve!(self) {
            Luck::Wrong => Ok(Some(0)),
            Luck::Right if !self.stores() => Ok(Some(1)),
            Luck::Right => self.write(table, |memory| memory.update(key, values)).map(Some),
        }
    }

    #[inline]
    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        match serve!(self) {
            Luck::Wrong => Ok(Some(0)),
            Luck::Right if !self.stores() => Ok(Some(1)),
            Luck::Right => self.write(table, |memory| memory.delete(key)).map(Some),
        }
    }

    #[inline]
    async fn scan(
        &mut self,
        table: Table,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        each: &mut impl FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        if serve!(self) == Luck::Wrong {
            return Ok(0);
        }
        if !self.stores() {
            let rows = limit.unwrap_or(SCAN_TO_END_ROWS);
            let row = self.tables[table.0 as usize].answer(start, fields);
            (0..rows).for_each(|_| each(row));
            return Ok(rows.into());
        }
        let memory = self.tables[table.0 as usize].memory.clone();
        lock(&memory).scan(start, limit, fields, &mut self.row, each)
    }

    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        match serve!(self) {
            Luck::Wrong => return Ok(0),
            Luck::Right if !self.stores() => return Ok(records.len() as u64),
            Luck::Right => {}
        }
        let own_transaction = self.undo.is_none();
        if own_transaction {
            self.undo = Some(Vec::new());
        }
        let mut rows = 0;
        let mut outcome = Ok(());
        for record in records {
            match self.write(table, |memory| memory.insert(record.key, Row::of(*record))) {
                Ok(inserted) => rows += inserted,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        if own_transaction {
            let log = self.undo.take().unwrap_or_default();
            if outcome.is_err() {
                memory::take_back(log);
            }
        }
        outcome.map(|()| rows)
    }

    async fn count(&mut self, table: Table) -> Result<u64, OpError> {
        if !self.stores() {
            return Err(OpError::fail(
                FailClass::Refused,
                "NULL_NO_STORE",
                "the null driver keeps no rows and cannot count them (store = false)",
            ));
        }
        lock(&self.attached(table).memory).count()
    }
}

impl Transactional for NullSession {
    async fn begin(&mut self, _access: Access) -> Result<(), OpError> {
        self.undo = Some(Vec::new());
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), OpError> {
        let _ = serve!(self);
        self.undo = None;
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), OpError> {
        memory::take_back(self.undo.take().unwrap_or_default());
        Ok(())
    }
}

impl Drop for NullSession {
    /// A session that goes away takes its open transaction with it.
    fn drop(&mut self) {
        memory::take_back(self.undo.take().unwrap_or_default());
    }
}

/// The session's own random stream (SplitMix64: Steele, Lea and Flood, 2014). About 1 ns a draw.
struct Random {
    state: u64,
}

impl Random {
    fn new(seed: u64, session: u64) -> Self {
        let mut random = Self {
            state: seed ^ session.wrapping_mul(0xD1B5_4A32_D192_ED03),
        };
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1].
    fn ratio(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// With a mean of 1.
    fn exponential(&mut self) -> f64 {
        -self.ratio().ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_begun_or_in_flight_in_a_stall_is_answered_at_its_end() {
        let stalls = [(100, 200), (250, 300)];
        for (begin, end, answered) in [
            (0, 50, 50),     // before
            (0, 100, 200),   // in flight when it begins
            (50, 220, 220),  // slower than the stall
            (150, 150, 200), // begun inside
            (199, 199, 200),
            (200, 200, 200), // begun at its end
            (210, 260, 300), // the second one
            (90, 250, 300),  // spans both
            (400, 410, 410),
        ] {
            assert_eq!(
                answer_at(&stalls, 1000, 1000 + begin, 1000 + end),
                1000 + answered,
                "{begin}..{end}"
            );
        }
    }

    #[test]
    fn a_stalled_operation_that_reaches_into_the_next_stall_waits_for_that_one_too() {
        assert_eq!(answer_at(&[(100, 200), (200, 300)], 0, 150, 150), 300);
    }

    #[test]
    fn streams_of_sessions_differ_and_repeat() {
        let draw = |seed, session| Random::new(seed, session).next();
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
        assert_ne!(draw(7, 1), draw(8, 1));
    }

    #[test]
    fn exponential_draws_are_1_on_average_and_never_infinite() {
        let mut random = Random::new(1, 1);
        let draws: Vec<f64> = (0..100_000).map(|_| random.exponential()).collect();
        assert!(draws.iter().all(|draw| draw.is_finite()));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((0.99..1.01).contains(&mean), "{mean}"); // one deviation: 0.003
    }
}
