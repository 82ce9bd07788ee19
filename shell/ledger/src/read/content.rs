//! Stored texts by their hash. What is read is what was named, or it is an error.

use std::sync::Arc;

use holon_facts::ContentId;
use holon_text::ReadError;

use super::reader::Reader;
use crate::error::{LedgerError, Position};

impl Reader {
    /// The text of this name; none when it is not stored.
    ///
    /// # Errors
    /// When it was erased, or is not the text of this name any more.
    pub fn content(&self, id: ContentId) -> Result<Option<String>, LedgerError> {
        let sql = "SELECT text FROM content WHERE id = ?1";
        let found = self
            .read(|source| source.first(sql, &[(&id.0).into()], |row| row.get::<Option<String>>(0)))
            .map_err(LedgerError::unreadable(Position::default()))?;
        match found {
            None => Ok(None),
            Some(None) => Err(LedgerError::Erased { id }),
            Some(Some(read)) if holon_text::hash(read.as_bytes()) == id => Ok(Some(read)),
            Some(Some(_)) => Err(LedgerError::damaged(
                Position::default(),
                format!("content {id} is not what was written"),
            )),
        }
    }
}

/// The ledger as [`holon_text::Texts`] reads it.
pub fn text_reader(reader: Arc<Reader>) -> holon_text::Reader {
    Box::new(move |id| {
        reader.content(id).map_err(|error| {
            let removed = matches!(error, LedgerError::Erased { .. });
            if removed { ReadError::Removed } else { ReadError::Unreadable(error.to_string()) }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::testing::Home;

    #[test]
    fn a_text_is_read_by_its_hash_or_not_at_all() {
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        let text = "a text of more than a few bytes ".repeat(20);
        let name = holon_text::hash(text.as_bytes());
        assert_eq!(world.reader.content(name).unwrap(), None);
        world.prompt("main", &text);
        assert!(world.texts.pending(name).is_none());
        assert_eq!(world.reader.content(name).unwrap().as_ref(), Some(&text));
        let read = text_reader(world.reader.clone());
        assert_eq!(read(name), Ok(Some(text)));

        home.vandal("UPDATE content SET text = text || '!'");
        let error = world.reader.content(name).unwrap_err().to_string();
        assert!(error.contains(&name.to_string()), "{error}");
        home.vandal("UPDATE content SET text = NULL");
        assert!(matches!(world.reader.content(name), Err(LedgerError::Erased { .. })));
    }
}
