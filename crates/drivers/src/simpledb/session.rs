//! Records as items. Per operation nothing is allocated: parameters are written into the connection's buffer, and answers are
//! read where they were received.
use super::calls::{Calls, NO_DOMAIN, is_unmet};
use super::parameters::{
    Attached, MARK, begin_select, by_digits, escaped, push_attributes, push_number, push_record,
};
use super::xml::element;
use crate::server::errors::malformed;
use crate::server::http::escape;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec};
use bakeoff_model::row::RowBuf;
use bakeoff_model::transaction::Transactional;
use bakeoff_model::value::Value;
use std::hash::{BuildHasher, Hasher, RandomState};

/// As the control plane has it: the attribute of the item MARK.
const MADE: &[u8] = b"made";
const IF_THERE: &[u8] = b"&Expected.1.Name=%23&Expected.1.Value=1";
const IF_NOT_THERE: &[u8] = b"&Expected.1.Exists=false&Expected.1.Name=%23";
/// Of an item, the one above among them.
const ATTRIBUTES_MAX: usize = 256;
/// Of one BatchPutAttributes: items, and bytes of values, which are longer as parameters; a request has at most 1 MB.
const BATCH_ITEMS_MAX: usize = 25;
const BATCH_BYTES_MAX: usize = 256 << 10;
/// Items of one answer to a Select.
const PAGE_ITEMS_MAX: u32 = 2500;

pub struct SimpledbSession {
    calls: Calls,
    consistent: bool,
    emulator: bool,
    tables: Vec<Attached>,
    row: RowBuf,
    /// Values of a row, and of each field where it is among them.
    text: Vec<u8>,
    places: Vec<Option<(usize, usize)>>,
    /// Of an item that a scan found.
    key: Vec<u8>,
    select: Vec<u8>,
    /// Where a result goes on.
    next: Vec<u8>,
}

/// A row of the attributes in an answer, or in a part of it. False: there are none.
#[inline]
fn fill(
    row: &mut RowBuf,
    text: &mut Vec<u8>,
    places: &mut Vec<Option<(usize, usize)>>,
    table: &Attached,
    key: &[u8],
    fields: Fields,
    mut xml: &[u8],
) -> Result<bool, OpError> {
    let mut any = false;
    text.clear();
    places.clear();
    places.resize(table.fields.len(), None);
    while let Some(attribute) = element(xml, "Attribute") {
        xml = attribute.rest;
        any = true;
        let start = text.len();
        let name = element(attribute.inside, "Name").filter(|name| name.text(text));
        let name = name.ok_or_else(|| malformed("an attribute without a name"))?;
        let field = table.fields.iter().position(|field| field.name == text[start..]);
        text.truncate(start);
        let Some(field) = field else {
            continue;
        };
        let value = element(name.rest, "Value").filter(|value| value.text(text));
        value.ok_or_else(|| malformed("an attribute without a value"))?;
        places[field] = Some((start, text.len()));
    }
    row.clear();
    if fields == Fields::All {
        row.push(Value::Text(key));
    }
    for place in &places[table.selected(fields)] {
        row.push(place.map_or(Value::Null, |(start, end)| Value::Text(&text[start..end])));
    }
    Ok(any)
}

/// One that no other domain has.
fn new_mark() -> String {
    let [one, other] = [RandomState::new(), RandomState::new()].map(|state| state.build_hasher().finish());
    format!("{one:016x}{other:016x}")
}

impl SimpledbSession {
    pub fn new(calls: Calls, consistent: bool, emulator: bool) -> Self {
        Self {
            calls,
            consistent,
            emulator,
            tables: vec![],
            row: RowBuf::default(),
            text: vec![],
            places: vec![],
            key: vec![],
            select: vec![],
            next: vec![],
        }
    }

    /// Rows of a write that tells: the emulator's do not.
    fn counted(&self, written: Result<(), OpError>) -> Result<Option<u64>, OpError> {
        match written {
            Ok(()) => Ok((!self.emulator).then_some(1)),
            Err(error) if is_unmet(&error) => Ok(Some(0)),
            Err(error) => Err(error),
        }
    }

