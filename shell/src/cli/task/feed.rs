//! `holon task input`: text for the command of a task.

use std::io::{IsTerminal, Read};

use anyhow::{Context, anyhow};
use holon_api::{Control, WriteTask};
use holon_facts::call::INPUT_BYTES;
use holon_platform::spawn;
use serde_json::json;

use super::super::client_context::ClientContext;
use super::super::exit::Exit;
use super::super::interrupts::Ending;
use super::super::output::{self, Failure};
use super::{InputArgs, One};
use holon_present as present;

/// Most that is read from standard input.
const STDIN_BYTES: u64 = 1 << 20;

pub(super) async fn input(cli: &ClientContext, args: InputArgs, ending: &Ending) -> Result<Exit, Failure> {
    let one = One::of(cli, &args.whose, args.task, ending).await?;
    let typed = args.text.clone();
    let mut whole = ending.or(async { spawn::blocking(move || given(typed)).await? }).await?;
    if args.line {
        whole.push('\n');
    }
    if whole.is_empty() {
        return Err(Failure::usage(anyhow!("there is nothing to write")));
    }
    let mut written = 0;
    for piece in pieces(&whole) {
        let body = WriteTask { input: piece.to_owned() };
        let asked = async { Ok(cli.client.write_task((&one.agent, one.task), body).await?) };
        let receipt = ending.or(asked).await?;
        let taken = receipt.result.input.bytes_written;
        written += taken;
        let all = taken == piece.len() as u64;
        if all && written < whole.len() as u64 {
            continue;
        }
        let exit = match (all, written) {
            (true, _) => Exit::Completed,
            (false, 0) => Exit::RefusedByState,
            (false, _) => Exit::Failed,
        };
        if args.json {
            let mut document = serde_json::to_value(&receipt)?;
            document["bytes_written"] = json!(written);
            output::document(&document)?;
            return Ok(exit);
        }
        if all {
            output::line(&format!("{} written to {}", present::bytes(written), one.task))?;
            return Ok(exit);
        }
        let problem = receipt.result.input.problem.as_deref().unwrap_or_default();
        let error = anyhow!("{written} of {} bytes were written to {}: {problem}", whole.len(), one.task);
        return Err(Failure::new(exit, error).hint(one.command("status", "")));
    }
    Ok(Exit::Completed)
}

/// The text of the command line, or of standard input.
fn given(typed: String) -> Result<String, Failure> {
    if typed != "-" {
        return Ok(typed);
    }
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        output::note("holon: type the input, and end it with Ctrl-D on a line of its own");
    }
    let mut bytes = Vec::new();
    stdin.lock().take(STDIN_BYTES + 1).read_to_end(&mut bytes).context("standard input")?;
    if bytes.len() as u64 > STDIN_BYTES {
        let error = anyhow!("standard input has more than {STDIN_BYTES} bytes");
        return Err(Failure::usage(error).hint("write it to a file, and let the command read that"));
    }
    String::from_utf8(bytes).map_err(|error| Failure::usage(anyhow!("standard input is not UTF-8: {error}")))
}

/// Parts of a text that are taken at once, none of which ends inside of a character.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.floor_char_boundary(INPUT_BYTES));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_goes_in_pieces_of_whole_characters() {
        let text = "ä".repeat(INPUT_BYTES);
        let text = format!("x{text}");
        let parts = pieces(&text);
        assert_eq!(parts.concat(), text);
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.len() <= INPUT_BYTES));
        assert!(pieces("").is_empty());
    }
}
