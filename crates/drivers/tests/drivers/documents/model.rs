//! What a collection should hold, worked out here.
use super::*;

/// A table of documents in memory, and what is asked of both.
pub struct Model(pub BTreeMap<String, Json>);

pub const CITIES: [&str; 5] = ["Ulm", "ulm", "Bonn", "Bonn ", "Köln'; DROP TABLE x; --"];
pub const TAG_WORDS: [&str; 6] = ["red", "green", "blue", "re", "\"quoted\"", "☃"];

impl Model {
    pub fn document(n: u32) -> Json {
        let tags: Vec<&str> = (0..n % 4)
            .map(|i| TAG_WORDS[((n + i * 5) % 6) as usize])
            .collect();
        let mut document = json!({
            "name": format!("name{:02}", n * 7 % 20), "address": { "city": CITIES[(n % 5) as usize], "zip": n },
            "age": i64::from(n * 13 % 30) - 5, "score": f64::from(n % 8) / 4.0 - 0.5, "active": n.is_multiple_of(3), "tags": tags,
            "a": { "b": { "c": n } }, "filler": "x".repeat((n % 50) as usize),
        });
        match n % 11 {
            5 => drop(document.as_object_mut().unwrap().remove("age")),
            6 => document["age"] = Json::Null,
            7 => drop(document.as_object_mut().unwrap().remove("tags")),
            8 => document["address"] = json!({}),
            _ => {}
        }
        document
    }

    pub fn filled() -> Self {
        Self((0..90).map(|n| (format!("user{n}"), Self::document(n))).collect())
    }

    pub async fn store(&self, session: &mut AnyDocuments) {
        let texts: Vec<(&String, String)> =
            self.0.iter().map(|(key, json)| (key, json.to_string())).collect();
        let documents: Vec<Keyed<'_>> = texts
            .iter()
            .map(|(key, json)| Keyed {
                key: key.as_bytes(),
                json: json.as_bytes(),
            })
            .collect();
        let mut stored = 0;
        for some in documents.chunks(37) {
            stored += session.put_batch(C, some).await.unwrap();
        }
        assert_eq!(stored, self.0.len() as u64);
    }

    pub fn keys(&self, conditions: &[Condition<'_>]) -> Vec<String> {
        let fits = |document: &Json| conditions.iter().all(|condition| holds(document, condition));
        let found = self.0.iter().filter(|(_, document)| fits(document));
        found.map(|(key, _)| key.clone()).collect()
    }
}

pub fn holds(document: &Json, condition: &Condition<'_>) -> bool {
    let pointer = match condition.path {
        NAME => "/name",
        CITY => "/address/city",
        AGE => "/age",
        SCORE => "/score",
        ACTIVE => "/active",
        TAGS => "/tags",
        _ => "/a/b/c",
    };
    let Some(value) = document.pointer(pointer).filter(|value| !value.is_null()) else {
        return false;
    };
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match condition.value {
        Value::Text(text) if condition.is == Is::Containing => {
            let words = value.as_array().unwrap();
            return words.iter().any(|word| word.as_str().unwrap().as_bytes() == text);
        }
        Value::Text(text) => value.as_str().unwrap().as_bytes().cmp(text),
        Value::Int(number) => value.as_i64().unwrap().cmp(&number),
        Value::Float(number) => value.as_f64().unwrap().total_cmp(&number),
        Value::Bool(truth) => value.as_bool().unwrap().cmp(&truth),
        other => panic!("not asked: {other:?}"),
    };
    match condition.is {
        Is::Equal => order == Equal,
        Is::AtLeast => order != Less,
        Is::Below => order == Less,
        Is::Containing => order == Greater,
    }
}

pub async fn found_keys(
    session: &mut AnyDocuments,
    conditions: &[Condition<'_>],
    limit: Option<u32>,
) -> Vec<String> {
    let mut keys = vec![];
    let mut each = |found: &Found| {
        let json: Json = serde_json::from_slice(&found.json).unwrap();
        assert!(
            conditions.iter().all(|condition| holds(&json, condition)),
            "{json}"
        );
        keys.push(String::from_utf8(found.key.clone()).unwrap());
    };
    let seen = session
        .find(C, conditions, Select::Whole, limit, &mut each)
        .await
        .unwrap();
    assert_eq!(seen, keys.len() as u64);
    keys.sort();
    keys
}
