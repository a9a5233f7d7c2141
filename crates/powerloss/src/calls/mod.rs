//! The functions of the C library that are replaced, by subject. Each does what the original does.
//!
//! Variadic functions (`open`, `syscall`) take all arguments they may have: the calling conventions of x86_64 and aarch64 pass
//! them in the same registers, and one that was not passed is not used.

mod naming;
mod opening;
mod sizing;
mod syncing;
mod unseen;
mod writing;

use std::ffi::{CStr, c_char, c_int};

type Path = *const c_char;

/// `[name, other_name] (argument: type) -> result = body;`: exported functions of these names, which all do the same.
macro_rules! functions {
    ($([$($name:ident),+] $arguments:tt -> $result:ty = $body:expr;)*) => {
        $($($crate::calls::function!($name $arguments -> $result = $body);)+)*
    };
}

macro_rules! function {
    ($name:ident ($($argument:ident: $type:ty),*) -> $result:ty = $body:expr) => {
        #[unsafe(no_mangle)]
        #[allow(clippy::missing_safety_doc, reason = "the C library's manual has it")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: who calls a function of the C library answers for its arguments, as for the original, and the
            // body passes them on.
            #[allow(unused_unsafe, reason = "some take numbers only")]
            unsafe { $body }
        }
    };
}
use {function, functions};

/// The C library's own function, for what cannot be done by a system call. `T` is its type.
///
/// # Safety
/// `T` is the type of a function with this name.
unsafe fn original<T: Copy>(name: &CStr) -> Option<T> {
    const { assert!(size_of::<T>() == size_of::<usize>()) };
    // SAFETY: `name` ends with a zero byte. A function's address has the size of `T`, as asserted, and is not zero.
    unsafe {
        let address = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        (!address.is_null()).then(|| std::mem::transmute_copy(&address))
    }
}

fn as_int(result: isize) -> c_int {
    crate::sys::returned(result) as c_int
}
