//! The list as text, and the hash that tells one list from another: what `sha256sum` says of its file.
use super::event::Event;
use super::list::{Rules, Walk, fill};
use super::replay::hexadecimal;
use super::resolve::validate;
use super::shop::Shop;
use crate::prelude::*;
use crate::trouble::refuse;
use bakeoff_model::resolve::Written;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Bytes after which they are handed on.
const PIECE: usize = 1 << 16;

/// Of the first `events`: about 1 us each.
pub fn sha256(shop: &Shop, rules: &Rules, seed: u64, events: u64) -> String {
    let mut hash = Hashing(Sha256::new());
    // A hash takes whatever it is given.
    let _ = write_list(shop, rules, seed, events, &mut hash);
    hexadecimal(&hash.0.finalize())
}

/// Writes the list of a run with these options to a file: its events and their hash.
pub fn write_file(spec: &WorkloadSpec, seed: u64, path: &str) -> Result<Written, Trouble> {
    let WorkloadSpec::Hatshop(spec) = spec else {
        let hint = "write kind = \"hatshop\"";
        return Err(refuse("kind", "this workload has no list of events", hint));
    };
    validate(spec, ClientSpec::default())?;
    let (shop, rules) = (Shop::new(spec, seed), Rules::new(spec));
    let written = File::create(path).and_then(|file| {
        let mut out = Both(Hashing(Sha256::new()), BufWriter::new(file));
        write_list(&shop, &rules, seed, spec.events, &mut out)?;
        out.1.flush()?;
        Ok(hexadecimal(&out.0.0.finalize()))
    });
    let sha256 = written.map_err(|error| {
        let what = format!("{path} cannot be written: {error}");
        Trouble::new(
            TroubleKind::Usage,
            what,
            path,
            "name a file in an existing folder",
        )
    })?;
    Ok(Written {
        events: spec.events,
        sha256,
    })
}

/// What is written goes to both.
struct Both<W>(Hashing, W);

impl<W: Write> Write for Both<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.1.write(bytes)?;
        self.0.0.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.flush()
    }
}

/// The first `events`, a line of JSON each.
pub fn write_list(
    shop: &Shop,
    rules: &Rules,
    seed: u64,
    events: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    let (mut walk, mut event) = (Walk::new(rules, seed, events), Event::empty(shop));
    let mut text = Vec::with_capacity(2 * PIECE);
    for _ in 0..events {
        fill(shop, &walk.step(rules), &mut event);
        event.write_json(shop, &mut text);
        if text.len() >= PIECE {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)
}

struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::hatshop::HatshopSpec;

    fn list(spec: &HatshopSpec, seed: u64, events: u64) -> Vec<u8> {
        let mut out = vec![];
        write_list(&Shop::new(spec, seed), &Rules::new(spec), seed, events, &mut out).unwrap();
        out
    }

    fn hash(spec: &HatshopSpec, seed: u64) -> String {
        sha256(&Shop::new(spec, seed), &Rules::new(spec), seed, 2000)
    }

    #[test]
    fn the_list_is_this_one_on_any_machine() {
        let known = "f2d07b339ac54ea6d8dc9160b315a853aba1c10c2832e4d5a284cfd601a65eed";
        assert_eq!(hash(&HatshopSpec::default(), 1), known);
    }

    #[test]
    fn another_seed_or_mix_is_another_list_and_another_layout_is_not() {
        let spec = HatshopSpec::default();
        let own = hash(&spec, 1);
        assert_ne!(hash(&spec, 2), own);
        assert_ne!(
            hash(
                &HatshopSpec {
                    read: 2.0,
                    ..spec.clone()
                },
                1
            ),
            own
        );
        let layout = bakeoff_model::run::hatshop::HatshopLayout::LineItems;
        assert_eq!(hash(&HatshopSpec { layout, ..spec }, 1), own);
    }

    #[test]
    fn every_line_is_json_of_its_kind() {
        let text = list(&HatshopSpec::default(), 1, 500);
        let mut kinds = std::collections::HashSet::new();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let event: serde_json::Value = serde_json::from_slice(line).unwrap();
            let data = event["data"].as_object().unwrap();
            let keys: Vec<&str> = data.keys().map(String::as_str).collect();
            let kind = event["type"].as_str().unwrap().to_owned();
            let expected: &[&str] = match &*kind {
                "CREATE" => &["client", "date", "id", "lineItems", "status", "subTotal"],
                "UPDATE" => &["date", "id", "status", "subTotal"],
                "UPDATE_ATTRIBUTE" => &["field", "id", "lineItemId", "value"],
                _ => &["id"],
            };
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, expected, "{kind}");
            kinds.insert(kind);
        }
        assert_eq!(kinds.len(), 5);
    }
}
