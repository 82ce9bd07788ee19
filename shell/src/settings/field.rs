//! How the types of settings are read from a checked value, and shown.

use std::net::SocketAddr;
use std::path::PathBuf;

use holon_facts::Millis;
use holon_facts::config::{Share, SummaryBy, WhileStopped};
use holon_facts::execution::ExecutionProfile;
use holon_facts::model_ref::ModelRef;
use holon_facts::price::{Cost, Prices};
use holon_ledger::Durability;
use holon_models::{ContextEditing, MaxTokensField, Temperature};
use holon_supervise::confine::Network;
use serde_json::{Value as Json, json};
use toml_edit::Value;

use super::execution::{SetVariables, VariablePattern};
use super::page_origin::PageOrigin;
use super::request_parts::{Headers, Query};
use super::{Access, AuthMode, StoreUrl, context_editing, prices};

/// A type that a key of the configuration fills.
pub(super) trait Field: Sized {
    /// Reads a value that its kind has accepted; none when kind and type do not agree.
    fn read(value: &Value) -> Option<Self>;
    fn show(&self) -> Json;
}

impl Field for bool {
    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

impl Field for u64 {
    fn read(value: &Value) -> Option<Self> {
        value.as_integer()?.try_into().ok()
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

impl Field for u32 {
    fn read(value: &Value) -> Option<Self> {
        value.as_integer()?.try_into().ok()
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

impl Field for Millis {
    fn read(value: &Value) -> Option<Self> {
        u64::read(value).map(Self)
    }
    fn show(&self) -> Json {
        self.0.show()
    }
}

impl Field for Cost {
    fn read(value: &Value) -> Option<Self> {
        prices::dollars(value)
    }
    fn show(&self) -> Json {
        prices::shown(*self)
    }
}

impl Field for Prices {
    fn read(value: &Value) -> Option<Self> {
        prices::read(value)
    }
    fn show(&self) -> Json {
        prices::document(self)
    }
}

impl Field for String {
    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(ToOwned::to_owned)
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

impl Field for PathBuf {
    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(Self::from)
    }
    fn show(&self) -> Json {
        json!(self.display().to_string())
    }
}

impl Field for ModelRef {
    fn read(value: &Value) -> Option<Self> {
        Self::new(value.as_str()?).ok()
    }
    fn show(&self) -> Json {
        json!(self.as_str())
    }
}

impl Field for Vec<ModelRef> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(ModelRef::read).collect()
    }
    fn show(&self) -> Json {
        self.iter().map(ModelRef::show).collect()
    }
}

impl Field for Vec<PathBuf> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(PathBuf::read).collect()
    }
    fn show(&self) -> Json {
        self.iter().map(PathBuf::show).collect()
    }
}

impl Field for Option<StoreUrl> {
    fn read(value: &Value) -> Option<Self> {
        StoreUrl::new(value.as_str()?).map(Some)
    }
    fn show(&self) -> Json {
        json!(self.as_ref().map(StoreUrl::shown))
    }
}

impl Field for Vec<PageOrigin> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(|item| PageOrigin::new(item.as_str()?)).collect()
    }
    fn show(&self) -> Json {
        self.iter().map(|origin| json!(origin.as_str())).collect()
    }
}

impl Field for Vec<VariablePattern> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(|item| VariablePattern::new(item.as_str()?)).collect()
    }
    fn show(&self) -> Json {
        self.iter().map(|pattern| json!(pattern.as_str())).collect()
    }
}

impl Field for SetVariables {
    fn read(value: &Value) -> Option<Self> {
        Self::read(value)
    }
    fn show(&self) -> Json {
        self.shown()
    }
}

impl<T: Field> Field for Option<T> {
    fn read(value: &Value) -> Option<Self> {
        T::read(value).map(Some)
    }
    fn show(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::show)
    }
}

impl Field for Durability {
    fn read(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "full" => Some(Self::Full),
            "process" => Some(Self::Process),
            _ => None,
        }
    }
    fn show(&self) -> Json {
        match self {
            Self::Full => json!("full"),
            Self::Process => json!("process"),
        }
    }
}

impl Field for SocketAddr {
    fn read(value: &Value) -> Option<Self> {
        value.as_str()?.parse().ok()
    }
    fn show(&self) -> Json {
        json!(self.to_string())
    }
}

impl Field for Headers {
    fn read(value: &Value) -> Option<Self> {
        Self::read(value)
    }
    fn show(&self) -> Json {
        self.show()
    }
}

impl Field for Query {
    fn read(value: &Value) -> Option<Self> {
        Self::read(value)
    }
    fn show(&self) -> Json {
        self.show()
    }
}

impl Field for ContextEditing {
    fn read(value: &Value) -> Option<Self> {
        context_editing::read(value)
    }
    fn show(&self) -> Json {
        context_editing::show(self)
    }
}

impl Field for MaxTokensField {
    fn read(value: &Value) -> Option<Self> {
        Self::ALL.into_iter().find(|field| value.as_str() == Some(field.name()))
    }
    fn show(&self) -> Json {
        json!(self.name())
    }
}

impl Field for Temperature {
    fn read(value: &Value) -> Option<Self> {
        #[expect(clippy::cast_precision_loss, reason = "it is small, or no temperature")]
        let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
        Self::new(number)
    }
    fn show(&self) -> Json {
        self.value()
    }
}

impl Field for Share {
    fn read(value: &Value) -> Option<Self> {
        #[expect(clippy::cast_precision_loss, reason = "it is 1, or no share")]
        let share = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
        let thousandths = (share * 1_000.0).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is from 100 to 1,000"
        )]
        let new = || Self(thousandths as u16);
        ((100.0..=1_000.0).contains(&thousandths) && (share * 1_000.0 - thousandths).abs() < 1e-6).then(new)
    }
    fn show(&self) -> Json {
        json!(f64::from(self.0) / 1_000.0)
    }
}

impl Field for Access {
    fn read(value: &Value) -> Option<Self> {
        let all = [Self::Local, Self::Tunnel, Self::Lan, Self::Tailnet];
        all.into_iter().find(|access| value.as_str() == Some(access.name()))
    }
    fn show(&self) -> Json {
        json!(self.name())
    }
}

impl Field for AuthMode {
    fn read(value: &Value) -> Option<Self> {
        let all = [Self::Auto, Self::Required, Self::Disabled];
        all.into_iter().find(|mode| value.as_str() == Some(mode.name()))
    }
    fn show(&self) -> Json {
        json!(self.name())
    }
}

impl Field for SummaryBy {
    fn read(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "facts" => Some(Self::Facts),
            "model" => Some(Self::Model),
            _ => None,
        }
    }
    fn show(&self) -> Json {
        match self {
            Self::Facts => json!("facts"),
            Self::Model => json!("model"),
        }
    }
}

impl Field for WhileStopped {
    fn read(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "refuse" => Some(Self::Refuse),
            "queue" => Some(Self::Queue),
            _ => None,
        }
    }
    fn show(&self) -> Json {
        match self {
            Self::Refuse => json!("refuse"),
            Self::Queue => json!("queue"),
        }
    }
}

impl Field for ExecutionProfile {
    fn read(value: &Value) -> Option<Self> {
        Self::ALL.iter().copied().find(|profile| value.as_str() == Some(profile.name()))
    }
    fn show(&self) -> Json {
        json!(self.name())
    }
}

impl Field for Network {
    fn read(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "on" => Some(Self::On),
            "internet" => Some(Self::Internet),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
    fn show(&self) -> Json {
        json!(self.to_string())
    }
}
