//! Rows of a CSV file, as RFC 4180 and PostgreSQL's COPY have them: values between delimiters, in double quotes where they
//! hold a delimiter, a quote (doubled) or the end of a line. Nothing at all, without quotes, is NULL.
//!
//! A line is read whole and cut afterwards, so memory is that of the longest row. The crate csv does not distinguish `""`
//! (an empty text) from nothing (NULL).
use std::io::{self, BufRead};

/// Of one row: a quote that is not closed would take the whole file.
const ROW_BYTES_MAX: usize = 16 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pub delimiter: u8,
    /// What stands for NULL where it is not quoted.
    pub null: Vec<u8>,
}

/// What is wrong with a file, and the line (from 1) of the row in which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub line: u64,
    pub what: String,
}

/// Where a row begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub offset: u64,
    pub line: u64,
}

impl Place {
    pub const FIRST: Self = Self { offset: 0, line: 1 };
}

#[derive(Clone, Copy, Debug)]
struct Field {
    end: usize,
    null: bool,
}

pub struct Reader<R> {
    input: R,
    format: Format,
    /// Of the row that comes next.
    next: Place,
    /// Line of the current row.
    line: u64,
    row: Vec<u8>,
    /// Values one after the other, without quotes.
    text: Vec<u8>,
    fields: Vec<Field>,
}

impl<R: BufRead> Reader<R> {
    /// `input` begins at `place`.
    pub fn new(input: R, format: Format, place: Place) -> Self {
        Self {
            input,
            format,
            next: place,
            line: place.line,
            row: vec![],
            text: vec![],
            fields: vec![],
        }
    }

    pub fn into_input(self) -> R {
        self.input
    }

    /// Where the row begins that comes next.
    pub fn place(&self) -> Place {
        self.next
    }

    /// Nothing follows the current row; of one that is wrong, too.
    pub fn is_at_end(&mut self) -> bool {
        self.input.fill_buf().is_ok_and(<[u8]>::is_empty)
    }

