//! Makes certain that the process ends after a signal, a control line or the end of its input.
use crate::exit;
use crate::output::Output;
use bakeoff_measure::Control;
use bakeoff_model::event::Event;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Beyond the timeout, for an orderly end: gathering and writing the result.
const ORDERLY: Duration = Duration::from_secs(3);
/// After end of input nobody reads the result.
const ABANDONED: Duration = Duration::from_secs(2);

/// Ends the process some time after the request to stop, whatever its threads do.
pub struct Guard {
    patience_ms: AtomicU64,
}

impl Guard {
    pub fn watch(control: &Arc<Control>, output: &Arc<Output>, timeout_s: f64) -> Result<Arc<Self>, Trouble> {
        let patience = Duration::from_secs_f64(timeout_s) + ORDERLY;
        let guard = Arc::new(Self {
            patience_ms: AtomicU64::new(patience.as_millis() as u64),
        });
        let (watching, control_seen, output) = (guard.clone(), control.clone(), output.clone());
        exit::spawn("guard", move || watching.end_after_stop(&control_seen, &output))?;
        let control = control.clone();
        exit::spawn("signals", move || stop_on_signals(&control))?;
        Ok(guard)
    }

    /// The controller is gone.
    pub fn abandon(&self) {
        self.patience_ms.fetch_min(ABANDONED.as_millis() as u64, Relaxed);
    }

    fn end_after_stop(&self, control: &Control, output: &Output) {
        while control.sleep_until(u64::MAX) {}
        let step = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        while waited.as_millis() < u128::from(self.patience_ms.load(Relaxed)) {
            std::thread::sleep(step);
            waited += step;
        }
        output.send(Event::Error(Trouble::new(
            TroubleKind::Server,
            "stopped, but a call did not return in time: nothing could be reported",
            "engine",
            "the system under test no longer answers",
        )));
        output.flush();
        exit::now(if exit::signalled() {
            exit::INTERRUPTED
        } else {
            exit::SYSTEM
        })
    }
}

/// The first signal stops the run and lets it report; the second ends the process.
fn stop_on_signals(control: &Control) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    for _ in signals.forever() {
        if exit::note_signal() {
            exit::now(exit::INTERRUPTED);
        }
        control.stop();
    }
}
