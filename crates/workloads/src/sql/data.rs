//! A CSV file whose rows are loaded: read once from its beginning to its end before anything starts, so that a bad row is
//! refused with its line, rows are counted, and a load can begin in many places at once.
use super::csv::{Format, Place, Reader, Wrong};
use crate::trouble::refuse;
use bakeoff_model::outcome::{FailClass, OpError, Trouble};
use bakeoff_model::run::sql::{DataFile, LoadTable};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Rows between two places that are remembered: 24 bytes for each.
const ROWS_APART: u64 = 1000;
const BUFFER_BYTES: usize = 256 * 1024;

#[derive(Clone, Debug)]
pub struct Data {
    /// With what was found.
    pub file: DataFile,
    pub columns: Vec<String>,
    format: Format,
    places: Vec<Place>,
}

/// What a file was read as, and its size and age then.
#[derive(Clone, Debug, PartialEq)]
struct Version {
    file: DataFile,
    format: Format,
    header: Vec<String>,
    size_bytes: u64,
    modified: SystemTime,
}

/// Files that this process has read: a plan asks of the same ones for each of its cells.
static READ: Mutex<Vec<(Version, Data)>> = Mutex::new(vec![]);

impl Data {
    /// Reads the whole file, unless it has been read as it is. Cost: about 5 ns a byte.
    pub fn read(table: &str, load: &LoadTable, file: &DataFile) -> Result<Self, Trouble> {
        let format = format_of(table, load)?;
        let found = std::fs::metadata(&file.path);
        let version = found.and_then(|found| {
            Ok(Version {
                file: file.clone(),
                format: format.clone(),
                header: load.header.clone(),
                size_bytes: found.len(),
                modified: found.modified()?,
            })
        });
        // A file that is not there is refused when it is opened.
        let Ok(version) = version else {
            return Self::read_whole(load, file, format);
        };
        let all = || READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, data)) = all().iter().find(|(known, _)| *known == version) {
            return Ok(data.clone());
        }
        let data = Self::read_whole(load, file, format)?;
        all().push((version, data.clone()));
        Ok(data)
    }

    fn read_whole(load: &LoadTable, file: &DataFile, format: Format) -> Result<Self, Trouble> {
        let refused = |what: String| {
            let hint = "give each row a value for each column, and quote values with a delimiter or a quote";
            refuse("load", format!("{}{what}", file.name), hint)
        };
        let wrong = |wrong: Wrong| refused(format!(", line {}: {}", wrong.line, wrong.what));
        let opened = open(&file.path).map_err(|error| {
            let what = format!("{} cannot be read: {error}", file.name);
            refuse("load", what, "files are relative to the plan's folder")
        })?;
        let input = BufReader::with_capacity(BUFFER_BYTES, Hashed::new(opened));
        let mut reader = Reader::new(input, format.clone(), Place::FIRST);
        let columns = match load.header.is_empty() {
            false => load.header.clone(),
            true => header(&mut reader)
                .map_err(wrong)?
                .ok_or_else(|| refused(" is empty, and its first line names the columns".into()))?,
        };
        let named: Vec<_> = columns.iter().map(|name| name.to_lowercase()).collect();
        if let Some(twice) = (1..named.len()).find(|&place| named[..place].contains(&named[place])) {
            return Err(refused(format!(" has two columns named {:?}", columns[twice])));
        }
        let mut made = Self {
            file: file.clone(),
            columns,
            format,
            places: vec![],
        };
        let mut place = reader.place();
        made.file.rows = 0;
        while reader.advance().map_err(wrong)? {
            if made.file.rows.is_multiple_of(ROWS_APART) {
                made.places.push(place);
            }
            let count = reader.values().len();
            if count != made.columns.len() {
                let what = format!("it has {count} of {} values", made.columns.len());
                let line = reader.line();
                return Err(wrong(Wrong { line, what }));
            }
            made.file.rows += 1;
            place = reader.place();
        }
        let hashed = reader.into_input().into_inner();
        (made.file.size_bytes, made.file.sha256) = hashed.finish();
        Ok(made)
    }

    /// Refuses a file that has changed since the plan was read.
    pub fn verify(&self, planned: &DataFile) -> Result<(), Trouble> {
        if planned.sha256 == self.file.sha256 {
            return Ok(());
        }
        let what = format!("{} is not what it was when the plan was read", self.file.name);
        Err(refuse("load", what, "let it be while a plan runs"))
    }

    /// Rows from `first` (from 0) on.
    pub fn rows_from(&self, first: u64) -> Result<Reader<BufReader<File>>, OpError> {
        let index = (first / ROWS_APART) as usize;
        let place = self.places.get(index).copied().unwrap_or(Place::FIRST);
        let opened = open(&self.file.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(place.offset))?;
            Ok(BufReader::with_capacity(BUFFER_BYTES, file))
        });
        let failed = |what: String| OpError::fail(FailClass::Other, "CSV", what);
        let input = opened.map_err(|e| failed(format!("{}: {e}", self.file.name)))?;
        let mut reader = Reader::new(input, self.format.clone(), place);
        for _ in 0..first % ROWS_APART {
            reader.advance().map_err(|wrong| self.failure(&wrong))?;
        }
        Ok(reader)
    }

    pub fn failure(&self, wrong: &Wrong) -> OpError {
        let what = format!("{}, line {}: {}", self.file.name, wrong.line, wrong.what);
        OpError::fail(FailClass::Other, "CSV", what)
    }
}

