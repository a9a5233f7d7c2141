//! Types of the server as parameters and columns have them: which values are written and read in binary, and how.
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::Param;
use bytes::BufMut;
use std::io::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Bytea,
    /// Its binary form is its text.
    Text,
    /// Whatever else there is: written and read as the server writes it.
    Other,
}

impl Kind {
    /// By the number in `pg_type`.
    pub fn of(oid: u32) -> Self {
        match oid {
            16 => Kind::Bool,
            17 => Kind::Bytea,
            20 => Kind::Int8,
            21 => Kind::Int2,
            23 => Kind::Int4,
            // "char" is a byte; name, text, unknown, char(n), varchar.
            18 | 19 | 25 | 705 | 1042 | 1043 => Kind::Text,
            700 => Kind::Float4,
            701 => Kind::Float8,
            _ => Kind::Other,
        }
    }

    /// Of its values in a row: 1 is binary.
    pub fn result_format(self) -> u16 {
        u16::from(self != Kind::Other)
    }

    /// A value of a row into the buffer; false: it has not the length of its kind.
    #[inline]
    pub fn push(self, value: &[u8], row: &mut RowBuf) -> bool {
        match self {
            Kind::Text | Kind::Bytea | Kind::Other => row.push_bytes(value),
            Kind::Int4 => match value.try_into() {
                Ok(bytes) => row.push_int(i32::from_be_bytes(bytes).into()),
                Err(_) => return false,
            },
            Kind::Int8 => match value.try_into() {
                Ok(bytes) => row.push_int(i64::from_be_bytes(bytes)),
                Err(_) => return false,
            },
            Kind::Int2 => match value.try_into() {
                Ok(bytes) => row.push_int(i16::from_be_bytes(bytes).into()),
                Err(_) => return false,
            },
            Kind::Float8 => match value.try_into() {
                Ok(bytes) => row.push_float(f64::from_be_bytes(bytes)),
                Err(_) => return false,
            },
            Kind::Float4 => match value.try_into() {
                Ok(bytes) => row.push_float(f32::from_be_bytes(bytes).into()),
                Err(_) => return false,
            },
            Kind::Bool => match value {
                [byte] => row.push_int((*byte).into()),
                _ => return false,
            },
        }
        true
    }

    /// Writes a value that is not null as a parameter of this kind. True: in binary; false: as text, which the server
    /// reads, and may refuse (a number that is too large, for instance).
    #[inline]
    pub fn write(self, param: &Param<'_>, out: &mut impl BufMut) -> bool {
        match (*param, self) {
            (Param::Null, _) => return false,
            (Param::Text(value) | Param::Bytes(value), _) => {
                out.put_slice(value);
                return self == Kind::Bytea;
            }
            (Param::Int(value), Kind::Int8) => out.put_i64(value),
            (Param::Int(value), Kind::Int4) => match i32::try_from(value) {
                Ok(value) => out.put_i32(value),
                Err(_) => return as_text(format_args!("{value}"), out),
            },
            (Param::Int(value), Kind::Int2) => match i16::try_from(value) {
                Ok(value) => out.put_i16(value),
                Err(_) => return as_text(format_args!("{value}"), out),
            },
            (Param::Int(value), Kind::Float8) => out.put_f64(value as f64),
            (Param::Float(value), Kind::Float8) => out.put_f64(value),
            (Param::Float(value), Kind::Float4) => out.put_f32(value as f32),
            (Param::Int(value), _) => return as_text(format_args!("{value}"), out),
            // With an exponent, else 1e300 has three hundred digits.
            (Param::Float(value), _) => return as_text(format_args!("{value:e}"), out),
        }
        true
    }
}

#[cold]
fn as_text(value: std::fmt::Arguments<'_>, out: &mut impl BufMut) -> bool {
    // Memory does not fail to be written to.
    let _ = out.writer().write_fmt(value);
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::row::Cell;

    fn written(kind: Kind, param: Param<'_>) -> (bool, Vec<u8>) {
        let mut out = Vec::new();
        (kind.write(&param, &mut out), out)
    }

    #[test]
    fn what_is_written_in_binary_is_read_back() {
        for (kind, param, cell) in [
            (Kind::Int2, Param::Int(-2), Cell::Int(-2)),
            (
                Kind::Int4,
                Param::Int(i32::MIN.into()),
                Cell::Int(i32::MIN.into()),
            ),
            (Kind::Int8, Param::Int(i64::MIN), Cell::Int(i64::MIN)),
            (Kind::Float8, Param::Float(0.1), Cell::Float(0.1)),
            (Kind::Float8, Param::Int(3), Cell::Float(3.0)),
            (Kind::Float4, Param::Float(0.5), Cell::Float(0.5)),
            (Kind::Bytea, Param::Bytes(b"\0\xff"), Cell::Bytes(b"\0\xff")),
        ] {
            let (binary, out) = written(kind, param);
            let mut row = RowBuf::default();
            assert!(binary && kind.push(&out, &mut row), "{kind:?}");
            assert_eq!(row.cell(0), Some(cell), "{kind:?}");
            assert!(
                matches!(kind, Kind::Bytea) || !kind.push(&out[1..], &mut row),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_goes_as_text_for_the_server_to_refuse() {
        for (kind, param, text) in [
            (Kind::Int4, Param::Int(1 << 31), "2147483648"),
            (Kind::Int2, Param::Int(-40_000), "-40000"),
            (Kind::Other, Param::Int(7), "7"),
            (Kind::Text, Param::Int(7), "7"),
            (Kind::Other, Param::Float(1e300), "1e300"),
            (Kind::Int4, Param::Text(b"12"), "12"),
            (Kind::Text, Param::Text(b"abc"), "abc"),
        ] {
            assert_eq!(
                written(kind, param),
                (false, text.as_bytes().to_vec()),
                "{kind:?}"
            );
        }
    }
}
