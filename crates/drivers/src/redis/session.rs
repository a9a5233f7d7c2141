//! One connection, and one request with its answer at a time. Per operation nothing is allocated: requests are written into
//! the connection's buffer, with the names of the fields as they were written when the table was attached.
use super::Route;
use super::errors::no_table;
use super::resp::{Answer, Element, command, digits, one, part, parts, texts};
use crate::server::channel::Channel;
use crate::server::errors::malformed;
use crate::server::stranger;
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec};
use bakeoff_model::row::RowBuf;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::time::Duration;

/// Keys that a scan asks for at a time, and records of one script.
const SCAN_KEYS_MAX: u32 = 500;
const BATCH_RECORDS_MAX: usize = 500;

/// KEYS: the table, its keys. ARGV: the number of fields, their names; then of each record its key and its values. All of
/// them are stored, or none.
const INSERT: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('NOTABLE there is no table ' .. KEYS[1]) end
local fields, seen = tonumber(ARGV[1]), {}
for at = fields + 2, #ARGV, fields + 1 do
  if seen[ARGV[at]] or redis.call('EXISTS', KEYS[1] .. ':' .. ARGV[at]) == 1 then
    return redis.error_reply('DUPLICATE the key ' .. ARGV[at] .. ' exists')
  end
  seen[ARGV[at]] = true
end
local stored = 0
for at = fields + 2, #ARGV, fields + 1 do
  local record = {}
  for field = 1, fields do
    record[2 * field - 1], record[2 * field] = ARGV[1 + field], ARGV[at + field]
  end
  redis.call('HSET', KEYS[1] .. ':' .. ARGV[at], unpack(record))
  redis.call('ZADD', KEYS[2], 0, ARGV[at])
  stored = stored + 1
end
return stored";

/// KEYS: the table, its keys. ARGV: the record's key.
const DELETE: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('NOTABLE there is no table ' .. KEYS[1]) end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1] .. ':' .. ARGV[1])";

/// KEYS: the table, its keys. ARGV: how many records at most. Removes the table when none is left; how many it removed.
const DROP: &str = "\
local gone = redis.call('ZPOPMIN', KEYS[2], ARGV[1])
for at = 1, #gone, 2 do redis.call('UNLINK', KEYS[1] .. ':' .. gone[at]) end
if #gone == 0 then redis.call('DEL', KEYS[1]) end
return #gone / 2";

/// The name of a script, by which it is called.
type Sha = [u8; 40];

pub struct RedisSession {
    channel: Channel,
    insert: Sha,
    delete: Sha,
    drop: Sha,
    tables: Vec<Attached>,
    row: RowBuf,
    /// Of a scan: the keys that were found, laid end to end.
    keys: Vec<u8>,
    ends: Vec<u32>,
}

/// A table's names as requests have them.
struct Attached {
    name: Vec<u8>,
    /// `TABLE:`
    prefix: Vec<u8>,
    /// `TABLE/keys`
    index: Vec<u8>,
    fields: Vec<Vec<u8>>,
    /// All of them, as parts of a request.
    all: Vec<u8>,
    /// Each of them.
    each: Vec<Vec<u8>>,
}

impl Attached {
    fn new(spec: &TableSpec) -> Self {
        let name = spec.name.as_bytes();
        let fields: Vec<Vec<u8>> = spec
            .field_names
            .iter()
            .map(|field| field.as_bytes().to_vec())
            .collect();
        let as_part = |field: &Vec<u8>| {
            let mut written = vec![];
            part(&mut written, &[field]);
            written
        };
        let each: Vec<Vec<u8>> = fields.iter().map(as_part).collect();
        Self {
            name: name.to_vec(),
            prefix: [name, b":"].concat(),
            index: [name, b"/keys"].concat(),
            all: each.concat(),
            each,
            fields,
        }
    }

