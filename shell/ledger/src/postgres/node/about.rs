//! What a node says of itself to the others.

/// Shown to whoever looks at the nodes of a database, and used to reach this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutNode {
    /// Of the machine or the home; nothing depends on it.
    pub name: String,
    /// Where other nodes reach it, for example `http://10.0.0.7:7878`.
    pub url: String,
    pub build: String,
}
