//! What a model is shown outside of fences.

/// What stands outside of all fences; each is closed by its own tag.
///
/// # Panics
/// Where one is not closed.
pub fn outside(text: &str) -> String {
    let (mut rest, mut outside) = (text, String::new());
    while let Some((before, quoted)) = rest.split_once("<quoted-") {
        let tag = quoted.get(..16).unwrap_or_default();
        let close = format!("</quoted-{tag}>\n");
        let Some((_, after)) = quoted.split_once(&close) else { panic!("{tag} is open: {text}") };
        outside += before;
        rest = after;
    }
    outside + rest
}
