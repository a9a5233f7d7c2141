//! Orders as documents, each with its lines nested in it: `layout = "documents"`. Members have the names of the tables' columns,
//! and a document is judged and checked by the cells that its rows would have.
use super::Hatshop;
use super::event::{Attribute, Event, Kind, loaded_ms, put, put_hundredths, put_whole};
use super::known::Known;
use super::requests::{ORDER_MISSING, Seen, rows_found};
use super::schema::{DOCUMENTS, LINE_COLUMNS, ORDER_COLUMNS};
use super::shop::{Id, Line, Order, Shop, Status, order_bytes};
use super::thread::{Effect, Thread, Together};
use crate::faults::Found;
use crate::prelude::*;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::document::{
    Collection, CollectionSpec, DocumentSession, DocumentUse, Expect, Keyed, Patch, PathKind, PathSpec,
    Select,
};
use bakeoff_model::json::{Elements, Members, write_text};
use std::ops::Range;

const COLLECTION: Collection = Collection(0);
const LINES: &str = "line_items";
/// What an update writes, by places among the collection's paths.
const WRITTEN: [(&str, PathKind); 3] = [
    ("date_created", PathKind::Integer),
    ("order_status", PathKind::Text(20)),
    ("sub_total", PathKind::Float),
];
const LINE_MISSING: &str = "line missing, or there against all that is known";

pub fn collection() -> CollectionSpec {
    let path = |(name, kind): (&str, PathKind)| PathSpec {
        steps: vec![name.into()],
        kind,
        indexed: false,
    };
    CollectionSpec {
        name: DOCUMENTS.into(),
        key_length: 36,
        paths: WRITTEN.map(path).into(),
    }
}

pub async fn attach(session: &mut AnyDocuments) -> Result<(), OpError> {
    session.attach(&[collection()]).await
}

/// Where the collection exists.
pub async fn prepare(session: &mut AnyDocuments) -> Result<(), OpError> {
    let uses = [
        DocumentUse::Get(Select::Whole),
        DocumentUse::Put(Expect::Absent),
        DocumentUse::Put(Expect::Revision(b"")),
        DocumentUse::Patch(&[0, 1, 2]),
        DocumentUse::Delete { revision: false },
    ];
    session.prepare(COLLECTION, &uses).await
}

/// An order as it is stored.
pub fn write_order(shop: &Shop, order: &Order, date_ms: i64, out: &mut Vec<u8>) {
    put(out, &["{\"client_id\":\"", shop.client(order).id.text()]);
    put(out, &["\",\"date_created\":"]);
    put_whole(out, date_ms);
    put(
        out,
        &[
            ",\"order_status\":\"",
            Status::Ordered.name(),
            "\",\"sub_total\":",
        ],
    );
    put_hundredths(out, order.sub_total_cents);
    put(out, &[",\"", LINES, "\":["]);
    for (place, line) in order.lines.iter().enumerate() {
        put(out, &[if place > 0 { ",{" } else { "{" }]);
        write_line(shop, line, out);
    }
    put(out, &["]}"]);
}

fn write_line(shop: &Shop, line: &Line, out: &mut Vec<u8>) {
    let product = shop.product(line);
    put(out, &["\"line_item_id\":\"", line.id.text()]);
    put(out, &["\",\"product_id\":\"", product.id.text()]);
    put(
        out,
        &["\",\"colour\":\"", product.colour, "\",\"size\":\"", product.size],
    );
    put(out, &["\",\"quantity\":"]);
    put_whole(out, line.quantity.into());
    put(out, &[",\"line_price\":"]);
    put_hundredths(out, line.price_cents);
    put(out, &["}"]);
}

