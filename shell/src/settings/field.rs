//! How the types of settings are read from a checked value, and shown.

use std::net::SocketAddr;
use std::path::PathBuf;

use holon_facts::Millis;
use holon_facts::config::{Share, SummaryBy, WhileStopped};
use holon_facts::execution::ExecutionProfile;
use holon_facts::model_ref::ModelRef;
use holon_facts::price::{Cost, Prices};
use holon_ledger::Durability;
use holon_mcp::Revision;
use holon_models::{ContextEditing, MaxTokensField, Temperature};
use holon_supervise::confine::Network;
use serde_json::{Value as Json, json};
use toml_edit::Value;

use super::execution::VariablePattern;
use super::page_origin::PageOrigin;
use super::{Access, AuthMode, StoreUrl, context_editing, prices};

/// A type that a key of the configuration fills.
pub(super) trait Field: Sized {
    /// Reads a value that its kind has accepted; none when kind and type do not agree.
    fn read(value: &Value) -> Option<Self>;
    fn show(&self) -> Json;
}

/// How a type is read and shown, where that takes no more than an expression each.
macro_rules! fields {
    ($($type:ty: $read:expr, $show:expr;)*) => {$(
        impl Field for $type {
            fn read(value: &Value) -> Option<Self> {
                let read: fn(&Value) -> Option<Self> = $read;
                read(value)
            }
            fn show(&self) -> Json {
                let show: fn(&Self) -> Json = $show;
                show(self)
            }
        }
    )*};
}

fields! {
    bool: Value::as_bool, |flag| json!(flag);
    u64: |value| value.as_integer()?.try_into().ok(), |number| json!(number);
    u32: |value| value.as_integer()?.try_into().ok(), |number| json!(number);
    Millis: |value| u64::read(value).map(Self), |time| json!(time.0);
    Cost: prices::dollars, |cost| prices::shown(*cost);
    Prices: prices::read, prices::document;
    String: |value| value.as_str().map(Self::from), |text| json!(text);
    PathBuf: |value| value.as_str().map(Self::from), |path| json!(path.display().to_string());
    ModelRef: |value| Self::new(value.as_str()?).ok(), |model| json!(model.as_str());
    PageOrigin: |value| Self::new(value.as_str()?), |origin| json!(origin.as_str());
    VariablePattern: |value| Self::new(value.as_str()?), |pattern| json!(pattern.as_str());
    StoreUrl: |value| Self::new(value.as_str()?), |url| json!(url.shown());
    SocketAddr: |value| value.as_str()?.parse().ok(), |address| json!(address.to_string());
    ContextEditing: context_editing::read, context_editing::show;
}

/// Types with a name for each of their values.
macro_rules! words {
    ($($type:ty),*) => {fields! {$(
        $type: |value| Self::ALL.iter().copied().find(|it| value.as_str() == Some(it.name())), |it| json!(it.name());
    )*}};
}

words! { Access, AuthMode, ExecutionProfile, MaxTokensField, Revision, SummaryBy, WhileStopped }

impl<T: Field> Field for Vec<T> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }
    fn show(&self) -> Json {
        self.iter().map(T::show).collect()
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
