//! A user's coroutine, resumed by LuaJIT's own functions: to convert each value by mlua took as long as the script itself.
use crate::prelude::*;
use mlua::ffi;
use mlua::{Lua, Table, Thread, Value as LuaValue};
use std::ffi::{c_char, c_int};
use std::marker::PhantomData;
use std::slice;

pub struct Coroutine {
    lua: Lua,
    /// Keeps the state below.
    _thread: Thread,
    stack: *mut ffi::lua_State,
    rests: Rests,
}

/// Where it waits to be resumed.
#[derive(Clone, Copy, PartialEq)]
enum Rests {
    /// Its function lies on the stack.
    AtBegin,
    InYield,
    /// It has ended.
    Never,
}

/// What a coroutine has yielded. It borrows from the coroutine's stack, where all of it stays until the coroutine is resumed.
pub enum Asked<'c> {
    Text(Text<'c>),
    Prepared(usize, Given<'c>),
    Sleep(f64),
    /// An event, or `thread_init`.
    Ended,
    /// An event, by a statement (`None`) or by an error.
    Failed(Option<String>),
    /// There is nothing more to do.
    Over,
}

pub enum Reply {
    /// To the events of the user with these globals.
    Begin(Table),
    Go,
    Stop,
    /// To a text whose cells are kept: its rows, and how many cells each has.
    Rows(u64, u64),
    Count(Option<u64>),
    Failed(OpError),
}

impl Coroutine {
    /// `thread` has not begun, and no script can get hold of it: the prelude gives none the library of coroutines.
    pub fn new(lua: &Lua, thread: Thread) -> Self {
        Self {
            lua: lua.clone(),
            stack: thread.state(),
            _thread: thread,
            rests: Rests::AtBegin,
        }
    }

    /// Runs it until it wants something. An error is one that ended it, in its words.
    #[inline]
    pub fn resume(&mut self, reply: Reply) -> Result<Asked<'_>, String> {
        let (lua, stack) = (&self.lua, self.stack);
        // SAFETY: `stack` is a coroutine of `lua`; both live. Only this resumes it, so nothing runs in it now, and what it
        // yielded last is borrowed by nobody: that would have kept `self` borrowed. It has room for the few values that are
        // pushed.
        unsafe {
            match self.rests {
                Rests::AtBegin => {}
                // The table of cells lies above the text.
                Rests::InYield if matches!(reply, Reply::Rows(..)) => ffi::lua_replace(stack, 1),
                Rests::InYield => ffi::lua_settop(stack, 0),
                Rests::Never => return Err("the script has ended".to_owned()),
            }
            ffi::lua_checkstack(stack, 8);
            let count = push(lua, stack, reply)?;
            match ffi::lua_resume_(stack, count) {
                ffi::LUA_YIELD => {
                    self.rests = Rests::InYield;
                    Ok(asked(stack))
                }
                ffi::LUA_OK => {
                    self.rests = Rests::Never;
                    Ok(Asked::Over)
                }
                _ => {
                    self.rests = Rests::Never;
                    Err(failure(lua, stack))
                }
            }
        }
    }
}

/// Returns how many values it has pushed.
///
/// # Safety
/// `stack` is a coroutine of `lua` that is not running. With `Rows`, a table of cells is all that lies on it.
#[inline]
unsafe fn push(lua: &Lua, stack: *mut ffi::lua_State, reply: Reply) -> Result<c_int, String> {
    // SAFETY: as above.
    unsafe {
        match reply {
            Reply::Go => ffi::lua_pushboolean(stack, 1),
            Reply::Stop => ffi::lua_pushboolean(stack, 0),
            Reply::Count(count) => {
                ffi::lua_pushboolean(stack, 1);
                let Some(count) = count else { return Ok(1) };
                ffi::lua_pushnumber(stack, count as f64);
                return Ok(2);
            }
            Reply::Rows(rows, fields) => {
                ffi::lua_pushboolean(stack, 1);
                ffi::lua_insert(stack, 1);
                ffi::lua_pushnumber(stack, rows as f64);
                ffi::lua_pushnumber(stack, fields as f64);
                return Ok(4);
            }
            Reply::Failed(error) => {
                let code: i64 = error.code.parse().unwrap_or_default();
                ffi::lua_pushboolean(stack, 0);
                ffi::lua_pushnumber(stack, code as f64);
                push_text(stack, error.code.as_bytes());
                push_text(stack, error.message.as_bytes());
                return Ok(4);
            }
            Reply::Begin(env) => {
                let moved = lua.exec_raw::<()>(env, |main| ffi::lua_xmove(main, stack, 1));
                moved.map_err(|error| words(&error))?;
            }
        }
        Ok(1)
    }
}

