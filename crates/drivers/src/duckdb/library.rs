//! DuckDB's C API. Source: duckdb.h of 1.5 (its stable functions).
use super::DuckdbSpec;
use super::errors::{is_final, op_error};
use bakeoff_model::outcome::{FailClass, OpError};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// An object of the library.
pub type Object = *mut c_void;
type Text = *const c_char;
/// 0: it went well.
type State = c_int;

/// An answer. What is in it, is the library's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Answer([usize; 6]);

impl Answer {
    pub const NONE: Self = Self([0; 6]);
}

/// `duckdb_hugeint`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Huge {
    pub lower: u64,
    pub upper: i64,
}

/// `duckdb_decimal`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Number {
    pub width: u8,
    pub scale: u8,
    pub value: Huge,
}

crate::loaded::functions! {
    "duckdb_"
    fn free(*mut c_void);
    fn create_config(*mut Object) -> State;
    fn set_config(Object, Text, Text) -> State;
    fn destroy_config(*mut Object);
    fn open_ext(Text, *mut Object, Object, *mut *mut c_char) -> State;
    fn close(*mut Object);
    fn connect(Object, *mut Object) -> State;
    fn disconnect(*mut Object);
    fn interrupt(Object);
    fn query(Object, Text, *mut Answer) -> State;
    fn prepare(Object, Text, *mut Object) -> State;
    fn prepare_error(Object) -> Text;
    fn destroy_prepare(*mut Object);
    fn bind_null(Object, u64) -> State;
    fn bind_boolean(Object, u64, bool) -> State;
    fn bind_int64(Object, u64, i64) -> State;
    fn bind_double(Object, u64, f64) -> State;
    fn bind_decimal(Object, u64, Number) -> State;
    fn bind_timestamp(Object, u64, i64) -> State;
    fn bind_varchar_length(Object, u64, Text, u64) -> State;
    fn bind_blob(Object, u64, *const c_void, u64) -> State;
    fn pending_prepared(Object, *mut Object) -> State;
    fn pending_execute_task(Object) -> c_int;
    fn pending_error(Object) -> Text;
    fn execute_pending(Object, *mut Answer) -> State;
    fn destroy_pending(*mut Object);
    fn result_error(*mut Answer) -> Text;
    fn destroy_result(*mut Answer);
    fn rows_changed(*mut Answer) -> u64;
    fn column_count(*mut Answer) -> u64;
    fn column_type(*mut Answer, u64) -> c_int;
    fn column_logical_type(*mut Answer, u64) -> Object;
    fn decimal_scale(Object) -> u8;
    fn decimal_internal_type(Object) -> c_int;
    fn get_type_id(Object) -> c_int;
    fn destroy_logical_type(*mut Object);
    fn fetch_chunk(Answer) -> Object;
    fn data_chunk_get_size(Object) -> u64;
    fn data_chunk_get_vector(Object, u64) -> Object;
    fn vector_get_data(Object) -> *mut c_void;
    fn vector_get_validity(Object) -> *mut u64;
    fn destroy_data_chunk(*mut Object);
    fn appender_create(Object, Text, Text, *mut Object) -> State;
    fn appender_add_column(Object, Text) -> State;
    fn appender_column_type(Object, u64) -> Object;
    fn appender_error(Object) -> Text;
    fn appender_end_row(Object) -> State;
    fn appender_flush(Object) -> State;
    fn appender_destroy(*mut Object) -> State;
    fn append_null(Object) -> State;
    fn append_bool(Object, bool) -> State;
    fn append_int64(Object, i64) -> State;
    fn append_double(Object, f64) -> State;
    fn append_timestamp(Object, i64) -> State;
    fn append_varchar_length(Object, Text, u64) -> State;
    fn append_blob(Object, *const c_void, u64) -> State;
}

pub const FAILED: State = 1;

impl Api {
    /// Of a text that the library keeps.
    pub fn said(words: Text) -> String {
        if words.is_null() {
            return "no reason given".into();
        }
        // SAFETY: the library's texts end with a zero byte, and live as long as the object that the caller holds.
        unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
    }
}

