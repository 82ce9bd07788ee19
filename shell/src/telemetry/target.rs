//! Where traces and metrics are sent: the configuration, and the variables that OpenTelemetry has for it, which win.

use std::time::Duration;

use holon_platform::Environment;
use http::{HeaderName, HeaderValue};
use url::Url;

use super::{Encoding, Resource};

/// How long one request may take, where nobody says so.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time that somebody may say.
const LONGEST: Duration = Duration::from_mins(10);
/// Headers and attributes that variables may name.
const PAIRS: usize = 64;

/// What is sent. Each has variables of its own, and an address below the one that all share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Traces,
    Metrics,
}

impl Signal {
    pub fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }
}

/// A collector.
#[derive(Clone)]
pub struct Target {
    pub signal: Signal,
    pub encoding: Encoding,
    pub url: Url,
    /// Sent with each request. Some are secrets.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub timeout: Duration,
    pub resource: Resource,
}

/// What names no collector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error(
        "{name} is no address of a collector: expected http:// or https://, for example http://localhost:4318"
    )]
    Address { name: String },
    #[error(
        "{name} is {protocol}: expected http/protobuf or http/json, and the address for HTTP, usually port 4318"
    )]
    Protocol { name: String, protocol: String },
    #[error("{name} is not a list of names and values like `name=value,other=value`")]
    Pairs { name: String },
    #[error("{name} is no number of milliseconds from 1 to {}", LONGEST.as_millis())]
    Timeout { name: String },
    #[error("{name} is no number of milliseconds from {least} to {most}")]
    Interval { name: &'static str, least: u128, most: u128 },
}

impl Target {
    /// The collector that somebody has named; none where nobody has. `configured` is `telemetry.otlp.endpoint`.
    ///
    /// # Errors
    /// What can't be used, by the name of its variable or key.
    pub fn find(
        signal: Signal,
        configured: Option<&str>,
        environment: &Environment,
    ) -> Result<Option<Self>, TargetError> {
        let upper = signal.name().to_ascii_uppercase();
        let said = |name: &str| environment.get(name).filter(|value| !value.trim().is_empty());
        let off = said("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if off || said(&format!("OTEL_{upper}_EXPORTER")).is_some_and(|value| value == "none") {
            return Ok(None);
        }
        let own_name = format!("OTEL_EXPORTER_OTLP_{upper}_ENDPOINT");
        let own = said(&own_name);
        let base = said("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| ("OTEL_EXPORTER_OTLP_ENDPOINT", base));
        let base = base.or(configured.map(|base| ("telemetry.otlp.endpoint", base)));
        let url = match (own, base) {
            (Some(own), _) => address(&own_name, own)?,
            (None, Some((name, base))) => below(address(name, base)?, signal),
            (None, None) => return Ok(None),
        };
        let either = |end: &str| {
            let names = [format!("OTEL_EXPORTER_OTLP_{upper}_{end}"), format!("OTEL_EXPORTER_OTLP_{end}")];
            names.into_iter().find_map(|name| said(&name).map(|value| (name.clone(), value.to_owned())))
        };
        let encoding = match either("PROTOCOL") {
            None => Encoding::Protobuf,
            Some((_, protocol)) if protocol == "http/protobuf" => Encoding::Protobuf,
            Some((_, protocol)) if protocol == "http/json" => Encoding::Json,
            Some((name, protocol)) => return Err(TargetError::Protocol { name, protocol }),
        };
        let timeout = either("TIMEOUT").map_or(Ok(TIMEOUT), |(name, value)| patience(name, &value))?;
        let headers = either("HEADERS").map_or(Ok(Vec::new()), |(name, value)| headers(&name, &value))?;
        let known = said("OTEL_RESOURCE_ATTRIBUTES");
        let mut attributes = known.map_or(Ok(Vec::new()), |it| pairs("OTEL_RESOURCE_ATTRIBUTES", it))?;
        let among = attributes.iter().position(|(name, _)| name == "service.name");
        let among = among.map(|at| attributes.remove(at).1);
        let service = said("OTEL_SERVICE_NAME").map(str::to_owned).or(among);
        let service = service.unwrap_or_else(|| Resource::default().service);
        let resource = Resource { service, attributes };
        Ok(Some(Self { signal, encoding, url, headers, timeout, resource }))
    }

    /// The address for people: without user and password.
    pub fn shown(&self) -> String {
        let mut url = self.url.clone();
        // An address without a host has neither.
        url.set_username("").and_then(|()| url.set_password(None)).ok();
        url.set_query(None);
        url.to_string()
    }
}

fn address(name: &str, text: &str) -> Result<Url, TargetError> {
    let url = Url::parse(text.trim()).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| TargetError::Address { name: name.to_owned() })
}