    /// Of the current row.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Values of the row; `None` is NULL.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.fields.iter().map(move |field| {
            let value = &self.text[start..field.end];
            start = field.end;
            (!field.null).then_some(value)
        })
    }

    /// Goes to the next row; false: there is none.
    pub fn advance(&mut self) -> Result<bool, Wrong> {
        self.line = self.next.line;
        self.row.clear();
        if !self.read_row()? {
            return Ok(false);
        }
        if std::str::from_utf8(&self.row).is_err() {
            return Err(self.wrong("it is not UTF-8"));
        }
        self.cut()?;
        Ok(true)
    }

    fn wrong(&self, what: impl Into<String>) -> Wrong {
        Wrong {
            line: self.line,
            what: what.into(),
        }
    }

    fn read_row(&mut self) -> Result<bool, Wrong> {
        let mut quotes = 0;
        loop {
            let start = self.row.len();
            let most = (ROW_BYTES_MAX - start) as u64;
            let read = io::Read::take(&mut self.input, most).read_until(b'\n', &mut self.row);
            let read = read.map_err(|error| self.wrong(format!("it cannot be read: {error}")))?;
            if read == 0 && start == 0 {
                return Ok(false);
            }
            let line = &self.row[start..];
            quotes += line.iter().filter(|byte| **byte == b'"').count();
            let ended = line.ends_with(b"\n");
            if self.next.offset == 0 && start == 0 && line.starts_with(BYTE_ORDER_MARK) {
                self.row.drain(..BYTE_ORDER_MARK.len());
            }
            self.next.offset += read as u64;
            self.next.line += u64::from(ended);
            if quotes % 2 == 0 && (ended || read == 0 || self.row.len() < ROW_BYTES_MAX) {
                self.trim_end();
                return Ok(true);
            }
            if read == 0 || self.row.len() >= ROW_BYTES_MAX {
                return Err(self.wrong("a quote is not closed"));
            }
        }
    }

    fn trim_end(&mut self) {
        for end in [b'\n', b'\r'] {
            if self.row.last() == Some(&end) {
                self.row.pop();
            }
        }
    }

    fn cut(&mut self) -> Result<(), Wrong> {
        self.text.clear();
        self.fields.clear();
        let mut at = 0;
        loop {
            let start = self.text.len();
            let quoted = self.row.get(at) == Some(&b'"');
            at = match quoted {
                true => self.cut_quoted(at + 1)?,
                false => self.cut_plain(at)?,
            };
            self.fields.push(Field {
                end: self.text.len(),
                null: !quoted && self.text[start..] == self.format.null,
            });
            match self.row.get(at) {
                None => return Ok(()),
                Some(byte) if *byte == self.format.delimiter => at += 1,
                Some(_) => return Err(self.wrong("something follows a value's closing quote")),
            }
        }
    }

    /// The value from `at` on, to its closing quote; where it ends.
    fn cut_quoted(&mut self, mut at: usize) -> Result<usize, Wrong> {
        loop {
            let rest = self.row.get(at..).unwrap_or_default();
            let Some(length) = rest.iter().position(|byte| *byte == b'"') else {
                return Err(self.wrong("a quote is not closed"));
            };
            self.text.extend_from_slice(&rest[..length]);
            at += length + 1;
            if self.row.get(at) != Some(&b'"') {
                return Ok(at);
            }
            self.text.push(b'"');
            at += 1;
        }
    }

    fn cut_plain(&mut self, at: usize) -> Result<usize, Wrong> {
        let rest = &self.row[at..];
        let delimiter = self.format.delimiter;
        let length = rest.iter().position(|byte| *byte == delimiter);
        let value = &rest[..length.unwrap_or(rest.len())];
        if value.contains(&b'"') {
            return Err(self.wrong("a quote stands within a value that does not begin with one"));
        }
        self.text.extend_from_slice(value);
        Ok(at + value.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format() -> Format {
        Format {
            delimiter: b',',
            null: vec![],
        }
    }

    fn rows(text: &str) -> Result<Vec<Vec<Option<String>>>, Wrong> {
        let mut reader = Reader::new(text.as_bytes(), format(), Place::FIRST);
        let mut rows = vec![];
        while reader.advance()? {
            let owned = |value: Option<&[u8]>| value.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            rows.push(reader.values().map(owned).collect());
        }
        Ok(rows)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.into())
    }

    #[test]
    fn values_are_cut_at_delimiters_that_no_quotes_hold() {
        let found = rows("\u{feff}1,plain,\"a, \"\"b\"\"\nc\"\r\n2,,\"\"\n3,é,x").unwrap();
        assert_eq!(
            found,
            [
                [some("1"), some("plain"), some("a, \"b\"\nc")],
                [some("2"), None, some("")],
                [some("3"), some("é"), some("x")],
            ]
        );
        assert_eq!(rows("").unwrap().len(), 0);
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        for (text, line, what) in [
            ("1\n\"2\n3\n", 2, "a quote is not closed"),
            (
                "1\n2\"x\"\n",
                2,
                "a quote stands within a value that does not begin with one",
            ),
            (
                "\"a\nb\"\n\"1\"x\n",
                3,
                "something follows a value's closing quote",
            ),
        ] {
            let wrong = rows(text).unwrap_err();
            assert_eq!((wrong.line, wrong.what.as_str()), (line, what), "{text:?}");
        }
        let mut latin = Reader::new(&b"a\n\xe9\n"[..], format(), Place::FIRST);
        assert_eq!(latin.advance(), Ok(true));
        assert_eq!(latin.advance().unwrap_err().what, "it is not UTF-8");
    }

    #[test]
    fn reading_goes_on_from_any_row() {
        let text = "a,1\n\"b\nb\",2\nc,3\n";
        let mut whole = Reader::new(text.as_bytes(), format(), Place::FIRST);
        whole.advance().unwrap();
        whole.advance().unwrap();
        let place = whole.place();
        assert_eq!(place, Place { offset: 12, line: 4 });
        let mut rest = Reader::new(&text.as_bytes()[place.offset as usize..], format(), place);
        assert!(rest.advance().unwrap());
        assert_eq!((rest.line(), rest.values().next()), (4, Some(Some(&b"c"[..]))));
        assert!(!rest.advance().unwrap());
    }

    #[test]
    fn a_delimiter_and_a_null_of_ones_own() {
        let format = Format {
            delimiter: b'\t',
            null: b"\\N".to_vec(),
        };
        let mut reader = Reader::new(&b"\\N\t\"\\N\"\t\n"[..], format, Place::FIRST);
        assert!(reader.advance().unwrap());
        let found: Vec<_> = reader.values().collect();
        assert_eq!(found, [None, Some(&b"\\N"[..]), Some(&b""[..])]);
    }
}
