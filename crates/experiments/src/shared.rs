//! What experiments with histories have in common: their table, and the file of a history.
use crate::actor::open;
use crate::{Stage, defect, place_of, silent};
use bakeoff_histories::History;
use bakeoff_histories::record::Record;
use bakeoff_measure::words;
use bakeoff_model::any::{AnyRecords, AnySql};
use bakeoff_model::driver::AnyClient;
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::{FailClass, OpError, Trouble};
use bakeoff_model::record::{RecordSession, TableSpec};
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::time::{now_ns, sleep};
use bakeoff_model::value::Value;
use std::cell::Cell;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// An experiment's own table.
pub struct Table<'a> {
    pub stage: &'a Stage,
    pub setup: &'a [String],
    pub name: &'static str,
}

/// What an experiment made, and drops.
pub trait Own {
    fn drop(&self) -> Result<(), Trouble>;

    /// Whatever came of the work with it, whose error comes first.
    fn drop_after<T>(&self, outcome: Result<T, Trouble>) -> Result<T, Trouble> {
        let dropped = self.drop();
        let outcome = outcome?;
        dropped.map(|()| outcome)
    }
}

impl Own for Table<'_> {
    fn drop(&self) -> Result<(), Trouble> {
        self.on(0, async |session: &mut AnySql| {
            session
                .execute_text(&format!("DROP TABLE {}", self.name))
                .await
                .map(drop)
        })
    }
}

impl Table<'_> {
    /// Makes it, in place of one that an earlier experiment left, and returns when every node has its rows. columns: those
    /// besides the key `id`. inserts: statements. After an error no table of its own stays.
    pub fn create(&self, columns: &str, inserts: &[String], rows: u64) -> Result<(), Trouble> {
        let is_made = Cell::new(false);
        let filled = self.on(0, async |session: &mut AnySql| {
            if self.stage.spec.drop_existing {
                session
                    .execute_text(&format!("DROP TABLE IF EXISTS {}", self.name))
                    .await?;
            }
            let suffix = session.dialect().table_suffix;
            let columns = format!("id INT NOT NULL PRIMARY KEY, {columns}");
            session
                .execute_text(&format!("CREATE TABLE {} ({columns}){suffix}", self.name))
                .await?;
            is_made.set(true);
            for insert in inserts {
                session.execute_text(insert).await?;
            }
            Ok(())
        });
        filled
            .map_err(|trouble| Trouble {
                hint: format!("a table {} must not exist before; {}", self.name, trouble.hint),
                ..trouble
            })
            .and_then(|()| (0..self.stage.nodes()).try_for_each(|node| self.wait_for_rows(node, rows)))
            .inspect_err(|_| {
                if is_made.get() {
                    let _ = self.drop();
                }
            })
    }

    /// Carries this out on a session of its own, on the n-th of the nodes that take writes.
    pub fn on<T>(
        &self,
        place: usize,
        errand: impl AsyncFnOnce(&mut AnySql) -> Result<T, OpError>,
    ) -> Result<T, Trouble> {
        self.on_node(place_of(self.stage, place), errand)
    }

    fn on_node<T>(
        &self,
        node: usize,
        errand: impl AsyncFnOnce(&mut AnySql) -> Result<T, OpError>,
    ) -> Result<T, Trouble> {
        let stage = self.stage;
        stage.block_on(async {
            let client = stage.driver.open(0).await?;
            let mut session = open(stage, &*client, node, self.setup).await?;
            errand(&mut session).await.map_err(|error| {
                words::server_trouble(
                    &error,
                    &stage.spec.driver,
                    format!("verify: the table {}", self.name),
                )
            })
        })
    }

    /// A node that replicates may have neither the table nor its rows yet.
    fn wait_for_rows(&self, node: usize, rows: u64) -> Result<(), Trouble> {
        let count = format!("SELECT COUNT(*) FROM {}", self.name);
        let give_up_ns = now_ns() + self.stage.timeout.as_nanos() as u64;
        let found = self.on_node(node, async |session: &mut AnySql| {
            loop {
                match count_of(session, &count).await {
                    Ok(found) if found == rows => return Ok(true),
                    Err(error) if error.connection_lost => return Err(error),
                    _ if now_ns() > give_up_ns => return Ok(false),
                    _ => sleep(Duration::from_millis(20)).await,
                }
            }
        })?;
        match found {
            true => Ok(()),
            false => Err(silent(
                self.stage,
                &format!("node {node} does not have the rows of {}", self.name),
            )),
        }
    }
}

async fn count_of(session: &mut AnySql, sql: &str) -> Result<u64, OpError> {
    let statement = session.prepare(&Ask::read(sql)).await?;
    let row = session.query_one(statement, &[]).await?;
    let count = row.and_then(|row| row.cell(0)).and_then(Value::whole_number);
    Ok(count.unwrap_or(-1) as u64)
}

/// A session on records, at this endpoint, that knows the table.
pub async fn open_records(
    stage: &Stage<AnyRecords>,
    client: &dyn AnyClient<AnyRecords>,
    endpoint: usize,
    table: TableSpec,
) -> Result<AnyRecords, Trouble> {
    let refuse = |error: OpError| words::server_trouble(&error, &stage.spec.driver, "opening a session");
    let opened = client.session(endpoint, Needs::default()).await;
    let mut session = opened.map_err(refuse)?;
    session.attach(&[table]).await.map_err(refuse)?;
    Ok(session)
}

/// Carries this out on such a session of its own. what: for whom, in words.
pub fn on_records<T>(
    stage: &Stage<AnyRecords>,
    endpoint: usize,
    table: TableSpec,
    what: &str,
    errand: impl AsyncFnOnce(&mut AnyRecords) -> Result<T, OpError>,
) -> Result<T, Trouble> {
    stage.block_on(async {
        let client = stage.driver.open(0).await?;
        let mut session = open_records(stage, &*client, endpoint, table).await?;
        errand(&mut session)
            .await
            .map_err(|error| words::server_trouble(&error, &stage.spec.driver, what))
    })
}

/// An update that found no row did not do what was asked.
pub fn found(rows: Option<u64>) -> Result<(), OpError> {
    match rows {
        Some(0) => Err(OpError::fail(FailClass::Other, "ROWS", "the update found no row")),
        _ => Ok(()),
    }
}

/// A line of JSON for each record, in `FOLDER/NAME.jsonl`; without a folder nothing.
pub fn write_history(folder: Option<&str>, name: &str, records: &[Record]) -> Result<(), Trouble> {
    let Some(folder) = folder else {
        return Ok(());
    };
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(std::fs::File::create(
            Path::new(folder).join(format!("{name}.jsonl")),
        )?);
        for record in records {
            serde_json::to_writer(&mut file, record)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    };
    write().map_err(|error| not_written("history", &error))
}

pub fn not_written(what: &str, error: &std::io::Error) -> Trouble {
    words::usage(
        format!("the {what} could not be written: {error}"),
        "run.json: experiment.folder",
        "name a folder that exists, with free space",
    )
}

/// As judges take it. place: of a defect.
pub fn history(records: &[Record], place: &str) -> Result<History, Trouble> {
    let mut history = History::default();
    for record in records {
        history
            .push(record)
            .map_err(|what| defect(what.to_owned(), place))?;
    }
    Ok(history)
}