/// A signal goes below the address that all share.
fn below(mut base: Url, signal: Signal) -> Url {
    let path = format!("{}/v1/{}", base.path().trim_end_matches('/'), signal.name());
    base.set_path(&path);
    base
}

fn patience(name: String, value: &str) -> Result<Duration, TargetError> {
    let timeout = value.trim().parse().map(Duration::from_millis).ok();
    timeout.filter(|it| !it.is_zero() && *it <= LONGEST).ok_or(TargetError::Timeout { name })
}

fn headers(name: &str, text: &str) -> Result<Vec<(HeaderName, HeaderValue)>, TargetError> {
    let wrong = || TargetError::Pairs { name: name.to_owned() };
    let header = |(name, value): (String, String)| {
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value))
    };
    pairs(name, text)?.into_iter().map(header).collect()
}

/// `name=value,other=value`, with values as in addresses.
fn pairs(name: &str, text: &str) -> Result<Vec<(String, String)>, TargetError> {
    let wrong = || TargetError::Pairs { name: name.to_owned() };
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.len() > PAIRS {
        return Err(wrong());
    }
    let pair = |part: &&str| {
        let (key, value) =
            part.split_once('=').filter(|(key, _)| !key.trim().is_empty()).ok_or_else(wrong)?;
        // A `+` stands for itself here.
        let written = format!("v={}", value.trim().replace('+', "%2B").replace('&', "%26"));
        let value = url::form_urlencoded::parse(written.as_bytes()).next().map(|(_, it)| it.into_owned());
        Ok((key.trim().to_owned(), value.ok_or_else(wrong)?))
    };
    parts.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(configured: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Target>, TargetError> {
        Target::find(
            Signal::Traces,
            configured,
            &Environment::new(
                variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
            ),
        )
    }

    fn url(configured: Option<&str>, variables: &[(&str, &str)]) -> String {
        found(configured, variables).unwrap().map_or("none".to_owned(), |target| target.url.to_string())
    }

    #[test]
    fn variables_win_and_traces_go_below_what_all_signals_share() {
        let (base, own) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        assert_eq!(url(None, &[]), "none");
        assert_eq!(url(None, &[(base, "")]), "none");
        assert_eq!(url(Some("http://c:4318"), &[]), "http://c:4318/v1/traces");
        assert_eq!(url(Some("http://c:4318"), &[(base, "http://d/x/")]), "http://d/x/v1/traces");
        assert_eq!(url(None, &[(base, "http://d"), (own, "http://e/t")]), "http://e/t");
        let metrics = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let target = Target::find(Signal::Metrics, None, &Environment::new(variables)).unwrap();
            target.map_or("none".to_owned(), |target| target.url.to_string())
        };
        assert_eq!(metrics(&[(base, "http://d"), (own, "http://e/t")]), "http://d/v1/metrics");
        assert_eq!(metrics(&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/")]), "http://m/");
        assert_eq!(metrics(&[(base, "http://d"), ("OTEL_METRICS_EXPORTER", "none")]), "none");
        let encoding = |protocol| {
            let named = ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
            found(Some("http://c"), &[named]).unwrap().map(|target| target.encoding)
        };
        assert_eq!(encoding(""), Some(Encoding::Protobuf));
        assert_eq!(encoding("http/protobuf"), Some(Encoding::Protobuf));
        assert_eq!(encoding("http/json"), Some(Encoding::Json));
        assert_eq!(url(Some("http://c"), &[("OTEL_SDK_DISABLED", "true")]), "none");
        assert_eq!(url(Some("http://c"), &[("OTEL_TRACES_EXPORTER", "none")]), "none");
    }

    #[test]
    fn headers_and_attributes_are_read_and_what_is_wrong_is_named() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-a=1, authorization=Basic%20YQ=="),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=mine,team=a%2Cb"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ];
        let target = found(Some("http://u:canary@c:1/p?q=1"), &variables).unwrap().unwrap();
        assert_eq!(target.shown(), "http://c:1/p/v1/traces");
        assert_eq!(target.timeout, Duration::from_millis(250));
        assert_eq!(target.headers[1].1, "Basic YQ==");
        assert_eq!(target.resource.service, "mine");
        assert_eq!(target.resource.attributes, [("team".to_owned(), "a,b".to_owned())]);
        let wrong = |name: &str, value: &str| match found(Some("http://c"), &[(name, value)]) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{name}={value}"),
        };
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/xml"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "canary"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "soon"),
        ] {
            let problem = wrong(name, value);
            assert!(problem.starts_with(name) && !problem.contains("canary"), "{problem}");
        }
    }
}
