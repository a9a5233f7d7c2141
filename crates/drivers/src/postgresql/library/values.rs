//! Parameters and cells as tokio-postgres takes and gives them: bytes whose form the kind knows.
use crate::postgresql::kind::Kind;
use bakeoff_model::value::Value;
use bytes::BytesMut;
use std::error::Error;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};

type Failed = Box<dyn Error + Sync + Send>;

/// A parameter, written beforehand: the library asks for its form first.
#[derive(Debug)]
pub struct Given {
    null: bool,
    binary: bool,
    bytes: BytesMut,
}

impl Given {
    pub fn new((param, kind): (&Value<'_>, &Kind)) -> Self {
        let mut bytes = BytesMut::new();
        Self {
            null: matches!(param, Value::Null),
            binary: kind.write(param, &mut bytes),
            bytes,
        }
    }
}

impl ToSql for Given {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        out.extend_from_slice(&self.bytes);
        Ok(if self.null { IsNull::Yes } else { IsNull::No })
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    fn encode_format(&self, _: &Type) -> Format {
        if self.binary { Format::Binary } else { Format::Text }
    }
    to_sql_checked!();
}

/// A cell in its binary form.
pub struct Raw<'a>(pub &'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        Ok(Raw(raw))
    }
    fn accepts(_: &Type) -> bool {
        true
    }
}
