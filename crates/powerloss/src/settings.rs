//! What the environment says, read once when the library is loaded. `bakeoff-powerloss run` sets it.

use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use crate::device::Device;

pub struct Settings {
    /// Absolute paths without symbolic links. Only files below them are of interest.
    data: Vec<Vec<u8>>,
    pub journal: Option<Vec<u8>>,
    /// Names that were not synced are undone, too.
    pub strict: bool,
    pub device: Option<Device>,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// `None` before the library is initialised, and where nothing is asked of it.
pub fn get() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// The journal's folder, if there is a journal.
pub fn journal() -> Option<&'static [u8]> {
    get()?.journal.as_deref()
}

impl Settings {
    pub fn is_data(&self, path: &[u8]) -> bool {
        self.data.iter().any(|folder| {
            path.strip_prefix(folder.as_slice())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }
}

/// Copied, since some servers overwrite their environment to show a title in `ps`.
fn variable(name: &str) -> Option<Vec<u8>> {
    std::env::var_os(name)
        .map(OsStringExt::into_vec)
        .filter(|value| !value.is_empty())
}

fn number(name: &str) -> u64 {
    variable(name)
        .and_then(|value| String::from_utf8(value).ok()?.parse().ok())
        .unwrap_or(0)
}

/// The file of a clock that may be wrong.
pub fn clock() -> Option<Vec<u8>> {
    variable("BAKEOFF_CLOCK")
}

/// Reads the environment. Whether this is the first time, and something is asked of the library.
pub fn read() -> bool {
    let Some(data) = variable("BAKEOFF_STORAGE_DATA") else {
        return false;
    };
    let device = Device::new(
        number("BAKEOFF_STORAGE_SYNC_LATENCY_NS"),
        number("BAKEOFF_STORAGE_JITTER_NS"),
        number("BAKEOFF_STORAGE_BANDWIDTH_BYTES_PER_S"),
        number("BAKEOFF_STORAGE_SEED"),
    );
    let settings = Settings {
        data: data
            .split(|byte| *byte == b':')
            .filter(|part| !part.is_empty())
            .map(<[u8]>::to_vec)
            .collect(),
        journal: variable("BAKEOFF_STORAGE_JOURNAL"),
        strict: variable("BAKEOFF_STORAGE_STRICT").is_some(),
        device,
    };
    SETTINGS.set(settings).is_ok()
}
