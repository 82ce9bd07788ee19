//! What stands at the beginning of a `SKILL.md`: a small YAML map between two lines of dashes. It is read as events, of
//! which none is ever expanded: anchors, aliases and tags are refused, so a short text can't come to a long one.

use saphyr_parser::{Event, Parser, ScanError};

/// Bytes of the front matter.
const BYTES: usize = 16 << 10;
/// Entries of its map, and of each map or list in it.
const ENTRIES: usize = 64;

/// A `SKILL.md` in its two parts.
pub(super) struct Parts<'a> {
    /// None where the file has none.
    pub(super) front_matter: Option<&'a str>,
    pub(super) body: &'a str,
}

/// Takes a `SKILL.md` apart.
///
/// # Errors
/// Front matter without an end, or too much of it.
pub(super) fn split(text: &str) -> Result<Parts<'_>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---");
    let Some(first) = first else { return Ok(Parts { front_matter: None, body: text }) };
    let mut at = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            let (front_matter, body) = (&text[first.len()..at], &text[at + line.len()..]);
            return Ok(Parts { front_matter: Some(front_matter), body });
        }
        at += line.len();
        if at - first.len() > BYTES {
            return Err(format!("its front matter has more than {BYTES} bytes"));
        }
    }
    Err("its front matter has no end: a line --- is missing".to_owned())
}

/// What a key of the map stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
}

/// Reads front matter. Values with a colon need no quotes, as many writers leave them out.
///
/// # Errors
/// What is no map of texts, lists and maps, in words.
pub(super) fn read(front_matter: &str) -> Result<Vec<(String, Value)>, String> {
    match parse(front_matter) {
        Err(Problem::Syntax(problem)) => {
            let quoted: String = front_matter.lines().map(|line| quoted(line) + "\n").collect();
            parse(&quoted).map_err(|_| format!("its front matter can't be read: {problem}"))
        }
        Err(Problem::Refused(problem)) => Err(problem),
        Ok(values) => Ok(values),
    }
}

enum Problem {
    Syntax(ScanError),
    Refused(String),
}

fn refused<T>(problem: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Refused(problem.into()))
}

/// A line of the map whose value is put into quotes, where it has none and could do with some.
fn quoted(line: &str) -> String {
    let Some((key, value)) = line.split_once(": ") else { return line.to_owned() };
    let value = value.trim();
    let is_key =
        !key.is_empty() && key.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char));
    let plain = !value.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '!']);
    if is_key && plain && value.contains([':', '#']) {
        return format!("{key}: '{}'", value.replace('\'', "''"));
    }
    line.to_owned()
}

fn parse(text: &str) -> Result<Vec<(String, Value)>, Problem> {
    let mut events = Events(Parser::new_from_str(text));
    loop {
        match events.next()? {
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
            Event::MappingStart(..) => break,
            Event::StreamEnd | Event::DocumentEnd => return Ok(Vec::new()),
            Event::Scalar(text, ..) if text.is_empty() => {}
            Event::Scalar(..) | Event::SequenceStart(..) => return refused("its front matter is no map"),
            Event::Alias(_) | Event::SequenceEnd | Event::MappingEnd => return refused(REFUSED),
        }
    }
    let mut values: Vec<(String, Value)> = Vec::new();
    while let Some(key) = events.key()? {
        let value = events.value()?;
        if values.len() == ENTRIES {
            return refused(format!("its front matter has more than {ENTRIES} keys"));
        }
        // The first of two stands.
        if !values.iter().any(|(known, _)| *known == key) {
            values.push((key, value));
        }
    }
    Ok(values)
}

const REFUSED: &str = "its front matter has anchors, aliases or tags, which are not taken";

struct Events<'a>(Parser<'a, saphyr_parser::StrInput<'a>>);

