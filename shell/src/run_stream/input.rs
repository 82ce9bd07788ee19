//! What a program may write to a run: one JSON object in each line.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use holon_api::{PROMPT_BYTES, PROMPT_WITH_IMAGES_BYTES, PromptImage};
use holon_facts::ids::BriefId;
use serde::{Deserialize, Serialize};

use super::output::Refusal;
use crate::images::Picture;

/// Longest line, in bytes: that of a prompt with all the images that it may have.
pub const LINE_BYTES: usize = PROMPT_WITH_IMAGES_BYTES;
/// Longest `id`, in characters.
const ID: usize = 256;

/// One line that a program writes.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) enum InputLine {
    /// A prompt; it waits for the end of the turn in progress.
    Prompt(PromptLine),
    /// A prompt that reaches the turn in progress at its next safe point. Without one it is a prompt like any other.
    Interjection(PromptLine),
    /// The answer to what the agent has asked. Without an open ask it is refused.
    Answer(AnswerLine),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PromptLine {
    /// At most 1 MiB.
    #[cfg_attr(test, schemars(length(min = 1, max = PROMPT_BYTES)))]
    text: String,
    /// The writer's own name for the line: the lines about it have it, and so has the provenance of its events, as
    /// `correlation_id`.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(max = ID)))]
    id: Option<String>,
    /// Images that the model sees with the text, as in `POST /control/agents/{agent_id}/prompt`.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(max = holon_facts::image::PER_MESSAGE)))]
    images: Vec<PromptImage>,
    /// Skills that the agent is offered and shall use.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(max = holon_facts::skill::GIVEN)))]
    skills: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct AnswerLine {
    /// At most 1 MiB.
    #[cfg_attr(test, schemars(length(min = 1, max = PROMPT_BYTES)))]
    text: String,
    /// As of a prompt.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(max = ID)))]
    id: Option<String>,
    /// The brief that asked; by default the newest open one.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>", regex(pattern = "^brief_[0-9]+$")))]
    brief_id: Option<BriefId>,
}

/// Where an instruction comes from, as the lines about it name it.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Source {
    /// Number of its line, from 1; none of the prompt on the command line.
    pub line: Option<u64>,
    /// As the line has it.
    pub id: Option<String>,
}

/// What a line asks for.
#[derive(Debug)]
pub struct Instruction {
    pub source: Source,
    pub text: String,
    pub images: Vec<Picture>,
    pub skills: Vec<String>,
    pub delivery: Delivery,
}

/// How a text reaches the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Prompt,
    Interjection,
    /// Of this brief, or of the newest open ask.
    Answer(Option<BriefId>),
}

impl Instruction {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(line: u64, text: &[u8]) -> Result<Self, (Source, Refusal)> {
        let mut source = Source { line: Some(line), id: None };
        let read = holon_facts::json::read(text).map_err(|error| Refusal::invalid(&error));
        let (text, images, skills, delivery) = match read {
            Err(refusal) => return Err((source, refusal)),
            Ok(InputLine::Prompt(PromptLine { text, id, images, skills })) => {
                source.id = id;
                (text, images, skills, Delivery::Prompt)
            }
            Ok(InputLine::Interjection(PromptLine { text, id, images, skills })) => {
                source.id = id;
                (text, images, skills, Delivery::Interjection)
            }
            Ok(InputLine::Answer(AnswerLine { text, id, brief_id })) => {
                source.id = id;
                (text, Vec::new(), Vec::new(), Delivery::Answer(brief_id))
            }
        };
        if source.id.as_ref().is_some_and(|id| id.chars().nth(ID).is_some()) {
            source.id = None;
            return Err((source, Refusal::invalid(&format!("id: at most {ID} characters"))));
        }
        match pictures(&text, images) {
            Ok(images) => Ok(Self { source, text, images, skills, delivery }),
            Err(refusal) => Err((source, refusal)),
        }
    }
}

/// The images, once the text is known to be one.
fn pictures(text: &str, images: Vec<PromptImage>) -> Result<Vec<Picture>, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::invalid(&"text: it is empty"));
    }
    if text.len() > PROMPT_BYTES {
        let text = format!("text: {} bytes are more than the limit of {PROMPT_BYTES}", text.len());
        let hint = "put it into a file and name the file in the prompt";
        return Err(Refusal::new("too_large", &text).hint(hint));
    }
    let picture = |(at, image): (usize, PromptImage)| {
        let bytes = BASE64_STANDARD.decode(&image.data);
        let bytes = bytes
            .map_err(|problem| Refusal::invalid(&format!("images[{at}].data is no base64: {problem}")))?;
        Ok(Picture { name: image.name.unwrap_or_else(|| format!("image {}", at + 1)), bytes })
    };
    images.into_iter().enumerate().map(picture).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> (Source, Refusal) {
        Instruction::read(7, line.as_bytes()).expect_err(line)
    }

    #[test]
    fn the_page_has_the_limit_of_a_line() {
        let page = include_str!("../../../docs/run-stream.md").replace(',', "");
        assert!(page.contains(&format!("{LINE_BYTES} bytes")), "{LINE_BYTES}");
    }

    #[test]
    fn lines_are_read_as_what_they_are() {
        let read = |line: &str| Instruction::read(1, line.as_bytes()).expect(line);
        let prompt = read(r#"{"type":"prompt","text":"go","id":"a","skills":["pdf"]}"#);
        assert_eq!((prompt.delivery, prompt.source.id.as_deref()), (Delivery::Prompt, Some("a")));
        assert_eq!(prompt.skills, ["pdf"]);
        let image = read(r#"{"type":"interjection","text":"see","images":[{"data":"AAEC"}]}"#);
        assert_eq!(image.delivery, Delivery::Interjection);
        assert_eq!((image.images[0].name.as_str(), &image.images[0].bytes[..]), ("image 1", &[0, 1, 2][..]));
        let answer = read(r#"{"type":"answer","text":"port 80","brief_id":"brief_3"}"#);
        assert_eq!(answer.delivery, Delivery::Answer(Some(BriefId(3))));
    }

    #[test]
    fn a_bad_line_is_refused_by_what_is_wrong_with_it() {
        for (line, says) in [
            ("go", "expected"),
            ("[1]", "expected"),
            (r#"{"text":"go"}"#, "missing field `type`"),
            (r#"{"type":"promt","text":"go"}"#, "unknown variant `promt`, expected one of `prompt`"),
            (r#"{"type":"prompt"}"#, "missing field `text`"),
            (r#"{"type":"prompt","text":"go","txt":1}"#, "unknown field `txt`"),
            (r#"{"type":"answer","text":"go","images":[]}"#, "unknown field `images`"),
            (r#"{"type":"prompt","text":" "}"#, "text: it is empty"),
            (r#"{"type":"prompt","text":"go","images":[{"data":"?"}]}"#, "images[0].data is no base64"),
            (r#"{"type":"prompt","text":"go"} {}"#, "trailing"),
        ] {
            let (source, refusal) = refused(line);
            assert_eq!((source.line, refusal.code()), (Some(7), "invalid_line"), "{line}");
            assert!(refusal.error().contains(says), "{line}: {}", refusal.error());
        }
        let long = format!(r#"{{"type":"prompt","text":"go","id":"{}"}}"#, "i".repeat(257));
        assert!(refused(&long).1.error().contains("256 characters"));
        let large = format!(r#"{{"type":"prompt","text":"{}","id":"l"}}"#, "x".repeat(PROMPT_BYTES + 1));
        let (source, refusal) = refused(&large);
        assert_eq!((source.id.as_deref(), refusal.code()), (Some("l"), "too_large"));
    }
}