/// # Safety
/// `stack` has room for a value.
unsafe fn push_text(stack: *mut ffi::lua_State, text: &[u8]) {
    // SAFETY: as above; Lua copies the text.
    unsafe { ffi::lua_pushlstring(stack, text.as_ptr().cast::<c_char>(), text.len()) };
}

/// # Safety
/// `stack` is a coroutine that has yielded, and is borrowed for `'c`.
#[inline]
unsafe fn asked<'c>(stack: *mut ffi::lua_State) -> Asked<'c> {
    // SAFETY: as above. What is not there has a type of its own, and is zero, false and no text.
    unsafe {
        match ffi::lua_type(stack, 1) {
            ffi::LUA_TSTRING => Asked::Text(Text {
                stack,
                borrowed: PhantomData,
            }),
            ffi::LUA_TNUMBER => Asked::Prepared(
                place(ffi::lua_tonumber(stack, 1)),
                Given {
                    stack,
                    count: (ffi::lua_tonumber(stack, 2) as c_int).min(ffi::lua_gettop(stack) - 2),
                    borrowed: PhantomData,
                },
            ),
            ffi::LUA_TBOOLEAN if ffi::lua_toboolean(stack, 1) != 0 => Asked::Ended,
            ffi::LUA_TBOOLEAN => {
                let message = text_at(stack, 2).map(String::from_utf8_lossy);
                Asked::Failed(message.map(|message| sentence(&message)))
            }
            ffi::LUA_TNIL => Asked::Sleep(ffi::lua_tonumber(stack, 2)),
            _ => Asked::Over,
        }
    }
}

/// What `error` was called with.
///
/// # Safety
/// `stack` is a coroutine of `lua` that has ended with an error.
#[cold]
unsafe fn failure(lua: &Lua, stack: *mut ffi::lua_State) -> String {
    // SAFETY: as above: the error is the value at the top.
    let value = unsafe { lua.exec_raw::<LuaValue>((), |main| ffi::lua_xmove(stack, main, 1)) };
    match value {
        Ok(LuaValue::String(text)) => sentence(&text.to_string_lossy()),
        Ok(LuaValue::Error(error)) => words(&error),
        Err(error) => words(&error),
        Ok(other) => format!("an error that is no text but a {}", other.type_name()),
    }
}

pub fn words(error: &mlua::Error) -> String {
    let words = match error {
        mlua::Error::CallbackError { cause, .. } => cause.to_string(),
        mlua::Error::SyntaxError { message, .. } | mlua::Error::RuntimeError(message) => message.clone(),
        other => other.to_string(),
    };
    sentence(&words)
}

/// A message of Lua's without the stack below it.
fn sentence(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.strip_prefix("runtime error: ").unwrap_or(line).to_owned()
}

/// The bytes of a text at a place of the stack, if one is there.
///
/// # Safety
/// `stack` is a coroutine that has yielded, and stays as it is for `'c`.
#[inline]
unsafe fn text_at<'c>(stack: *mut ffi::lua_State, place: c_int) -> Option<&'c [u8]> {
    // SAFETY: as above. Lua does not move texts, and keeps those on a stack. A number is not asked for its text, which would
    // change it in place.
    unsafe {
        if ffi::lua_type(stack, place) != ffi::LUA_TSTRING {
            return None;
        }
        let mut length = 0;
        let text = ffi::lua_tolstring(stack, place, &raw mut length);
        Some(slice::from_raw_parts(text.cast(), length))
    }
}

/// A statement as a text.
pub struct Text<'c> {
    stack: *mut ffi::lua_State,
    borrowed: PhantomData<&'c ()>,
}

impl<'c> Text<'c> {
    pub fn sql(&self) -> &'c [u8] {
        // SAFETY: the coroutine has yielded, and is borrowed for `'c`; what `cells` adds lies above.
        unsafe { text_at(self.stack, 1) }.unwrap_or_default()
    }

    /// Where the cells of its answer are kept for `Reply::Rows`.
    pub fn cells(&self) -> Cells<'c> {
        // SAFETY: the coroutine has yielded, and has room.
        unsafe {
            ffi::lua_settop(self.stack, 1);
            ffi::lua_checkstack(self.stack, 4);
            ffi::lua_createtable(self.stack, 0, 0);
        }
        Cells {
            stack: self.stack,
            _borrowed: PhantomData,
        }
    }
}

/// A list that lies on the coroutine's stack.
pub struct Cells<'c> {
    stack: *mut ffi::lua_State,
    _borrowed: PhantomData<&'c ()>,
}

impl Cells<'_> {
    /// `place`: from 1.
    pub fn set(&mut self, place: usize, text: &[u8]) {
        // SAFETY: the table is the value at the top, and there is room for one more.
        unsafe {
            push_text(self.stack, text);
            ffi::lua_rawseti(self.stack, -2, place as _);
        }
    }
}

