//! Tools of other programs: which of them an agent is offered, and calls of them. What programs offer, and what they answer,
//! the shell finds out.

use alloc::sync::Arc;

use holon_facts::event::operation::OpKind;
use holon_facts::event::turn::ToolsCatalogued;
use holon_facts::ids::RunId;
use holon_facts::model_ref::ModelRef;
use holon_facts::receipt::ToolError;
use holon_facts::time::Millis;
use holon_facts::tool::ServerTools;

use crate::agent::turn::window::Window;
use crate::effect::{ServerCall, Work};
use crate::tx::{Opening, Tx};

/// Beyond what the shell waits for a server, at most: its start, its list of tools and its answer.
const CALL_TIMEOUT: Millis = Millis::minutes(20);

/// A turn has looked for tools of other programs: on record where they are others than before. Where nothing was requested in
/// the episode yet, they are offered at once; otherwise the next turn begins another one with them.
pub(crate) fn read(tx: &mut Tx<'_>, run_id: RunId, found: Option<Arc<ServerTools>>) {
    let found = found.filter(|tools| !tools.is_empty());
    let agent = tx.agent();
    if agent.servers.newest() == found.as_ref() {
        return;
    }
    let tools_offered = agent.run.as_ref().filter(|_| agent.episodes.begins()).map(|run| {
        let models: &[ModelRef] = &run.chain.models;
        let window = Window::of_chain(tx.env.config, models);
        window.offers((&agent.spec, models), tx.env.config, found.as_deref(), &agent.tools_offered)
    });
    let catalogue = found.unwrap_or_default();
    tx.record(ToolsCatalogued { run_id, catalogue, tools_offered });
}

/// What is called.
pub(crate) struct Asked {
    pub(crate) run_id: RunId,
    pub(crate) call_id: alloc::string::String,
    pub(crate) arguments: holon_facts::Text,
    /// It is called through what calls tools that were found.
    pub(crate) found: bool,
    pub(crate) output_tokens: u64,
}

/// Lets a performer call the tool of this name.
///
/// # Errors
/// There is none.
pub(crate) fn call(tx: &mut Tx<'_>, name: &str, asked: Asked) -> Result<(), ToolError> {
    let Some(tool) = tx.agent().servers.get(name) else { return Err(crate::tool::unknown(name)) };
    let (server, tool) = (tool.server.clone(), tool.tool.clone());
    let Asked { run_id, call_id, arguments, found, output_tokens } = asked;
    let call = ServerCall { run_id, call_id, server, tool, arguments, found, output_tokens };
    tx.open(Opening::of(run_id, OpKind::CallTool, CALL_TIMEOUT), Work::CallServer { call });
    Ok(())
}
