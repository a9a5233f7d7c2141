//! Variables by name: each has a place, which is what programs know them by.
use super::number::Number;

/// Variables that have a value without being set; the first places.
pub const AUTOMATIC: [&str; 4] = ["client_id", "default_seed", "random_seed", "scale"];
pub const DEFAULT_SEED: u32 = 1;

#[derive(Clone, Debug)]
pub struct Names {
    names: Vec<String>,
    /// Of those that nothing sets: expressions have their values built in.
    fixed: Vec<Option<Number>>,
    /// Whether an expression may name a variable without its colon.
    pub bare: bool,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            names: AUTOMATIC.map(str::to_owned).to_vec(),
            fixed: vec![None; AUTOMATIC.len()],
            bare: false,
        }
    }
}

impl Names {
    pub fn place(&self, name: &str) -> Option<u32> {
        self.names
            .iter()
            .position(|known| known == name)
            .map(|place| place as u32)
    }

    /// Its place, a new one if it has none yet.
    pub fn add(&mut self, name: &str) -> u32 {
        self.place(name).unwrap_or_else(|| {
            self.names.push(name.into());
            self.fixed.push(None);
            self.names.len() as u32 - 1
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
