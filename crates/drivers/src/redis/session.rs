//! Records as hashes. Per operation nothing is allocated: requests are written into the connection's buffer, with the names of
//! the fields as they were written when the table was attached.
use super::client::{Client, Links};
use super::cluster::{Tag, part_of};
use super::errors::no_table;
use super::line::Turn;
use super::resp::{command, digits, part, parts, texts};
use crate::server::errors::malformed;
use bakeoff_model::outcome::OpError;
use bakeoff_model::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec};
use bakeoff_model::row::RowBuf;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::rc::Rc;

/// Keys that a scan asks for at a time, and records of one script.
const SCAN_KEYS_MAX: u32 = 500;
const BATCH_RECORDS_MAX: usize = 500;

pub struct RedisSession {
    links: Links,
    tables: Vec<Attached>,
    row: RowBuf,
    /// Of a scan: the keys that were found, laid end to end.
    keys: Vec<u8>,
    ends: Vec<u32>,
}

/// A table's names as requests have them.
struct Attached {
    name: Vec<u8>,
    fields: usize,
    /// Names of the fields, all of them, as parts of a request.
    all: Vec<u8>,
    /// Each of them.
    each: Vec<Vec<u8>>,
}

impl Attached {
    fn new(spec: &TableSpec) -> Self {
        let as_part = |field: &String| {
            let mut written = vec![];
            part(&mut written, &[field.as_bytes()]);
            written
        };
        let each: Vec<Vec<u8>> = spec.field_names.iter().map(as_part).collect();
        Self {
            name: spec.name.as_bytes().to_vec(),
            fields: each.len(),
            all: each.concat(),
            each,
        }
    }

    /// Key of a record.
    #[inline]
    fn record(&self, request: &mut Vec<u8>, tag: &Tag, key: &[u8]) {
        part(request, &[&self.name, &tag.text, b":", key]);
    }

    /// Key of the table, or of a part of it.
    fn table(&self, request: &mut Vec<u8>, tag: &Tag) {
        part(request, &[&self.name, &tag.text]);
    }

    /// Key of its sorted set.
    fn index(&self, request: &mut Vec<u8>, tag: &Tag) {
        part(request, &[&self.name, &tag.text, b"/keys"]);
    }

    /// The head of a call with both: `more` parts follow.
    fn call(&self, request: &mut Vec<u8>, script: &[u8], tag: &Tag, more: usize) {
        parts(request, 5 + more);
        part(request, &[b"EVALSHA"]);
        part(request, &[script]);
        part(request, &[b"2"]);
        self.table(request, tag);
        self.index(request, tag);
    }

    /// `HMGET TABLE:KEY FIELD...`
    #[inline]
    fn ask_for(&self, request: &mut Vec<u8>, tag: &Tag, key: &[u8], fields: Fields) {
        let names = match fields {
            Fields::All | Fields::AllByName => &self.all,
            Fields::One(field) => &self.each[field as usize],
        };
        parts(request, 2 + self.cells(fields));
        part(request, &[b"HMGET"]);
        self.record(request, tag, key);
        request.extend_from_slice(names);
    }

    #[inline]
    fn cells(&self, fields: Fields) -> usize {
        match fields {
            Fields::One(_) => 1,
            _ => self.fields,
        }
    }
}

/// A record's answer into `row`. Whether there is one.
#[inline]
async fn record(
    turn: &mut Turn,
    row: &mut RowBuf,
    key: Option<&[u8]>,
    cells: usize,
) -> Result<bool, OpError> {
    let read = turn.answer(|input| {
        row.clear();
        if let Some(key) = key {
            row.push(Value::Text(key));
        }
        texts(input, |_, text| row.push(text.map_or(Value::Null, Value::Text)))
    });
    match read.await? {
        count if count == cells => Ok(row.nulls() < cells),
        _ => Err(malformed("another number of fields")),
    }
}