/// The cells of an order's row, by [`ORDER_COLUMNS`], and the text of its lines.
pub fn order_cells<'a>(
    key: &'a [u8],
    json: &'a [u8],
) -> ([Option<Value<'a>>; ORDER_COLUMNS.len()], &'a [u8]) {
    let mut lines: &[u8] = b"";
    let mut cells = members(json, &ORDER_COLUMNS, |name, value| {
        if name == LINES.as_bytes() {
            lines = value;
        }
    });
    cells[0] = Some(Value::Text(key));
    (cells, lines)
}

/// The cells of each line's row, by [`LINE_COLUMNS`].
pub fn each_line<'a>(
    key: &'a [u8],
    lines: &'a [u8],
    mut each: impl FnMut(&[Option<Value<'a>>; LINE_COLUMNS.len()]),
) {
    for line in Elements::of(lines) {
        let mut cells = members(line, &LINE_COLUMNS, |_, _| {});
        cells[0] = Some(Value::Text(key));
        each(&cells);
    }
}

fn members<'a, const N: usize>(
    json: &'a [u8],
    names: &[&str; N],
    mut others: impl FnMut(&'a [u8], &'a [u8]),
) -> [Option<Value<'a>>; N] {
    let mut cells = [None; N];
    for (name, value) in Members::of(json) {
        match names.iter().position(|known| known.as_bytes() == name) {
            Some(place) => cells[place] = cell(value),
            None => others(name, value),
        }
    }
    cells
}

/// What we write has nothing to escape, so a text that has is another one.
fn cell(json: &[u8]) -> Option<Value<'_>> {
    if let Some(text) = json.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")) {
        return Some(Value::Text(text));
    }
    let number = std::str::from_utf8(json).ok()?;
    match number.parse() {
        Ok(whole) => Some(Value::Int(whole)),
        Err(_) => number.parse().ok().map(Value::Float),
    }
}

/// Where the value of one attribute of one line lies in a document.
fn attribute_at(json: &[u8], line_id: &[u8], attribute: Attribute) -> Option<Range<usize>> {
    let (_, lines) = order_cells(b"", json);
    let is_it = |line: &&[u8]| {
        let id = Members::of(line).find(|(name, _)| *name == b"line_item_id");
        id.and_then(|(_, value)| cell(value)).and_then(Value::bytes) == Some(line_id)
    };
    let line = Elements::of(lines).find(is_it)?;
    let column = Attribute::COLUMNS[attribute.column()].as_bytes();
    let (_, value) = Members::of(line).find(|(name, _)| *name == column)?;
    let start = value.as_ptr().addr() - json.as_ptr().addr();
    Some(start..start + value.len())
}

impl Hatshop {
    /// One attempt at the event drawn last.
    pub(super) async fn carry_out_on_documents(
        &self,
        thread: &mut Thread,
        known: Known,
        session: &mut AnyDocuments,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        match thread.event.kind {
            Kind::Create => self.create_document(thread, session, queries).await,
            Kind::Read => {
                queries.read += 1;
                let seen = look_up(&thread.event.order, known, session).await?;
                Ok(seen.judged(&thread.event.order, known))
            }
            Kind::Update => update(thread, known, session, queries).await,
            Kind::UpdateAttribute => update_attribute(thread, known, session, queries).await,
            Kind::Delete => {
                queries.write += 1;
                let deleted = session.delete(COLLECTION, &thread.event.order.id.0, None).await?;
                thread.effect.orders = deleted.or(known.there.orders());
                Ok(rows_found(deleted, 1, known, ORDER_MISSING))
            }
        }
    }

    async fn create_document(
        &self,
        thread: &mut Thread,
        session: &mut AnyDocuments,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let Thread { event, together, .. } = thread;
        let (order, document) = (&event.order, &mut together.document);
        document.clear();
        write_order(&self.shop, order, event.date_ms(), document);
        let keyed = Keyed {
            key: &order.id.0,
            json: document,
        };
        let stored = session.put(COLLECTION, keyed, Expect::Absent).await?;
        queries.write += 1;
        thread.effect = Effect::created(&self.shop, order);
        let mut found = Found::RIGHT;
        found.check(stored.is_none_or(|documents| documents == 1), "order not stored");
        Ok(found)
    }

