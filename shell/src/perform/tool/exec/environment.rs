//! What a command sees of the runtime's environment: a list of what is let through, so that a new credential
//! of the runtime stays hidden without anyone thinking of it.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use holon_facts::receipt::ToolErrorKind;

use super::Refusal;
use crate::settings::CommandVariables;

const NAMES: &str = "\
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM COLORTERM NO_COLOR TMPDIR TZ CARGO_HOME \
    RUSTUP_HOME RUSTUP_TOOLCHAIN GOPATH GOROOT GOCACHE GOMODCACHE JAVA_HOME NVM_DIR PYENV_ROOT \
    VIRTUAL_ENV CONDA_PREFIX RBENV_ROOT NIX_PATH NIX_PROFILES LD_LIBRARY_PATH PKG_CONFIG_PATH \
    SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE http_proxy https_proxy no_proxy all_proxy \
    HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY";
const PREFIXES: &[&str] = &["LC_", "XDG_"];
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Programs that prompts name where commands find them: what a model would otherwise try, or do without.
const PROGRAMS: [&str; 16] = [
    "rg", "fd", "git", "gh", "jq", "curl", "make", "gcc", "cargo", "go", "python3", "uv", "node", "npm",
    "java", "docker",
];

/// The variables that commands inherit, and where their programs are found.
#[derive(Clone)]
pub struct CommandEnvironment {
    variables: Vec<(OsString, OsString)>,
    /// The names of those that somebody chose, in order.
    chosen: Vec<String>,
    bash: Option<PathBuf>,
    /// Looked for once: each takes a look into each folder of the path.
    programs: Arc<OnceLock<Vec<String>>>,
}

impl CommandEnvironment {
    /// Takes what commands may see from the runtime's own environment: paths, locale, terminal, toolchains,
    /// certificates and proxies. Everything else stays behind, all credentials of providers among it.
    pub fn new(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let passes = |name: &OsStr| {
            name.to_str().is_some_and(|name| {
                NAMES.split(' ').any(|known| known == name)
                    || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            })
        };
        let mut variables: Vec<_> = all.into_iter().filter(|(name, _)| passes(name)).collect();
        if !variables.iter().any(|(name, _)| name == "PATH") {
            variables.push(("PATH".into(), DEFAULT_PATH.into()));
        }
        // A question on the terminal would never be answered.
        variables.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
        let mut environment = Self { variables, chosen: Vec::new(), bash: None, programs: Arc::default() };
        environment.order();
        environment
    }

    /// With what is chosen beyond that: variables of the runtime's environment, and values that replace all others.
    #[must_use]
    pub fn with(
        mut self,
        all: impl IntoIterator<Item = (OsString, OsString)>,
        chosen: &CommandVariables,
    ) -> Self {
        let passes = |name: &OsStr, value: &OsStr| {
            let (name, value) = (name.to_str()?, value.to_string_lossy());
            chosen.pass.iter().any(|pattern| pattern.passes(name, &value)).then(|| name.to_owned())
        };
        for (name, value) in all {
            if let Some(chosen) = passes(&name, &value) {
                self.put(chosen, value);
            }
        }
        for (name, value) in &chosen.set.0 {
            self.put(name.clone(), value.into());
        }
        self.order();
        self
    }

    fn put(&mut self, name: String, value: OsString) {
        self.variables.retain(|(known, _)| *known != *name);
        self.variables.push((name.clone().into(), value));
        self.chosen.push(name);
    }

    fn order(&mut self) {
        self.variables.sort();
        self.chosen.sort();
        self.chosen.dedup();
        self.bash = self.find("bash");
        self.programs = Arc::default();
    }

    /// The names of the variables that are there by choice.
    pub fn chosen(&self) -> &[String] {
        &self.chosen
    }

