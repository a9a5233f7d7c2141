//! The whole as one function: a history, what is claimed of it, and a verdict as JSON.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::bank::{self, Bank};
use crate::error::Error;
use crate::history::History;
use crate::level::{Level, Order};
use crate::list_append;
use crate::register::{self, Claims};
use crate::verdict::Verdict;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "check", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    ListAppend {
        #[serde(default)]
        claim: Option<Level>,
        #[serde(default)]
        order: Order,
    },
    Register {
        #[serde(default)]
        claims: Claims,
    },
    Bank {
        bank: Bank,
        #[serde(default)]
        claim: Option<Level>,
    },
}

/// Reads the whole history and writes one document.
pub fn judge(history: impl BufRead, question: &Question, mut answer: impl Write) -> Result<Verdict, Error> {
    let history = History::read(history)?;
    let verdict = match *question {
        Question::ListAppend { claim, order } => {
            let report = list_append::judge(&history, claim, order)?;
            write(&mut answer, &report)?;
            report.verdict
        }
        Question::Register { ref claims } => {
            let report = register::judge(&history, claims)?;
            write(&mut answer, &report)?;
            report.verdict
        }
        Question::Bank { bank, claim } => {
            let report = bank::judge(&history, bank, claim);
            write(&mut answer, &report)?;
            report.verdict
        }
    };
    Ok(verdict)
}

fn write(answer: &mut impl Write, report: &impl Serialize) -> Result<(), Error> {
    serde_json::to_writer_pretty(&mut *answer, report)?;
    Ok(writeln!(answer)?)
}
