//! The files that a patch changes, as an editor shows them: of each the lines that the patch names, before and after.

use serde_json::Value;

/// Path, old text (none of a new file) and new text.
type Diff = (String, Option<String>, String);

/// Lines that a hunk still has to have, of the old and of the new text; none where its header names no numbers.
type Missing = Option<(usize, usize)>;

/// Of a unified patch; of anything else none.
pub(crate) fn diffs(patch: &Value) -> Vec<Diff> {
    let lines: Vec<&str> = patch.as_str().unwrap_or_default().lines().collect();
    let mut diffs: Vec<Diff> = Vec::new();
    let (mut left, mut missing) = (lines.as_slice(), None);
    while let Some((line, rest)) = left.split_first() {
        if let Some((old, new, rest)) = file(left, missing) {
            diffs.push((path(old, new).to_owned(), (old != "/dev/null").then(String::new), String::new()));
            (left, missing) = (rest, None);
            continue;
        }
        left = rest;
        if line.starts_with("@@") {
            missing = counts(line);
        } else if let Some((_, old, new)) = diffs.last_mut() {
            let (of_old, of_new) = sides(line, missing);
            missing = missing.map(|(old, new)| {
                (old.saturating_sub(usize::from(of_old)), new.saturating_sub(usize::from(of_new)))
            });
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

/// The old and the new path of a file that begins here, and what follows them. In a hunk such lines may also be a removed
/// and an added one: they are where the hunk misses just these, or where no hunk follows.
fn file<'a, 'b>(lines: &'b [&'a str], missing: Missing) -> Option<(&'a str, &'a str, &'b [&'a str])> {
    let [old, new, rest @ ..] = lines else { return None };
    let (old, new) = (old.strip_prefix("--- ")?, new.strip_prefix("+++ ")?);
    let begins = match missing {
        None | Some((0, 0)) => true,
        Some((1, 1)) => false,
        Some(_) => rest.first().is_some_and(|line| line.starts_with("@@ -")),
    };
    let named = |text: &'a str| text.split('\t').next().unwrap_or_default().trim_end();
    begins.then(|| (named(old), named(new), rest))
}

/// The new path, without the prefix that it has only where the old one has its own.
fn path<'a>(old: &str, new: &'a str) -> &'a str {
    match new.strip_prefix("b/") {
        Some(plain) if old.starts_with("a/") || old == "/dev/null" || old == plain => plain,
        Some(_) | None => new,
    }
}

/// How many lines a hunk has, of the old and of the new text.
fn counts(header: &str) -> Missing {
    let count = |word: &str, sign: char| {
        let (_, count) = word.strip_prefix(sign)?.split_once(',').unwrap_or(("", "1"));
        count.parse().ok()
    };
    let mut words = header.trim_start_matches('@').split_whitespace();
    Some((count(words.next()?, '-')?, count(words.next()?, '+')?))
}

/// Of which texts a line of a hunk is.
fn sides(line: &str, missing: Missing) -> (bool, bool) {
    let full = missing == Some((0, 0));
    match line.chars().next() {
        // The signature of a mail.
        Some('-') if full && matches!(line, "-- " | "--") => (false, false),
        Some('-') => (true, false),
        Some('+') => (false, true),
        Some(' ') => (true, true),
        // An empty line that has lost its sign.
        None => (missing.is_some() && !full, missing.is_some() && !full),
        Some(_) => (false, false),
    }
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
        let told = diffs(&json!(
            "--- b/b/q.sql\n+++ b/b/q.sql\n@@ -1,3 +1,3 @@\n select 1;\n\n--- old comment\n+++ new\n@@ -9 +9 @@\n-a\n+b\n\
             --- a/b/x\n+++ b/b/x\n@@ -1 +1 @@\n--- old\n+++ new\n-- \nmail"
        ));
        let old = Some("select 1;\n\n-- old comment\na\n".to_owned());
        assert_eq!(told[0], ("b/b/q.sql".to_owned(), old, "select 1;\n\n++ new\nb\n".to_owned()));
        let old = Some("-- old\n".to_owned());
        assert_eq!(told[1], ("b/x".to_owned(), old, "++ new\n".to_owned()));
        let told = diffs(&json!("--- a/x\n+++ b/x\n@@\n-1\n+2\n--- a/y\n+++ b/y\n@@ fn y @@\n-3\n"));
        assert_eq!(told[0], ("x".to_owned(), Some("1\n".to_owned()), "2\n".to_owned()));
        assert_eq!(told[1], ("y".to_owned(), Some("3\n".to_owned()), String::new()));
        assert!(diffs(&Value::Null).is_empty() && diffs(&json!("*** Begin Patch")).is_empty());
    }
}