/// A pipe would never end.
fn open(path: &str) -> io::Result<File> {
    match std::fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

fn header<R: io::BufRead>(reader: &mut Reader<R>) -> Result<Option<Vec<String>>, Wrong> {
    if !reader.advance()? {
        return Ok(None);
    }
    let name = |value: Option<&[u8]>| String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
    let names: Vec<String> = reader.values().map(name).collect();
    match names.iter().any(String::is_empty) {
        true => Err(Wrong {
            line: reader.line(),
            what: "a column has no name".into(),
        }),
        false => Ok(Some(names)),
    }
}

fn format_of(table: &str, load: &LoadTable) -> Result<Format, Trouble> {
    let delimiter = load.delimiter.as_deref().unwrap_or(",");
    match delimiter.as_bytes() {
        [byte] if !matches!(byte, b'"' | b'\n' | b'\r') => Ok(Format {
            delimiter: *byte,
            null: load.null.clone().unwrap_or_default().into_bytes(),
        }),
        _ => {
            let what = format!("`load` `{table}` `delimiter` cannot be {delimiter:?}");
            Err(refuse(
                "load",
                what,
                "it is one character, such as \",\" or \"\\t\"",
            ))
        }
    }
}

/// What is read goes into a hash, and is counted.
struct Hashed {
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Hashed {
    fn new(file: File) -> Self {
        Self {
            file,
            hash: Sha256::new(),
            bytes: 0,
        }
    }

    /// Bytes, and the hash's digits.
    fn finish(self) -> (u64, String) {
        let mut digits = String::new();
        for byte in self.hash.finalize() {
            let _ = write!(digits, "{byte:02x}");
        }
        (self.bytes, digits)
    }
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Temporary(std::path::PathBuf);

    impl Temporary {
        fn new(name: &str, text: &str) -> Self {
            let path = std::env::temp_dir().join(format!("bakeoff-{}-{name}", std::process::id()));
            std::fs::write(&path, text).unwrap();
            Self(path)
        }

        fn data(&self, load: &LoadTable) -> Result<Data, Trouble> {
            let file = DataFile {
                name: "rows.csv".into(),
                path: self.0.to_str().unwrap().into(),
                ..DataFile::default()
            };
            Data::read("t", load, &file)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn rows_are_counted_and_read_from_any_of_them() {
        let mut text = "id,name\n".to_owned();
        (0..2500).for_each(|id| text += &format!("{id},\"n\n{id}\"\n"));
        let file = Temporary::new("counted.csv", &text);
        let data = file.data(&LoadTable::default()).unwrap();
        assert_eq!((data.file.rows, data.columns.join(" ")), (2500, "id name".into()));
        assert_eq!(data.file.size_bytes, text.len() as u64);
        for first in [0, 1, 999, 1000, 2499] {
            let mut reader = data.rows_from(first).unwrap();
            assert!(reader.advance().unwrap());
            let id = reader.values().next().flatten().unwrap().to_vec();
            assert_eq!(String::from_utf8(id).unwrap(), first.to_string());
            assert_eq!(reader.line(), 2 + 2 * first);
        }
        assert!(data.verify(&data.file).is_ok());
        let refusal = data.verify(&DataFile::default()).unwrap_err();
        assert_eq!(refusal.what, "rows.csv is not what it was when the plan was read");
    }

    #[test]
    fn a_file_that_has_changed_is_read_again() {
        let file = Temporary::new("changed.csv", "a\n1\n");
        let rows = || file.data(&LoadTable::default()).unwrap().file.rows;
        assert_eq!([rows(), rows()], [1, 1]);
        std::fs::write(&file.0, "a\n1\n2\n").unwrap();
        assert_eq!(rows(), 2);
    }

    #[test]
    fn a_bad_row_is_refused_with_its_file_and_line() {
        for (text, what) in [
            ("a,b\n1,2\n3\n", "rows.csv, line 3: it has 1 of 2 values"),
            ("a,b\n1,\"2\n", "rows.csv, line 2: a quote is not closed"),
            ("a,b,A\n1,2,3\n", "rows.csv has two columns named \"A\""),
            ("a,\n", "rows.csv, line 1: a column has no name"),
            ("", "rows.csv is empty, and its first line names the columns"),
        ] {
            let file = Temporary::new("bad.csv", text);
            let refusal = file.data(&LoadTable::default()).unwrap_err();
            assert_eq!(
                (refusal.what.as_str(), refusal.place.as_str()),
                (what, "workload.load")
            );
        }
        let wide = LoadTable {
            delimiter: Some("||".into()),
            ..LoadTable::default()
        };
        let file = Temporary::new("wide.csv", "a\n");
        assert_eq!(
            file.data(&wide).unwrap_err().what,
            "`load` `t` `delimiter` cannot be \"||\""
        );
    }
}
