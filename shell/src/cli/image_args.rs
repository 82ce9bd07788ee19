//! Images and skills that are sent with a prompt.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use holon_facts::image::{MESSAGE_BYTES, PER_MESSAGE};

use super::output::Failure;
use crate::images::Picture;

#[derive(Debug, Clone, Default, Args)]
pub(super) struct ImageArgs {
    /// Show the model this image (PNG, JPEG, WebP or GIF, at most 5 MB); may be repeated
    #[arg(long = "image", value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Skills that a prompt names beside its text.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SkillArgs {
    /// Have the agent use this skill that it is offered; may be repeated. TEXT that begins with /NAME does the same
    #[arg(long = "skill", value_name = "NAME")]
    pub(super) names: Vec<String>,
}

impl ImageArgs {
    /// Reads them all.
    pub(super) fn read(&self) -> Result<Vec<Picture>, Failure> {
        if self.paths.len() > PER_MESSAGE {
            let error = anyhow!("--image: {} are more than the limit of {PER_MESSAGE}", self.paths.len());
            return Err(Failure::usage(error).hint("send the rest with another prompt"));
        }
        let mut pictures = Vec::new();
        for path in &self.paths {
            let picture = Picture::read(path).map_err(|problem| {
                let error = anyhow!("--image {}: {problem}", path.display());
                Failure::usage(error).hint(problem.hint())
            })?;
            pictures.push(picture);
        }
        let bytes: u64 = pictures.iter().map(|picture| picture.bytes.len() as u64).sum();
        if bytes > MESSAGE_BYTES {
            let error = anyhow!("--image: {bytes} bytes together are more than the limit of {MESSAGE_BYTES}");
            return Err(Failure::usage(error).hint("send the rest with another prompt, or smaller copies"));
        }
        Ok(pictures)
    }
}
