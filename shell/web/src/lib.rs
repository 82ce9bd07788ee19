//! The web console: the files of its page as they stand in `page/`, compressed, in one table. Who may have them and with
//! which headers they are served is the business of the server; what the page does, that of its scripts.

use std::borrow::Cow;
use std::io::{self, Read};

use flate2::read::GzDecoder;

/// One file of the page.
#[derive(Debug, PartialEq, Eq)]
pub struct Asset {
    /// Below the page's address, with `/` between folders: `index.html`, `vendor/preact.js`.
    pub path: &'static str,
    /// Of what is in it, as 32 hexadecimal digits: another file has another one.
    pub digest: &'static str,
    /// Its size.
    pub bytes: usize,
    /// Whether [`Asset::stored`] is compressed with gzip, which it is where that makes it smaller.
    pub is_packed: bool,
    /// The file as it is in the binary.
    pub stored: &'static [u8],
}

/// The file that the page begins with.
pub const INDEX: &str = "index.html";

/// Every file, by path.
pub static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// The file at a path; the empty path is that of the page itself.
pub fn asset(path: &str) -> Option<&'static Asset> {
    let path = if path.is_empty() { INDEX } else { path };
    let at = ASSETS.binary_search_by(|asset| asset.path.cmp(path)).ok()?;
    ASSETS.get(at)
}

impl Asset {
    /// The file as it stands in `page/`.
    ///
    /// # Errors
    /// A binary that is damaged.
    pub fn unpacked(&self) -> io::Result<Cow<'static, [u8]>> {
        if !self.is_packed {
            return Ok(Cow::Borrowed(self.stored));
        }
        let mut bytes = Vec::with_capacity(self.bytes);
        GzDecoder::new(self.stored).read_to_end(&mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// What a browser takes it for; a kind of file that is not known here is nothing that it shows or executes.
    pub fn content_type(&self) -> &'static str {
        let name = self.path.rsplit('/').next().unwrap_or(self.path);
        match name.rsplit_once('.').map_or("txt", |(_, extension)| extension) {
            "html" => "text/html; charset=utf-8",
            "js" | "mjs" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "json" | "map" | "webmanifest" => "application/json",
            "txt" | "md" | "ts" => "text/plain; charset=utf-8",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "ico" => "image/x-icon",
            "woff2" => "font/woff2",
            _ => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_in_the_table_as_it_is() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        assert!(ASSETS.is_sorted_by_key(|asset| asset.path), "a path is looked up by halves");
        for file in ASSETS {
            assert_eq!(asset(file.path), Some(file));
            let read = fs::read(page.join(file.path)).unwrap();
            assert_eq!(file.unpacked().unwrap(), read, "{}", file.path);
            assert_eq!((file.bytes, file.digest.len()), (read.len(), 32), "{}", file.path);
            assert!(file.stored.len() <= read.len(), "{}", file.path);
            assert_ne!(file.content_type(), "application/octet-stream", "{}", file.path);
        }
        for needed in [INDEX, "api.js"] {
            assert!(asset(needed).is_some(), "{needed}");
        }
        assert_eq!(asset(""), asset(INDEX));
        for strange in ["index.htm", "../Cargo.toml", "/index.html", "vendor", "index.html/"] {
            assert_eq!(asset(strange), None, "{strange}");
        }
    }

    /// What a first visit loads (contract: consoles.md, Web console).
    #[test]
    fn the_page_is_small() {
        let stored: usize = ASSETS.iter().map(|asset| asset.stored.len()).sum();
        assert!(stored <= 150_000, "{stored} bytes, compressed");
    }

    /// The page is served with a policy that executes no script and applies no style that stands in the markup.
    #[test]
    fn nothing_inline_stands_in_the_page() {
        for file in ASSETS.iter().filter(|file| file.path.ends_with(".html")) {
            let text = String::from_utf8(file.unpacked().unwrap().into_owned()).unwrap();
            for (at, _) in text.match_indices("<script") {
                let tag = text[at..].split('>').next().unwrap_or_default();
                assert!(tag.contains("src="), "{}: {tag}", file.path);
            }
            for banned in ["<style", " style=", " onclick=", " onload=", "javascript:", "http://", "https://"]
            {
                assert!(!text.contains(banned), "{}: {banned}", file.path);
            }
        }
    }
}
