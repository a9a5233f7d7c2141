//! Texts of a plan that are too long to be meant: a dry run refuses them at once, and no session prepares them.
use crate::trouble::refuse;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::sql::TextFile;

pub const FILE_BYTES_MOST: usize = 4 << 20;
/// Of all scripts: each session prepares their statements. A server of MySQL's family holds 16,382 of all its sessions.
pub const COMMANDS_MOST: usize = 20_000;
pub const STATEMENTS_MOST: usize = 100_000;

pub fn check_bytes(option: &str, file: &TextFile) -> Result<(), Trouble> {
    let bytes = file.text.len();
    match bytes <= FILE_BYTES_MOST {
        true => Ok(()),
        false => {
            let what = format!(
                "{} has {bytes} bytes, and at most {FILE_BYTES_MOST} are read",
                file.name
            );
            Err(refuse(
                option,
                what,
                "load rows with `load` from a CSV or Parquet file, or have them drawn",
            ))
        }
    }
}

/// Of the scripts so far.
pub fn check_commands(count: usize) -> Result<(), Trouble> {
    match count <= COMMANDS_MOST {
        true => Ok(()),
        false => {
            let what =
                format!("the scripts have {count} commands or more, and at most {COMMANDS_MOST} can be run");
            let hint = "every session prepares each statement: write one with a variable that \\set draws, not one for each value";
            Err(refuse("scripts", what, hint))
        }
    }
}

pub fn check_statements(option: &str, file: &TextFile, count: usize) -> Result<(), Trouble> {
    match count <= STATEMENTS_MOST {
        true => Ok(()),
        false => {
            let what = format!(
                "{} has {count} statements, and at most {STATEMENTS_MOST} are carried out",
                file.name
            );
            Err(refuse(
                option,
                what,
                "load rows with `load` from a CSV or Parquet file, or have them drawn",
            ))
        }
    }
}
