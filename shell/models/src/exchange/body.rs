//! The body of a request: its fields, and its lists, which are JSON already. Lists are most of a body: the conversation,
//! written element by element, and the tools, which are the same in each one.

use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Body {
    /// An object.
    pub(crate) fields: Value,
    lists: Vec<(&'static str, List)>,
}

/// A list in JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct List {
    /// Without its brackets.
    elements: Vec<u8>,
    /// Where each element ends.
    ends: Vec<usize>,
}

impl Body {
    pub(crate) fn new(fields: Value, lists: impl IntoIterator<Item = (&'static str, List)>) -> Self {
        Self { fields, lists: lists.into_iter().collect() }
    }

    pub(crate) fn put(&mut self, name: &'static str, list: List) {
        self.lists.push((name, list));
    }

    /// Takes a list out.
    pub(crate) fn take(&mut self, name: &str) -> Option<List> {
        let at = self.lists.iter().position(|(known, _)| *known == name)?;
        Some(self.lists.remove(at).1)
    }

    /// As it is sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let fields = self.fields.to_string();
        let lists: usize = self.lists.iter().map(|(name, list)| name.len() + list.elements.len() + 6).sum();
        let mut bytes = Vec::with_capacity(fields.len() + lists);
        bytes.extend_from_slice(fields.strip_suffix('}').unwrap_or(&fields).as_bytes());
        for (name, list) in &self.lists {
            if bytes.last() != Some(&b'{') {
                bytes.push(b',');
            }
            for piece in [b"\"", name.as_bytes(), b"\":[", &list.elements, b"]"] {
                bytes.extend_from_slice(piece);
            }
        }
        bytes.push(b'}');
        bytes
    }

    /// As one document.
    pub(crate) fn document(&self) -> Value {
        holon_facts::json::read(&self.bytes()).unwrap_or_default()
    }
}

impl List {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// An element of texts and lists, which are always JSON.
    pub(crate) fn push(&mut self, element: &impl Serialize) {
        self.separate();
        serde_json::to_writer(&mut self.elements, element)
            .unwrap_or_else(|problem| unreachable!("an element of a request: {problem}"));
        self.ends.push(self.elements.len());
    }

    /// An element that is JSON already.
    pub(crate) fn push_text(&mut self, element: &str) {
        self.separate();
        self.elements.extend_from_slice(element.as_bytes());
        self.ends.push(self.elements.len());
    }

    fn separate(&mut self) {
        if !self.ends.is_empty() {
            self.elements.push(b',');
        }
    }

    /// The first so many elements, where there are as many.
    pub(crate) fn first(&self, elements: usize) -> Option<&[u8]> {
        match elements.checked_sub(1) {
            None => Some(&[]),
            Some(last) => self.elements.get(..*self.ends.get(last)?),
        }
    }

    pub(crate) fn all(&self) -> &[u8] {
        &self.elements
    }
}

impl<T: Serialize> FromIterator<T> for List {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut list = Self::default();
        elements.into_iter().for_each(|element| list.push(&element));
        list
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn its_bytes_are_its_document() {
        let tools = json!([{"name": "a", "parameters": {"type": "object"}}, 2]);
        let list: List = tools.as_array().into_iter().flatten().collect();
        for fields in [json!({"model": "m", "z": [1]}), json!({})] {
            for (lists, named) in
                [(0, json!({})), (1, json!({"a": tools})), (2, json!({"a": tools, "b": []}))]
            {
                let lists = [("a", list.clone()), ("b", List::default())].into_iter().take(lists);
                let mut wanted = fields.clone();
                let (wanted_fields, named) = (wanted.as_object_mut().unwrap(), named.as_object().unwrap());
                wanted_fields.extend(named.clone());
                assert_eq!(Body::new(fields.clone(), lists).document(), wanted);
            }
        }
    }

    #[test]
    fn a_list_begins_with_its_first_elements() {
        let list: List = ["a", "b"].into_iter().collect();
        let first = |elements| list.first(elements).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        assert_eq!(
            [0, 1, 2, 3].map(first),
            [Some("".into()), Some("\"a\"".into()), Some("\"a\",\"b\"".into()), None]
        );
        assert_eq!(list.all(), b"\"a\",\"b\"");
    }
}
