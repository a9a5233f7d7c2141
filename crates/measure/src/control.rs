//! What the controller may say while a run goes on, the time axis everybody shares, and where events go.
use bakeoff_model::event::Event;
use bakeoff_model::time::now_ns;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Takes events from any thread; must not block for long.
pub type Sink = Arc<dyn Fn(Event) + Send + Sync>;

/// The run's time axis, all in ns of [`now_ns`]. Only the window's end ever changes: `stop` brings it forward, and a
/// limit by operations fixes it when the last one has ended.
pub struct Axis {
    pub epoch_ns: u64,
    pub epoch_unix_ns: u64,
    pub window_start_ns: u64,
    /// Whatever fell due earlier is in no figure of the run. In an open loop that is what fell due before the window; in
    /// a closed one nothing, because there an operation belongs to where it ended.
    pub due_from_ns: u64,
    window_end_ns: AtomicU64,
}

impl Axis {
    pub fn new(
        epoch_ns: u64,
        epoch_unix_ns: u64,
        warm_up_ns: u64,
        window_ns: Option<u64>,
        open: bool,
    ) -> Self {
        let window_start_ns = epoch_ns + warm_up_ns;
        Self {
            epoch_ns,
            epoch_unix_ns,
            window_start_ns,
            due_from_ns: if open { window_start_ns } else { 0 },
            window_end_ns: AtomicU64::new(
                window_ns.map_or(u64::MAX, |window_ns| window_start_ns + window_ns),
            ),
        }
    }

    /// `u64::MAX` while nobody knows it. Read per operation, written at most twice a run.
    #[inline]
    pub fn window_end_ns(&self) -> u64 {
        self.window_end_ns.load(Relaxed)
    }

    pub fn end_by(&self, end_ns: u64) {
        self.window_end_ns.fetch_min(end_ns, Relaxed);
    }

    pub fn in_window(&self, at_ns: u64) -> bool {
        (self.window_start_ns..=self.window_end_ns()).contains(&at_ns)
    }

    /// Whether what fell due at `due_ns` and ended at `end_ns` is in the run's figures.
    pub fn counts(&self, due_ns: u64, end_ns: u64) -> bool {
        due_ns >= self.due_from_ns && self.in_window(end_ns)
    }

    /// The age at the window's end of what fell due at `due_ns` and had not ended by then; `None`: it is in no figure of
    /// the run.
    pub fn age_at_end_ns(&self, due_ns: u64) -> Option<u64> {
        let end_ns = self.window_end_ns();
        let owed = due_ns >= self.due_from_ns && due_ns < end_ns && end_ns != u64::MAX;
        owed.then(|| end_ns - due_ns)
    }

    /// Seconds since the epoch.
    pub fn seconds(&self, at_ns: u64) -> f64 {
        (at_ns as f64 - self.epoch_ns as f64) / 1e9
    }
}

/// Shared by whoever listens to the controller and the run.
#[derive(Default)]
pub struct Control {
    state: Mutex<State>,
    changed: Condvar,
    axis: OnceLock<Arc<Axis>>,
}

#[derive(Default)]
struct State {
    start_at_unix_ns: Option<u64>,
    stopped_at_ns: Option<u64>,
    hurried: bool,
}

impl Control {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn start_at(&self, unix_ns: u64) {
        self.state().start_at_unix_ns = Some(unix_ns);
        self.changed.notify_all();
    }

    /// Begins as soon as everything is ready.
    pub fn start_now(&self) {
        self.start_at(0);
    }

    /// Ends the run now; what was measured is reported. Asked again, or after the window, it also ends the waiting for
    /// what is still in flight.
    pub fn stop(&self) {
        let mut state = self.state();
        let now = now_ns();
        state.hurried |= state.stopped_at_ns.is_some();
        state.stopped_at_ns.get_or_insert(now);
        if let Some(axis) = self.axis.get() {
            state.hurried |= axis.window_end_ns() < now;
            axis.end_by(now);
        }
        drop(state);
        self.changed.notify_all();
    }

    pub fn stopped_at_ns(&self) -> Option<u64> {
        self.state().stopped_at_ns
    }

    /// Whether nobody wants to wait any longer for what is in flight.
    pub fn is_hurried(&self) -> bool {
        self.state().hurried
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped_at_ns().is_some()
    }

    /// Seconds since the epoch; 0 before there is one.
    pub fn seconds_now(&self) -> f64 {
        self.axis.get().map_or(0.0, |axis| axis.seconds(now_ns()))
    }

    /// Blocks until the controller has named the start. `None`: stopped instead.
    pub fn wait_for_start(&self) -> Option<u64> {
        let mut state = self.state();
        loop {
            if state.stopped_at_ns.is_some() {
                return None;
            }
            if let Some(unix_ns) = state.start_at_unix_ns {
                return Some(unix_ns);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Publishes the axis: workers and `stop` see it from here on.
    pub fn set_axis(&self, axis: Arc<Axis>) {
        let state = self.state();
        if let Some(stopped_at_ns) = state.stopped_at_ns {
            axis.end_by(stopped_at_ns);
        }
        let _ = self.axis.set(axis);
        drop(state);
        self.changed.notify_all();
    }

    /// Blocks until there is an axis. `None`: stopped before there was one.
    pub fn wait_for_axis(&self) -> Option<Arc<Axis>> {
        let mut state = self.state();
        loop {
            if let Some(axis) = self.axis.get() {
                return Some(axis.clone());
            }
            if state.stopped_at_ns.is_some() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub fn axis(&self) -> Option<&Arc<Axis>> {
        self.axis.get()
    }

    /// Sleeps until `deadline_ns`, or until stopped (then false).
    pub fn sleep_until(&self, deadline_ns: u64) -> bool {
        let mut state = self.state();
        loop {
            if state.stopped_at_ns.is_some() {
                return false;
            }
            let now = now_ns();
            if now >= deadline_ns {
                return true;
            }
            let left = Duration::from_nanos(deadline_ns - now);
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// The real-time clock and the monotonic one, read together.
pub fn clocks() -> (u64, u64) {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (unix.as_nanos() as u64, now_ns())
}