    /// Whether a domain has the mark; `None`: there is no such domain.
    async fn mark_of(&mut self, table: &TableSpec) -> Result<Option<bool>, OpError> {
        let body = self.calls.begin("GetAttributes").await?;
        body.extend_from_slice(b"&ConsistentRead=true&DomainName=");
        escape(body, table.name.as_bytes());
        body.extend_from_slice(b"&ItemName=");
        escape(body, MARK);
        match self.calls.send(None).await {
            Ok(answer) => Ok(Some(element(answer, "Attribute").is_some())),
            Err(error) if error.code == NO_DOMAIN => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn put_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<(), OpError> {
        let Self { calls, tables, .. } = self;
        let table = &tables[table.0 as usize];
        let body = calls.begin("BatchPutAttributes").await?;
        body.extend_from_slice(b"&DomainName=");
        body.extend_from_slice(&table.domain);
        for number in by_digits(records.len()) {
            let record = records[number - 1];
            push_record(body, Some(number), table, record, true);
            body.extend_from_slice(b"&Item.");
            push_number(body, number);
            body.extend_from_slice(b".ItemName=");
            escape(body, record.key);
        }
        calls.send(None).await.map(|_| ())
    }
}

/// One page of a result, which goes on where `next` says.
async fn page<'a>(
    calls: &'a mut Calls,
    consistent: bool,
    select: &[u8],
    next: &[u8],
) -> Result<&'a [u8], OpError> {
    let body = calls.begin("Select").await?;
    if consistent {
        body.extend_from_slice(b"&ConsistentRead=true");
    }
    if !next.is_empty() {
        body.extend_from_slice(b"&NextToken=");
        escape(body, next);
    }
    calls.send(Some(select)).await
}

/// Ends and sends a write of one item, which may be conditional.
#[inline]
async fn write(calls: &mut Calls, domain: &[u8], condition: &[u8], key: &[u8]) -> Result<(), OpError> {
    let body = calls.body()?;
    body.extend_from_slice(b"&DomainName=");
    body.extend_from_slice(domain);
    body.extend_from_slice(condition);
    body.extend_from_slice(b"&ItemName=");
    escape(body, key);
    calls.send(None).await.map(|_| ())
}

/// Whether a result goes on, and where. `text` is overwritten. Errors: where it went on before, which would have no end.
fn next_page(answer: &[u8], next: &mut Vec<u8>, text: &mut Vec<u8>) -> Result<bool, OpError> {
    text.clear();
    let goes_on = element(answer, "NextToken").is_some_and(|token| token.text(text) && !text.is_empty());
    if goes_on && text == next {
        return Err(malformed("a result that goes on where it did before"));
    }
    std::mem::swap(next, text);
    Ok(goes_on)
}

#[cold]
fn lacks(call: &str) -> OpError {
    let what = format!("the emulator has no {call}");
    OpError::fail(FailClass::Refused, "CLIENT", what).with_statement(call)
}

impl Transactional for SimpledbSession {}

