//! From the bytes of a file to an image that models are shown: what its first bytes say it is, how large it is, and whether
//! providers take it. Nothing of it is decoded or changed.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holon_facts::content::clip;
use holon_facts::image::{BYTES, Image, ImageFormat, NAME_BYTES, SIDE};
use holon_facts::tokens;
use holon_text::{Texts, hash};
use imagesize::ImageType;
use rustix::fs::OFlags;

/// Why a file is no image that models are shown.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("there is no such file")]
    Missing,
    #[error("it is a folder")]
    Folder,
    #[error("it is no regular file: a pipe, a socket or a device")]
    Special,
    #[error("it can't be read: {0}")]
    Unreadable(io::Error),
    #[error("it has {bytes} bytes, an image has at most {BYTES}")]
    TooLarge { bytes: u64 },
    #[error("it is empty")]
    Empty,
    #[error("it is no image: it does not begin like a PNG, JPEG, WebP or GIF, whatever its name says")]
    NoImage,
    #[error("it begins like a {format}, and its header is cut off or damaged")]
    Header { format: ImageFormat },
    #[error("it has {width} x {height} pixels, each side has 1 to {SIDE}")]
    Sides { width: usize, height: usize },
    #[error("it contains the value of {name}, which must not be shown to a model")]
    Secret { name: String },
}

impl ImageError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing => "a relative path begins at the current folder; list it to see what is there",
            Self::Folder => "name a file in it; list it to see what is there",
            Self::Special => "copy what it gives into a file with a command",
            Self::Unreadable(_) => "look at it and its permissions with a command: ls -l",
            Self::TooLarge { .. } | Self::Sides { .. } => {
                "make a smaller copy with a command, for example: convert in.png -resize 1500x1500 out.png"
            }
            Self::Empty | Self::NoImage => "look at it with a command; `file PATH` says what it is",
            Self::Header { .. } => "write the file anew: whatever made it may not have ended",
            Self::Secret { .. } => "make a copy without metadata, for example: convert in.png -strip out.png",
        }
    }
}

impl From<io::Error> for ImageError {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::NotFound { Self::Missing } else { Self::Unreadable(error) }
    }
}

/// A file with a name, as somebody gave it.
#[derive(Debug, Clone)]
pub struct Picture {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Picture {
    /// Reads a file that is an image.
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(path: &Path) -> Result<Self, ImageError> {
        let bytes = read(open(path)?)?;
        header(&bytes)?;
        Ok(Self { name: path.display().to_string(), bytes })
    }

