//! Where skills of the user are, and where skills are fetched from.

use std::path::{Path, PathBuf};

use holon_platform::Environment;

use crate::skills::{Roots, Skills};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSettings {
    /// Stands for `.agents/skills` and its likes in the user's home.
    pub user_root: Option<PathBuf>,
    /// What `https://github.com` stands for in the address of a skill.
    pub github_url: String,
}

impl Default for SkillSettings {
    fn default() -> Self {
        Self { user_root: None, github_url: "https://github.com".to_owned() }
    }
}

impl SkillSettings {
    /// Where a runtime looks.
    pub fn skills(&self, environment: &Environment) -> Skills {
        let home = environment.get("HOME").map(Path::new).filter(|home| home.is_absolute());
        let user = Roots::of_user(home, self.user_root.as_deref());
        let (environment, github_url) = (environment.clone(), self.github_url.clone());
        Skills { environment, github_url, user: Some(user), ..Skills::default() }
    }
}
