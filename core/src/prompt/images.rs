//! Which images a request shows: the first ones, as many as one request may have. What comes later is named, so that
//! nothing that was sent is ever sent otherwise.

use alloc::sync::Arc;

use holon_facts::frame::Part;
use holon_facts::image::{Image, PER_REQUEST, REQUEST_BYTES, bytes_of};
use holon_facts::model::Item;

/// What is left to the images that follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    images: usize,
    bytes: u64,
}

impl Room {
    pub(super) const WHOLE: Self = Self { images: PER_REQUEST, bytes: REQUEST_BYTES };

    /// Takes all of them in, or none.
    fn take(&mut self, images: &[Image]) -> bool {
        let bytes = bytes_of(images);
        let (Some(images), Some(bytes)) =
            (self.images.checked_sub(images.len()), self.bytes.checked_sub(bytes))
        else {
            return false;
        };
        *self = Self { images, bytes };
        true
    }

    fn show(&mut self, part: &mut Part) {
        if let Part::Image(shown) = part
            && !self.take(core::slice::from_ref(&shown.image))
        {
            Arc::make_mut(shown).named_only = true;
        }
    }
}

/// Names the images for which there is no room.
pub(crate) fn bound(items: &mut [Item]) {
    bound_within(&mut Room::WHOLE.clone(), items);
}

/// Names those of the images that follow for which no room is left.
pub(super) fn bound_within(room: &mut Room, items: &mut [Item]) {
    for item in items {
        match item {
            Item::ToolResults { results } => {
                for result in results {
                    result.named_only = !room.take(&result.receipt.images);
                }
            }
            Item::User { parts } => parts.iter_mut().for_each(|part| room.show(part)),
            Item::Assistant { .. } => {}
        }
    }
}

/// Whether some are named that others leave no room for.
pub(crate) fn are_too_many(items: &[Item]) -> bool {
    items.iter().any(|item| match item {
        Item::ToolResults { results } => results.iter().any(|result| result.named_only),
        Item::User { parts } => {
            parts.iter().any(|part| matches!(part, Part::Image(shown) if shown.named_only))
        }
        Item::Assistant { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use holon_facts::content::{ContentId, Text};
    use holon_facts::image::ImageFormat;
    use holon_facts::model::CallResult;
    use holon_facts::receipt::{Receipt, ToolFacts};

    use super::*;
    use crate::testing::long;

    fn results(sizes: &[&[u64]]) -> Item {
        let image = |bytes: &u64| Image {
            name: "a.png".into(),
            format: ImageFormat::Png,
            width: 10,
            height: 10,
            bytes: *bytes,
            sha256: ContentId([1; 32]),
            data: long(1, 255),
        };
        let receipt = |sizes: &&[u64]| {
            let images = sizes.iter().map(image).collect();
            Arc::new(Receipt::success(Text::short("seen"), ToolFacts::default()).showing(images))
        };
        let results = sizes.iter().map(receipt).map(|receipt| CallResult::new("c", receipt)).collect();
        Item::ToolResults { results }
    }

    fn named(items: &[Item]) -> Vec<bool> {
        let mut named = Vec::new();
        for item in items {
            if let Item::ToolResults { results } = item {
                named.extend(results.iter().map(|result| result.named_only));
            }
        }
        named
    }

    #[test]
    fn the_first_images_are_shown_and_those_without_room_are_named() {
        let mut items = Vec::from([results(&[&[1][..]; 19]), results(&[&[1, 1], &[], &[1], &[1]])]);
        bound(&mut items);
        assert_eq!(named(&items)[18..], [false, true, false, false, true]);
        assert!(are_too_many(&items));
        let mut more = items.clone();
        more.push(results(&[&[1]]));
        bound(&mut more);
        assert_eq!(more[..2], items[..], "what follows changes nothing");
    }

    #[test]
    fn their_bytes_have_a_bound_too() {
        let most = REQUEST_BYTES;
        let mut items = Vec::from([results(&[&[most - 2], &[3], &[2], &[1], &[u64::MAX, u64::MAX]])]);
        bound(&mut items);
        assert_eq!(named(&items), [false, true, false, true, true]);
        let mut few = Vec::from([results(&[&[most]])]);
        bound(&mut few);
        assert!(!are_too_many(&few));
    }
}
