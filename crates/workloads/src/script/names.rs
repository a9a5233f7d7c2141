//! Variables by name: each has a place, which is what programs know them by.
use super::number::Number;
use std::collections::HashMap;

/// Variables that have a value without being set; the first places.
pub const AUTOMATIC: [&str; 4] = ["client_id", "default_seed", "random_seed", "scale"];
pub const DEFAULT_SEED: u32 = 1;

#[derive(Clone, Debug)]
pub struct Names {
    names: Vec<String>,
    places: HashMap<String, u32>,
    /// Of those that nothing sets: expressions have their values built in.
    fixed: Vec<Option<Number>>,
    /// Whether an expression may name a variable without its colon.
    pub bare: bool,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self {
            names: vec![],
            places: HashMap::new(),
            fixed: vec![],
            bare: false,
        };
        for name in AUTOMATIC {
            names.add(name);
        }
        names
    }
}

impl Names {
    pub fn place(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    /// Its place, a new one if it has none yet.
    pub fn add(&mut self, name: &str) -> u32 {
        self.place(name).unwrap_or_else(|| {
            let place = self.names.len() as u32;
            self.names.push(name.into());
            self.places.insert(name.into(), place);
            self.fixed.push(None);
            place
        })
    }

    /// A variable that has this value for every user, unless a script sets it.
    pub fn fix(&mut self, name: &str, value: Number) {
        let place = self.add(name);
        self.fixed[place as usize] = Some(value);
    }

    /// One that a script sets.
    pub fn set(&mut self, name: &str) -> u32 {
        let place = self.add(name);
        self.fixed[place as usize] = None;
        place
    }

    pub fn fixed(&self, place: u32) -> Option<Number> {
        self.fixed.get(place as usize).copied().flatten()
    }

    pub fn all(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn name(&self, place: u32) -> &str {
        self.names.get(place as usize).map_or("", String::as_str)
    }
}
