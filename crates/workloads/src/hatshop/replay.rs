//! A list that was written to a file, and is carried out as it stands there. All of it is read and checked when a plan is
//! read, and again before a run: it may have been changed since.
//!
//! What an event says is turned into an event of ours and written again: only a line that is then the same byte by byte is
//! taken. So prices, sums and dates need no rules of their own here.
use super::event::{Attribute, Event, Kind};
use super::known::Known;
use super::list::Step;
use super::shop::{COLOURS, Id, Line, Order, SIZES, Shop, Status};
use crate::trouble::refuse;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::hatshop::{EventsFile, HatshopSpec};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

/// No event is as long, one of 50 lines included. What has no end of a line is not read into memory to find it.
const LINE_MAX_BYTES: u64 = 1 << 16;

const WRITE_ANEW: &str = "regenerate the file with `bakeoff workloads hatshop --write FILE`";
const AS_WRITTEN: &str =
    "say `orders`, `lines_max`, `products`, `clients` and `orders_seed` as they were when it was written";

/// How many events a file has, and the SHA-256 of it; each is checked, at about 3 us. Takes the memory of the
/// orders that exist at one time.
pub fn check(file: &EventsFile, shop: &Shop, spec: &HatshopSpec) -> Result<(u64, String), Trouble> {
    let mut events = 0;
    let sha256 = each_event(file, shop, spec, |_| events += 1)?;
    if events == 0 {
        let what = format!("{} is empty: there is no event in it", file.name);
        return Err(refuse("events_file", what, WRITE_ANEW));
    }
    Ok((events, sha256))
}

/// The file's SHA-256, when all its events were correct and handed on. If the plan means another file, the error says so,
/// and not what is wrong with the lines.
fn each_event(
    file: &EventsFile,
    shop: &Shop,
    spec: &HatshopSpec,
    mut each: impl FnMut(Event),
) -> Result<String, Trouble> {
    let (mut reader, mut hash, mut bad) = (Reader::new(shop, spec), Sha256::new(), Ok(()));
    for (number, line) in (1..).zip(lines(file)?) {
        let line = line?;
        hash.update(&line);
        hash.update(b"\n");
        if bad.is_ok() {
            bad = reader
                .event(&line)
                .map(&mut each)
                .map_err(|(why, hint)| wrong(file, number, &why, hint));
        }
        if bad.is_err() && spec.events_sha256.is_none() {
            break;
        }
    }
    let sha256 = hexadecimal(&hash.finalize());
    if bad.is_ok() || spec.events_sha256.is_some() {
        check_hash(file, spec, &sha256)?;
    }
    bad.map(|()| sha256)
}

