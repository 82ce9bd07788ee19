//! Images of a request: shown where the model that is asked reads images, otherwise a line stands for each.

use std::sync::Arc;

use holon_facts::frame::Part;
use holon_facts::image::Image;
use holon_facts::model::CallResult;
use holon_text::TextError;

use super::exchange::Lowering;
use super::parts::joined;

/// Those that go together, as they are sent.
#[derive(Default)]
pub(super) struct Images<'a> {
    /// Each with its bytes in base64.
    pub(super) shown: Vec<(&'a Image, Arc<str>)>,
    /// Lines for those that are not shown.
    pub(super) named: String,
}

impl<'a> Images<'a> {
    /// Those of a result. `most` is how many characters of base64 the protocol takes of one.
    pub(super) fn of(lowering: &Lowering<'_>, result: &'a CallResult, most: u64) -> Result<Self, TextError> {
        let mut images = Self::default();
        for image in &result.receipt.images {
            images.add(lowering, (image, result.named_only), most)?;
        }
        Ok(images)
    }

    pub(super) fn add(
        &mut self,
        lowering: &Lowering<'_>,
        (image, named_only): (&'a Image, bool),
        most: u64,
    ) -> Result<(), TextError> {
        match unshown(lowering, image, named_only, most) {
            None => self.shown.push((image, lowering.texts.resolve(&image.data)?)),
            Some(why) => {
                self.named.push_str(&format!("\n[the image {} is not shown: {why}]", image.line()));
            }
        }
        Ok(())
    }
}

/// What stands in a message of a user, in order.
pub(super) enum Piece<'a> {
    Text(String),
    /// With its bytes in base64.
    Image(&'a Image, Arc<str>),
}

/// The texts of a message as one, up to each image that is shown, which a line names.
pub(super) fn pieces<'a>(
    lowering: &Lowering<'_>,
    parts: &'a [Part],
    most: u64,
) -> Result<Vec<Piece<'a>>, TextError> {
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut rest = parts;
    while let Some(at) = rest.iter().position(|part| matches!(part, Part::Image(_))) {
        let (before, from) = rest.split_at(at);
        text.push_str(&joined(lowering.texts, before)?);
        let Some((Part::Image(part), behind)) = from.split_first() else { break };
        let mut images = Images::default();
        images.add(lowering, (&part.image, part.named_only), most)?;
        text.push_str(&images.named);
        for (image, base64) in images.shown {
            text.push_str(&format!("\n[image {}]", image.line()));
            pieces.push(Piece::Text(std::mem::take(&mut text)));
            pieces.push(Piece::Image(image, base64));
        }
        rest = behind;
    }
    text.push_str(&joined(lowering.texts, rest)?);
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// An image as the address of a document that has it.
pub(super) fn data_url(image: &Image, base64: &str) -> String {
    format!("data:{};base64,{base64}", image.format.media_type())
}

/// Why a line stands for an image.
fn unshown(lowering: &Lowering<'_>, image: &Image, named_only: bool, most: u64) -> Option<String> {
    let model = &lowering.request.model;
    if !lowering.spec.takes_images(model) {
        return Some(format!("{model} reads no images"));
    }
    if named_only {
        let why = "the request has as many images as it may have; it can be viewed again later";
        return Some(why.to_owned());
    }
    if lowering.refused.contains(&image.sha256) {
        return Some("the provider refused it".to_owned());
    }
    (image.data.bytes() > most)
        .then(|| format!("the provider takes images of at most {} bytes; view a smaller copy", most / 4 * 3))
}