pub fn text(words: &str) -> Result<CString, OpError> {
    CString::new(words).map_err(|_| {
        let what = "a text for DuckDB has a zero byte";
        OpError::fail(FailClass::Refused, "TEXT", what)
    })
}

/// An open file. It is closed with its last session.
pub struct Database {
    pub api: Api,
    handle: Object,
    /// It refuses everything from now on.
    over: AtomicBool,
}

// SAFETY: a database may be used by several threads at a time (DuckDB documentation, "C API: Overview"); connections,
// which may not, are made of it one for each session.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: it is open, and no session is left.
        unsafe { (self.api.close)(&mut self.handle) };
    }
}

impl Database {
    /// Makes the folder and the file where there are none.
    pub fn open(api: Api, spec: &DuckdbSpec) -> Result<Self, OpError> {
        std::fs::create_dir_all(&spec.path)
            .map_err(|error| OpError::fail(FailClass::Other, "FOLDER", error.to_string()))?;
        let path = text(&Path::new(&spec.path).join("db").to_string_lossy())?;
        let mut config = null_mut();
        // SAFETY: makes an object out of nothing.
        unsafe { (api.create_config)(&mut config) };
        let opened = Self::configured(&api, config, spec).and_then(|()| {
            let (mut handle, mut message) = (null_mut(), null_mut());
            // SAFETY: texts end with a zero byte, and the configuration was just made.
            if unsafe { (api.open_ext)(path.as_ptr(), &mut handle, config, &mut message) } != FAILED {
                let over = AtomicBool::new(false);
                return Ok(Self { api, handle, over });
            }
            let said = Api::said(message);
            // SAFETY: the library made the text for us.
            unsafe { (api.free)(message.cast()) };
            Err(op_error(&said))
        });
        // SAFETY: not used afterwards.
        unsafe { (api.destroy_config)(&mut config) };
        let opened = opened?;
        opened.count()?;
        Ok(opened)
    }

    /// Columns do not number their rows, but take numbers from a sequence: one for all tables, beyond the keys of any rows
    /// that are loaded.
    fn count(&self) -> Result<(), OpError> {
        let mut connection = self.connect()?;
        let (sql, mut answer) = (
            c"CREATE SEQUENCE IF NOT EXISTS bakeoff_numbers START 1000000001",
            Answer::NONE,
        );
        // SAFETY: the connection is open, and nothing is used afterwards.
        let said = unsafe {
            let state = (self.api.query)(connection, sql.as_ptr(), &mut answer);
            let said = (state == FAILED).then(|| Api::said((self.api.result_error)(&mut answer)));
            (self.api.destroy_result)(&mut answer);
            (self.api.disconnect)(&mut connection);
            said
        };
        said.map_or(Ok(()), |said| Err(self.error(&said)))
    }

    fn configured(api: &Api, config: Object, spec: &DuckdbSpec) -> Result<(), OpError> {
        // A session stays in its file: it attaches, reads and writes no other, and fetches nothing.
        let ours = [("enable_external_access".to_owned(), "false".to_owned())];
        for (name, value) in spec.settings.clone().into_iter().chain(ours) {
            let (key, said) = (text(&name)?, text(&value)?);
            // SAFETY: the configuration is open, and texts end with a zero byte.
            if unsafe { (api.set_config)(config, key.as_ptr(), said.as_ptr()) } == FAILED {
                let what = format!("DuckDB does not take the setting {name} = {value:?}");
                return Err(OpError::fail(FailClass::Refused, "SETTING", what));
            }
        }
        Ok(())
    }

    /// Of what it said to a session.
    #[cold]
    pub fn error(&self, said: &str) -> OpError {
        let error = op_error(said);
        if is_final(&error) {
            self.over.store(true, Relaxed);
        }
        error
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    pub fn connect(&self) -> Result<Object, OpError> {
        let mut connection = null_mut();
        // SAFETY: the database is open.
        match unsafe { (self.api.connect)(self.handle, &mut connection) } {
            FAILED => Err(OpError::fail(
                FailClass::Other,
                "CONNECT",
                "could not open a connection",
            )),
            _ => Ok(connection),
        }
    }
}
