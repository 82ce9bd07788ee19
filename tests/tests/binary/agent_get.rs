//! An agent looks at itself.

use end_to_end::daemon::Daemon;
use serde_json::{Value, json};

#[test]
fn an_agent_sees_what_its_operator_sees() {
    let call = |arguments: Value| json!({ "tool": "AgentGet", "arguments": arguments });
    let calls = [call(json!({})), call(json!({ "agent_id": "helper" })), call(json!({ "agent_id": "No!" }))];
    let daemon = Daemon::scripted(&json!([{ "calls": calls }, { "text": "that is me" }]));
    daemon.start();
    daemon.ok(&["agent", "create", "helper", "--own-home"]);
    daemon.ok(&["prompt", "--wait=settled", "who are you?"]);
    let said = daemon.ok(&["transcript", "--json"]).stdout;
    for part in [
        "scheduling_posture",
        "active_turn",
        "external_trigger",
        "waits_left_out",
        "unknown_agent",
        "invalid_tool_input",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    assert!(!said.contains("hwt_"), "the address is told nobody: {said}");
}
