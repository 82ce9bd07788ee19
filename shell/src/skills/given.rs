//! Skills that an operator names in a prompt: `/NAME` at its beginning, or by an option or a field. Their text goes along with
//! the message, as it is now.

use std::path::Path;

use holon_facts::content::ContentId;
use holon_facts::skill::{GIVEN, GIVEN_BYTES, GivenSkill};
use holon_platform::beneath;
use holon_text::Texts;
use holon_text::nearest::did_you_mean;

use super::front_matter;
use super::scan::text_of;
use super::{Found, Listing, Standing};

/// Why a skill can't go along with a prompt.
#[derive(Debug, thiserror::Error)]
pub enum GiveError {
    #[error("there is no skill {name:?} here{near}")]
    Unknown { name: String, near: String },
    #[error("the skill {name} is not offered: {problem}")]
    NotOffered { name: String, problem: String },
    #[error("the text of the skill {name} has {bytes} bytes, with a prompt {GIVEN_BYTES} may go along")]
    TooLong { name: String, bytes: u64 },
    #[error("{count} skills are more than the {GIVEN} that may go along with a prompt")]
    TooMany { count: usize },
}

impl GiveError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "holon skills list shows those that the agent is offered",
            Self::NotOffered { .. } => "holon skills list --all shows what stands against each",
            Self::TooLong { .. } => {
                "ask the agent in words to use the skill: it reads the file itself; or move parts of it into files next to it"
            }
            Self::TooMany { .. } => "name the most important ones, and ask for the others in words",
        }
    }
}

/// Whether there is anything to look for.
pub fn may_name(text: &str, names: &[String]) -> bool {
    !names.is_empty() || slashed(text).is_some()
}

/// `/NAME` at the beginning of a prompt.
fn slashed(text: &str) -> Option<&str> {
    let name = text.strip_prefix('/')?.split_whitespace().next()?;
    let alone = text.get(1..).is_some_and(|rest| rest.starts_with(name));
    (alone && !name.contains('/')).then_some(name)
}

impl Listing {
    /// The skills that a prompt names, each once. What begins with a slash and names none is a prompt like any other.
    ///
    /// # Errors
    /// One that is named by an option can't be had, or is too long.
    pub fn given(&self, texts: &Texts, text: &str, names: &[String]) -> Result<Vec<GivenSkill>, GiveError> {
        let offered = |name: &str| {
            let fits = |one: &&Found| one.name == name && one.standing == Standing::Offered;
            self.found.iter().find(fits)
        };
        let mut wanted: Vec<&Found> = slashed(text).and_then(offered).into_iter().collect();
        for name in names {
            let one = self.named(name)?;
            if wanted.iter().all(|known| known.skill_id != one.skill_id) {
                wanted.push(one);
            }
        }
        if wanted.len() > GIVEN {
            return Err(GiveError::TooMany { count: wanted.len() });
        }
        wanted.into_iter().map(|one| given(one, texts)).collect()
    }

    /// The skill with that name or id, if it is offered.
    fn named(&self, name: &str) -> Result<&Found, GiveError> {
        let fits = |one: &&Found| one.name == name || one.skill_id == name;
        let (offered, others): (Vec<_>, Vec<_>) =
            self.found.iter().filter(fits).partition(|one| one.standing == Standing::Offered);
        match (offered.first(), others.first()) {
            (Some(one), _) => Ok(one),
            (None, Some(one)) => {
                let problem = one.standing.to_string();
                Err(GiveError::NotOffered { name: one.skill_id.clone(), problem })
            }
            (None, None) => {
                let known = self.found.iter().filter(|one| one.standing == Standing::Offered);
                let near = did_you_mean(name, known.map(|one| one.name.as_str()));
                Err(GiveError::Unknown { name: name.to_owned(), near })
            }
        }
    }
}

fn given(one: &Found, texts: &Texts) -> Result<GivenSkill, GiveError> {
    let not_offered = |problem| GiveError::NotOffered { name: one.name.clone(), problem };
    let (text, digest) = read(&one.entrypoint).map_err(not_offered)?;
    let body = front_matter::split(&text).map_err(not_offered)?.body.trim();
    let body = texts.take(body);
    if body.bytes() > GIVEN_BYTES {
        return Err(GiveError::TooLong { name: one.name.clone(), bytes: body.bytes() });
    }
    Ok(GivenSkill {
        skill_id: one.skill_id.clone(),
        name: one.name.clone(),
        scope: one.scope,
        entrypoint_path: one.entrypoint.display().to_string(),
        digest,
        body,
    })
}

/// The path is where the file really was: another one is not followed to elsewhere.
fn read(path: &Path) -> Result<(String, ContentId), String> {
    text_of(beneath::open_real(path).map_err(|problem| format!("its SKILL.md can't be read: {problem}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_the_slash_at_once() {
        for (text, name) in [
            ("/pdf", Some("pdf")),
            ("/pdf fill it", Some("pdf")),
            ("/pdf\nfill it", Some("pdf")),
            ("/ pdf", None),
            ("/", None),
            ("/etc/passwd", None),
            ("//pdf", None),
            (" /pdf", None),
            ("pdf", None),
        ] {
            assert_eq!(slashed(text), name, "{text:?}");
        }
    }
}
