//! Files that a binary has in it, compressed.
//!
//! What is large and rarely asked for does not have to take its whole size in each binary. A macro compresses the file as
//! it stands in the repository, so that no compressed copy of it can be another one.

use std::io::Write as _;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use proc_macro::{Literal, TokenStream, TokenTree};

/// `deflated!("../page.txt")`: the bytes of a file as a raw DEFLATE stream, `&'static [u8]`. The path is relative to the
/// package's folder. The build fails where the file can't be read.
#[proc_macro]
pub fn deflated(input: TokenStream) -> TokenStream {
    compressed(&input).unwrap_or_else(|problem| {
        let text = Literal::string(&problem);
        format!("::core::compile_error!({text})").parse().unwrap_or_default()
    })
}

fn compressed(input: &TokenStream) -> Result<TokenStream, String> {
    let named = input.to_string();
    let name = named.trim().trim_matches('"');
    let path = folder().join(name);
    let shown = Literal::string(&path.display().to_string());
    let read = std::fs::read(&path).map_err(|error| format!("{shown}: {error}"))?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(&read).and_then(|()| encoder.finish());
    let bytes = TokenTree::from(Literal::byte_string(&written.map_err(|error| format!("{shown}: {error}"))?));
    // The compiler makes the package again when a file that it includes has changed.
    let code = format!("{{ const _: &[u8] = include_bytes!({shown}); const BYTES: &[u8] = {bytes}; BYTES }}");
    code.parse().map_err(|error| format!("{shown}: {error}"))
}

#[expect(clippy::disallowed_methods, reason = "the compiler's environment, not the runtime's")]
fn folder() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default()
}
