//! What must hold of the lines that an editor gets, whatever it does: the laws CX38, CX39 and CX40, as functions of these
//! lines. Their tests break a conversation in each way that they are there for.

use serde_json::Value;

/// The prompts of a script: the ids of their requests, and a text that only the answer to each has.
pub type Answers = [(u64, String)];

fn is_update(line: &Value) -> bool {
    line["method"] == "session/update"
}

fn says(line: &Value, text: &str) -> bool {
    is_update(line) && line.to_string().contains(text)
}

/// Where the responses to a request are.
fn responses(lines: &[Value], id: u64) -> Vec<usize> {
    (0..lines.len()).filter(|at| lines[*at]["id"] == id).collect()
}

/// CX38: each prompt has one response, with the reason of its end.
///
/// # Errors
/// What is wrong with which prompt.
pub fn cx38(lines: &[Value], prompts: &Answers) -> Result<(), String> {
    for (id, _) in prompts {
        let responses = responses(lines, *id);
        let [at] = responses[..] else {
            return Err(format!("prompt {id} has {} responses", responses.len()));
        };
        if !lines[at]["result"]["stopReason"].is_string() {
            return Err(format!("prompt {id} is answered with {}", lines[at]));
        }
    }
    Ok(())
}

/// CX39: what a load shows of a session at rest is there before its response, each answer and each call once.
///
/// `lines` begin with the request of the load.
///
/// # Errors
/// What is missing, comes twice or comes late.
pub fn cx39(lines: &[Value], load: u64, answered: &Answers) -> Result<(), String> {
    let [response] = responses(lines, load)[..] else { return Err("the load has no response".to_owned()) };
    if let Some(late) = lines[response..].iter().find(|line| is_update(line)) {
        return Err(format!("an update follows the response to the load: {late}"));
    }
    let history = &lines[..response];
    for (id, text) in answered {
        let shown = history.iter().filter(|line| says(line, text)).count();
        if shown != 1 {
            return Err(format!("the answer to prompt {id} is shown {shown} times"));
        }
    }
    let called = |line: &&Value| line["params"]["update"]["sessionUpdate"] == "tool_call";
    let mut calls: Vec<&Value> =
        history.iter().filter(called).map(|line| &line["params"]["update"]["toolCallId"]).collect();
    let all = calls.len();
    calls.sort_by_key(|id| id.to_string());
    calls.dedup();
    if calls.len() == all { Ok(()) } else { Err("a call is shown twice".to_owned()) }
}

/// CX40: nothing of a run follows the response to its prompt. What comes before the response to a load is history.
///
/// # Errors
/// What came late.
pub fn cx40(lines: &[Value], prompts: &Answers, loads: &[u64]) -> Result<(), String> {
    let loaded = lines.iter().rposition(|line| loads.iter().any(|load| line["id"] == *load));
    for (id, text) in prompts {
        let Some(response) = responses(lines, *id).first().copied() else { continue };
        let from = loaded.map_or(response, |loaded| loaded.max(response));
        if let Some(late) = lines[from..].iter().find(|line| says(line, text)) {
            return Err(format!("{late} follows the response to prompt {id}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers() -> Vec<(u64, String)> {
        vec![(2, "answer to p2".to_owned()), (3, "answer to p3".to_owned())]
    }

    fn update(kind: &str, text: &str) -> Value {
        let update = json!({ "sessionUpdate": kind, "content": { "text": text } });
        json!({ "method": "session/update", "params": { "update": update } })
    }

    fn call(id: &str) -> Value {
        let update = json!({ "sessionUpdate": "tool_call", "toolCallId": id });
        json!({ "method": "session/update", "params": { "update": update } })
    }

    fn response(id: u64, reason: &str) -> Value {
        json!({ "id": id, "result": { "stopReason": reason } })
    }

    /// Two prompts, the second one cancelled.
    fn conversation() -> Vec<Value> {
        vec![
            update("agent_message_chunk", "answer to p2"),
            response(2, "end_turn"),
            update("agent_message_chunk", "answer to p3"),
            response(3, "cancelled"),
        ]
    }

    #[test]
    fn each_prompt_has_one_response() {
        assert_eq!(cx38(&conversation(), &answers()), Ok(()));
        let breaks: [fn(&mut Vec<Value>); 3] = [
            |lines| drop(lines.remove(1)),
            |lines| lines.push(response(3, "cancelled")),
            |lines| lines[3] = json!({ "id": 3, "error": { "code": -32_603 } }),
        ];
        for (at, broken) in breaks.iter().enumerate() {
            let mut lines = conversation();
            broken(&mut lines);
            assert!(cx38(&lines, &answers()).is_err(), "{at}");
        }
    }

    #[test]
    fn a_load_is_over_with_its_response() {
        let loaded = || {
            vec![
                update("user_message_chunk", "do p2"),
                call("run_1-0-0"),
                update("agent_message_chunk", "answer to p2"),
                json!({ "id": 9, "result": {} }),
            ]
        };
        let answered = &answers()[..1];
        assert_eq!(cx39(&loaded(), 9, answered), Ok(()));
        let breaks: [fn(&mut Vec<Value>); 5] = [
            |lines| drop(lines.pop()),
            |lines| drop(lines.remove(2)),
            |lines| lines.insert(0, update("agent_message_chunk", "answer to p2")),
            |lines| lines.insert(0, call("run_1-0-0")),
            |lines| lines.push(update("agent_message_chunk", "more")),
        ];
        for (at, broken) in breaks.iter().enumerate() {
            let mut lines = loaded();
            broken(&mut lines);
            assert!(cx39(&lines, 9, answered).is_err(), "{at}");
        }
    }

    #[test]
    fn nothing_of_a_run_follows_its_response() {
        let mut lines = conversation();
        assert_eq!(cx40(&lines, &answers(), &[]), Ok(()));
        lines.push(update("agent_message_chunk", "answer to p3"));
        assert!(cx40(&lines, &answers(), &[]).is_err());
        // What a load shows was there before.
        lines.push(json!({ "id": 9, "result": {} }));
        assert_eq!(cx40(&lines, &answers(), &[9]), Ok(()));
        lines.push(update("agent_message_chunk", "answer to p2"));
        assert!(cx40(&lines, &answers(), &[9]).is_err());
    }
}