    /// `HMGET TABLE:KEY FIELD...`
    #[inline]
    fn ask_for(&self, request: &mut Vec<u8>, key: &[u8], fields: Fields) {
        let (count, names) = match fields {
            Fields::All | Fields::AllByName => (self.fields.len(), &self.all),
            Fields::One(field) => (1, &self.each[field as usize]),
        };
        parts(request, 2 + count);
        part(request, &[b"HMGET"]);
        part(request, &[&self.prefix, key]);
        request.extend_from_slice(names);
    }
}

impl RedisSession {
    pub(super) async fn connect(route: &Route, limit: Duration) -> Result<Self, OpError> {
        let (stream, _) = route.whereabouts.connect(limit).await?;
        let mut session = Self {
            channel: Channel::new(stream),
            insert: [0; 40],
            delete: [0; 40],
            drop: [0; 40],
            tables: Vec::new(),
            row: RowBuf::default(),
            keys: Vec::new(),
            ends: Vec::new(),
        };
        let target = &route.target;
        if let Some(password) = &target.password {
            let (user, password) = (target.user.as_bytes(), password.as_bytes());
            let said: &[&[u8]] = match user {
                b"" => &[b"AUTH", password],
                user => &[b"AUTH", user, password],
            };
            session.ask(said).await.map_err(named("AUTH"))?;
        }
        session.insert = session.load(INSERT).await?;
        session.delete = session.load(DELETE).await?;
        session.drop = session.load(DROP).await?;
        Ok(session)
    }

    async fn load(&mut self, script: &str) -> Result<Sha, OpError> {
        command(self.request(), &[b"SCRIPT", b"LOAD", script.as_bytes()]);
        self.exchange().await?;
        let sha = self.answer(|input| {
            one(input, |element| match element {
                Element::Text(sha) => sha.try_into().ok(),
                _ => None,
            })
        });
        sha.await.map_err(named("SCRIPT LOAD"))
    }

    #[inline]
    fn request(&mut self) -> &mut Vec<u8> {
        let request = self.channel.request();
        request.clear();
        request
    }

    #[inline]
    async fn exchange(&mut self) -> Result<(), OpError> {
        if let Some(who) = stranger(self.channel.input()) {
            return Err(malformed(who));
        }
        if !self.channel.input().is_empty() {
            return Err(malformed("an answer to nothing"));
        }
        self.channel.exchange().await
    }

    /// The next answer, when all of it has arrived.
    #[inline]
    async fn answer<T>(
        &mut self,
        mut read: impl FnMut(&[u8]) -> Result<Option<Answer<T>>, OpError>,
    ) -> Result<T, OpError> {
        loop {
            if let Some((answer, size)) = read(self.channel.input())? {
                self.channel.consume(size);
                return answer;
            }
            self.channel.receive().await?;
        }
    }

    /// Sends a command, and takes any answer that is no error; a number, where it is one.
    async fn ask(&mut self, said: &[&[u8]]) -> Result<i64, OpError> {
        command(self.request(), said);
        self.exchange().await?;
        self.number().await
    }

    #[inline]
    async fn number(&mut self) -> Result<i64, OpError> {
        self.answer(|input| {
            one(input, |element| match element {
                Element::Int(number) => Some(number),
                Element::Line(_) => Some(0),
                _ => None,
            })
        })
        .await
    }

    /// A record's answer into `row`. Whether there is one.
    #[inline]
    async fn record(&mut self, key: Option<&[u8]>, fields: usize) -> Result<bool, OpError> {
        let Self { channel, row, .. } = self;
        loop {
            row.clear();
            if let Some(key) = key {
                row.push(Value::Text(key));
            }
            let read = texts(channel.input(), |_, text| {
                row.push(text.map_or(Value::Null, Value::Text));
            })?;
            if let Some((answer, size)) = read {
                channel.consume(size);
                let count = answer.map_err(named("HMGET"))?;
                return match count == fields {
                    true => Ok(row.nulls() < fields),
                    false => Err(malformed("another number of fields")),
                };
            }
            channel.receive().await?;
        }
    }