    /// As a request to the runtime carries it.
    pub fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

/// Opens a file that may be an image. Nothing that could be waited for is opened.
///
/// # Errors
/// It isn't there, it is no file, or it is too large.
pub fn open(path: &Path) -> Result<File, ImageError> {
    is_file(&fs::metadata(path)?)?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // The name may stand for another one by now.
    is_file(&file.metadata()?)?;
    Ok(file)
}

fn is_file(about: &Metadata) -> Result<(), ImageError> {
    match about.len() {
        _ if about.is_dir() => Err(ImageError::Folder),
        _ if !about.is_file() => Err(ImageError::Special),
        bytes if bytes > BYTES => Err(ImageError::TooLarge { bytes }),
        _ => Ok(()),
    }
}

/// The whole of it: it may grow meanwhile, and is refused then.
///
/// # Errors
/// It can't be read.
pub fn read(file: File) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    file.take(BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Takes an image in, under a name that people know it by.
///
/// # Errors
/// What is wrong with the bytes.
pub fn take(texts: &Texts, name: &str, bytes: &[u8]) -> Result<Image, ImageError> {
    let size = bytes.len() as u64;
    let (format, width, height) = header(bytes)?;
    if let Some(name) = texts.secrets().are_in(bytes) {
        return Err(ImageError::Secret { name });
    }
    let data = texts.take_encoded(STANDARD.encode(bytes), tokens::of_image(width, height));
    let name = clip(&texts.redact(name), NAME_BYTES);
    Ok(Image { name, format, width, height, bytes: size, sha256: hash(bytes), data })
}

/// What the first bytes say: the format, and how many pixels it has.
fn header(bytes: &[u8]) -> Result<(ImageFormat, u32, u32), ImageError> {
    let size = bytes.len() as u64;
    if size > BYTES {
        return Err(ImageError::TooLarge { bytes: size });
    }
    if bytes.is_empty() {
        return Err(ImageError::Empty);
    }
    let format = match imagesize::image_type(bytes) {
        Ok(ImageType::Png) => ImageFormat::Png,
        Ok(ImageType::Jpeg) => ImageFormat::Jpeg,
        Ok(ImageType::Webp) => ImageFormat::Webp,
        Ok(ImageType::Gif) => ImageFormat::Gif,
        Ok(_) => return Err(ImageError::NoImage),
        Err(_) => {
            return Err(begun(bytes).map_or(ImageError::NoImage, |format| ImageError::Header { format }));
        }
    };
    let size = imagesize::blob_size(bytes).map_err(|_| ImageError::Header { format })?;
    let wrong = || ImageError::Sides { width: size.width, height: size.height };
    let side = |length: usize| {
        u32::try_from(length).ok().filter(|length| (1..=SIDE).contains(length)).ok_or_else(wrong)
    };
    Ok((format, side(size.width)?, side(size.height)?))
}

/// Of a file that ends before its format is certain, what it may be.
fn begun(bytes: &[u8]) -> Option<ImageFormat> {
    const BEGINS: [(&[u8], ImageFormat); 4] = [
        (b"\x89PNG\r\n\x1a\n", ImageFormat::Png),
        (b"\xff\xd8\xff", ImageFormat::Jpeg),
        (b"GIF8", ImageFormat::Gif),
        (b"RIFF", ImageFormat::Webp),
    ];
    let cut =
        |begin: &[u8]| bytes.len() >= 3 && begin.iter().zip(bytes).all(|(wanted, found)| wanted == found);
    BEGINS.iter().find(|(begin, _)| bytes.len() < 16 && cut(begin)).map(|(_, format)| *format)
}

#[cfg(test)]
mod tests {
    use holon_text::Secrets;

    use super::*;

    fn texts() -> Texts {
        Texts::new(Secrets::new([("THE_KEY".into(), "sk-canary-123456".into())]), Box::new(|_| Ok(None)))
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes().into_iter().chain(height.to_be_bytes()));
        bytes.extend([8, 2, 0, 0, 0]);
        bytes
    }

    fn gif(width: u16, height: u16) -> Vec<u8> {
        [b"GIF89a", &width.to_le_bytes()[..], &height.to_le_bytes(), b"\0\0\0"].concat()
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let app = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0";
        let frame =
            [b"\xff\xc0\0\x11\x08", &height.to_be_bytes()[..], &width.to_be_bytes(), b"\x03"].concat();
        [&app[..], &frame, &[0; 9]].concat()
    }

    fn webp(width: u32, height: u32) -> Vec<u8> {
        let side = |length: u32| (length - 1).to_le_bytes()[..3].to_vec();
        let body = [&b"WEBPVP8X\x0a\0\0\0\0\0\0\0"[..], &side(width), &side(height)].concat();
        [&b"RIFF"[..], &u32::try_from(body.len()).unwrap().to_le_bytes(), &body].concat()
    }

    #[test]
    fn an_image_is_what_its_bytes_say() {
        for (bytes, format) in [
            (png(640, 48), ImageFormat::Png),
            (gif(640, 48), ImageFormat::Gif),
            (jpeg(640, 48), ImageFormat::Jpeg),
            (webp(640, 48), ImageFormat::Webp),
        ] {
            let (texts, size) = (texts(), bytes.len() as u64);
            let image = take(&texts, "no.txt", &bytes).unwrap();
            assert_eq!((image.format, image.width, image.height, image.bytes), (format, 640, 48, size));
            assert_eq!((image.name.as_str(), image.sha256), ("no.txt", hash(&bytes)));
            assert_eq!(STANDARD.decode(&*texts.resolve(&image.data).unwrap()).unwrap(), bytes);
            assert_eq!(image.data.est_tokens(), tokens::of_image(640, 48));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let said = |bytes: &[u8]| take(&texts(), "a.png", bytes).unwrap_err().to_string();
        let large = usize::try_from(BYTES).unwrap();
        let padded = |bytes: usize| [png(1, 1), vec![0; bytes - png(1, 1).len()]].concat();
        assert!(take(&texts(), "a.png", &padded(large)).is_ok());
        for (bytes, part) in [
            (padded(large + 1), "5000001 bytes, an image has at most 5000000"),
            (vec![], "empty"),
            (b"hello, this is a text with enough letters".to_vec(), "no image"),
            (b"BM\x9a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x05\0\0\0\x05\0\0\0".to_vec(), "no image"),
            (b"<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>".to_vec(), "no image"),
            (png(1, 1)[..8].to_vec(), "begins like a png, and its header is cut off"),
            (png(1, 1)[..18].to_vec(), "begins like a png, and its header is cut off"),
            (gif(1, 1)[..7].to_vec(), "begins like a gif, and its header is cut off"),
            (jpeg(1, 1)[..20].to_vec(), "begins like a jpeg, and its header is cut off"),
            (webp(1, 1)[..20].to_vec(), "begins like a webp, and its header is cut off"),
            (png(8_001, 1), "8001 x 1 pixels, each side has 1 to 8000"),
            (png(1, u32::MAX), "1 x 4294967295 pixels"),
            (gif(0, 4), "0 x 4 pixels"),
            ([png(1, 1), b"tEXt sk-canary-123456".to_vec()].concat(), "the value of THE_KEY"),
        ] {
            let said = said(&bytes);
            assert!(said.contains(part) && !said.contains("canary"), "{said}");
        }
    }

    #[test]
    fn no_beginning_of_anything_stops_the_reader() {
        for whole in [png(5, 5), gif(5, 5), jpeg(5, 5), webp(5, 5)] {
            for end in 0..whole.len() {
                let mut bytes = whole[..end].to_vec();
                drop(take(&texts(), "a", &bytes));
                bytes.extend([0xff; 64]);
                drop(take(&texts(), "a", &bytes));
            }
        }
    }
}
