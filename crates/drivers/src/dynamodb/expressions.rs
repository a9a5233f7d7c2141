//! What is asked of a table, as parts of a request: names, values, and expressions of them. Names of members may be words that
//! DynamoDB reserves, so each has a substitute: `#p2x0` is the first step of the collection's path 2.
//!
//! Source: Amazon DynamoDB Developer Guide, "Using expressions in DynamoDB", "Expression attribute names".
use super::errors::client;
use super::typed;
use bakeoff_model::document::{CollectionSpec, Condition, Is, Patch, PathKind, PathSpec, Select};
use bakeoff_model::outcome::OpError;
use bakeoff_model::value::Value;

/// A collection as one session knows it.
pub struct Attached {
    /// `"name"`
    pub name: Vec<u8>,
    pub paths: Vec<Path>,
}

pub struct Path {
    pub steps: Vec<String>,
    pub kind: PathKind,
    /// `#p2x0.#p2x1`
    place: Vec<u8>,
    /// `"#p2x0":"address","#p2x1":"city"`
    names: Vec<u8>,
    pub index: Option<Index>,
}

/// A global secondary index, whose key is a copy of the path's value: the path may lead deeper than an index can, and a document
/// whose value is of another type is not refused.
pub struct Index {
    /// `#i2`
    pub attribute: Vec<u8>,
    /// `"by-address.city"`
    pub name: Vec<u8>,
}

impl Attached {
    pub fn new(collection: &CollectionSpec) -> Self {
        let paths = collection.paths.iter().enumerate();
        Self {
            name: format!("\"{}\"", collection.name).into_bytes(),
            paths: paths.map(|(place, path)| Path::new(place, path)).collect(),
        }
    }

    /// Paths that have an index, by their places.
    pub fn indexes(&self) -> impl Iterator<Item = (&Path, &Index)> {
        self.paths
            .iter()
            .filter_map(|path| Some((path, path.index.as_ref()?)))
    }
}

impl Path {
    fn new(place: usize, path: &PathSpec) -> Self {
        let steps = || path.steps.iter().enumerate();
        let substitutes: Vec<String> = steps().map(|(step, _)| format!("#p{place}x{step}")).collect();
        let names: Vec<String> = steps()
            .map(|(step, name)| format!("\"{}\":\"{name}\"", substitutes[step]))
            .collect();
        Self {
            steps: path.steps.clone(),
            kind: path.kind,
            place: substitutes.join(".").into_bytes(),
            names: names.join(",").into_bytes(),
            index: path.indexed.then(|| Index {
                attribute: format!("#i{place}").into_bytes(),
                name: format!("\"by-{}\"", path.steps.join(".")).into_bytes(),
            }),
        }
    }
}

/// The letter of an index's type. Refused: DynamoDB has indexes of texts and numbers alone.
pub fn index_type(path: &Path) -> Result<&'static str, OpError> {
    match path.kind {
        PathKind::Text(_) => Ok("S"),
        PathKind::Integer | PathKind::Float => Ok("N"),
        PathKind::Bool | PathKind::Texts(_) => Err(client(&format!(
            "an index on `{}`: DynamoDB has indexes on texts and numbers alone",
            path.steps.join(".")
        ))),
    }
}

/// Appends `,"#i2":VALUE`, if an index can keep it.
#[inline]
pub fn index_entry(out: &mut Vec<u8>, path: &Path, index: &Index, plain: Option<&[u8]>) {
    let fits = match (path.kind, plain) {
        (_, None | Some(b"\"\"")) => false,
        (PathKind::Text(_), Some(plain)) => plain[0] == b'"',
        (PathKind::Integer | PathKind::Float, Some(plain)) => matches!(plain[0], b'-' | b'0'..=b'9'),
        _ => false,
    };
    if let Some(plain) = plain.filter(|_| fits) {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(&index.attribute);
        out.extend_from_slice(b"\":");
        typed::indexed(out, plain);
    }
}

