//! The random numbers of a script: drawn from its user's generator while that one's coroutine runs.
use crate::keys::Permutation;
use crate::rng::Random;
use crate::sysbench::random::Distribution;
use bakeoff_model::run::sysbench::{SysbenchRandom, SysbenchSpec};
use mlua::{Lua, LuaString, Result, Table};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// sysbench hands out numbers of 32 bits.
pub const UNIQUE: u64 = 1 << 32;

/// Of the user whose turn it is.
pub struct Draws {
    pub random: RefCell<Random>,
    /// Its next number that is handed out once, and the distance to the one after.
    pub unique: Cell<u64>,
    users: u64,
    text: RefCell<Vec<u8>>,
}

impl Draws {
    pub fn new(users: u64) -> Self {
        Self {
            random: RefCell::new(Random::new(0)),
            unique: Cell::new(0),
            users: users.max(1),
            text: RefCell::default(),
        }
    }

    fn string(&self, lua: &Lua, format: &[u8]) -> Result<LuaString> {
        let (mut text, mut random) = (self.text.borrow_mut(), self.random.borrow_mut());
        text.clear();
        text.extend_from_slice(format);
        // Nine digits a draw.
        let (mut digits, mut left) = (0, 0);
        for byte in text.iter_mut() {
            match byte {
                b'#' => {
                    if left == 0 {
                        (digits, left) = (random.below(1_000_000_000) as u32, 9);
                    }
                    *byte = b'0' + (digits % 10) as u8;
                    digits /= 10;
                    left -= 1;
                }
                b'@' => *byte = b'a' + random.below(26) as u8,
                _ => {}
            }
        }
        lua.create_string(&*text)
    }
}

/// What the prelude calls `host.default` and so on. `spec`: of `rand_type` and its parameters.
pub fn register(lua: &Lua, host: &Table, draws: &Rc<Draws>, spec: &SysbenchSpec) -> Result<()> {
    let kinds = [
        ("default", spec.rand_type),
        ("uniform", SysbenchRandom::Uniform),
        ("gaussian", SysbenchRandom::Gaussian),
        ("special", SysbenchRandom::Special),
        ("pareto", SysbenchRandom::Pareto),
        ("zipfian", SysbenchRandom::Zipfian),
    ];
    for (name, rand_type) in kinds {
        let distribution = Distribution::new(&SysbenchSpec {
            rand_type,
            ..spec.clone()
        });
        let draws = draws.clone();
        let draw = move |_: &Lua, (a, b): (f64, f64)| {
            let (a, b) = (a as u64, b as u64);
            Ok(distribution.draw(&mut draws.random.borrow_mut(), a.min(b), a.max(b)) as f64)
        };
        host.set(name, lua.create_function(draw)?)?;
    }
    let of = || draws.clone();
    let (one, two, three, four, five) = (of(), of(), of(), of(), of());
    let ids = Permutation::new(UNIQUE);
    host.set(
        "unique",
        lua.create_function(move |_, ()| {
            let place = one.unique.get();
            one.unique.set(place + one.users);
            Ok(ids.of(place % UNIQUE) as f64)
        })?,
    )?;
    host.set(
        "uniform_double",
        lua.create_function(move |_, ()| Ok(two.random.borrow_mut().unit()))?,
    )?;
    host.set(
        "uniform_uint64",
        // Lua's numbers are whole up to 2^53.
        lua.create_function(move |_, ()| Ok((three.random.borrow_mut().bits() >> 11) as f64))?,
    )?;
    host.set(
        "string",
        lua.create_function(move |lua, format: LuaString| four.string(lua, &format.as_bytes()))?,
    )?;
    host.set(
        "varstring",
        lua.create_function(move |lua, (least, most): (u64, u64)| {
            let length = least + five.random.borrow_mut().below(most.saturating_sub(least) + 1);
            five.string(lua, &vec![b'@'; length.min(1 << 20) as usize])
        })?,
    )
}
