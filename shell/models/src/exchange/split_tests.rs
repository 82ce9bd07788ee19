//! However a stream is cut into pieces and whatever its lines end with, it adds up to the same.

use std::fs;
use std::path::Path;

use holon_fuzz::Corpus;
use proptest::prelude::*;
use serde_json::Value;

use super::stream::{Events, Shown};
use super::{Flow, Protocol, ReportedError};
use crate::protocol::anthropic::AnthropicMessages;
use crate::protocol::openai_chat::OpenaiChat;
use crate::protocol::openai_responses::OpenaiResponses;
use crate::testing::texts;

fn sample(transport: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/wire");
    fs::read_to_string(folder.join(transport).join("answer_tools.sse")).unwrap()
}

fn folded<P: Protocol>(pieces: &[&[u8]]) -> Option<Value> {
    let nobody = |_: String| {};
    let mut events = Events::<P::Fold>::new(Shown::new(&texts(), &nobody));
    for piece in pieces {
        if events.take(piece).ok()? == Flow::Last {
            break;
        }
    }
    events.finish()
}

fn same<P: Protocol>(transport: &str, ending: &str, mark: bool, cuts: &[prop::sample::Index]) {
    let plain = sample(transport);
    let whole = folded::<P>(&[plain.as_bytes()]).unwrap();
    let mut text = plain.replace('\n', ending);
    if mark {
        text.insert(0, '\u{feff}');
    }
    let bytes = text.as_bytes();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
    assert_eq!(folded::<P>(&pieces), Some(whole));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_stream_adds_up_however_it_is_cut(
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        mark: bool,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        same::<OpenaiChat>("openai_chat_completions", ending, mark, &cuts);
        same::<OpenaiResponses>("openai_responses", ending, mark, &cuts);
        same::<AnthropicMessages>("anthropic_messages", ending, mark, &cuts);
    }
}

#[test]
fn every_single_byte_may_be_a_piece() {
    let text = sample("anthropic_messages");
    let pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(folded::<AnthropicMessages>(&pieces), folded::<AnthropicMessages>(&[text.as_bytes()]));
}

/// A stream or a document that is no answer of this protocol is an error or nothing, never a panic; and wherever a stream is
/// cut, it comes to the same.
fn survives<P: Protocol>(bytes: &[u8]) -> Result<(), String> {
    let (texts, streamed) = (texts(), folded::<P>(&[bytes]));
    let (begin, rest) = bytes.split_at(bytes.len() / 2);
    if folded::<P>(&[begin, rest]) != streamed {
        return Err("a stream in two pieces is another one".to_owned());
    }
    for document in streamed.into_iter().chain(serde_json::from_slice(bytes).ok()) {
        drop(P::read(&texts, &document));
    }
    Ok(())
}

#[test]
fn answers_near_to_those_of_servers_are_survived() {
    let answers = Corpus::of("answers", &[("wire", ".sse"), ("wire", ".json")]);
    answers.each(300, |bytes| {
        drop(ReportedError::body(bytes));
        survives::<OpenaiChat>(bytes)?;
        survives::<OpenaiResponses>(bytes)?;
        survives::<AnthropicMessages>(bytes)
    });
}

/// Looking at a line again for each of its pieces would take minutes here.
#[test]
fn a_long_line_takes_linear_time() {
    let text = "ä".repeat(5 << 20);
    let event = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}]}}\n\n"
    );
    let started = holon_platform::clock::now();
    let pieces: Vec<&[u8]> = event.as_bytes().chunks(500).collect();
    let whole = folded::<OpenaiChat>(&pieces).unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"].as_str().map(str::len), Some(text.len()));
    assert!(holon_platform::clock::since(started).0 < 20_000);
}
