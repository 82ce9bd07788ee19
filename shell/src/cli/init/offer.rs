//! Which model: those whose key is there, those of servers on this machine, and those that need a key first.

use anyhow::anyhow;
use holon_facts::Millis;
use holon_facts::model_ref::ModelRef;
use holon_models::{Credential, ProviderSpec};
use holon_platform::spawn;

use super::Present;
use crate::cli::output::{self, Failure};
use crate::cli::terminal;
use crate::settings::DEFAULT_MODELS;
use crate::settings::providers::Configured;

/// Servers of this machine where nobody says otherwise: Ollama, LM Studio, vLLM, llama.cpp.
const LOCAL: [&str; 4] = [
    "http://127.0.0.1:11434/v1",
    "http://127.0.0.1:1234/v1",
    "http://127.0.0.1:8000/v1",
    "http://127.0.0.1:8080/v1",
];
/// A server of this machine lists its models at once, or is none.
const LIST: Millis = Millis(700);
/// Models of one server that are offered.
const MOST: usize = 8;
/// How often a wrong answer is asked for again.
const TRIES: usize = 5;

/// A model that can be chosen.
pub(super) struct Offer {
    pub(super) model: ModelRef,
    /// Where its server is, if that is to be stored.
    pub(super) base_url: Option<String>,
    about: String,
    /// Nothing has to be asked for.
    ready: bool,
    /// One of those that a server lists, which are all the same to it.
    listed: bool,
}

impl Offer {
    pub(super) fn of(model: ModelRef, base_url: Option<String>) -> Self {
        Self { model, base_url, about: String::new(), ready: true, listed: false }
    }
}

/// The model that is chosen on a terminal; without one, the only one that needs no answer.
pub(super) async fn choose(present: &Present, asks: bool) -> Result<Offer, Failure> {
    let mut offers = offers(present).await;
    if asks {
        return spawn::blocking(move || ask(offers)).await?;
    }
    let ready: Vec<&Offer> = offers.iter().filter(|offer| offer.ready).collect();
    let best = offers.iter().position(|offer| offer.ready);
    // A key, or what is configured, says what is meant; models of a local server are all the same.
    let chosen = best.filter(|&at| ready.len() == 1 || !offers[at].listed);
    if let Some(at) = chosen {
        return Ok(offers.swap_remove(at));
    }
    let names: Vec<String> = ready.iter().map(|offer| offer.model.to_string()).collect();
    let error = match names.as_slice() {
        [] => anyhow!("there is no key, no local server, and no terminal to ask on"),
        names => anyhow!("several models are there, and no terminal to ask on: {}", names.join(", ")),
    };
    let example = names.first().map_or("openai/gpt-5.1", String::as_str);
    Err(Failure::usage(error)
        .hint(format!("holon init --model {example}; OPENAI_API_KEY or --key - gives the key")))
}

async fn offers(present: &Present) -> Vec<Offer> {
    let configured = Configured::new(&present.settings, &present.environment, &present.credentials);
    let mut offers = Vec::new();
    if let Some(model) = &present.settings.model {
        let about = format!("as configured: {}", present.settings.origin("model.default"));
        offers.push(Offer { about, ..Offer::of(model.clone(), None) });
    }
    for (provider, model) in DEFAULT_MODELS {
        let spec = configured.specs.iter().find(|spec| spec.id == provider);
        let (Some(spec), Ok(model)) = (spec, ModelRef::new(model)) else { continue };
        let (about, ready) = match &spec.credential {
            Credential::Key { origin, .. } => (format!("its key is there: {origin}"), true),
            Credential::Missing { .. } | Credential::Login { .. } | Credential::Unneeded => {
                ("needs a key".to_owned(), false)
            }
        };
        offers.push(Offer { about, ready, ..Offer::of(model, None) });
    }
    offers.extend(local(&configured).await);
    // What can be used as it is comes first.
    offers.sort_by_key(|offer| !offer.ready);
    offers
}

/// The models of the servers that listen on this machine.
async fn local(configured: &Configured) -> Vec<Offer> {
    let Some(spec) = configured.specs.iter().find(|spec| spec.id == "local") else { return Vec::new() };
    let own = spec.base_url.trim_end_matches('/').to_owned();
    let mut offers = Vec::new();
    let others = LOCAL.iter().map(|&url| url.to_owned()).filter(|url| *url != own);
    let looks = std::iter::once(own.clone()).chain(others).map(|url| {
        let spec = ProviderSpec { base_url: url.clone(), ..spec.clone() };
        let providers = Configured { specs: vec![spec], unusable: Default::default(), secrets: Vec::new() };
        spawn::task(async move { (url, providers.providers().models_of("local", LIST).await) })
    });
    let looks: Vec<_> = looks.collect();
    for look in looks {
        let Ok((url, models)) = look.await else { continue };
        let store = (url != own).then(|| url.clone());
        let models = models.into_iter().filter_map(|name| ModelRef::new(&format!("local/{name}")).ok());
        offers.extend(models.take(MOST).map(|model| Offer {
            about: format!("at {url}"),
            listed: true,
            ..Offer::of(model, store.clone())
        }));
    }
    offers
}

fn ask(mut offers: Vec<Offer>) -> Result<Offer, Failure> {
    for (at, offer) in offers.iter().enumerate() {
        output::note(&format!("  {}  {}  ({})", at + 1, offer.model, offer.about));
    }
    for _ in 0..TRIES {
        let typed = terminal::line("Which model? A number, or provider/model [1]: ")?;
        let number = if typed.is_empty() { Some(1) } else { typed.parse::<usize>().ok() };
        match number {
            Some(number) if (1..=offers.len()).contains(&number) => return Ok(offers.swap_remove(number - 1)),
            Some(_) => output::note(&format!("holon: there are {} models in the list", offers.len())),
            None => match ModelRef::new(&typed) {
                Ok(model) => return Ok(Offer::of(model, None)),
                Err(error) => output::note(&format!("holon: {error}")),
            },
        }
    }
    Err(Failure::usage(anyhow!("no model was chosen: nothing was changed")))
}