impl RecordSession for SimpledbSession {
    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        self.tables = tables.iter().map(Attached::new).collect();
        match self
            .tables
            .iter()
            .any(|table| table.fields.len() >= ATTRIBUTES_MAX)
        {
            true => Err(OpError::fail(
                FailClass::Refused,
                "CLIENT",
                format!("a record has at most {} fields", ATTRIBUTES_MAX - 1),
            )),
            false => Ok(()),
        }
    }

    async fn is_partial(&mut self) -> Result<bool, OpError> {
        Ok(self.emulator)
    }

    /// The service itself takes a domain that there is for a new one.
    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        if self.table_exists(table).await? {
            let what = format!("there is a domain {}", table.name);
            return Err(OpError::fail(FailClass::Refused, "CLIENT", what));
        }
        let domain = escaped(table.name.as_bytes());
        let body = self.calls.begin("CreateDomain").await?;
        body.extend_from_slice(b"&DomainName=");
        body.extend_from_slice(&domain);
        self.calls.send(None).await?;
        let mark = new_mark();
        let body = self.calls.begin("PutAttributes").await?;
        push_attributes(body, None, 1, true, |_| (MADE, mark.as_bytes()));
        write(&mut self.calls, &domain, b"", MARK).await
    }

    /// A domain without the mark is somebody else's.
    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        match self.mark_of(table).await? {
            None => return Ok(()),
            Some(false) => {
                let what = format!("the domain {} was not made by bakeoff", table.name);
                return Err(OpError::fail(FailClass::Refused, "CLIENT", what));
            }
            Some(true) => {}
        }
        let body = self.calls.begin("DeleteDomain").await?;
        body.extend_from_slice(b"&DomainName=");
        escape(body, table.name.as_bytes());
        self.calls.send(None).await.map(|_| ())
    }

    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError> {
        Ok(self.mark_of(table).await?.is_some())
    }

    #[inline]
    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        let Self {
            calls,
            consistent,
            tables,
            row,
            text,
            places,
            ..
        } = self;
        let table = &tables[table.0 as usize];
        let body = calls.begin("GetAttributes").await?;
        if let Fields::One(field) = fields {
            body.extend_from_slice(b"&AttributeName.1=");
            body.extend_from_slice(&table.fields[field as usize].parameter);
        }
        if *consistent {
            body.extend_from_slice(b"&ConsistentRead=true");
        }
        body.extend_from_slice(b"&DomainName=");
        body.extend_from_slice(&table.domain);
        body.extend_from_slice(b"&ItemName=");
        escape(body, key);
        let answer = calls.send(None).await?;
        let found = fill(row, text, places, table, key, fields, answer)?;
        Ok(found.then_some(&self.row))
    }

    async fn insert(&mut self, table: Table, record: Record<'_>) -> Result<Option<u64>, OpError> {
        let Self {
            calls,
            tables,
            emulator,
            ..
        } = self;
        let table = &tables[table.0 as usize];
        let condition = if *emulator { b"" } else { IF_NOT_THERE };
        push_record(
            calls.begin("PutAttributes").await?,
            None,
            table,
            record,
            *emulator,
        );
        match write(calls, &table.domain, condition, record.key).await {
            Err(mut error) if is_unmet(&error) => {
                error.outcome = Outcome::Fail(FailClass::Constraint);
                Err(error)
            }
            written => self.counted(written),
        }
    }

    #[inline]
    async fn update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError> {
        let Self {
            calls,
            tables,
            emulator,
            ..
        } = self;
        let table = &tables[table.0 as usize];
        let condition = if *emulator { b"" } else { IF_THERE };
        let body = calls.begin("PutAttributes").await?;
        push_attributes(body, None, values.len(), true, |place| {
            let value = &values[place];
            (&table.fields[value.field as usize].parameter, value.value)
        });
        let written = write(calls, &table.domain, condition, key).await;
        self.counted(written)
    }

    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        if self.emulator {
            return Err(lacks("DeleteAttributes"));
        }
        let Self { calls, tables, .. } = self;
        calls.begin("DeleteAttributes").await?;
        let domain = &tables[table.0 as usize].domain;
        let written = write(calls, domain, IF_THERE, key).await;
        self.counted(written)
    }

    async fn scan(
        &mut self,
        table: Table,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        if self.emulator {
            return Err(lacks("Select"));
        }
        let Self {
            calls,
            consistent,
            tables,
            row,
            key,
            text,
            places,
            select,
            next,
            ..
        } = self;
        let table = &tables[table.0 as usize];
        let what = match fields {
            Fields::One(field) => &table.fields[field as usize].quoted,
            _ => &b"*"[..],
        };
        begin_select(select, what, table, start);
        let limit = limit.unwrap_or(u32::MAX);
        select.extend_from_slice(b" order by itemName() limit ");
        push_number(select, limit.min(PAGE_ITEMS_MAX) as usize);
        next.clear();
        let mut seen = 0;
        while seen < limit {
            let mut answer = page(calls, *consistent, select, next).await?;
            let goes_on = next_page(answer, next, text)?;
            while let Some(item) = element(answer, "Item").filter(|_| seen < limit) {
                answer = item.rest;
                key.clear();
                let name = element(item.inside, "Name").filter(|name| name.text(key));
                let name = name.ok_or_else(|| malformed("an item without a name"))?;
                fill(row, text, places, table, key, fields, name.rest)?;
                each(row);
                seen += 1;
            }
            if !goes_on {
                break;
            }
        }
        Ok(seen.into())
    }

    /// The service has no condition on an item of a batch: one that exists is replaced. The emulator has no batches.
    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        let mut left = records;
        while !left.is_empty() {
            if self.emulator {
                self.insert(table, left[0]).await?;
                left = &left[1..];
                continue;
            }
            let mut bytes = 0;
            let fits = |record: &&Record<'_>| {
                bytes += record.bytes.len();
                bytes <= BATCH_BYTES_MAX
            };
            let some = left.iter().take(BATCH_ITEMS_MAX).take_while(fits).count().max(1);
            let (batch, rest) = left.split_at(some);
            self.put_batch(table, batch).await?;
            left = rest;
        }
        Ok(records.len() as u64)
    }

    async fn count(&mut self, table: Table) -> Result<u64, OpError> {
        if self.emulator {
            return Err(lacks("Select"));
        }
        let Self {
            calls,
            consistent,
            tables,
            text,
            select,
            next,
            ..
        } = self;
        begin_select(select, b"count(*)", &tables[table.0 as usize], b"");
        next.clear();
        let mut count = 0;
        loop {
            let answer = page(calls, *consistent, select, next).await?;
            text.clear();
            let value = element(answer, "Value").filter(|value| value.text(text));
            let counted = value.and_then(|_| std::str::from_utf8(text).ok()?.parse::<u64>().ok());
            count += counted.ok_or_else(|| malformed("it has no count"))?;
            if !next_page(answer, next, text)? {
                return Ok(count);
            }
        }
    }
}
