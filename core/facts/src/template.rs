//! The template that an agent was made from: a folder with standing instructions and skills (contract: context.md,
//! Templates and agent home).

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::ContentId;

names! { TemplateOrigin { BuiltIn "built_in", User "user", Folder "folder", GitHub "github" } }

/// Which template an agent was made from, exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentTemplate {
    /// What was asked for: an id, a folder or an address.
    pub selector: String,
    pub origin: TemplateOrigin,
    /// Of the repository, where it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Of its files as they were then; the home of the runtime keeps them under it.
    pub hash: ContentId,
}
