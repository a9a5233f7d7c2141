//! Control lines on stdin. End of input means that the controller is gone: stop and exit.
use crate::exit::spawn;
use crate::guard::Guard;
use crate::output::Output;
use bakeoff_measure::Control;
use bakeoff_measure::record::interval::warn;
use bakeoff_model::event::{Event, Mark};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run;
use std::io::BufRead;
use std::sync::Arc;

/// Listens on a thread of its own for as long as the process lives.
pub fn listen(control: &Arc<Control>, output: &Arc<Output>, guard: &Arc<Guard>) -> Result<(), Trouble> {
    let (control, output, guard) = (control.clone(), output.clone(), guard.clone());
    spawn("control", move || {
        for line in std::io::stdin().lock().lines() {
            match line {
                Ok(line) => obey(&line, &control, &output),
                Err(_) => break,
            }
        }
        guard.abandon();
        control.stop();
    })
}

fn obey(line: &str, control: &Control, output: &Arc<Output>) {
    match serde_json::from_str(line) {
        Ok(run::Control::StartAt { unix_ns }) => control.start_at(unix_ns),
        Ok(run::Control::Mark { id }) => output.send(Event::Mark(Mark {
            id,
            at_s: control.seconds_now(),
        })),
        Ok(run::Control::Stop) => control.stop(),
        Err(error) if !line.trim().is_empty() => {
            warn(
                &output.sink(),
                control,
                format!("control line not understood: {error}"),
            );
        }
        Err(_) => {}
    }
}
