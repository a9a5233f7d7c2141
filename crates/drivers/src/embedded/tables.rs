//! Tables of a store: a name has a number, with which the keys of its records begin. Names are stored under the number 0,
//! and so is the number that the next table gets: none is used twice, so records that a broken drop left belong to nobody.
use super::record::{PREFIX, put_key};
use super::{Bytes, at_commit};
use bakeoff_model::outcome::{FailClass, OpError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Under which names are stored, and the next number (without a name).
const NAMES: u32 = 0;
/// Records that a drop removes in one transaction.
const DROPPED_AT_ONCE: usize = 1000;

/// The number of a table of this process's, which all its sessions see change; 0: there is no such table.
pub type Number = Arc<AtomicU32>;

#[derive(Default)]
pub struct Tables(Mutex<BTreeMap<String, Number>>);

impl Tables {
    pub fn number(&self, name: &str) -> Number {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.entry(name.to_owned()).or_default().clone()
    }

    /// As the store has it.
    pub fn find(&self, name: &str, bytes: &mut impl Bytes) -> Result<Number, OpError> {
        let number = self.number(name);
        let before = number.load(Ordering::Acquire);
        let stored = number_in(bytes.get(&name_key(name.as_bytes()), read_number)?)?.unwrap_or(0);
        // Unless another session has made or dropped it meanwhile.
        let _ = number.compare_exchange(before, stored, Ordering::AcqRel, Ordering::Acquire);
        Ok(number)
    }

    pub fn create(&self, name: &str, bytes: &mut impl Bytes) -> Result<(), OpError> {
        let made = whole(bytes, |bytes| {
            if stored_number(bytes, name.as_bytes())?.is_some() {
                let what = format!("the table {name} exists already");
                return Err(OpError::fail(FailClass::Refused, "TABLE_EXISTS", what));
            }
            let next = stored_number(bytes, b"")?.unwrap_or(1);
            bytes.put(&name_key(name.as_bytes()), &next.to_be_bytes())?;
            bytes.put(&name_key(b""), &(next + 1).to_be_bytes())?;
            Ok(next)
        })?;
        self.number(name).store(made, Ordering::Release);
        Ok(())
    }

    /// Whether it was there is no matter.
    pub fn drop(&self, name: &str, bytes: &mut impl Bytes) -> Result<(), OpError> {
        let dropped = whole(bytes, |bytes| {
            let number = stored_number(bytes, name.as_bytes())?;
            if number.is_some() {
                bytes.delete(&name_key(name.as_bytes()))?;
            }
            Ok(number)
        })?;
        self.number(name).store(0, Ordering::Release);
        let Some(number) = dropped else { return Ok(()) };
        // From where the last ones were: a log-structured store finds what was removed before it finds what is left.
        let mut from = number.to_be_bytes().to_vec();
        loop {
            let mut keys = whole(bytes, |bytes| {
                let keys = keys_from(bytes, number, &from)?;
                keys.iter().try_for_each(|key| bytes.delete(key))?;
                Ok(keys)
            })?;
            match keys.pop() {
                Some(last) => from = last,
                None => return Ok(()),
            }
        }
    }
}

/// A transaction of its own.
fn whole<B: Bytes, T>(
    bytes: &mut B,
    change: impl FnOnce(&mut B) -> Result<T, OpError>,
) -> Result<T, OpError> {
    bytes.begin(true)?;
    match change(bytes) {
        Ok(done) => bytes.commit().map_err(at_commit).map(|()| done),
        Err(error) => {
            bytes.rollback();
            Err(error)
        }
    }
}

fn name_key(name: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    put_key(&mut key, NAMES, name);
    key
}

/// Of a name, in a transaction that may change it.
fn stored_number(bytes: &mut impl Bytes, name: &[u8]) -> Result<Option<u32>, OpError> {
    number_in(bytes.get_to_write(&name_key(name), read_number)?)
}

fn read_number(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

fn number_in(found: Option<Option<u32>>) -> Result<Option<u32>, OpError> {
    match found {
        None => Ok(None),
        Some(Some(number)) => Ok(Some(number)),
        Some(None) => Err(OpError::fail(
            FailClass::Other,
            "TABLES",
            "the store's list of tables is not bakeoff's",
        )),
    }
}

/// Some of a table's, no more than are removed at once.
fn keys_from(bytes: &mut impl Bytes, number: u32, from: &[u8]) -> Result<Vec<Vec<u8>>, OpError> {
    let mut keys = Vec::new();
    bytes.scan(from, |key, _| {
        let belongs = key.len() >= PREFIX && key[..PREFIX] == number.to_be_bytes();
        if belongs {
            keys.push(key.to_vec());
        }
        belongs && keys.len() < DROPPED_AT_ONCE
    })?;
    Ok(keys)
}
