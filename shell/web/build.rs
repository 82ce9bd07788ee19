//! Makes the table of the page's files: each one under its path below `page/`, compressed where that makes it smaller. A
//! build script, because only that runs again when somebody adds a file.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

#[expect(clippy::disallowed_methods, reason = "the environment of the compiler, not that of the runtime")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=page");
    let page = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("no folder of the package")?);
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("no folder for what is made")?);
    let page = page.join("page");
    let mut files = Vec::new();
    collect(&page, &mut files)?;
    let named = |file: PathBuf| -> Result<(String, PathBuf), Box<dyn Error>> {
        Ok((file.strip_prefix(&page)?.to_str().ok_or("a name that is no text")?.to_owned(), file))
    };
    let mut files = files.into_iter().map(named).collect::<Result<Vec<_>, _>>()?;
    // As text, which is how a path is looked up.
    files.sort();
    let mut table = String::from("&[\n");
    for (number, (path, file)) in files.iter().enumerate() {
        let read = fs::read(file)?;
        let digest: String =
            Sha256::digest(&read).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let packed = packed(&read)?;
        let is_packed = packed.len() < read.len();
        let stored = out.join(format!("file_{number}"));
        fs::write(&stored, if is_packed { &packed } else { &read })?;
        writeln!(
            table,
            "    Asset {{ path: {path:?}, digest: {digest:?}, bytes: {}, is_packed: {is_packed}, stored: include_bytes!({:?}) }},",
            read.len(),
            stored.display().to_string(),
        )?;
    }
    table.push_str("]\n");
    fs::write(out.join("table.rs"), table)?;
    Ok(())
}

/// Every file below a folder, those left out that begin with a dot.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        match (hidden, path.is_dir()) {
            (true, _) => {}
            (false, true) => collect(&path, files)?,
            (false, false) => files.push(path),
        }
    }
    Ok(())
}

/// The same bytes for the same file, whenever it is built.
fn packed(read: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(read)?;
    encoder.finish()
}
