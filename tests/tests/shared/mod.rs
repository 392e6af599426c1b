//! Real elevation beside the repository, where it is there, and small sources that tests make themselves.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part")]

use std::path::{Path, PathBuf};

/// A file of the shared data beside the repository. Its absence is said, and the test goes on without it.
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let path = highground_tests::root().join("../shared/data").join(name);
    if path.exists() {
        Some(path)
    } else {
        println!("NOT TESTED with real elevation: shared/data/{name} is not beside the repository");
        None
    }
}

/// Writes a PNG; `data` is its samples' bytes.
pub fn write_png(path: &Path, w: u32, h: u32, color: png::ColorType, depth: png::BitDepth, data: &[u8]) {
    let mut encoder = png::Encoder::new(std::fs::File::create(path).unwrap(), w, h);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(data).unwrap();
}

/// Writes a 16-bit grey PNG.
pub fn write_grey16(path: &Path, w: u32, h: u32, values: &[u16]) {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    write_png(path, w, h, png::ColorType::Grayscale, png::BitDepth::Sixteen, &data);
}

/// The bytes of a PNG that claims a size and holds no image.
pub fn png_header(w: u32, h: u32) -> Vec<u8> {
    let mut ihdr = b"IHDR".to_vec();
    ihdr.extend(w.to_be_bytes());
    ihdr.extend(h.to_be_bytes());
    ihdr.extend([16, 0, 0, 0, 0]);
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend(13u32.to_be_bytes());
    bytes.extend(&ihdr);
    bytes.extend(crc32(&ihdr).to_be_bytes());
    // An image chunk that is plausible at first sight.
    let mut idat = b"IDAT".to_vec();
    idat.extend([0x78, 0x9c, 0x63, 0x60, 0x60, 0x60, 0x00, 0x00, 0x00, 0x04, 0x00, 0x01]);
    bytes.extend((idat.len() as u32 - 4).to_be_bytes());
    bytes.extend(&idat);
    bytes.extend(crc32(&idat).to_be_bytes());
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &b| {
        (0..8).fold(crc ^ u32::from(b), |c, _| if c & 1 == 1 { c >> 1 ^ 0xEDB8_8320 } else { c >> 1 })
    })
}

/// Writes a zip archive of members.
pub fn write_zip(path: &Path, members: &[(&str, &[u8])]) {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// The same numbers in every run.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}