    /// The shell that runs commands when none is asked for: `bash` where there is one, otherwise `sh`.
    pub fn default_shell(&self) -> &'static str {
        if self.bash.is_some() { "bash" } else { "sh" }
    }

    /// Those of the programs that prompts name which commands find.
    pub fn programs(&self) -> &[String] {
        let found = || PROGRAMS.iter().filter(|name| self.find(name).is_some());
        self.programs.get_or_init(|| found().map(|name| (*name).to_owned()).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.variables.iter().any(|(known, _)| known == name)
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The program of a shell, by name or absolute path.
    pub(super) fn shell(&self, asked: Option<&str>) -> Result<PathBuf, Refusal> {
        let found = match asked {
            None => self.bash.clone().or_else(|| self.find("sh")),
            Some(path) if path.starts_with('/') => Some(PathBuf::from(path)).filter(|path| executable(path)),
            Some(name) if !name.is_empty() && !name.contains('/') => self.find(name),
            Some(_) => None,
        };
        found.ok_or_else(|| {
            let message = format!("there is no shell {:?} on this machine", asked.unwrap_or("sh"));
            let hint = format!("leave shell out to use {}", self.default_shell());
            Refusal::new(ToolErrorKind::CommandSpawnFailed, message).hint(hint).field("shell")
        })
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        let (_, path) = self.variables.iter().find(|(name, _)| name == "PATH")?;
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(program)).find(|path| executable(path))
    }
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::VariablePattern;

    #[test]
    fn the_docs_list_what_passes_and_nothing_else_does() {
        let page = include_str!("../../../../../docs/tools.md");
        let (_, section) = page.split_once("### What a command sees of the environment").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let listed = section.split("```").nth(1).unwrap().strip_prefix("text").unwrap();
        assert!(listed.split_whitespace().eq(NAMES.split(' ')), "{listed}");
        for named in PREFIXES.iter().chain([&DEFAULT_PATH, &"GIT_TERMINAL_PROMPT=0"]) {
            assert!(section.contains(&format!("`{named}`")), "{named}");
        }
        let all = [
            "LC_ALL",
            "XDG_DATA_HOME",
            "TZ",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "AWS_PROFILE",
            "DATABASE_URL",
        ];
        let environment = CommandEnvironment::new(all.map(|name| (name.into(), "value".into())));
        let seen: Vec<_> = environment.variables().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(seen, ["GIT_TERMINAL_PROMPT", "LC_ALL", "PATH", "TZ", "XDG_DATA_HOME"]);
    }

    #[test]
    fn what_is_chosen_comes_to_it_and_what_is_set_wins() {
        let mut chosen = CommandVariables::default();
        let patterns = ["SSH_AUTH_SOCK", "DOCKER_*", "GITHUB_TOKEN", "MISSING"];
        chosen.pass = patterns.into_iter().filter_map(VariablePattern::new).collect();
        for (name, value) in [("CI", "1"), ("PATH", "/opt/bin"), ("DOCKER_HOST", "set")] {
            chosen.set.0.insert(name.into(), value.into());
        }
        let names =
            ["PATH", "SSH_AUTH_SOCK", "DOCKER_HOST", "DOCKER_PASSWORD", "GITHUB_TOKEN", "OPENAI_API_KEY"];
        let all = || names.map(|name| (OsString::from(name), OsString::from("aB3-dE5-gH7")));
        let environment = CommandEnvironment::new(all()).with(all(), &chosen);
        assert_eq!(environment.chosen(), ["CI", "DOCKER_HOST", "GITHUB_TOKEN", "PATH", "SSH_AUTH_SOCK"]);
        let value =
            |name: &str| environment.variables().find(|(known, _)| *known == name).map(|(_, value)| value);
        assert_eq!(value("PATH"), Some(OsStr::new("/opt/bin")));
        assert_eq!(value("DOCKER_HOST"), Some(OsStr::new("set")));
        assert_eq!((value("DOCKER_PASSWORD"), value("OPENAI_API_KEY")), (None, None));
        assert_eq!(value("GITHUB_TOKEN"), Some(OsStr::new("aB3-dE5-gH7")));
    }
}