    /// Nothing was found: is that because there is no table?
    #[cold]
    async fn refuse_without(&mut self, table: Table) -> Result<(), OpError> {
        let Self { channel, tables, .. } = self;
        let name = &tables[table.0 as usize].name;
        let request = channel.request();
        request.clear();
        command(request, &[b"EXISTS", name]);
        self.exchange().await?;
        match self.number().await? {
            0 => Err(no_table(&self.tables[table.0 as usize].name)),
            _ => Ok(()),
        }
    }

    async fn store(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        let Self {
            channel,
            tables,
            insert,
            ..
        } = self;
        let table = &tables[table.0 as usize];
        let request = channel.request();
        request.clear();
        let fields = table.fields.len();
        parts(request, 6 + fields + records.len() * (1 + fields));
        part(request, &[b"EVALSHA"]);
        part(request, &[insert]);
        part(request, &[b"2"]);
        part(request, &[&table.name]);
        part(request, &[&table.index]);
        digits(fields, |number| part(request, &[number]));
        request.extend_from_slice(&table.all);
        for record in records {
            part(request, &[record.key]);
            record.values().for_each(|value| part(request, &[value]));
        }
        self.exchange().await?;
        let stored = self.number().await.map_err(named("EVALSHA insert"))?;
        Ok(stored as u64)
    }

    /// The keys from `start` on into `keys`: how many.
    async fn find(&mut self, table: Table, start: &[u8], after: bool, limit: u32) -> Result<usize, OpError> {
        let Self {
            channel,
            tables,
            keys,
            ends,
            ..
        } = self;
        let index = &tables[table.0 as usize].index;
        let request = channel.request();
        request.clear();
        parts(request, 7);
        part(request, &[b"ZRANGEBYLEX"]);
        part(request, &[index]);
        part(request, &[if after { b"(" } else { b"[" }, start]);
        part(request, &[b"+"]);
        part(request, &[b"LIMIT"]);
        part(request, &[b"0"]);
        digits(limit as usize, |number| part(request, &[number]));
        if !channel.input().is_empty() {
            return Err(malformed("an answer to nothing"));
        }
        channel.exchange().await?;
        loop {
            keys.clear();
            ends.clear();
            let read = texts(channel.input(), |_, key| {
                keys.extend_from_slice(key.unwrap_or_default());
                ends.push(keys.len() as u32);
            })?;
            if let Some((found, size)) = read {
                channel.consume(size);
                return found.map_err(named("ZRANGEBYLEX"));
            }
            channel.receive().await?;
        }
    }

    /// Reads the records of `keys`, all in one request. How many there still are.
    async fn read_found(
        &mut self,
        table: Table,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let Self {
            channel,
            tables,
            keys,
            ends,
            ..
        } = self;
        let table = &tables[table.0 as usize];
        let request = channel.request();
        request.clear();
        let mut start = 0;
        for &end in &*ends {
            table.ask_for(request, &keys[start..end as usize], fields);
            start = end as usize;
        }
        let cells = match fields {
            Fields::One(_) => 1,
            _ => table.fields.len(),
        };
        self.exchange().await?;
        let (keys, ends) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.ends));
        let (mut seen, mut start, mut failed) = (0, 0, None);
        for &end in &ends {
            let key = &keys[start..end as usize];
            start = end as usize;
            match self.record((fields == Fields::All).then_some(key), cells).await {
                Ok(true) => {
                    seen += 1;
                    each(&self.row);
                }
                Ok(false) => {} // deleted since
                Err(error) if error.connection_lost => return Err(error),
                Err(error) => failed = Some(error), // the other answers still come
            }
        }
        (self.keys, self.ends) = (keys, ends);
        failed.map_or(Ok(seen), Err)
    }
}

fn named(command: &'static str) -> impl FnOnce(OpError) -> OpError {
    move |error| error.with_statement(command)
}

