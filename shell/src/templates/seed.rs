//! The templates of this build in the folder of the user, to read and to change: written at the start of a runtime, and
//! written anew only as long as nobody has changed them.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use holon_facts::content::ContentId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::content::unusable;
use super::store::{make_folder, replace};
use super::{TemplateError, Templates, built_in};

/// What was written last, by the template's id.
const MANIFEST: &str = ".holon-templates.json";

/// The hash of each `AGENTS.md` as it was written last.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Manifest(BTreeMap<String, ContentId>);

/// What became of the templates of this build.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seeded {
    pub written: Vec<&'static str>,
    /// Somebody has changed or removed them: they stay so.
    pub left: Vec<&'static str>,
}

/// Brings the folder of the user's templates up to this build.
///
/// # Errors
/// When it can't be read or written; agents can be made all the same.
pub fn seed(templates: &Templates) -> Result<Seeded, TemplateError> {
    let Some(folder) = templates.folder() else { return Ok(Seeded::default()) };
    make_folder(folder)?;
    let file = folder.join(MANIFEST);
    let mut manifest = read(&file)?;
    let mut seeded = Seeded::default();
    for (id, text) in built_in::ALL {
        let (place, new) = (folder.join(id), hash(text.as_bytes()));
        let here = current(&place)?;
        if here == Some(new) {
            manifest.0.insert(id.to_owned(), new);
            continue;
        }
        // Nothing is there and nothing ever was, or it is as it was written last.
        if here.as_ref() != manifest.0.get(id) || (here.is_none() && place.symlink_metadata().is_ok()) {
            seeded.left.push(id);
            continue;
        }
        make_folder(&place)?;
        replace(&place.join("AGENTS.md"), text.as_bytes())?;
        manifest.0.insert(id.to_owned(), new);
        // Each by itself: what was written before a death is known as written.
        write_manifest(&file, &manifest)?;
        seeded.written.push(id);
    }
    if manifest != read(&file)? {
        write_manifest(&file, &manifest)?;
    }
    Ok(seeded)
}

/// A manifest that can't be read is none: then nothing that differs is overwritten.
fn read(file: &Path) -> Result<Manifest, TemplateError> {
    match fs::read(file) {
        Ok(bytes) => Ok(holon_facts::json::read(&bytes).unwrap_or_default()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Manifest::default()),
        Err(problem) => Err(unusable(file, problem)),
    }
}

fn write_manifest(file: &Path, manifest: &Manifest) -> Result<(), TemplateError> {
    let text = serde_json::to_string_pretty(manifest).map_err(|problem| unusable(file, problem))?;
    replace(file, text.as_bytes())
}

/// The hash of the instructions that are there; none where there are none.
fn current(place: &Path) -> Result<Option<ContentId>, TemplateError> {
    let file = place.join("AGENTS.md");
    match fs::read(&file) {
        Ok(bytes) => Ok(Some(hash(&bytes))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(unusable(&file, problem)),
    }
}

fn hash(bytes: &[u8]) -> ContentId {
    ContentId(Sha256::digest(bytes).into())
}