impl<'a> Events<'a> {
    /// The next one. Nothing refers to anything else.
    fn next(&mut self) -> Result<Event<'a>, Problem> {
        let event = match self.0.next() {
            Some(Ok((event, _))) => event,
            Some(Err(error)) => return Err(Problem::Syntax(error)),
            None => Event::StreamEnd,
        };
        let plain = match &event {
            Event::Alias(_) => false,
            Event::Scalar(_, _, anchor, tag) => *anchor == 0 && tag.is_none(),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                *anchor == 0 && tag.is_none()
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => true,
        };
        if plain { Ok(event) } else { refused(REFUSED) }
    }

    /// The next key of a map; none at its end.
    fn key(&mut self) -> Result<Option<String>, Problem> {
        let event = self.next()?;
        if let Event::Scalar(key, ..) = event {
            return Ok(Some(key.into_owned()));
        }
        if event == Event::MappingEnd { Ok(None) } else { refused("a key of its front matter is no text") }
    }

    fn value(&mut self) -> Result<Value, Problem> {
        match self.next()? {
            Event::Scalar(text, ..) => Ok(Value::Text(text.into_owned())),
            Event::SequenceStart(..) => {
                let mut list = Vec::new();
                while let Some(text) = self.item()? {
                    list.push(text);
                    if list.len() > ENTRIES {
                        return refused(format!(
                            "a list of its front matter has more than {ENTRIES} entries"
                        ));
                    }
                }
                Ok(Value::List(list))
            }
            Event::MappingStart(..) => {
                let mut map = Vec::new();
                while let Some(key) = self.key()? {
                    let Some(text) = self.item()? else { break };
                    map.push((key, text));
                    if map.len() > ENTRIES {
                        return refused(format!("a map of its front matter has more than {ENTRIES} entries"));
                    }
                }
                Ok(Value::Map(map))
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::Alias(_)
            | Event::SequenceEnd
            | Event::MappingEnd => refused("its front matter ends in the middle"),
        }
    }

    /// A text of a list or map; none at its end. What is deeper is passed over.
    fn item(&mut self) -> Result<Option<String>, Problem> {
        let mut depth = 0_usize;
        loop {
            match self.next()? {
                Event::Scalar(text, ..) if depth == 0 => return Ok(Some(text.into_owned())),
                Event::SequenceEnd | Event::MappingEnd => match depth {
                    0 => return Ok(None),
                    1 => return Ok(Some(String::new())),
                    _ => depth -= 1,
                },
                Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
                Event::StreamEnd => return refused("its front matter ends in the middle"),
                Event::Nothing
                | Event::Scalar(..)
                | Event::StreamStart
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::Alias(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    #[test]
    fn the_parts_of_a_file() {
        let parts = split("\u{feff}---\r\nname: a\r\n---\r\nbody\n").unwrap();
        assert_eq!((parts.front_matter, parts.body), (Some("name: a\r\n"), "body\n"));
        let parts = split("# No front matter\n---\n").unwrap();
        assert_eq!((parts.front_matter, parts.body), (None, "# No front matter\n---\n"));
        assert!(split("---\nname: a\n").err().unwrap().contains("a line --- is missing"));
        let long = format!("---\n{}---\n", "a: b\n".repeat(5_000));
        assert!(split(&long).err().unwrap().contains("more than 16384 bytes"));
    }

    #[test]
    fn texts_lists_and_maps() {
        let front_matter = "name: pdf\ndescription: >\n  Fills forms.\n  Reads tables.\nallowed-tools: [Bash, Read]\n\
                            metadata:\n  author: somebody\n  version: \"1.0\"\n  deep: {a: [b, {c: d}]}\nlist:\n  - a\n";
        let values = read(front_matter).unwrap();
        assert_eq!(
            values,
            [
                ("name".into(), text("pdf")),
                ("description".into(), text("Fills forms. Reads tables.\n")),
                ("allowed-tools".into(), Value::List(vec!["Bash".into(), "Read".into()])),
                (
                    "metadata".into(),
                    Value::Map(vec![
                        ("author".into(), "somebody".into()),
                        ("version".into(), "1.0".into()),
                        ("deep".into(), String::new()),
                    ])
                ),
                ("list".into(), Value::List(vec!["a".into()])),
            ]
        );
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn a_colon_in_a_value_needs_no_quotes() {
        let values = read("name: pdf\ndescription: Use it when: there's a form # 1\n").unwrap();
        assert_eq!(values[1], ("description".into(), text("Use it when: there's a form # 1")));
    }

    #[test]
    fn what_could_grow_is_refused() {
        let bomb: String = std::iter::once("a0: &a0 [x, x, x]\n".to_owned())
            .chain((1..100).map(|at| format!("a{at}: &a{at} [*a{0}, *a{0}, *a{0}]\n", at - 1)))
            .collect();
        assert_eq!(read(&bomb).unwrap_err(), REFUSED);
        assert_eq!(read("name: !!python/object:os.system x\n").unwrap_err(), REFUSED);
        assert!(read(&"[".repeat(16_000)).is_err() && read(&format!("a: {}", "[".repeat(16_000))).is_err());
        assert!(read("- a\n").unwrap_err().contains("no map"));
        assert!(read("a: [b\n").unwrap_err().contains("can't be read"));
    }

    #[test]
    fn files_near_to_those_of_others_are_read_or_refused() {
        holon_fuzz::Corpus::of("skills", &[("skills", "SKILL.md")]).each(2_000, |input| {
            let text = String::from_utf8_lossy(input);
            let Ok(parts) = split(&text) else { return Ok(()) };
            let Some(Ok(values)) = parts.front_matter.map(read) else { return Ok(()) };
            let bytes: usize = values.iter().map(|(key, value)| key.len() + size(value)).sum();
            // A quoted character may be longer than what stands for it, by no more than this.
            if values.len() <= ENTRIES && bytes <= 4 * BYTES {
                return Ok(());
            }
            Err(format!("{} values of {bytes} bytes", values.len()))
        });
    }

    fn size(value: &Value) -> usize {
        match value {
            Value::Text(text) => text.len(),
            Value::List(list) => list.iter().map(String::len).sum(),
            Value::Map(map) => map.iter().map(|(key, text)| key.len() + text.len()).sum(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
        #[test]
        fn nothing_is_too_strange_to_read(text in "[-a-c:'\"|>\\[\\]{}&*!#,? \\n\\t\u{e9}\u{feff}]{0,80}") {
            drop(read(&text));
            drop(split(&format!("---\n{text}\n---\n")).map(|parts| parts.body.len()));
        }

        #[test]
        fn a_quoted_text_comes_back(text in "[ -~\u{e9}\u{4e2d}]{1,60}") {
            let quoted = serde_json::to_string(&text).unwrap();
            let values = read(&format!("description: {quoted}\n")).unwrap();
            prop_assert_eq!(&values[0].1, &Value::Text(text));
        }
    }
}
