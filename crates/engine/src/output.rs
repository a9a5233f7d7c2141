//! Events to stdout, one JSON line each, by a thread of its own: nobody who measures ever waits for a reader. A reader
//! that has gone away ends the process: there is nobody left to measure for.
use crate::exit;
use bakeoff_measure::Sink;
use bakeoff_model::event::Event;
use std::io::{BufWriter, StdoutLock, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// How long a reader may take for the last lines.
const LAST_WORDS: Duration = Duration::from_secs(5);

enum Line {
    Event(Box<Event>),
    Flushed(Sender<()>),
}

pub struct Output {
    lines: Sender<Line>,
}

impl Output {
    pub fn start() -> Self {
        let (lines, received) = channel();
        if let Err(trouble) = exit::spawn("output", move || write_all(&received)) {
            let _ = writeln!(std::io::stderr(), "error: {trouble}\n  hint: {}", trouble.hint);
            exit::now(exit::SYSTEM);
        }
        Self { lines }
    }

    pub fn send(&self, event: Event) {
        let _ = self.lines.send(Line::Event(Box::new(event)));
    }

    pub fn sink(self: &Arc<Self>) -> Sink {
        let output = self.clone();
        Arc::new(move |event| output.send(event))
    }

    /// Until everything sent before has been written.
    pub fn flush(&self) {
        let (done, flushed) = channel();
        let _ = self.lines.send(Line::Flushed(done));
        let _ = flushed.recv_timeout(LAST_WORDS);
    }
}

fn write_all(lines: &Receiver<Line>) {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in lines {
        match line {
            Line::Flushed(done) => {
                let _ = done.send(());
            }
            Line::Event(event) => {
                if write_event(&mut out, &event).is_err() {
                    exit::now(exit::SYSTEM);
                }
            }
        }
    }
}

fn write_event(out: &mut BufWriter<StdoutLock<'_>>, event: &Event) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, event)?;
    out.write_all(b"\n")?;
    out.flush()
}
