//! Words of a body: strings, of which several are known. Left to itself the parser also takes an object with the word
//! as its only field, which no description knows of.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer};

/// A word.
pub(super) fn word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_str(Word(PhantomData))
}

/// A word, or null for none.
pub(super) fn optional_word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    from.deserialize_option(Optional(PhantomData))
}

struct Word<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Word<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        T::deserialize(word.into_deserializer())
    }
}

struct Optional<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Optional<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        word(from).map(Some)
    }
}