/// Without their ends. Only of a regular file: a device may never end, and a pipe gives what it has once.
fn lines(file: &EventsFile) -> Result<impl Iterator<Item = Result<Vec<u8>, Trouble>>, Trouble> {
    let kind = std::fs::metadata(&file.path).map_err(|error| unreadable(file, &error))?;
    if !kind.is_file() {
        let what = format!("{} is no regular file", file.name);
        return Err(refuse("events_file", what, WRITE_ANEW));
    }
    let opened = std::fs::File::open(&file.path).map_err(|error| unreadable(file, &error))?;
    let (mut reader, mut number) = (BufReader::with_capacity(1 << 16, opened), 0);
    Ok(std::iter::from_fn(move || {
        number += 1;
        let mut line = vec![];
        let mut bounded = reader.by_ref().take(LINE_MAX_BYTES);
        match bounded.read_until(b'\n', &mut line) {
            Err(error) => return Some(Err(unreadable(file, &error))),
            Ok(0) => return None,
            Ok(_) => {}
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() as u64 == LINE_MAX_BYTES {
            let why = format!("it has {LINE_MAX_BYTES} bytes or more, and no event has as many");
            return Some(Err(wrong(file, number, &why, WRITE_ANEW)));
        }
        Some(Ok(line))
    }))
}

fn wrong(file: &EventsFile, number: u64, why: &str, hint: &str) -> Trouble {
    refuse(
        "events_file",
        format!("{}, line {number}: {why}", file.name),
        hint,
    )
}

fn unreadable(file: &EventsFile, error: &io::Error) -> Trouble {
    let hint = "it is relative to the plan's folder; `bakeoff workloads hatshop --write FILE` makes one";
    refuse(
        "events_file",
        format!("{} cannot be read: {error}", file.name),
        hint,
    )
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file that has changed since its hash was taken is another list.
fn check_hash(file: &EventsFile, spec: &HatshopSpec, sha256: &str) -> Result<(), Trouble> {
    match &spec.events_sha256 {
        Some(expected) if !expected.eq_ignore_ascii_case(sha256) => {
            let what = format!(
                "{} is another list: its SHA-256 is {sha256}, and not {expected}",
                file.name
            );
            let hint =
                "regenerate it with `bakeoff workloads hatshop --write FILE`, or leave out `events_sha256`";
            Err(refuse("events_file", what, hint))
        }
        _ => Ok(()),
    }
}

#[derive(Clone, Copy, Debug)]
struct Written {
    kind: Kind,
    order: u64,
    status: Status,
    line: usize,
    attribute: Attribute,
}

#[derive(Debug)]
pub struct Replay {
    events: Vec<Written>,
    /// Those that events make, in their order.
    orders: Vec<Order>,
    loaded: u64,
    /// Of all clients.
    users: u64,
    /// By user, the place of its first event, and by event that of its user's next one; [`u32::MAX`]: there is none.
    first: Vec<u32>,
    next: Vec<u32>,
    pub sha256: String,
}

impl Replay {
    pub fn read(file: &EventsFile, shop: &Shop, spec: &HatshopSpec, users: u64) -> Result<Self, Trouble> {
        let mut replay = Self {
            events: vec![],
            orders: vec![],
            loaded: spec.orders,
            users,
            first: vec![u32::MAX; users as usize],
            next: vec![],
            sha256: String::new(),
        };
        replay.sha256 = each_event(file, shop, spec, |event| replay.keep(event))?;
        replay.next = vec![u32::MAX; replay.events.len()];
        for (place, written) in replay.events.iter().enumerate().rev() {
            let first = &mut replay.first[(written.order % users) as usize];
            replay.next[place] = std::mem::replace(first, place as u32);
        }
        Ok(replay)
    }

    fn keep(&mut self, event: Event) {
        self.events.push(Written {
            kind: event.kind,
            order: event.order.number,
            status: event.status,
            line: event.line,
            attribute: event.attribute,
        });
        if event.kind == Kind::Create {
            self.orders.push(event.order);
        }
    }

    pub fn len(&self) -> u64 {
        self.events.len() as u64
    }

    fn order(&self, shop: &Shop, number: u64, order: &mut Order) {
        match number
            .checked_sub(self.loaded)
            .and_then(|place| self.orders.get(place as usize))
        {
            Some(made) => order.clone_from(made),
            None => shop.order(number, order),
        }
    }

    /// By user, how many of the first `events` are its own.
    pub fn shares(&self, users: u64, events: u64) -> Vec<u64> {
        let mut shares = vec![0; users as usize];
        for event in self.events.iter().take(events as usize) {
            shares[(event.order % users) as usize] += 1;
        }
        shares
    }
}

/// One user's way through the file.
#[derive(Debug)]
pub struct Reading {
    replay: Arc<Replay>,
    /// Of its next event.
    place: usize,
    /// Of the user's own orders, by their number among these.
    known: Vec<Known>,
}

impl Reading {
    pub fn new(replay: Arc<Replay>, user: u64) -> Self {
        let all = replay.loaded + replay.orders.len() as u64;
        let own = (user..all).step_by(replay.users as usize);
        let known = own.map(|order| match order < replay.loaded {
            true => Known::LOADED,
            false => Known::UNKNOWN,
        });
        Self {
            known: known.collect(),
            place: replay.first[user as usize] as usize,
            replay,
        }
    }

    /// The user's next event; `None`: the file has no further one.
    pub fn own(&mut self, shop: &Shop, event: &mut Event) -> Option<Step> {
        let place = self.place;
        let written = *self.replay.events.get(place)?;
        self.place = self.replay.next[place] as usize;
        event.kind = written.kind;
        event.place = place as u64;
        (event.status, event.line, event.attribute) = (written.status, written.line, written.attribute);
        self.replay.order(shop, written.order, &mut event.order);
        let known = self.known.get(self.index(written.order)).copied();
        let known = known.unwrap_or(Known::UNKNOWN);
        Some(Step::of(written.kind, place as u64, written.order, known))
    }

    pub fn learn(&mut self, step: &Step, known: Known) {
        let index = self.index(step.order);
        if let Some(place) = self.known.get_mut(index) {
            *place = known;
        }
    }

    fn index(&self, order: u64) -> usize {
        (order / self.replay.users) as usize
    }
}

/// An existing order.
enum There {
    /// By its number.
    Loaded(u64),
    Made(Order),
}

/// Reads one line after the other.
struct Reader<'a> {
    shop: &'a Shop,
    /// Existing orders.
    there: HashMap<Id, There>,
    products: HashMap<Id, u32>,
    clients: HashMap<Id, u32>,
    events: u64,
    /// Loaded and made, whether they are still there or not.
    orders: u64,
    lines_max: usize,
    text: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn new(shop: &'a Shop, spec: &HatshopSpec) -> Self {
        let loaded = spec.orders;
        let (mut there, mut order) = (HashMap::new(), shop.empty_order());
        for number in 0..loaded {
            shop.order(number, &mut order);
            there.insert(order.id, There::Loaded(number));
        }
        Self {
            there,
            products: (0..)
                .zip(&shop.products)
                .map(|(n, product)| (product.id, n))
                .collect(),
            clients: (0..)
                .zip(&shop.clients)
                .map(|(n, client)| (client.id, n))
                .collect(),
            shop,
            events: 0,
            orders: loaded,
            lines_max: spec.lines_max as usize,
            text: vec![],
        }
    }

    /// The line's event, or what is wrong with it and what to do.
    fn event(&mut self, line: &[u8]) -> Result<Event, (String, &'static str)> {
        let (kind, json) = parsed(line).map_err(|why| (why, WRITE_ANEW))?;
        let event = self.read(line, kind, &json["data"]);
        let event = event.map_err(|why| (why, AS_WRITTEN))?;
        self.follow(&event);
        Ok(event)
    }

    fn read(&mut self, line: &[u8], kind: Kind, data: &Value) -> Result<Event, String> {
        let mut event = Event::empty(self.shop);
        event.kind = kind;
        event.place = self.events;
        if kind == Kind::Create {
            event.order = self.new_order(data)?;
        } else {
            let id = id(&data["id"]).ok_or("`id` is no UUID")?;
            match self.there.get(&id) {
                Some(There::Loaded(number)) => self.shop.order(*number, &mut event.order),
                Some(There::Made(order)) => event.order.clone_from(order),
                None => {
                    let id = id.text();
                    return Err(format!(
                        "order {id} is neither loaded nor made by an event before, or is deleted"
                    ));
                }
            }
        }
        match kind {
            Kind::Update => {
                let status = Status::LATER
                    .into_iter()
                    .find(|status| data["status"] == status.name());
                event.status = status.ok_or("there is no such status")?;
            }
            Kind::UpdateAttribute => {
                let line = id(&data["lineItemId"]);
                let place = event.order.lines.iter().position(|own| Some(own.id) == line);
                event.line = place.ok_or("the order has no such line")?;
                event.attribute = attribute(data).ok_or("there is no such field or value")?;
            }
            Kind::Create | Kind::Read | Kind::Delete => {}
        }
        self.text.clear();
        event.write_json(self.shop, &mut self.text);
        if self.text.strip_suffix(b"\n") != Some(line) {
            return Err(format!(
                "it does not add up, or is written otherwise than: {}",
                String::from_utf8_lossy(&self.text).trim_end()
            ));
        }
        Ok(event)
    }

    fn new_order(&self, data: &Value) -> Result<Order, String> {
        let line = |json: &Value| {
            let product = id(&json["product"]["id"]).and_then(|id| self.products.get(&id).copied())?;
            let quantity = json["quantity"]
                .as_u64()
                .and_then(|number| u32::try_from(number).ok())?;
            Some(Line {
                id: id(&json["id"])?,
                product,
                quantity,
                price_cents: self.shop.products[product as usize].price_cents * i64::from(quantity),
            })
        };
        let lines = data["lineItems"]
            .as_array()
            .map(|lines| lines.iter().map(line).collect::<Option<Vec<Line>>>());
        let lines = lines
            .flatten()
            .ok_or("a line has no id, quantity or product of the catalogue")?;
        if lines.is_empty() || lines.len() > self.lines_max {
            return Err(format!(
                "an order has {} lines, and `lines_max` is {}",
                lines.len(),
                self.lines_max
            ));
        }
        let client = id(&data["client"]["id"]).and_then(|id| self.clients.get(&id).copied());
        let id = id(&data["id"]).filter(|id| !self.there.contains_key(id));
        Ok(Order {
            number: self.orders,
            id: id.ok_or("`id` is not a UUID, or belongs to an existing order")?,
            client: client.ok_or("there is no such client")?,
            sub_total_cents: lines.iter().map(|line| line.price_cents).sum(),
            lines,
        })
    }

    /// Applies the event to the existing orders.
    fn follow(&mut self, event: &Event) {
        self.events += 1;
        match event.kind {
            Kind::Create => {
                self.orders += 1;
                self.there
                    .insert(event.order.id, There::Made(event.order.clone()));
            }
            Kind::Delete => drop(self.there.remove(&event.order.id)),
            Kind::Read | Kind::Update | Kind::UpdateAttribute => {}
        }
    }
}

/// A line as the JSON that it is to be, and the kind of its event.
fn parsed(line: &[u8]) -> Result<(Kind, Value), String> {
    if line.ends_with(b"\r") {
        return Err(
            "it ends with a carriage return and a line feed; lines of events end with a line feed alone"
                .into(),
        );
    }
    let json: Value = serde_json::from_slice(line).map_err(|error| match error.is_eof() {
        true => "it is empty or cut off: its JSON does not end".to_owned(),
        false => format!("it is no JSON, from its byte {} on", error.column()),
    })?;
    let word = json["type"].as_str().unwrap_or_default();
    let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word);
    let words = Kind::ALL.map(Kind::word).join(", ");
    Ok((
        kind.ok_or_else(|| format!("its `type` is {word:?}, and none of {words}"))?,
        json,
    ))
}

