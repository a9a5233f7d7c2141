//! `bakeoff-engine resolve`: one request a line on stdin, one answer a line on stdout, until the end of input.
use crate::registry;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::resolve::{Answer, Request};
use std::io::{BufRead, Write};

pub fn answer_all(requests: impl BufRead, mut answers: impl Write) -> std::io::Result<()> {
    for line in requests.lines() {
        serde_json::to_writer(&mut answers, &answer(&line?))?;
        answers.write_all(b"\n")?;
        answers.flush()?;
    }
    Ok(())
}

fn answer(line: &str) -> Answer {
    let read = serde_json::from_str::<Request>(line).map_err(|error| {
        let hint = "`bakeoff-engine schema` prints what a request may hold";
        Trouble::new(TroubleKind::Usage, error.to_string(), "request", hint)
    });
    read.and_then(|request| registry::resolve(&request))
        .unwrap_or_else(Answer::Refused)
}