impl RedisSession {
    pub(super) async fn open(client: &Rc<Client>, endpoint: usize) -> Result<Self, OpError> {
        Ok(Self {
            links: Links::open(client, endpoint).await?,
            tables: Vec::new(),
            row: RowBuf::default(),
            keys: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// The server's number of its connection.
    pub async fn connection_id(&mut self) -> Result<i64, OpError> {
        self.links
            .number(0, |request| command(request, &[b"CLIENT", b"ID"]))
            .await
    }

    /// Nothing was found: is that because there is no table?
    #[cold]
    async fn refuse_without(&mut self, table: Table) -> Result<(), OpError> {
        let table = &self.tables[table.0 as usize];
        match exists(&mut self.links, table).await? {
            false => Err(no_table(&table.name)),
            true => Ok(()),
        }
    }

    /// These records, all in one part of the table.
    async fn store(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        let Some(first) = records.first() else {
            return Ok(0);
        };
        let (table, script) = (&self.tables[table.0 as usize], self.links.scripts.insert);
        let tag = &self.links.tags[part_of(self.links.tags, first.key)];
        let stored = self.links.written(tag.slot, |request| {
            table.call(
                request,
                &script,
                tag,
                1 + table.fields + records.len() * (1 + table.fields),
            );
            digits(table.fields, |number| part(request, &[number]));
            request.extend_from_slice(&table.all);
            for record in records {
                part(request, &[record.key]);
                record.values().for_each(|value| part(request, &[value]));
            }
        });
        Ok(stored.await.map_err(named("EVALSHA insert"))? as u64)
    }

    /// The keys of a part from `start` on into `keys`: how many.
    async fn find(
        &mut self,
        table: Table,
        tag: &Tag,
        start: &[u8],
        after: bool,
        limit: u32,
    ) -> Result<usize, OpError> {
        let Self {
            links,
            tables,
            keys,
            ends,
            ..
        } = self;
        let table = &tables[table.0 as usize];
        let (mut hop, mut hops) = (None, 0);
        loop {
            let asked = links.ask(tag.slot, hop, 1, |request| {
                parts(request, 7);
                part(request, &[b"ZRANGEBYLEX"]);
                table.index(request, tag);
                part(request, &[if after { b"(" } else { b"[" }, start]);
                part(request, &[b"+"]);
                part(request, &[b"LIMIT"]);
                part(request, &[b"0"]);
                digits(limit as usize, |number| part(request, &[number]));
            });
            let mut turn = asked.await?;
            let read = turn.answer(|input| {
                keys.clear();
                ends.clear();
                texts(input, |_, key| {
                    keys.extend_from_slice(key.unwrap_or_default());
                    ends.push(keys.len() as u32);
                })
            });
            match read.await {
                Err(error) => {
                    drop(turn);
                    let followed = links.follow(error, &mut hops);
                    hop = Some(followed.map_err(named("ZRANGEBYLEX"))?);
                }
                found => return found,
            }
        }
    }

    /// Reads the records of `keys`, all in one request. How many there still are.
    async fn read_found(
        &mut self,
        table: Table,
        tag: &Tag,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let Self {
            links,
            tables,
            keys,
            ends,
            row,
        } = self;
        let table = &tables[table.0 as usize];
        let asked = links.ask(tag.slot, None, ends.len(), |request| {
            let mut start = 0;
            for &end in &*ends {
                table.ask_for(request, tag, &keys[start..end as usize], fields);
                start = end as usize;
            }
        });
        let mut turn = asked.await?;
        let (mut seen, mut start, mut failed) = (0, 0, None);
        for &end in &*ends {
            let key = (fields == Fields::All).then_some(&keys[start..end as usize]);
            start = end as usize;
            match record(&mut turn, row, key, table.cells(fields)).await {
                Ok(true) => {
                    seen += 1;
                    each(row);
                }
                Ok(false) => {} // deleted since
                Err(error) if error.connection_lost => return Err(error),
                Err(error) => failed = Some(error), // the other answers still come
            }
        }
        failed.map_or(Ok(seen), |error| Err(error.with_statement("HMGET")))
    }

    /// Records of one part, from `start` on.
    async fn scan_part(
        &mut self,
        table: Table,
        tag: &Tag,
        start: &[u8],
        limit: u32,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<Scanned, OpError> {
        let mut scanned = Scanned { seen: 0, left: limit };
        let mut wanted = limit.min(SCAN_KEYS_MAX);
        let mut found = self.find(table, tag, start, false, wanted).await?;
        while found > 0 {
            scanned.seen += self.read_found(table, tag, fields, each).await?;
            scanned.left -= found as u32;
            if scanned.left == 0 || found < wanted as usize {
                break;
            }
            wanted = scanned.left.min(SCAN_KEYS_MAX);
            let start = self.ends.iter().rev().nth(1).map_or(0, |end| *end as usize);
            let last = self.keys[start..].to_vec();
            found = self.find(table, tag, &last, true, wanted).await?;
        }
        Ok(scanned)
    }
}

/// Records that a scan has handed over, and how many keys it may still look at.
struct Scanned {
    seen: u64,
    left: u32,
}

/// The first part tells of the whole table.
async fn exists(links: &mut Links, table: &Attached) -> Result<bool, OpError> {
    let tag = &links.tags[0];
    let found = links.number(tag.slot, |request| {
        parts(request, 2);
        part(request, &[b"EXISTS"]);
        table.table(request, tag);
    });
    Ok(found.await? > 0)
}

fn named(command: &'static str) -> impl FnOnce(OpError) -> OpError {
    move |error| error.with_statement(command)
}

impl RecordSession for RedisSession {
    fn asked(&self) -> Option<u32> {
        self.links.asked()
    }

    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        self.tables = tables.iter().map(Attached::new).collect();
        Ok(())
    }

    /// The first part first: with it there is a table.
    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        let (at, script) = (Attached::new(table), self.links.scripts.create);
        for tag in self.links.tags {
            let made = self.links.number(tag.slot, |request| {
                at.call(request, &script, tag, 1);
                part(request, &[table.key_column.as_bytes()]);
            });
            made.await.map_err(named("EVALSHA create"))?;
        }
        Ok(())
    }

    /// A few records at a time, so that the server answers others meanwhile; the first part last.
    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        let (at, script) = (Attached::new(table), self.links.scripts.drop);
        for tag in self.links.tags.iter().rev() {
            loop {
                let gone = self.links.number(tag.slot, |request| {
                    at.call(request, &script, tag, 1);
                    part(request, &[b"1000"]);
                });
                if gone.await.map_err(named("EVALSHA drop"))? == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError> {
        exists(&mut self.links, &Attached::new(table)).await
    }

    #[inline]
    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        let Self {
            links, tables, row, ..
        } = self;
        let attached = &tables[table.0 as usize];
        let tag = &links.tags[part_of(links.tags, key)];
        let (mut hop, mut hops) = (None, 0);
        let found = loop {
            let asked = links.ask(tag.slot, hop, 1, |request| {
                attached.ask_for(request, tag, key, fields)
            });
            let mut turn = asked.await?;
            let with_key = (fields == Fields::All).then_some(key);
            match record(&mut turn, row, with_key, attached.cells(fields)).await {
                Err(error) => {
                    drop(turn);
                    hop = Some(links.follow(error, &mut hops).map_err(named("HMGET"))?);
                }
                Ok(found) => break found,
            }
        };
        if !found {
            self.refuse_without(table).await?;
            return Ok(None);
        }
        Ok(Some(&self.row))
    }

    async fn insert(&mut self, table: Table, record: Record<'_>) -> Result<Option<u64>, OpError> {
        self.store(table, &[record]).await.map(Some)
    }

    /// `HSET` makes a record where there is none. Its answer, the number of new fields, says so, and they are removed.
    #[inline]
    async fn update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError> {
        let Self { links, tables, .. } = self;
        let attached = &tables[table.0 as usize];
        let tag = &links.tags[part_of(links.tags, key)];
        let made = links.written(tag.slot, |request| {
            parts(request, 2 + 2 * values.len());
            part(request, &[b"HSET"]);
            attached.record(request, tag, key);
            for value in values {
                request.extend_from_slice(&attached.each[value.field as usize]);
                part(request, &[value.value]);
            }
        });
        match made.await.map_err(named("HSET"))? {
            0 => Ok(Some(1)),
            _ => {
                self.undo_update(table, key, values).await?;
                self.refuse_without(table).await?;
                Ok(Some(0))
            }
        }
    }

    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        let Self { links, tables, .. } = self;
        let (table, script) = (&tables[table.0 as usize], links.scripts.delete);
        let tag = &links.tags[part_of(links.tags, key)];
        let deleted = links.written(tag.slot, |request| {
            table.call(request, &script, tag, 1);
            part(request, &[key]);
        });
        Ok(Some(deleted.await.map_err(named("EVALSHA delete"))? as u64))
    }

    /// In a cluster one part after the other, so not in the order of keys.
    async fn scan(
        &mut self,
        table: Table,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let (mut left, mut seen) = (limit.unwrap_or(u32::MAX), 0);
        for tag in self.links.tags {
            let scanned = self.scan_part(table, tag, start, left, fields, each).await?;
            seen += scanned.seen;
            left = scanned.left;
            if left == 0 {
                break;
            }
        }
        if seen == 0 {
            self.refuse_without(table).await?;
        }
        Ok(seen)
    }

    /// Any of the records may be stored after an error, but those of one script only together.
    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        let at_once = match self.links.tags.len() {
            1 => BATCH_RECORDS_MAX,
            _ => 1, // each is in another part
        };
        let mut stored = 0;
        for records in records.chunks(at_once) {
            stored += self.store(table, records).await?;
        }
        Ok(stored)
    }

    async fn count(&mut self, table: Table) -> Result<u64, OpError> {
        let mut count = 0;
        for tag in self.links.tags {
            let table = &self.tables[table.0 as usize];
            let of_part = self.links.number(tag.slot, |request| {
                parts(request, 2);
                part(request, &[b"ZCARD"]);
                table.index(request, tag);
            });
            count += of_part.await?;
        }
        if count == 0 {
            self.refuse_without(table).await?;
        }
        Ok(count as u64)
    }
}

impl RedisSession {
    /// Removes the fields that an update made, and with the last of them the record.
    #[cold]
    async fn undo_update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<(), OpError> {
        let Self { links, tables, .. } = self;
        let attached = &tables[table.0 as usize];
        let tag = &links.tags[part_of(links.tags, key)];
        let removed = links.number(tag.slot, |request| {
            parts(request, 2 + values.len());
            part(request, &[b"HDEL"]);
            attached.record(request, tag, key);
            for value in values {
                request.extend_from_slice(&attached.each[value.field as usize]);
            }
        });
        removed.await.map_err(named("HDEL")).map(drop)
    }
}

/// There are none: what needs them is refused before it starts.
impl Transactional for RedisSession {
    async fn begin(&mut self, _access: Access) -> Result<(), OpError> {
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        Ok(())
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        Ok(())
    }
}
