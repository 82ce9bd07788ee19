//! `holon mcp check`, `tools` and `call`: what servers answer.

use anyhow::anyhow;
use holon_mcp::{CallError, CallResult, OfferedTool, Part};
use holon_platform::clock;
use holon_present as present;
use serde::Serialize;

use super::{CallArgs, CheckArgs, Known, harmless_line};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};

/// What a server said when it was started.
#[omit_none]
#[derive(Serialize)]
struct Checked {
    server: String,
    ok: bool,
    revision: Option<String>,
    version: Option<String>,
    tools: usize,
    start_ms: u64,
    problem: Option<String>,
}

pub(super) async fn check(known: &Known, args: &CheckArgs) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    for definition in known.chosen(args.server.as_deref())? {
        let begun = clock::now();
        let answer = known.servers.list(&definition.name).await;
        let (server, start_ms) = (definition.name.clone(), clock::since(begun).0);
        all.push(match answer {
            Ok(listed) => Checked {
                server,
                ok: true,
                revision: Some(listed.revision),
                version: listed.server,
                tools: listed.tools.len(),
                start_ms,
                problem: None,
            },
            Err(unavailable) => Checked {
                server,
                ok: false,
                revision: None,
                version: None,
                tools: 0,
                start_ms,
                problem: Some(unavailable.problem),
            },
        });
    }
    let fine = all.iter().all(|checked| checked.ok);
    if args.printed.json {
        output::document(&serde_json::json!({ "ok": fine, "servers": all }))?;
    } else if all.is_empty() {
        output::line("no servers are configured")?;
    } else {
        let rows = all.iter().map(|checked| {
            let about = match &checked.problem {
                Some(problem) => harmless_line(&present::one_line(problem)),
                None => {
                    let version = checked.version.as_deref().unwrap_or("a server without a name");
                    let revision = checked.revision.as_deref().unwrap_or_default();
                    let about = format!(
                        "{version}, revision {revision}, {} tools, {} ms",
                        checked.tools, checked.start_ms
                    );
                    harmless_line(&about)
                }
            };
            vec![checked.server.clone(), if checked.ok { "ok" } else { "failed" }.to_owned(), about]
        });
        output::table(&rows.collect::<Vec<_>>())?;
        if let Some(failed) = all.iter().find(|checked| !checked.ok) {
            output::hint("try", &format!("holon mcp logs {}", failed.server));
        }
    }
    Ok(if fine { Exit::Completed } else { Exit::Failed })
}

pub(super) async fn tools(known: &Known, args: &CheckArgs) -> Result<Exit, Failure> {
    let servers: Vec<String> =
        known.chosen(args.server.as_deref())?.iter().map(|definition| definition.name.clone()).collect();
    let (catalogue, problems) = known.servers.offer(&servers, None).await;
    if args.printed.json {
        let problems: Vec<_> = problems
            .iter()
            .map(|problem| serde_json::json!({ "server": problem.server, "problem": problem.problem }))
            .collect();
        output::document(&serde_json::json!({
            "ok": true, "tools": catalogue.tools, "left_out": catalogue.left_out, "problems": problems,
        }))?;
    } else {
        if catalogue.tools.is_empty() {
            output::line("no tools are offered")?;
        } else {
            let row = |tool: &OfferedTool| {
                let cells = [tool.name.clone(), present::one_line(&tool.description)];
                cells.iter().map(|cell| harmless_line(cell)).collect()
            };
            output::list(&["TOOL", "DESCRIPTION"], catalogue.tools.iter().map(row))?;
        }
        for left in &catalogue.left_out {
            output::prose(&format!("holon: {} of {} is left out: {}", left.tool, left.server, left.why));
        }
        for problem in &problems {
            output::prose(&format!("holon: {problem}"));
        }
    }
    Ok(if problems.is_empty() { Exit::Completed } else { Exit::Failed })
}

pub(super) async fn call(known: &Known, args: &CallArgs) -> Result<Exit, Failure> {
    known.get(&args.server)?;
    let result = match known.servers.call((&args.server, &args.tool), &args.arguments, None).await {
        Ok(result) => result,
        Err(error) => return Err(refused(&args.server, &error)),
    };
    if args.printed.json {
        output::document(&result)?;
    } else {
        print(&result)?;
    }
    Ok(if result.is_error { Exit::Failed } else { Exit::Completed })
}

fn refused(server: &str, error: &CallError) -> Failure {
    let exit = match error {
        CallError::Arguments(_) => Exit::Usage,
        CallError::NotSent(_) => Exit::NotReachable,
        CallError::NoTool(_) => Exit::NotFound,
        CallError::Lost(_) | CallError::Refused { .. } | CallError::Unusable(_) => Exit::Failed,
    };
    let hint = match error {
        CallError::Arguments(_) => format!("holon mcp tools {server} --json"),
        CallError::NoTool(_) => format!("holon mcp tools {server}"),
        CallError::NotSent(_) | CallError::Lost(_) | CallError::Refused { .. } | CallError::Unusable(_) => {
            format!("holon mcp logs {server}")
        }
    };
    Failure::new(exit, anyhow!("{error}")).hint(hint)
}

fn print(result: &CallResult) -> Result<(), Failure> {
    for part in &result.parts {
        match part {
            Part::Text { text } => output::text(text)?,
            Part::Blob { media_type, base64 } => {
                output::line(&format!("[{media_type}, {} bytes in base64; --json has them]", base64.len()))?;
            }
            Part::Link { uri, name } => output::text(&format!("{name}: {uri}"))?,
        }
    }
    if let Some(structured) = result.structured.as_ref().filter(|_| result.parts.is_empty()) {
        output::text(&output::pretty(structured)?)?;
    }
    Ok(())
}
