//! The random numbers of a script: drawn from its user's generator while that one's coroutine runs.
//!
//! What a script draws for each statement LuaJIT calls directly; the rest by mlua.
use crate::keys::Permutation;
use crate::rng::Random;
use crate::sysbench::random::Distribution;
use bakeoff_model::run::sysbench::{SysbenchRandom, SysbenchSpec};
use mlua::{Function, Lua, LuaString, Result, Table, ffi};
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::slice;

/// sysbench hands out numbers of 32 bits.
pub const UNIQUE: u64 = 1 << 32;

/// Lua's numbers are whole up to here.
const WHOLE: u64 = 1 << 53;

const KINDS: [(&str, Option<SysbenchRandom>); 6] = [
    // The plan's own.
    ("default", None),
    ("uniform", Some(SysbenchRandom::Uniform)),
    ("gaussian", Some(SysbenchRandom::Gaussian)),
    ("special", Some(SysbenchRandom::Special)),
    ("pareto", Some(SysbenchRandom::Pareto)),
    ("zipfian", Some(SysbenchRandom::Zipfian)),
];

/// Of the user whose turn it is.
pub struct Draws {
    pub random: RefCell<Random>,
    /// Its next number that is handed out once, and the distance to the one after.
    pub unique: Cell<u64>,
    users: u64,
    /// In the order of `KINDS`.
    distributions: Vec<Distribution>,
    text: RefCell<Vec<u8>>,
}

impl Draws {
    /// `spec`: of `rand_type` and its parameters.
    pub fn new(users: u64, spec: &SysbenchSpec) -> Self {
        let distribution = |(_, kind): &(&str, Option<SysbenchRandom>)| {
            Distribution::new(&SysbenchSpec {
                rand_type: kind.unwrap_or(spec.rand_type),
                ..spec.clone()
            })
        };
        Self {
            random: RefCell::new(Random::new(0)),
            unique: Cell::new(0),
            users: users.max(1),
            distributions: KINDS.iter().map(distribution).collect(),
            text: RefCell::default(),
        }
    }

    /// A number in `a..=b`, or in `b..=a`.
    #[inline]
    fn number(&self, kind: usize, a: f64, b: f64) -> f64 {
        let (a, b) = ((a as u64).min(WHOLE), (b as u64).min(WHOLE));
        let distribution = &self.distributions[kind];
        distribution.draw(&mut self.random.borrow_mut(), a.min(b), a.max(b)) as f64
    }

    /// A digit for each `#`, a letter for each `@`.
    fn fill(&self, text: &mut Vec<u8>, format: &[u8]) {
        let mut random = self.random.borrow_mut();
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
    }
}

/// `host.default(a, b)` and the others of `KINDS`.
///
/// # Safety
/// LuaJIT calls it with what `function` has bound. An argument that is no number ends it by a jump: nothing here is dropped.
unsafe extern "C-unwind" fn number(stack: *mut ffi::lua_State) -> c_int {
    // SAFETY: as above.
    unsafe {
        let (a, b) = (ffi::luaL_checknumber(stack, 1), ffi::luaL_checknumber(stack, 2));
        let (draws, kind) = bound(stack);
        ffi::lua_pushnumber(stack, draws.number(kind, a, b));
    }
    1
}

/// `host.string(format)`.
///
/// # Safety
/// As of `number`. Where Lua has no memory for the text, the buffer is lost.
unsafe extern "C-unwind" fn string(stack: *mut ffi::lua_State) -> c_int {
    // SAFETY: as above. The format lies on the stack until this returns.
    unsafe {
        let mut length = 0;
        let format = ffi::luaL_checklstring(stack, 1, &raw mut length);
        let (draws, _) = bound(stack);
        let mut text = draws.text.take();
        draws.fill(&mut text, slice::from_raw_parts(format.cast(), length));
        ffi::lua_pushlstring(stack, text.as_ptr().cast(), text.len());
        draws.text.replace(text);
    }
    1
}

/// # Safety
/// LuaJIT is in a function that `function` has made.
#[inline]
unsafe fn bound<'d>(stack: *mut ffi::lua_State) -> (&'d Draws, usize) {
    // SAFETY: as above; the draws live as long as the state.
    unsafe {
        let draws = ffi::lua_touserdata(stack, ffi::lua_upvalueindex(1)) as *const Draws;
        (
            &*draws,
            ffi::lua_tointeger(stack, ffi::lua_upvalueindex(2)) as usize,
        )
    }
}

/// `called` as a function of Lua, with what `bound` then returns.
///
/// # Safety
/// `draws` live as long as `lua`.
unsafe fn function(lua: &Lua, called: ffi::lua_CFunction, draws: &Draws, kind: usize) -> Result<Function> {
    let draws = (&raw const *draws).cast_mut().cast::<c_void>();
    // SAFETY: three values in a function that has room for twenty.
    unsafe {
        lua.exec_raw((), |stack| {
            ffi::lua_pushlightuserdata(stack, draws);
            ffi::lua_pushinteger(stack, kind as ffi::lua_Integer);
            ffi::lua_pushcclosure(stack, called, 2);
        })
    }
}

/// What the prelude calls `host.default` and so on.
pub fn register(lua: &Lua, host: &Table, draws: &Rc<Draws>) -> Result<()> {
    // So that they live as long as it.
    lua.set_app_data(draws.clone());
    for (kind, (name, _)) in KINDS.iter().enumerate() {
        // SAFETY: `lua` keeps them.
        host.set(*name, unsafe { function(lua, number, draws, kind) }?)?;
    }
    // SAFETY: as above.
    host.set("string", unsafe { function(lua, string, draws, 0) }?)?;
    let of = || draws.clone();
    let (one, two, three, four) = (of(), of(), of(), of());
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
        lua.create_function(move |_, ()| Ok((three.random.borrow_mut().bits() >> 11) as f64))?,
    )?;
    host.set(
        "varstring",
        lua.create_function(move |lua, (least, most): (u64, u64)| -> Result<LuaString> {
            let length = least + four.random.borrow_mut().below(most.saturating_sub(least) + 1);
            let mut text = four.text.borrow_mut();
            four.fill(&mut text, &vec![b'@'; length.min(1 << 20) as usize]);
            lua.create_string(&*text)
        })?,
    )
}
