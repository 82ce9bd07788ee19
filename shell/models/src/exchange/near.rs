//! Models that a person may have meant who named one that does not exist.

use holon_facts::Millis;
use holon_facts::content::clip;
use holon_facts::model_ref::ModelRef;
use holon_text::nearest;
use http::header::HeaderMap;
use serde_json::Value;
use url::Url;

use super::super::http::{HttpClient, list};
use super::Protocol;
use crate::provider::ProviderSpec;

/// How many are named, and how much of a name.
const NAMED: usize = 5;
const NAME: usize = 80;

/// The models of a server that are nearest to a name: those that it lists, otherwise those that are known of it.
pub(super) async fn models<P: Protocol>(
    client: &dyn HttpClient,
    (url, headers): (&Url, HeaderMap),
    spec: &ProviderSpec,
    (model, known): (&ModelRef, &[ModelRef]),
    left: Millis,
) -> Vec<String> {
    let listed = listed::<P>(client, (url, headers), spec, left).await;
    let known = known.iter().filter(|known| known.provider() == model.provider());
    let all = if listed.is_empty() { known.map(|known| known.model().to_owned()).collect() } else { listed };
    let ranked = nearest::ranked(model.model(), all.iter().map(String::as_str));
    ranked.into_iter().take(NAMED).map(|name| clip(name, NAME)).collect()
}

/// The models that a server lists, below the address of its method; none where it lists none.
pub(super) async fn listed<P: Protocol>(
    client: &dyn HttpClient,
    (url, headers): (&Url, HeaderMap),
    spec: &ProviderSpec,
    left: Millis,
) -> Vec<String> {
    let mut address = url.clone();
    address.set_path(&P::models(url.path()));
    let listed = list(client, &address, headers, &spec.options, left).await;
    listed.map(|body| ids(&body)).unwrap_or_default()
}

/// The ids of a list, in the form that all protocols share.
fn ids(body: &[u8]) -> Vec<String> {
    let root = holon_facts::json::read::<Value>(body).unwrap_or_default();
    let rows = root.get("data").and_then(Value::as_array);
    let ids = rows.into_iter().flatten().filter_map(|row| row.get("id")?.as_str());
    ids.map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_their_shared_form() {
        assert_eq!(ids(br#"{"object":"list","data":[{"id":"a"},{"name":"b"},{"id":"c"}]}"#), ["a", "c"]);
        assert!(ids(b"<html>").is_empty() && ids(br#"{"data":7}"#).is_empty());
    }
}
