//! The files that a patch changes, as an editor shows them: of each the lines that the patch names, before and after.

use serde_json::Value;

/// Path, old text (none of a new file) and new text.
type Diff = (String, Option<String>, String);

/// Of a unified patch; of anything else none.
pub(crate) fn diffs(patch: &Value) -> Vec<Diff> {
    let mut diffs: Vec<Diff> = Vec::new();
    let mut from = None;
    for line in patch.as_str().unwrap_or_default().lines() {
        if let Some(path) = line.strip_prefix("--- ") {
            from = Some(path);
        } else if let Some(path) = line.strip_prefix("+++ ") {
            let new = from.take() == Some("/dev/null");
            let path = if path == "/dev/null" { path } else { path.trim_start_matches("b/") };
            diffs.push((path.to_owned(), (!new).then(String::new), String::new()));
        } else if let Some((_, old, new)) = diffs.last_mut() {
            let (of_old, of_new) = match line.chars().next() {
                Some('-') => (true, false),
                Some('+') => (false, true),
                Some(' ') => (true, true),
                Some(_) | None => (false, false),
            };
            let text = line.get(1..).unwrap_or_default();
            if let Some(old) = old.as_mut().filter(|_| of_old) {
                old.extend([text, "\n"]);
            }
            if of_new {
                new.extend([text, "\n"]);
            }
        }
    }
    diffs.retain(|(path, ..)| path != "/dev/null");
    diffs
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_is_its_files_before_and_after() {
        let patch = "--- a/greet.sh\n+++ b/greet.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo Helo\n+echo Hello\n\
                     --- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n";
        let told = diffs(&json!(patch));
        let old = Some("#!/bin/sh\necho Helo\n".to_owned());
        assert_eq!(told[0], ("greet.sh".to_owned(), old, "#!/bin/sh\necho Hello\n".to_owned()));
        assert_eq!(told[1], ("new.txt".to_owned(), None, "new\n".to_owned()));
        assert!(diffs(&Value::Null).is_empty() && diffs(&json!("*** Begin Patch")).is_empty());
    }
}
