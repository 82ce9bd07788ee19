//! `holon config prices`: what models cost, and who says so.

use holon_facts::price::ModelPrice;
use holon_models::known::AS_OF;
use serde_json::json;

use super::{ConfigHome, told};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::settings::prices::{built_in, shown};

pub(super) fn prices(cfg: &ConfigHome) -> Result<Exit, Failure> {
    let (settings, problems) = cfg.survey()?;
    let configured = &settings.core.prices.0;
    let known = built_in().filter(|known| configured.iter().all(|own| own.model != known.model));
    let origin = settings.origin("model.prices").to_string();
    let listed = format!("listed {AS_OF}");
    let own = configured.iter().map(|price| (price.clone(), origin.as_str()));
    let all: Vec<(ModelPrice, &str)> = own.chain(known.map(|price| (price, listed.as_str()))).collect();
    let document: Vec<_> = all
        .iter()
        .map(|(ModelPrice { model, price }, origin)| {
            json!({
                "model": model,
                "input": shown(price.input),
                "cached_input": shown(price.cached_input),
                "output": shown(price.output),
                "origin": origin,
            })
        })
        .collect();
    cfg.print(&json!({ "ok": true, "listed": AS_OF, "prices": document }), || {
        let names = ["MODEL", "INPUT", "CACHED", "OUTPUT", "FROM"];
        let row = |(ModelPrice { model, price }, origin): &(ModelPrice, &str)| {
            let [input, cached, output] =
                [price.input, price.cached_input, price.output].map(|cost| cost.to_string());
            vec![model.to_string(), input, cached, output, (*origin).to_owned()]
        };
        output::list(&names, all.iter().map(row))?;
        told(&problems);
        Ok(())
    })?;
    Ok(Exit::Completed)
}
