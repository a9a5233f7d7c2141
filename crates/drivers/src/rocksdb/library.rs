//! RocksDB's C API, of a shared library that is loaded when a store is opened: compiled in, RocksDB would take longer to
//! build than the rest of bakeoff, and be as large.
//!
//! Source: rocksdb/c.h, the same in 7.8 and 10.10.
use bakeoff_model::outcome::{FailClass, OpError};
use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::ptr::null_mut;

/// An object of the library.
pub type Object = *mut c_void;
/// Where a function that fails leaves its message, which is to be freed.
pub type Message = *mut *mut c_char;
type Length = *mut usize;
type Text = *const c_char;

crate::loaded::functions! {
    "rocksdb_"
    fn free(*mut c_void);
    fn options_create() -> Object;
    fn options_destroy(Object);
    fn options_set_create_if_missing(Object, c_uchar);
    fn get_options_from_string(Object, Text, Object, Message);
    fn transactiondb_options_create() -> Object;
    fn transactiondb_options_destroy(Object);
    fn transactiondb_open(Object, Object, Text, Message) -> Object;
    fn transactiondb_close(Object);
    fn flushoptions_create() -> Object;
    fn flushoptions_destroy(Object);
    fn transactiondb_flush(Object, Object, Message);
    fn transactiondb_flush_wal(Object, c_uchar, Message);
    fn writeoptions_create() -> Object;
    fn writeoptions_destroy(Object);
    fn writeoptions_set_sync(Object, c_uchar);
    fn writeoptions_disable_WAL(Object, c_int);
    fn readoptions_create() -> Object;
    fn readoptions_destroy(Object);
    fn readoptions_set_snapshot(Object, *const c_void);
    fn transactiondb_create_snapshot(Object) -> *const c_void;
    fn transactiondb_release_snapshot(Object, *const c_void);
    fn transaction_options_create() -> Object;
    fn transaction_options_destroy(Object);
    fn transaction_options_set_lock_timeout(Object, i64);
    fn transaction_begin(Object, Object, Object, Object) -> Object;
    fn transaction_commit(Object, Message);
    fn transaction_rollback(Object, Message);
    fn transaction_destroy(Object);
    fn transaction_put(Object, Text, usize, Text, usize, Message);
    fn transaction_delete(Object, Text, usize, Message);
    fn transaction_get_pinned(Object, Object, Text, usize, Message) -> Object;
    fn transaction_get_pinned_for_update(Object, Object, Text, usize, c_uchar, Message) -> Object;
    fn transactiondb_get_pinned(Object, Object, Text, usize, Message) -> Object;
    fn pinnableslice_value(Object, Length) -> Text;
    fn pinnableslice_destroy(Object);
    fn transaction_create_iterator(Object, Object) -> Object;
    fn transactiondb_create_iterator(Object, Object) -> Object;
    fn iter_seek(Object, Text, usize);
    fn iter_valid(Object) -> c_uchar;
    fn iter_next(Object);
    fn iter_key(Object, Length) -> Text;
    fn iter_value(Object, Length) -> Text;
    fn iter_get_error(Object, Message);
    fn iter_destroy(Object);
}

impl Api {
    /// What a call answers that may leave a message.
    #[inline]
    pub fn checked<T>(&self, call: impl FnOnce(Message) -> T) -> Result<T, OpError> {
        let mut message = null_mut();
        let answer = call(&mut message);
        if message.is_null() {
            return Ok(answer);
        }
        Err(self.said(message))
    }

    #[cold]
    fn said(&self, message: *mut c_char) -> OpError {
        // SAFETY: the library has set it to a text, which nobody else frees.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
        // SAFETY: as above; not used afterwards.
        unsafe { (self.free)(message.cast()) };
        op_error(&text)
    }
}

pub fn text(words: &str) -> Result<CString, OpError> {
    CString::new(words).map_err(|_| {
        let what = "a path or a setting has a zero byte";
        OpError::fail(FailClass::Refused, "SETTING", what)
    })
}

/// # Safety
/// The library has answered with it, and its owner was not changed since.
#[inline]
pub unsafe fn bytes<'a>(answer: impl FnOnce(Length) -> Text) -> &'a [u8] {
    let mut length = 0;
    let start = answer(&mut length);
    if length == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// How its messages begin (`Status::ToString`).
const CODES: &[(&str, FailClass)] = &[
    ("Resource busy", FailClass::Conflict),
    // Of waiting for the lock of a key.
    ("Operation timed out", FailClass::Conflict),
    ("Operation failed. Try again.", FailClass::Conflict),
    ("Operation expired", FailClass::Conflict),
    ("Invalid argument", FailClass::Refused),
    ("Not implemented", FailClass::Refused),
    ("Shutdown in progress", FailClass::Refused),
];

#[cold]
fn op_error(said: &str) -> OpError {
    let full = said.contains("No space left on device") || said.contains("Disk quota exceeded");
    let known = CODES.iter().find(|(begins, _)| said.starts_with(begins));
    let class = match known {
        _ if full => FailClass::Overload,
        Some((_, class)) => *class,
        None => FailClass::Other,
    };
    let code = said.split(':').next().unwrap_or_default();
    OpError::fail(class, code, said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::Outcome;

    #[test]
    fn what_the_library_says_has_a_class() {
        for (said, class) in [
            (
                "Operation timed out: Timeout waiting to lock key",
                FailClass::Conflict,
            ),
            ("Resource busy: Deadlock", FailClass::Conflict),
            (
                "IO error: No space left on device: While appending to file: /x/000004.log",
                FailClass::Overload,
            ),
            ("IO error: While fsync: Input/output error", FailClass::Other),
            ("Corruption: block checksum mismatch", FailClass::Other),
            ("Invalid argument: Could not find option: x", FailClass::Refused),
        ] {
            assert_eq!(op_error(said).outcome, Outcome::Fail(class), "{said}");
        }
        assert_eq!(op_error("Resource busy: Deadlock").code, "Resource busy");
    }

    #[test]
    fn a_file_that_is_no_library_is_an_error() {
        assert!(Api::load(file!()).is_err());
    }
}
