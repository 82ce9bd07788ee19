//! The templates of this build in the folder of the user, to read and to change: written at the start of a runtime, and
//! written anew only as long as nobody has changed them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use holon_facts::content::ContentId;
use holon_platform::regular;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::content::unusable;
use super::store::{make_folder, replace};
use super::{TemplateError, Templates, built_in};

/// What was written last, by the template's id.
const MANIFEST: &str = ".holon-templates.json";
/// Bytes of a file that is compared; those of this build, and their list, have fewer.
const BYTES: u64 = 64 << 10;

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

/// Brings the folder of the user's templates up to this build. One that can't be written does not keep the others from it.
///
/// # Errors
/// When it can't be read or written, the first time; agents can be made all the same.
pub fn seed(templates: &Templates) -> Result<Seeded, TemplateError> {
    let Some(folder) = templates.folder() else { return Ok(Seeded::default()) };
    make_folder(folder)?;
    let file = folder.join(MANIFEST);
    let mut manifest = read(&file)?;
    let (mut seeded, mut failed) = (Seeded::default(), None);
    for (id, text) in built_in::ALL {
        let (place, new) = (folder.join(id), hash(text));
        let here = current(&place);
        if here == Here::Text(new) {
            manifest.0.insert(id.to_owned(), new);
            continue;
        }
        // Nothing is there and nothing ever was, or it is as it was written last.
        let is_ours = match (here, manifest.0.get(id)) {
            (Here::Text(here), Some(known)) => here == *known,
            (Here::Nothing, None) => true,
            (Here::Text(_) | Here::Nothing | Here::Other, _) => false,
        };
        if !is_ours {
            seeded.left.push(id);
            continue;
        }
        let written = make_folder(&place).and_then(|()| replace(&place.join("AGENTS.md"), text.as_bytes()));
        if let Err(problem) = written {
            failed.get_or_insert(problem);
            continue;
        }
        manifest.0.insert(id.to_owned(), new);
        // Each by itself: what was written before a death is known as written.
        write_manifest(&file, &manifest)?;
        seeded.written.push(id);
    }
    if manifest != read(&file)? {
        write_manifest(&file, &manifest)?;
    }
    failed.map_or(Ok(seeded), Err)
}

/// A manifest that can't be read is none: then nothing that differs is overwritten.
fn read(file: &Path) -> Result<Manifest, TemplateError> {
    match regular::text(file, BYTES) {
        Ok(text) => Ok(holon_facts::json::read(text.as_bytes()).unwrap_or_default()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {
            Ok(Manifest::default())
        }
        Err(problem) => Err(unusable(file, problem)),
    }
}

fn write_manifest(file: &Path, manifest: &Manifest) -> Result<(), TemplateError> {
    let text = serde_json::to_string_pretty(manifest).map_err(|problem| unusable(file, problem))?;
    replace(file, text.as_bytes())
}

/// What is in the place of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Here {
    Nothing,
    /// Instructions with this hash.
    Text(ContentId),
    /// What no build has written: a folder without instructions, a pipe, a file that is too large or can't be read.
    Other,
}

fn current(place: &Path) -> Here {
    match regular::text(&place.join("AGENTS.md"), BYTES) {
        Ok(text) => Here::Text(hash(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound && place.symlink_metadata().is_err() => {
            Here::Nothing
        }
        Err(_) => Here::Other,
    }
}

fn hash(text: &str) -> ContentId {
    ContentId(Sha256::digest(text).into())
}
