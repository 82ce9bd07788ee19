//! What stands for `?1`, `?2` … in a statement.

use rusqlite::types::{ToSqlOutput, ValueRef};

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Param<'a> {
    Integer(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl From<i64> for Param<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8; 32]> for Param<'a> {
    fn from(hash: &'a [u8; 32]) -> Self {
        Self::Blob(hash)
    }
}

impl rusqlite::ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    use std::error::Error;

    use tokio_postgres::types::private::BytesMut;
    use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

    use super::Param;

    impl ToSql for Param<'_> {
        fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
            match self {
                Self::Integer(number) => number.to_sql(kind, out),
                Self::Text(text) => text.to_sql(kind, out),
                Self::Blob(bytes) => bytes.to_sql(kind, out),
            }
        }

        fn accepts(kind: &Type) -> bool {
            matches!(*kind, Type::INT8 | Type::TEXT | Type::BYTEA)
        }

        to_sql_checked!();
    }
}