    /// Orders of these numbers, in one batch. Returns orders stored.
    pub(super) async fn load_documents(
        &self,
        session: &mut AnyDocuments,
        numbers: Range<u64>,
    ) -> Result<u64, OpError> {
        let (mut json, mut order) = (vec![], self.shop.empty_order());
        let mut written = Vec::with_capacity((numbers.end - numbers.start) as usize);
        for number in numbers {
            self.shop.order(number, &mut order);
            let start = json.len();
            write_order(&self.shop, &order, loaded_ms(number, self.spec.orders), &mut json);
            written.push((order.id, start..json.len()));
        }
        let keyed = written.iter().map(|(id, place): &(Id, Range<usize>)| Keyed {
            key: &id.0,
            json: &json[place.clone()],
        });
        let documents: Vec<Keyed<'_>> = keyed.collect();
        session.put_batch(COLLECTION, &documents).await
    }

    /// Every document, by its key and its text.
    pub(super) async fn each_document(
        &self,
        session: &mut AnyDocuments,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64, OpError> {
        let mut each = |found: &bakeoff_model::document::Found| each(&found.key, &found.json);
        session
            .range(COLLECTION, b"", None, Select::Whole, &mut each)
            .await
    }
}

/// Looks for an order.
pub async fn look_up(order: &Order, known: Known, session: &mut AnyDocuments) -> Result<Seen, OpError> {
    let mut seen = Seen::default();
    let key = &order.id.0;
    if let Some(found) = session.get(COLLECTION, key, Select::Whole).await? {
        let (cells, lines) = order_cells(key, &found.json);
        seen.order(|place| cells[place], known);
        each_line(key, lines, |cells| seen.line(|place| cells[place]));
    }
    Ok(seen)
}

async fn update(
    thread: &mut Thread,
    known: Known,
    session: &mut AnyDocuments,
    queries: &mut Queries,
) -> Result<Found, OpError> {
    let event = &thread.event;
    let values = [
        Value::Int(event.date_ms()),
        Value::Text(event.status.name().as_bytes()),
        Value::Float(event.order.sub_total_cents as f64 / 100.0),
    ];
    let patch: [Patch<'_>; 3] = std::array::from_fn(|place| Patch {
        path: place as u32,
        value: values[place],
    });
    let found = session.patch(COLLECTION, &event.order.id.0, &patch).await?;
    queries.write += 1;
    thread.effect.bytes = order_bytes(event.status);
    Ok(rows_found(found, 1, known, ORDER_MISSING))
}

/// No path leads into an array, so the document is read, and written back at its revision.
async fn update_attribute(
    thread: &mut Thread,
    known: Known,
    session: &mut AnyDocuments,
    queries: &mut Queries,
) -> Result<Found, OpError> {
    let Thread {
        event,
        together,
        effect,
        ..
    } = thread;
    let Event { order, attribute, .. } = &*event;
    queries.read += 1;
    let Some(found) = session.get(COLLECTION, &order.id.0, Select::Whole).await? else {
        return Ok(rows_found(Some(0), 1, known, LINE_MISSING));
    };
    let Together {
        document, revision, ..
    } = together;
    document.clear();
    revision.clear();
    let Some(place) = attribute_at(&found.json, &event.line_id().0, *attribute) else {
        return Ok(rows_found(Some(0), 1, known, LINE_MISSING));
    };
    document.extend_from_slice(&found.json[..place.start]);
    effect.bytes = match attribute {
        Attribute::Colour(text) | Attribute::Size(text) => {
            write_text(text.as_bytes(), document);
            text.len() as u64
        }
        Attribute::Quantity(number) => {
            put_whole(document, i64::from(*number));
            4
        }
    };
    document.extend_from_slice(&found.json[place.end..]);
    revision.extend_from_slice(&found.revision);
    let keyed = Keyed {
        key: &order.id.0,
        json: document,
    };
    queries.write += 1;
    let stored = session.put(COLLECTION, keyed, Expect::Revision(revision)).await?;
    Ok(rows_found(stored, 1, known, LINE_MISSING))
}