impl RecordSession for RedisSession {
    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        self.tables = tables.iter().map(Attached::new).collect();
        Ok(())
    }

    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        match self
            .ask(&[
                b"HSETNX",
                table.name.as_bytes(),
                b"key",
                table.key_column.as_bytes(),
            ])
            .await?
        {
            1 => Ok(()),
            _ => {
                let what = format!("the table {} exists", table.name);
                Err(OpError::fail(FailClass::Refused, "EXISTS", what))
            }
        }
    }

    /// A few records at a time, so that the server answers others meanwhile.
    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        let (sha, at) = (self.drop, Attached::new(table));
        while self
            .ask(&[b"EVALSHA", &sha, b"2", &at.name, &at.index, b"1000"])
            .await
            .map_err(named("EVALSHA drop"))?
            > 0
        {}
        Ok(())
    }

    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError> {
        Ok(self.ask(&[b"EXISTS", table.name.as_bytes()]).await? > 0)
    }

    #[inline]
    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        let Self { channel, tables, .. } = self;
        let attached = &tables[table.0 as usize];
        let cells = match fields {
            Fields::One(_) => 1,
            _ => attached.fields.len(),
        };
        let request = channel.request();
        request.clear();
        attached.ask_for(request, key, fields);
        self.exchange().await?;
        if !self.record((fields == Fields::All).then_some(key), cells).await? {
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
        let Self { channel, tables, .. } = self;
        let attached = &tables[table.0 as usize];
        let request = channel.request();
        request.clear();
        parts(request, 2 + 2 * values.len());
        part(request, &[b"HSET"]);
        part(request, &[&attached.prefix, key]);
        for value in values {
            request.extend_from_slice(&attached.each[value.field as usize]);
            part(request, &[value.value]);
        }
        self.exchange().await?;
        match self.number().await.map_err(named("HSET"))? {
            0 => Ok(Some(1)),
            _ => {
                self.undo_update(table, key, values).await?;
                self.refuse_without(table).await?;
                Ok(Some(0))
            }
        }
    }

    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        let Self {
            channel,
            tables,
            delete,
            ..
        } = self;
        let attached = &tables[table.0 as usize];
        let request = channel.request();
        request.clear();
        command(
            request,
            &[b"EVALSHA", delete, b"2", &attached.name, &attached.index, key],
        );
        self.exchange().await?;
        let deleted = self.number().await.map_err(named("EVALSHA delete"))?;
        Ok(Some(deleted as u64))
    }

    async fn scan(
        &mut self,
        table: Table,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let (mut left, mut seen) = (limit.unwrap_or(u32::MAX), 0);
        let mut wanted = left.min(SCAN_KEYS_MAX);
        let mut found = self.find(table, start, false, wanted).await?;
        if found == 0 {
            self.refuse_without(table).await?;
        }
        while found > 0 {
            seen += self.read_found(table, fields, each).await?;
            left -= found as u32;
            if left == 0 || found < wanted as usize {
                break;
            }
            wanted = left.min(SCAN_KEYS_MAX);
            let start = self.ends.iter().rev().nth(1).map_or(0, |end| *end as usize);
            let last = self.keys[start..].to_vec();
            found = self.find(table, &last, true, wanted).await?;
        }
        Ok(seen)
    }

    /// Any of the records may be stored after an error, but those of one script only together.
    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        let mut stored = 0;
        for records in records.chunks(BATCH_RECORDS_MAX) {
            stored += self.store(table, records).await?;
        }
        Ok(stored)
    }

    async fn count(&mut self, table: Table) -> Result<u64, OpError> {
        let Self { channel, tables, .. } = self;
        let request = channel.request();
        request.clear();
        command(request, &[b"ZCARD", &tables[table.0 as usize].index]);
        self.exchange().await?;
        let count = self.number().await?;
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
        let Self { channel, tables, .. } = self;
        let attached = &tables[table.0 as usize];
        let request = channel.request();
        request.clear();
        parts(request, 2 + values.len());
        part(request, &[b"HDEL"]);
        part(request, &[&attached.prefix, key]);
        for value in values {
            request.extend_from_slice(&attached.each[value.field as usize]);
        }
        self.exchange().await?;
        self.number().await.map_err(named("HDEL")).map(drop)
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
