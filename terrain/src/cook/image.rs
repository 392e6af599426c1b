//! Pictures that a recipe names: masks, splats, densities. Owns reading them and the hashes of a recipe's files.

use super::CookError;
use crate::store::open_regular;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// The files beside a recipe.
pub(super) struct Images {
    recipe: PathBuf,
    hashes: RefCell<BTreeMap<PathBuf, [u8; 32]>>,
}

/// The samples of a picture, as many bytes a pixel as it has channels.
struct Picture {
    size: [u32; 2],
    channels: usize,
    bytes: Vec<u8>,
}

impl Images {
    /// Of a recipe at a path.
    pub(super) fn new(recipe: &Path) -> Self {
        Self { recipe: recipe.to_owned(), hashes: RefCell::default() }
    }

    /// The recipe's own path.
    pub(super) fn recipe(&self) -> &Path {
        &self.recipe
    }

    /// A file that the recipe names.
    pub(super) fn path(&self, name: &Path) -> PathBuf {
        self.recipe.parent().unwrap_or(Path::new("")).join(name)
    }

    /// Whether a file that the recipe names is there.
    pub(super) fn look_for(&self, name: &Path) -> Result<(), CookError> {
        let failed = |e: io::Error| self.wrong(name, &format!("cannot be read: {e}"));
        open_regular(&self.path(name)).map(drop).map_err(failed)
    }

    /// Whether a picture is of one of the sizes; what else it is, is seen when it is read.
    pub(super) fn look_at(&self, name: &Path, sizes: &[[u32; 2]]) -> Result<(), CookError> {
        let wrong = |message: String| self.wrong(name, &message);
        let file = open_regular(&self.path(name)).map_err(|e| wrong(format!("cannot be read: {e}")))?;
        let mut decoder = png::Decoder::new(BufReader::new(file));
        let header = decoder.read_header_info().map_err(|e| wrong(crate::image::refusal(&e)))?;
        let size = [header.width, header.height];
        if sizes.contains(&size) { Ok(()) } else { Err(wrong(other_size(sizes, size))) }
    }

    /// What is wrong with a file, for whoever wrote the recipe.
    fn wrong(&self, name: &Path, what: &str) -> CookError {
        CookError::Rule { path: self.recipe.clone(), message: format!("{}: {what}", name.display()) }
    }

    /// The hash of a file's contents; read once.
    pub(super) fn hash(&self, name: &Path) -> Result<[u8; 32], CookError> {
        if let Some(&hash) = self.hashes.borrow().get(name) {
            return Ok(hash);
        }
        let path = self.path(name);
        let failed = |e: io::Error| CookError::file(&path, e);
        let mut file = open_regular(&path).map_err(failed)?;
        let mut hasher = blake3::Hasher::new();
        let mut part = vec![0; 1 << 16];
        loop {
            match file.read(&mut part).map_err(failed)? {
                0 => break,
                n => hasher.update(&part[..n]),
            };
        }
        let hash = *hasher.finalize().as_bytes();
        self.hashes.borrow_mut().insert(name.to_owned(), hash);
        Ok(hash)
    }

    /// An 8-bit grey picture of one of the sizes; which of them, and a byte a pixel.
    pub(super) fn grey(&self, name: &Path, sizes: &[[u32; 2]]) -> Result<(usize, Vec<u8>), CookError> {
        let picture = self.read(name, sizes, &[png::ColorType::Grayscale], "8-bit grey")?;
        Ok((place(sizes, picture.size), picture.bytes))
    }

    /// An 8-bit RGBA or RGB picture of one of the sizes; which of them, and four planes (alpha 0 where there is none).
    pub(super) fn rgba(&self, name: &Path, sizes: &[[u32; 2]]) -> Result<(usize, [Vec<u8>; 4]), CookError> {
        let types = [png::ColorType::Rgba, png::ColorType::Rgb];
        let picture = self.read(name, sizes, &types, "8-bit RGBA or RGB")?;
        let plane = |c: usize| match c < picture.channels {
            true => picture.bytes.iter().skip(c).step_by(picture.channels).copied().collect(),
            false => vec![0; picture.size[0] as usize * picture.size[1] as usize],
        };
        Ok((place(sizes, picture.size), [plane(0), plane(1), plane(2), plane(3)]))
    }

    fn read(
        &self,
        name: &Path,
        sizes: &[[u32; 2]],
        types: &[png::ColorType],
        what: &str,
    ) -> Result<Picture, CookError> {
        let path = self.path(name);
        let source = |message: String| self.wrong(name, &message);
        let broken = |e: png::DecodingError| source(crate::image::refusal(&e));
        let file = open_regular(&path).map_err(|e| source(format!("cannot be read: {e}")))?;
        let mut decoder = png::Decoder::new(BufReader::new(file));
        decoder.set_transformations(png::Transformations::IDENTITY);
        let mut reader = decoder.read_info().map_err(broken)?;
        let info = reader.info();
        let size = [info.width, info.height];
        if info.bit_depth != png::BitDepth::Eight || !types.contains(&info.color_type) {
            return Err(source(format!(
                "expected an {what} picture, found {:?} of {} bits",
                info.color_type, info.bit_depth as u8
            )));
        }
        if !sizes.contains(&size) {
            return Err(source(other_size(sizes, size)));
        }
        let channels = info.color_type.samples();
        // The size is one that was expected, so memory is taken for no more than the terrain needs.
        let mut bytes = vec![0; size[0] as usize * size[1] as usize * channels];
        reader.next_frame(&mut bytes).map_err(broken)?;
        Ok(Picture { size, channels, bytes })
    }
}

fn other_size(sizes: &[[u32; 2]], found: [u32; 2]) -> String {
    let mut names: Vec<String> = sizes.iter().map(|s| format!("{}x{}", s[0], s[1])).collect();
    names.dedup();
    format!("expected {} pixels, found {}x{}", names.join(" or "), found[0], found[1])
}

fn place(sizes: &[[u32; 2]], size: [u32; 2]) -> usize {
    sizes.iter().position(|&s| s == size).unwrap_or(0)
}
