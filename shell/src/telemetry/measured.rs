//! Metrics as OTLP in JSON: what `/metrics` shows in OpenMetrics, as one `MetricsData`. Counters count from the start of the
//! process, so a document that was lost is made good by the next one.

use holon_facts::Wall;
use serde_json::{Value, json};

use super::Resource;
use super::otlp::{nanos, resource as described};

/// Values count from the start.
const CUMULATIVE: u8 = 2;

/// A line like `name{label="value"} 1`.
#[derive(Debug, PartialEq)]
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

#[derive(Default)]
struct Family<'a> {
    name: &'a str,
    help: &'a str,
    unit: &'a str,
    kind: &'a str,
    samples: Vec<Sample<'a>>,
}

/// What a text in OpenMetrics shows, as one line.
pub(super) fn document(resource: &Resource, text: &str, began: Wall, now: Wall) -> String {
    let times = (nanos(began), nanos(now.max(began)));
    let metrics: Vec<Value> = families(text)
        .iter()
        .filter(|family| !family.samples.is_empty())
        .map(|family| family.metric(&times))
        .collect();
    json!({ "resourceMetrics": [{
        "resource": described(resource),
        "scopeMetrics": [{ "scope": { "name": "holon" }, "metrics": metrics }],
    }] })
    .to_string()
}

fn families(text: &str) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for line in text.lines() {
        let Some(about) = line.strip_prefix("# ") else {
            let sample = sample(line);
            families.last_mut().zip(sample).into_iter().for_each(|(family, it)| family.samples.push(it));
            continue;
        };
        let mut parts = about.splitn(3, ' ');
        let (Some(what), Some(name), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if families.last().is_none_or(|family| family.name != name) {
            families.push(Family { name, ..Family::default() });
        }
        let Some(family) = families.last_mut() else { continue };
        match what {
            "HELP" => family.help = rest,
            "UNIT" => family.unit = rest,
            "TYPE" => family.kind = rest,
            _ => {}
        }
    }
    families
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.trim().split(' ').next()?.parse().ok()?;
    Some(Sample { name, labels, value })
}

/// Labels up to their closing brace, and what is behind it.
fn labels(mut rest: &str) -> Option<(Vec<(&str, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches(',');
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = quoted.char_indices();
        rest = loop {
            match chars.next()? {
                (at, '"') => break &quoted[at + 1..],
                (_, '\\') => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    char => value.push(char),
                },
                (_, char) => value.push(char),
            }
        };
        labels.push((name, value));
    }
}

impl Family<'_> {
    fn metric(&self, times: &(String, String)) -> Value {
        let unit = match self.unit {
            "seconds" => "s",
            "bytes" => "By",
            other => other,
        };
        let mut metric = json!({ "name": self.name, "description": self.help, "unit": unit });
        match self.kind {
            "counter" => {
                metric["sum"] = json!({
                    "aggregationTemporality": CUMULATIVE,
                    "isMonotonic": true,
                    "dataPoints": self.points(times),
                });
            }
            "histogram" => {
                metric["histogram"] = json!({
                    "aggregationTemporality": CUMULATIVE,
                    "dataPoints": self.distributions(times),
                });
            }
            _ => metric["gauge"] = json!({ "dataPoints": self.points(times) }),
        }
        metric
    }

    fn points(&self, (began, now): &(String, String)) -> Vec<Value> {
        let point = |sample: &Sample<'_>| {
            json!({
                "attributes": attributes(&sample.labels),
                "startTimeUnixNano": began,
                "timeUnixNano": now,
                "asDouble": sample.value,
            })
        };
        self.samples.iter().map(point).collect()
    }

    /// Samples of one distribution stand together: its buckets, each with those before it, its sum and its count, in any order.
    fn distributions(&self, (began, now): &(String, String)) -> Vec<Value> {
        let mut distributions: Vec<Distribution<'_>> = Vec::new();
        for sample in &self.samples {
            let own: Vec<&(&str, String)> = sample.labels.iter().filter(|(name, _)| *name != "le").collect();
            let at = distributions.iter().position(|it| it.labels == own).unwrap_or_else(|| {
                distributions.push(Distribution { labels: own, ..Distribution::default() });
                distributions.len() - 1
            });
            let distribution = &mut distributions[at];
            match sample.name.strip_prefix(self.name) {
                Some("_sum") => distribution.sum = sample.value,
                Some("_count") => distribution.count = sample.value,
                Some("_bucket") => {
                    let bound = sample.labels.iter().find(|(name, _)| *name == "le");
                    let bound = bound.and_then(|(_, bound)| bound.parse().ok()).unwrap_or(f64::INFINITY);
                    distribution.buckets.push((bound, sample.value));
                }
                Some(_) | None => {}
            }
        }
        let point = |it: Distribution<'_>| {
            let below = it
                .buckets
                .iter()
                .scan(0.0, |before, (_, value)| Some((value - std::mem::replace(before, *value)).max(0.0)));
            let counts: Vec<String> = below.map(whole).collect();
            let bounds: Vec<f64> =
                it.buckets.iter().map(|(bound, _)| *bound).filter(|it| it.is_finite()).collect();
            json!({
                "attributes": attributes(it.labels),
                "startTimeUnixNano": began,
                "timeUnixNano": now,
                "count": whole(it.count),
                "sum": it.sum,
                "bucketCounts": counts,
                "explicitBounds": bounds,
            })
        };
        distributions.into_iter().map(point).collect()
    }
}