/// Parameters of a statement.
#[derive(Clone, Copy)]
pub struct Given<'c> {
    stack: *mut ffi::lua_State,
    count: c_int,
    borrowed: PhantomData<&'c ()>,
}

impl<'c> Given<'c> {
    /// `None` stands for what is neither a number nor a text.
    #[inline]
    pub fn values(self) -> impl Iterator<Item = Option<Value<'c>>> {
        // SAFETY: the coroutine has yielded, and is borrowed for `'c`.
        (3..3 + self.count).map(move |place| unsafe {
            Some(match ffi::lua_type(self.stack, place) {
                ffi::LUA_TNUMBER => number(ffi::lua_tonumber(self.stack, place)),
                ffi::LUA_TSTRING => Value::Text(text_at(self.stack, place)?),
                ffi::LUA_TNIL => Value::Null,
                ffi::LUA_TBOOLEAN => Value::Bool(ffi::lua_toboolean(self.stack, place) != 0),
                _ => return None,
            })
        })
    }
}

/// Of a statement; of none, if a script has yielded anything else.
#[inline]
fn place(value: f64) -> usize {
    match value as usize {
        place if place as f64 == value => place,
        _ => usize::MAX,
    }
}

/// Lua's numbers are whole up to 2^53.
#[inline]
fn number(value: f64) -> Value<'static> {
    match value as i64 {
        whole if whole as f64 == value && value.abs() < 9e15 => Value::Int(whole),
        _ => Value::Float(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coroutine(lua: &Lua, code: &str) -> Coroutine {
        let function = lua.load(code).into_function().expect("code that compiles");
        Coroutine::new(lua, lua.create_thread(function).expect("a coroutine"))
    }

    #[test]
    fn values_come_as_they_were_yielded() {
        let lua = Lua::new();
        let mut one = coroutine(&lua, "coroutine.yield(7, 6, 1, -2.5, 'x', nil, true, {})");
        let Ok(Asked::Prepared(7, given)) = one.resume(Reply::Go) else {
            panic!("not a statement");
        };
        let expected = [
            Some(Value::Int(1)),
            Some(Value::Float(-2.5)),
            Some(Value::Text(b"x")),
            Some(Value::Null),
            Some(Value::Bool(true)),
            None,
        ];
        assert!(given.values().eq(expected));
        assert!(matches!(one.resume(Reply::Go), Ok(Asked::Over)));
        assert!(one.resume(Reply::Go).is_err());
    }

    #[test]
    fn fewer_values_than_were_announced_are_not_made_up() {
        let lua = Lua::new();
        let mut one = coroutine(&lua, "coroutine.yield(0, 5, 1) coroutine.yield(-1, -5)");
        for expected in [(0, 1), (usize::MAX, 0)] {
            let Ok(Asked::Prepared(place, given)) = one.resume(Reply::Go) else {
                panic!("not a statement");
            };
            assert_eq!((place, given.values().count()), expected);
        }
    }

    #[test]
    fn rows_and_refusals_reach_the_script() {
        let lua = Lua::new();
        let code = "local ok, cells, rows, fields = coroutine.yield('SELECT')
            assert(ok and cells[1] == 'a' and cells[2] == nil and cells[3] == 'b' and rows == 2 and fields == 2)
            local ok, code, state, message = coroutine.yield('SELECT')
            assert(not ok and code == 1062 and state == '1062' and message == 'twice')";
        let mut one = coroutine(&lua, code);
        for reply in [Reply::Go, Reply::Rows(2, 2)] {
            let Ok(Asked::Text(text)) = one.resume(reply) else {
                panic!("not a text");
            };
            let mut cells = text.cells();
            cells.set(1, b"a");
            cells.set(3, b"b");
            assert_eq!(text.sql(), b"SELECT");
        }
        let error = OpError::fail(FailClass::Conflict, "1062", "twice");
        assert!(matches!(one.resume(Reply::Failed(error)), Ok(Asked::Over)));
    }

    #[test]
    fn errors_come_in_their_words() {
        let lua = Lua::new();
        let mut caught = coroutine(
            &lua,
            "coroutine.yield(false, 'runtime error: planted\\nstack traceback:\\n...')",
        );
        assert!(matches!(caught.resume(Reply::Go), Ok(Asked::Failed(Some(message))) if message == "planted"));
        for (code, expected) in [
            ("error('no such row', 0)", "no such row"),
            ("error({})", "an error that is no text but a table"),
        ] {
            let error = coroutine(&lua, code).resume(Reply::Go).err();
            assert_eq!(error.as_deref(), Some(expected));
        }
    }
}