fn id(json: &Value) -> Option<Id> {
    json.as_str()?.as_bytes().try_into().ok().map(Id)
}

fn attribute(data: &Value) -> Option<Attribute> {
    let value = &data["value"];
    let word = |of: &'static [&'static str]| of.iter().copied().find(|word| value == word);
    match data["field"].as_str()? {
        "colour" => word(&COLOURS).map(Attribute::Colour),
        "size" => word(&SIZES).map(Attribute::Size),
        "quantity" => Some(Attribute::Quantity(u32::try_from(value.as_u64()?).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_list_is_refused_in_words_and_read_no_further() {
        let spec = HatshopSpec::default();
        let path = std::env::temp_dir().join(format!("bakeoff-no-events-{}", std::process::id()));
        let refused = |path: &std::path::Path| {
            let file = EventsFile {
                name: "events".into(),
                path: path.to_string_lossy().into(),
            };
            check(&file, &Shop::new(&spec, 1), &spec).unwrap_err().what
        };
        assert_eq!(refused("/dev/zero".as_ref()), "events is no regular file");
        assert_eq!(refused(&std::env::temp_dir()), "events is no regular file");
        let file = std::fs::File::create(&path).unwrap();
        assert_eq!(refused(&path), "events is empty: there is no event in it");
        file.set_len(1 << 40).unwrap(); // of zeros, none of which is stored
        let too_long = "events, line 1: it has 65536 bytes or more, and no event has as many";
        assert_eq!(refused(&path), too_long);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_keeps_a_line_from_being_an_event_is_reported() {
        let read = r#"{"type":"READ","data":{}}"#;
        assert_eq!(parsed(read.as_bytes()).unwrap().0, Kind::Read);
        for (line, why) in [
            ("", "it is empty or cut off: its JSON does not end"),
            (&read[..12], "it is empty or cut off: its JSON does not end"),
            ("nonsense", "it is no JSON, from its byte 2 on"),
            (
                &format!("{read}\r"),
                "it ends with a carriage return and a line feed; lines of events end with a line feed alone",
            ),
            (
                r#"{"type":"MOVE"}"#,
                "its `type` is \"MOVE\", and none of CREATE, READ, UPDATE, UPDATE_ATTRIBUTE, DELETE",
            ),
        ] {
            assert_eq!(parsed(line.as_bytes()).unwrap_err(), why);
        }
    }
}