#[derive(Default)]
struct Distribution<'a> {
    labels: Vec<&'a (&'a str, String)>,
    sum: f64,
    count: f64,
    /// Each with its upper bound and everything below it.
    buckets: Vec<(f64, f64)>,
}

/// A count of 64 bits, which is a text in JSON.
fn whole(count: f64) -> String {
    format!("{count:.0}")
}

fn attributes<'a>(labels: impl IntoIterator<Item = &'a (&'a str, String)>) -> Vec<Value> {
    let attribute =
        |(name, value): &(&str, String)| json!({ "key": name, "value": { "stringValue": value } });
    labels.into_iter().map(attribute).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_become_sums_gauges_and_histograms() {
        let text = "# HELP a First one.\n# TYPE a counter\na_total{b=\"x\\\"y\\\\\\n,}\",c=\"2\"} 3\n\
                    # HELP h_seconds Times.\n# TYPE h_seconds histogram\n# UNIT h_seconds seconds\n\
                    h_seconds_sum{k=\"1\"} 1.5\nh_seconds_count{k=\"1\"} 4\nh_seconds_bucket{le=\"0.1\",k=\"1\"} 1\n\
                    h_seconds_bucket{le=\"1.0\",k=\"1\"} 3\nh_seconds_bucket{le=\"+Inf\",k=\"1\"} 4\n\
                    # HELP e Empty.\n# TYPE e counter\n# HELP g Now.\n# TYPE g gauge\ng -0.5\n# EOF\n";
        let document = document(&Resource::default(), text, Wall(1), Wall(2));
        let document: Value = serde_json::from_str(&document).unwrap();
        let metrics = document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
        let names: Vec<&str> = metrics.iter().filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names, ["a", "h_seconds", "g"], "nothing has no points");
        let sum = &metrics[0]["sum"]["dataPoints"][0];
        assert_eq!(sum["attributes"][0]["value"]["stringValue"], "x\"y\\\n,}");
        assert_eq!((&sum["asDouble"], &sum["attributes"][1]["key"]), (&json!(3.0), &json!("c")));
        assert_eq!((&sum["startTimeUnixNano"], &sum["timeUnixNano"]), (&json!("1000"), &json!("2000")));
        let times = &metrics[1]["histogram"]["dataPoints"][0];
        assert_eq!(times["bucketCounts"], json!(["1", "2", "1"]));
        assert_eq!(times["explicitBounds"], json!([0.1, 1.0]));
        assert_eq!((&times["count"], &times["sum"]), (&json!("4"), &json!(1.5)));
        assert_eq!((&metrics[1]["unit"], times["attributes"].as_array().unwrap().len()), (&json!("s"), 1));
        assert_eq!(metrics[2]["gauge"]["dataPoints"][0]["asDouble"], -0.5);
    }

    #[test]
    fn lines_of_others_are_passed_over() {
        for line in ["", "a", "a{", "a{b=\"", "a{b=\"c\"}", "a{b} 1", "a x", "# TYPE", "#"] {
            assert_eq!(sample(line), None, "{line}");
            assert!(families(line).is_empty(), "{line}");
        }
    }
}
