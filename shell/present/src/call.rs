//! What a tool call does, in one line: arguments may be there only in their beginning.

use holon_facts::Text;

use super::line::one_line;

/// What a call does: its command, or its tool and what it is about.
pub fn call(tool_name: &str, arguments: &Text) -> String {
    if arguments.preview().contains("\"cmd\"") {
        return one_line(&command(arguments));
    }
    one_line(&format!("{tool_name} {}", command(arguments)))
}

/// The command of a call where its arguments have one, otherwise their beginning.
pub(super) fn command(arguments: &Text) -> String {
    let preview = arguments.preview();
    let parsed: Option<serde_json::Value> = serde_json::from_str(preview).ok();
    let command = parsed.as_ref().and_then(|value| value.get("cmd")).and_then(|cmd| cmd.as_str());
    if let Some(command) = command {
        return command.to_owned();
    }
    if let Some(items) =
        parsed.as_ref().and_then(|value| value.get("items")).and_then(|items| items.as_array())
    {
        let commands = items.iter().filter_map(|item| item.get("cmd")?.as_str());
        return commands.collect::<Vec<_>>().join("; ");
    }
    let commands = begun_commands(preview);
    if !commands.is_empty() {
        return commands.join("; ");
    }
    match preview.split_once("+++ ").and_then(|(_, rest)| rest.split("\\n").next()) {
        Some(path) => path.trim_start_matches("b/").to_owned(),
        None => preview.to_owned(),
    }
}

/// The commands in the beginning of arguments that are too long to be there as a whole; the last one may be
/// cut, and ends with an ellipsis then.
fn begun_commands(preview: &str) -> Vec<String> {
    let values = preview.split("\"cmd\"").skip(1);
    values.filter_map(|rest| begun_string(rest.trim_start().strip_prefix(':')?.trim_start())).collect()
}

/// The string that a text begins with in JSON, as far as it is there.
fn begun_string(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = inner.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let parsed = |inner: &str| serde_json::from_str::<String>(&format!("\"{inner}\"")).ok();
    if let Some(end) = end {
        return parsed(&inner[..end]);
    }
    // The cut may go through an escape, which is a pair of six characters each at most.
    const ESCAPE: usize = 12;
    let inner = inner.trim_end_matches('…');
    let ends = inner.char_indices().map(|(at, _)| at).rev().take(ESCAPE);
    let begun = std::iter::once(inner.len()).chain(ends).find_map(|end| parsed(&inner[..end]))?;
    Some(format!("{begun}…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_cut_is_shown_as_a_command() {
        let shown = |preview: &str| call("ExecCommand", &Text::Inline(preview.to_owned()));
        for (preview, expected) in [
            (r#"{"cmd": "echo aaaa…"#, "echo aaaa…"),
            (r#"{"workdir":"cmd","cmd":"echo \"a\"\n\\…"#, r#"echo "a" \…"#),
            (r#"{"cmd":"echo \…"#, "echo …"),
            (r#"{"cmd":"echo \u00e…"#, "echo …"),
            (r#"{"cmd":"echo \ud83d\ude0…"#, "echo …"),
            (r#"{"cmd":"grep '\"cmd\":' x","shell":"ba…"#, r#"grep '"cmd":' x"#),
            (r#"{"items": [{"cmd": "one"}, {"workdir": "x", "cmd": "two t…"#, "one; two t…"),
        ] {
            assert_eq!(shown(preview), expected, "{preview}");
        }
        let long = shown(&format!("{{\"cmd\": \"echo {}…", "a".repeat(240)));
        assert!(
            long.starts_with("echo aaa") && long.ends_with("a…") && long.chars().count() == 101,
            "{long}"
        );
    }

    #[test]
    fn a_call_is_its_command_or_its_tool() {
        let text = |text: &str| Text::Inline(text.to_owned());
        assert_eq!(call("ExecCommand", &text(r#"{"cmd":"ls\n  -l"}"#)), "ls -l");
        assert_eq!(call("ApplyPatch", &text(r#"{"patch":"--- a/x\n+++ b/x\n@@"}"#)), "ApplyPatch x");
        assert_eq!(call("Nonsense", &text("{}")), "Nonsense {}");
    }
}