/// The condition that an index answers: the first that compares with a text or a number for equality.
#[inline]
pub fn by_index<'c>(conditions: &[Condition<'_>], collection: &'c Attached) -> Option<(usize, &'c Index)> {
    conditions.iter().enumerate().find_map(|(place, condition)| {
        let index = collection.paths[condition.path as usize].index.as_ref()?;
        let has = condition.is == Is::Equal && !matches!(condition.value, Value::Null | Value::Text(b""));
        has.then_some((place, index))
    })
}

/// The parts of a Query or a Scan that depend on what is looked for, each behind a comma. `by`: the condition that an index answers.
pub fn looked_for(
    out: &mut Vec<u8>,
    collection: &Attached,
    conditions: &[Condition<'_>],
    by: Option<(usize, &Index)>,
    select: Option<Select<'_>>,
) {
    let is_filter = |place: usize| by.is_none_or(|(by, _)| by != place);
    let filter = || {
        conditions
            .iter()
            .enumerate()
            .filter(move |(place, _)| is_filter(*place))
    };
    if let Some((_, index)) = by {
        out.extend_from_slice(b",\"IndexName\":");
        out.extend_from_slice(&index.name);
        out.extend_from_slice(b",\"KeyConditionExpression\":\"");
        out.extend_from_slice(&index.attribute);
        out.extend_from_slice(b" = :i\"");
    }
    for (number, (place, condition)) in filter().enumerate() {
        out.extend_from_slice(if number == 0 {
            b",\"FilterExpression\":\""
        } else {
            b" AND "
        });
        let path = &collection.paths[condition.path as usize].place;
        if condition.is == Is::Containing {
            out.extend_from_slice(b"contains(");
        }
        out.extend_from_slice(path);
        out.extend_from_slice(match condition.is {
            Is::Equal => b" = ",
            Is::AtLeast => b" >= ",
            Is::Below => b" < ",
            Is::Containing => b", ",
        });
        value_name(out, place);
        if condition.is == Is::Containing {
            out.push(b')');
        }
    }
    if filter().next().is_some() {
        out.push(b'"');
    }
    projected(out, collection, select);
    let mut names = Object::begin("ExpressionAttributeNames");
    own_names(&mut names, out, select);
    if let Some((_, index)) = by {
        names.member(out, &index.attribute);
        quoted(out, &index.attribute);
    }
    for (place, path) in collection.paths.iter().enumerate() {
        let is_used =
            selects(select, place) || filter().any(|(_, condition)| condition.path as usize == place);
        if is_used {
            names.comma(out);
            out.extend_from_slice(&path.names);
        }
    }
    names.end(out);
    let mut values = Object::begin("ExpressionAttributeValues");
    for (place, condition) in conditions.iter().enumerate() {
        values.comma(out);
        out.push(b'"');
        match is_filter(place) {
            true => value_name(out, place),
            false => out.extend_from_slice(b":i"),
        }
        out.extend_from_slice(b"\":");
        typed::value(out, condition.value);
    }
    values.end(out);
}

/// What of an item comes back, and the names of that.
#[inline]
pub fn projection(out: &mut Vec<u8>, collection: &Attached, select: Select<'_>) {
    projected(out, collection, Some(select));
    let mut names = Object::begin("ExpressionAttributeNames");
    own_names(&mut names, out, Some(select));
    for (place, path) in collection.paths.iter().enumerate() {
        if selects(Some(select), place) {
            names.comma(out);
            out.extend_from_slice(&path.names);
        }
    }
    names.end(out);
}

#[inline]
fn projected(out: &mut Vec<u8>, collection: &Attached, select: Option<Select<'_>>) {
    let paths = match select {
        None | Some(Select::Whole) => return,
        Some(Select::Key) => &[],
        Some(Select::Paths(paths)) => paths,
    };
    out.extend_from_slice(b",\"ProjectionExpression\":\"#k,#v");
    for (number, path) in paths.iter().enumerate() {
        if !paths[..number].contains(path) {
            out.push(b',');
            out.extend_from_slice(&collection.paths[*path as usize].place);
        }
    }
    out.push(b'"');
}

#[inline]
fn own_names(names: &mut Object, out: &mut Vec<u8>, select: Option<Select<'_>>) {
    if let Some(Select::Key | Select::Paths(_)) = select {
        names.comma(out);
        out.extend_from_slice(br##""#k":"#key","#v":"#rev""##);
    }
}

#[inline]
fn selects(select: Option<Select<'_>>, place: usize) -> bool {
    matches!(select, Some(Select::Paths(paths)) if paths.contains(&(place as u32)))
}

/// The parts of an UpdateItem that set paths and the revision, each behind a comma.
pub fn update(out: &mut Vec<u8>, collection: &Attached, values: &[Patch<'_>], revision: &[u8]) {
    let path = |patch: &Patch<'_>| &collection.paths[patch.path as usize];
    let is_kept = |patch: &Patch<'_>| !matches!(patch.value, Value::Null | Value::Text(b""));
    out.extend_from_slice(b",\"UpdateExpression\":\"SET #v = :r");
    for (place, patch) in values.iter().enumerate() {
        let mut set = |what: &[u8]| {
            out.extend_from_slice(b", ");
            out.extend_from_slice(what);
            out.extend_from_slice(b" = ");
            value_name(out, place);
        };
        set(&path(patch).place);
        if let Some(index) = path(patch).index.as_ref().filter(|_| is_kept(patch)) {
            set(&index.attribute);
        }
    }
    let mut removed = values
        .iter()
        .filter(|patch| !is_kept(patch))
        .filter_map(|patch| path(patch).index.as_ref());
    if let Some(index) = removed.next() {
        out.extend_from_slice(b" REMOVE ");
        out.extend_from_slice(&index.attribute);
    }
    for index in removed {
        out.extend_from_slice(b", ");
        out.extend_from_slice(&index.attribute);
    }
    out.extend_from_slice(br##"","ConditionExpression":"attribute_exists(#k)","ExpressionAttributeNames":{"#k":"#key","#v":"#rev""##);
    for patch in values {
        let path = path(patch);
        out.push(b',');
        out.extend_from_slice(&path.names);
        if let Some(index) = &path.index {
            out.extend_from_slice(b",\"");
            out.extend_from_slice(&index.attribute);
            out.extend_from_slice(b"\":");
            quoted(out, &index.attribute);
        }
    }
    out.extend_from_slice(b"},\"ExpressionAttributeValues\":{\":r\":");
    typed::text(out, revision);
    for (place, patch) in values.iter().enumerate() {
        out.extend_from_slice(b",\"");
        value_name(out, place);
        out.extend_from_slice(b"\":");
        typed::value(out, patch.value);
    }
    out.push(b'}');
}

fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

/// `:v12`
#[inline]
fn value_name(out: &mut Vec<u8>, place: usize) {
    out.extend_from_slice(b":v");
    number(out, place);
}

#[inline]
pub fn number(out: &mut Vec<u8>, mut number: usize) {
    let start = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}

/// A member of the request that is an object, which must not be there without members of its own.
struct Object {
    name: &'static str,
    is_open: bool,
}

impl Object {
    fn begin(name: &'static str) -> Self {
        Self { name, is_open: false }
    }

    #[inline]
    fn comma(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_open, true) {
            return out.push(b',');
        }
        out.extend_from_slice(b",\"");
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(b"\":{");
    }

    fn member(&mut self, out: &mut Vec<u8>, name: &[u8]) {
        self.comma(out);
        quoted(out, name);
        out.push(b':');
    }

    fn end(self, out: &mut Vec<u8>) {
        if self.is_open {
            out.push(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value as Json, json};

    fn collection() -> Attached {
        let path = |steps: &str, kind, indexed| PathSpec {
            steps: steps.split('.').map(str::to_owned).collect(),
            kind,
            indexed,
        };
        Attached::new(&CollectionSpec {
            name: "c".into(),
            key_length: 10,
            paths: vec![
                path("name", PathKind::Text(9), true),
                path("address.city", PathKind::Text(9), false),
                path("age", PathKind::Integer, true),
                path("tags", PathKind::Texts(9), true),
            ],
        })
    }

    fn request(write: impl FnOnce(&mut Vec<u8>)) -> Json {
        let mut out = b"{\"TableName\":\"c\"".to_vec();
        write(&mut out);
        out.push(b'}');
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn an_equal_value_is_looked_up_in_an_index_and_the_rest_is_a_filter() {
        let collection = collection();
        let is = |path, is, value| Condition { path, is, value };
        let conditions = [
            is(3, Is::Containing, Value::Text(b"red")),
            is(1, Is::AtLeast, Value::Text(b"B")),
            is(1, Is::Below, Value::Text(b"C")),
            is(2, Is::Equal, Value::Int(-7)),
        ];
        let by = by_index(&conditions, &collection);
        let select = Some(Select::Paths(&[2, 0]));
        let said = request(|out| looked_for(out, &collection, &conditions, by, select));
        let wanted = json!({
            "TableName": "c",
            "IndexName": "by-age",
            "KeyConditionExpression": "#i2 = :i",
            "FilterExpression": "contains(#p3x0, :v0) AND #p1x0.#p1x1 >= :v1 AND #p1x0.#p1x1 < :v2",
            "ProjectionExpression": "#k,#v,#p2x0,#p0x0",
            "ExpressionAttributeNames": {
                "#k": "#key", "#v": "#rev", "#i2": "#i2", "#p0x0": "name", "#p1x0": "address", "#p1x1": "city",
                "#p2x0": "age", "#p3x0": "tags",
            },
            "ExpressionAttributeValues": {
                ":v0": { "S": "red" }, ":v1": { "S": "B" }, ":v2": { "S": "C" }, ":i": { "N": "-7" },
            },
        });
        assert_eq!(said, wanted);
    }

    #[test]
    fn nothing_is_said_that_is_not_used() {
        let collection = collection();
        let said = request(|out| looked_for(out, &collection, &[], None, Some(Select::Whole)));
        assert_eq!(said, json!({ "TableName": "c" }));
        let nothing = [Condition {
            path: 0,
            is: Is::Equal,
            value: Value::Text(b""),
        }];
        assert!(
            by_index(&nothing, &collection).is_none(),
            "an index has no empty text"
        );
    }

    #[test]
    fn a_patch_sets_the_copies_that_indexes_keep_and_removes_those_they_cannot() {
        let collection = collection();
        let set = |path, value| Patch { path, value };
        let values = [
            set(0, Value::Text(b"")),
            set(1, Value::Text(b"Ulm")),
            set(2, Value::Int(3)),
        ];
        let said = request(|out| update(out, &collection, &values, b"r1"));
        assert_eq!(
            said["UpdateExpression"],
            "SET #v = :r, #p0x0 = :v0, #p1x0.#p1x1 = :v1, #p2x0 = :v2, #i2 = :v2 REMOVE #i0"
        );
        assert_eq!(said["ExpressionAttributeNames"]["#i0"], "#i0");
        assert_eq!(
            said["ExpressionAttributeValues"],
            json!({ ":r": { "S": "r1" }, ":v0": { "S": "" }, ":v1": { "S": "Ulm" }, ":v2": { "N": "3" } })
        );
    }

    #[test]
    fn an_index_keeps_what_is_of_its_type() {
        let collection = collection();
        let kept = |path: usize, plain: &str| {
            let (path, index) = (
                &collection.paths[path],
                collection.paths[path].index.as_ref().unwrap(),
            );
            let mut out = vec![];
            index_entry(&mut out, path, index, Some(plain.as_bytes()));
            String::from_utf8(out).unwrap()
        };
        assert_eq!(kept(0, "\"a\""), ",\"#i0\":{\"S\":\"a\"}");
        assert_eq!(kept(2, "-1.5"), ",\"#i2\":{\"N\":\"-1.5\"}");
        for (path, plain) in [
            (0, "\"\""),
            (0, "1"),
            (0, "null"),
            (2, "\"1\""),
            (2, "null"),
            (2, "{}"),
            (3, "[]"),
        ] {
            assert_eq!(kept(path, plain), "", "{plain}");
        }
        assert!(index_type(&collection.paths[3]).is_err());
    }
}
