//! The time of day, which may be wrong, and waits until a time of day, which last as long as with the right one.

use std::ffi::{c_int, c_void};

use super::{Original, as_int, functions};
use crate::clock::{is_wrong, moved, shift_ns};
use crate::sys::call;

type Time = libc::timespec;

static GETTIME: Original = Original::new(c"clock_gettime");
static CONDITION: Original = Original::new(c"pthread_cond_timedwait");
static CONDITION_ON: Original = Original::new(c"pthread_cond_clockwait");
static MUTEX: Original = Original::new(c"pthread_mutex_timedlock");
static READ_LOCK: Original = Original::new(c"pthread_rwlock_timedrdlock");
static WRITE_LOCK: Original = Original::new(c"pthread_rwlock_timedwrlock");
static SEMAPHORE: Original = Original::new(c"sem_timedwait");
static SEMAPHORE_ON: Original = Original::new(c"sem_clockwait");

/// When the library is loaded: the search may allocate, and an allocator may ask for the time, so nothing searches later.
pub fn find_the_clock() {
    // SAFETY: only the address is asked for.
    let _ = unsafe { GETTIME.get::<usize>() };
}

functions! {
    [clock_gettime] (clock: c_int, now: *mut Time) -> c_int = gettime(clock, now);
    [gettimeofday] (now: *mut libc::timeval, _zone: *mut c_void) -> c_int = {
        let mut time = NOTHING;
        let done = gettime(libc::CLOCK_REALTIME, &raw mut time);
        if let Some(now) = now.as_mut() {
            (now.tv_sec, now.tv_usec) = (time.tv_sec, time.tv_nsec / 1000);
        }
        done
    };
    [time] (now: *mut libc::time_t) -> libc::time_t = {
        let mut time = NOTHING;
        gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time);
        if let Some(now) = now.as_mut() {
            *now = time.tv_sec;
        }
        time.tv_sec
    };
    [timespec_get] (now: *mut Time, base: c_int) -> c_int = match base {
        TIME_UTC if gettime(libc::CLOCK_REALTIME, now) == 0 => TIME_UTC,
        _ => 0,
    };
    [pthread_cond_timedwait] (condition: *mut c_void, mutex: *mut c_void, until: *const Time) -> c_int = {
        type Wait = unsafe extern "C" fn(*mut c_void, *mut c_void, *const Time) -> c_int;
        let until = right(*until);
        CONDITION.get::<Wait>().map_or(libc::ENOSYS, |wait| wait(condition, mutex, &raw const until))
    };
    [pthread_cond_clockwait] (condition: *mut c_void, mutex: *mut c_void, clock: c_int, until: *const Time) -> c_int = {
        type Wait = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *const Time) -> c_int;
        let until = right(*until);
        CONDITION_ON.get::<Wait>().map_or(libc::ENOSYS, |wait| wait(condition, mutex, clock, &raw const until))
    };
    [pthread_mutex_timedlock] (mutex: *mut c_void, until: *const Time) -> c_int = wait_for(&MUTEX, mutex, until);
    [pthread_rwlock_timedrdlock] (lock: *mut c_void, until: *const Time) -> c_int = wait_for(&READ_LOCK, lock, until);
    [pthread_rwlock_timedwrlock] (lock: *mut c_void, until: *const Time) -> c_int = wait_for(&WRITE_LOCK, lock, until);
    [sem_timedwait] (semaphore: *mut c_void, until: *const Time) -> c_int = wait_for(&SEMAPHORE, semaphore, until);
    [sem_clockwait] (semaphore: *mut c_void, clock: c_int, until: *const Time) -> c_int = {
        type Wait = unsafe extern "C" fn(*mut c_void, c_int, *const Time) -> c_int;
        let until = right(*until);
        SEMAPHORE_ON.get::<Wait>().map_or(libc::ENOSYS, |wait| wait(semaphore, clock, &raw const until))
    };
    [clock_nanosleep] (clock: c_int, flags: c_int, until: *const Time, left: *mut Time) -> c_int = {
        let until = if flags & libc::TIMER_ABSTIME == 0 { *until } else { right(*until) };
        -call!(SYS_clock_nanosleep, clock, flags, &raw const until, left) as c_int
    };
}

const NOTHING: Time = Time {
    tv_sec: 0,
    tv_nsec: 0,
};
const TIME_UTC: c_int = 1;
/// Seconds: a time of day is later, and no other clock has run for so long. A condition does not say which clock it has.
const TIME_OF_DAY_MIN: i64 = 1_000_000_000;

/// # Safety
/// As of the C library's function.
unsafe fn gettime(clock: c_int, now: *mut Time) -> c_int {
    type GetTime = unsafe extern "C" fn(c_int, *mut Time) -> c_int;
    // SAFETY: who calls answers for the place of the result.
    unsafe {
        let done = match GETTIME.found::<GetTime>() {
            Some(original) => original(clock, now),
            None => as_int(call!(SYS_clock_gettime, clock, now)),
        };
        if done == 0 && is_wrong(clock) {
            *now = moved(*now, shift_ns());
        }
        done
    }
}

/// # Safety
/// As of the C library's functions that wait for something until a time of day.
unsafe fn wait_for(original: &Original, what: *mut c_void, until: *const Time) -> c_int {
    type Wait = unsafe extern "C" fn(*mut c_void, *const Time) -> c_int;
    // SAFETY: who calls answers for the arguments.
    unsafe {
        let until = right(*until);
        original
            .get::<Wait>()
            .map_or(libc::ENOSYS, |wait| wait(what, &raw const until))
    }
}

/// The right time of day for one that was reckoned from a wrong one; any other time as it is.
fn right(until: Time) -> Time {
    match until.tv_sec > TIME_OF_DAY_MIN {
        true => moved(until, -shift_ns()),
        false => until,
    }
}
