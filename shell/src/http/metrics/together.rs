//! What several runtimes count, as one text: each family once, with the samples of all.

use std::collections::HashMap;

/// Lines of one family: what it is, then its samples.
#[derive(Default)]
struct Family<'a> {
    about: Vec<&'a str>,
    samples: Vec<&'a str>,
}

/// The texts of runtimes of one build, in one.
pub(super) fn families(texts: &[String]) -> String {
    if let [only] = texts {
        return only.clone();
    }
    let (mut order, mut families) = (Vec::new(), HashMap::<&str, Family<'_>>::new());
    for text in texts {
        let mut name = "";
        let mut known = false;
        for line in text.lines().filter(|line| *line != "# EOF") {
            let about = line.strip_prefix("# ").and_then(|rest| rest.split(' ').nth(1));
            if let Some(of) = about.filter(|of| *of != name) {
                name = of;
                known = families.contains_key(name);
                if !known {
                    order.push(name);
                }
            }
            let family = families.entry(name).or_default();
            match about {
                Some(_) if known => {}
                Some(_) => family.about.push(line),
                None => family.samples.push(line),
            }
        }
    }
    let mut text = String::with_capacity(texts.iter().map(String::len).sum());
    for name in order {
        let Some(family) = families.remove(name) else { continue };
        for line in family.about.iter().chain(&family.samples) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.push_str("# EOF\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_is_there_once_with_the_samples_of_all() {
        let of_cell = |cell| {
            format!(
                "# HELP a First.\n# TYPE a counter\na_total{{cell=\"{cell}\"}} 1\n# HELP b Second.\n# TYPE b gauge\n\
                 b{{cell=\"{cell}\"}} 2\n# EOF\n"
            )
        };
        let texts = [of_cell(1), of_cell(2)];
        let expected = "# HELP a First.\n# TYPE a counter\na_total{cell=\"1\"} 1\na_total{cell=\"2\"} 1\n\
            # HELP b Second.\n# TYPE b gauge\nb{cell=\"1\"} 2\nb{cell=\"2\"} 2\n# EOF\n";
        assert_eq!(families(&texts), expected);
        assert_eq!(families(&texts[..1]), texts[0], "one alone stays as it is");
    }
}
