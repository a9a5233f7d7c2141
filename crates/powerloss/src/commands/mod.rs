//! One file per command, and how their arguments are read.

pub mod apply;
mod changes;
pub mod check;
pub mod run;
pub mod self_test;

use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};

pub struct Failure {
    pub text: String,
    pub code: u8,
}

impl Failure {
    pub fn usage(text: impl Display) -> Failure {
        Failure {
            text: format!("{text} (see bakeoff-powerloss help)"),
            code: 2,
        }
    }

    pub fn new(what: impl Display, path: &Path, why: impl Display) -> Failure {
        Failure {
            text: format!("{what} {}: {why}", path.display()),
            code: 3,
        }
    }
}

/// True if done; false if there is no verdict, or a self-test failed.
pub type Outcome = Result<bool, Failure>;

/// Options of a command. All commands share their meaning.
#[derive(Default)]
pub struct Options {
    pub data: Vec<PathBuf>,
    pub journal: Option<PathBuf>,
    pub library: Option<PathBuf>,
    pub folder: Option<PathBuf>,
    pub strict: bool,
    pub processes: Vec<u32>,
    /// If only 0: then the library is loaded, and costs what it costs.
    pub sync_latency_ns: Option<u64>,
    pub jitter_ns: u64,
    /// The same.
    pub bandwidth_bytes_per_s: Option<u64>,
    pub seed: u64,
    /// By how much the time of day is wrong: 8 bytes, nanoseconds, which may change.
    pub clock: Option<PathBuf>,
    /// What follows `--`.
    pub command: Vec<OsString>,
}

impl Options {
    pub fn read(arguments: Vec<OsString>) -> Result<Options, Failure> {
        let mut options = Options::default();
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let name = argument.to_string_lossy().into_owned();
            if name == "--" {
                options.command = rest.collect();
                break;
            }
            if name == "--strict" {
                options.strict = true;
                continue;
            }
            let value = rest
                .next()
                .ok_or_else(|| Failure::usage(format!("{name} needs a value")))?;
            let text = value.to_string_lossy().into_owned();
            let wrong = || Failure::usage(format!("{name} {text} is not understood"));
            match name.as_str() {
                "--data" => options.data.push(absolute(&value)?),
                "--journal" => options.journal = Some(value.into()),
                "--library" => options.library = Some(value.into()),
                "--folder" => options.folder = Some(value.into()),
                "--process" => options.processes.push(text.parse().map_err(|_| wrong())?),
                "--sync-latency" => options.sync_latency_ns = Some(scaled(&text, &TIMES).ok_or_else(wrong)?),
                "--jitter" => options.jitter_ns = scaled(&text, &TIMES).ok_or_else(wrong)?,
                "--bandwidth" => {
                    options.bandwidth_bytes_per_s = Some(scaled(&text, &SIZES).ok_or_else(wrong)?)
                }
                "--clock" => options.clock = Some(absolute(&value)?),
                "--seed" => options.seed = text.parse().map_err(|_| wrong())?,
                _ => return Err(Failure::usage(format!("unknown option {name}"))),
            }
        }
        Ok(options)
    }

    pub fn needed_journal(&self) -> Result<PathBuf, Failure> {
        absolute(
            self.journal
                .as_ref()
                .ok_or_else(|| Failure::usage("--journal is needed"))?,
        )
    }
}

/// Without symbolic links, as the kernel reports the path of an open file.
pub fn absolute(path: impl AsRef<Path>) -> Result<PathBuf, Failure> {
    let path = path.as_ref();
    path.canonicalize()
        .map_err(|why| Failure::new("cannot find", path, why))
}

const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const SIZES: [(&str, f64); 4] = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)];

/// `1.5ms` in the smallest unit.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let (number, scale) = units
        .iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    let value = number.trim().parse::<f64>().ok()? * scale;
    (0.0..1e18).contains(&value).then_some(value as u64)
}

/// A JSON string.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter < ' ' => quoted.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_carry_their_unit() {
        assert_eq!(scaled("1.5ms", &TIMES), Some(1_500_000));
        assert_eq!(scaled("2s", &TIMES), Some(2_000_000_000));
        assert_eq!(scaled("50MB", &SIZES), Some(50_000_000));
        assert_eq!(scaled("50", &SIZES), None);
        assert_eq!(scaled("-1s", &TIMES), None);
    }

    #[test]
    fn a_quoted_text_is_json() {
        assert_eq!(quoted("a\"b\\c\n"), r#""a\"b\\c\u000a""#);
    }
}
