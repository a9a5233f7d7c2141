//! The functions of the C library that are replaced, by subject. Each does what the original does.
//!
//! Variadic functions (`open`, `syscall`) take all arguments they may have: the calling conventions of x86_64 and aarch64 pass
//! them in the same registers, and one that was not passed is not used.

pub mod clocks;
mod naming;
mod opening;
mod sizing;
mod syncing;
mod unseen;
mod writing;

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// A function of another library, for what cannot be done by a system call. It is looked up once, so that a forked child of a
/// program with threads need not wait for the loader's lock.
struct Original {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Original {
    const fn new(name: &'static CStr) -> Original {
        Original {
            name,
            address: AtomicUsize::new(0),
        }
    }

    /// # Safety
    /// `T` is the type of a function with this name.
    unsafe fn get<T: Copy>(&self) -> Option<T> {
        if self.address.load(Ordering::Relaxed) == 0 {
            // SAFETY: the name ends with a zero byte.
            let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
            self.address.store(address, Ordering::Relaxed);
        }
        // SAFETY: as it is asked.
        unsafe { self.found() }
    }

    /// If it was looked up before.
    ///
    /// # Safety
    /// As above.
    unsafe fn found<T: Copy>(&self) -> Option<T> {
        const { assert!(size_of::<T>() == size_of::<usize>()) };
        let address = self.address.load(Ordering::Relaxed);
        // SAFETY: a function's address has the size of `T`, as asserted, and is not zero.
        (address != 0).then(|| unsafe { std::mem::transmute_copy(&address) })
    }
}

fn as_int(result: isize) -> c_int {
    crate::sys::returned(result) as c_int
}
