//! The kinds of providers, as configuration names them.

use std::fmt;
use std::sync::Arc;

use super::Provider;

/// How a provider is spoken to, by the name that it has in configuration.
#[derive(Clone, Copy)]
pub struct Transport {
    name: &'static str,
    has_address: bool,
    settings: &'static [&'static str],
    options: &'static [&'static str],
    pub(crate) provider: fn() -> Arc<dyn Provider>,
}

impl Transport {
    /// One that needs no server.
    pub(crate) const fn local(name: &'static str, provider: fn() -> Arc<dyn Provider>) -> Self {
        Self { name, has_address: false, settings: &[], options: &[], provider }
    }

    /// One that speaks to a server.
    pub(crate) const fn remote(
        name: &'static str,
        settings: &'static [&'static str],
        options: &'static [&'static str],
        provider: fn() -> Arc<dyn Provider>,
    ) -> Self {
        Self { name, has_address: true, settings, options, provider }
    }

    pub fn name(self) -> &'static str {
        self.name
    }

    /// The settings of a model that it passes on, by their names.
    pub fn settings(self) -> &'static [&'static str] {
        self.settings
    }

    /// The options of a provider that it alone has a use for, by their names.
    pub fn options(self) -> &'static [&'static str] {
        self.options
    }

    /// Whether it speaks to a server.
    pub fn has_address(self) -> bool {
        self.has_address
    }
}

impl PartialEq for Transport {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Transport {}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
