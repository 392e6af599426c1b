//! Heights coded in the three bytes of RGB, from PNG or TIFF: terrain-RGB and Terrarium.
//!
//! Owns the code R · 2¹⁶ + G · 2⁸ + B, kept as an integer, and its two meanings. Alpha 0 is void. Never guesses which
//! of the two a picture is: both are asked for by name.

use super::png::picture::{Picture, decode};
use super::source::{Ask, Input, Meaning, Place, Samples, Source, Voids};
use super::{ImportError, Registration, SourceFormat, rows, tiff};

/// Metres of code 0 and of one step: Mapbox's terrain-RGB.
const TERRAIN_RGB: (f64, f64) = (-10_000.0, 0.1);

/// The same of Terrarium: R · 256 + G + B / 256 − 32768.
const TERRARIUM: (f64, f64) = (-32_768.0, 1.0 / 256.0);

/// Reads terrain-RGB: base + code · step, −10000 and 0.1 unless [`Ask::rgb`] says others.
///
/// # Errors
/// No 8-bit RGB, a damaged file, or a step that is none.
pub(crate) fn read_terrain_rgb(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    read(input, ask, SourceFormat::TerrainRgb, TERRAIN_RGB)
}

/// Reads Terrarium.
///
/// # Errors
/// As [`read_terrain_rgb`].
pub(crate) fn read_terrarium(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    read(input, ask, SourceFormat::Terrarium, TERRARIUM)
}

fn read(input: &mut Input, ask: &Ask, format: SourceFormat, own: (f64, f64)) -> Result<Source, ImportError> {
    let (base, step) = ask.rgb.unwrap_or(own);
    if !(base.is_finite() && step.is_finite() && step > 0.0) {
        return Err(ImportError::usage(format!(
            "RGB-coded heights need a finite base and a positive step in metres, found {base} and {step}"
        )));
    }
    if let Some(channel) = &ask.channel {
        return Err(ImportError::usage(format!(
            "RGB-coded heights take all three channels: leave --channel {channel} out"
        )));
    }
    let first = input.first(4)?;
    let mut source = match &first[..] {
        b"\x89PNG" => read_png(input, ask)?,
        [b'I', b'I', ..] | [b'M', b'M', ..] => tiff::read_rgb(input, ask)?,
        b"RIFF" => {
            return Err(ImportError::source("expected RGB in a PNG or TIFF, found WebP: convert it to PNG"));
        }
        _ => return Err(ImportError::source("expected RGB in a PNG or TIFF, found neither")),
    };
    source.format = format;
    source.meaning = Meaning::Metres { scale: step, offset: base };
    Ok(source)
}

fn read_png(input: &mut Input, ask: &Ask) -> Result<Source, ImportError> {
    let begin = |p: &Picture| {
        if p.depth == 8 && p.channels >= 3 {
            return Ok((Vec::new(), Voids::none(p.size[0] as usize * p.size[1] as usize)));
        }
        let colour = if p.channels >= 3 { "RGB" } else { "grey" };
        Err(ImportError::source(format!("expected RGB of 8 bits, found {colour} of {} bits", p.depth)))
    };
    let row = |p: &Picture, (codes, voids): &mut (Vec<i32>, Voids), _: usize, values: &[u16]| {
        for pixel in values.chunks_exact(p.channels) {
            if !p.seen(pixel) {
                voids.set(codes.len());
            }
            codes.push(i32::from(pixel[0]) << 16 | i32::from(pixel[1]) << 8 | i32::from(pixel[2]));
        }
    };
    let (picture, (codes, mut voids)) = decode(input, begin, row)?;
    let mut samples = Samples::I32(codes);
    if ask.south_up {
        rows::turn(&mut samples, &mut voids, picture.size[0]);
    }
    Ok(Source {
        size: picture.size,
        samples,
        voids,
        format: SourceFormat::TerrainRgb,
        nodata: None,
        meaning: Meaning::Metres { scale: 1.0, offset: 0.0 },
        place: Place::None,
        registration: Registration::Point,
        hole_cells: Vec::new(),
        layers: Vec::new(),
        notes: picture.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(colour: png::ColorType, pixels: &[u8]) -> Input {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 2);
        encoder.set_color(colour);
        encoder.write_header().unwrap().write_image_data(pixels).unwrap();
        Input::of_bytes("12_34.png", bytes)
    }

    fn metres(source: &Source) -> Vec<f64> {
        let Meaning::Metres { scale, offset } = source.meaning else { panic!("{:?}", source.meaning) };
        (0..source.samples.len()).map(|i| source.samples.get(i) * scale + offset).collect()
    }

    #[test]
    fn codes_are_whole_and_mean_what_each_format_says() {
        // 1·65536 + 134·256 + 160 = 100000: 0 m. 0: −10000 m. 0xffffff = 16777215. And 128·256 + 5 + 64/256.
        let pixels = [1, 134, 160, 0, 0, 0, 255, 255, 255, 128, 5, 64];
        let source = read_terrain_rgb(&mut tile(png::ColorType::Rgb, &pixels), &Ask::default()).unwrap();
        assert_eq!(source.samples, Samples::I32(vec![100_000, 0, 16_777_215, 8_389_952]));
        let m = metres(&source);
        assert!(m[0] == 0.0 && m[1] == -10_000.0 && (m[2] - 1_667_721.5).abs() < 1e-9, "{m:?}");
        let source = read_terrarium(&mut tile(png::ColorType::Rgb, &pixels), &Ask::default()).unwrap();
        assert_eq!(metres(&source), [-32_768.0 + 256.0 + 134.0 + 0.625, -32_768.0, 32_767.996_093_75, 5.25]);
        let ask = Ask { rgb: Some((-100.0, 0.5)), ..Ask::default() };
        let source = read_terrain_rgb(&mut tile(png::ColorType::Rgb, &pixels), &ask).unwrap();
        assert_eq!(metres(&source)[..2], [49_900.0, -100.0]);
        assert_eq!((source.format, source.voids.count()), (SourceFormat::TerrainRgb, 0));
    }

    #[test]
    fn alpha_0_is_void_and_rows_turn_when_asked() {
        let pixels = [0, 0, 1, 255, 0, 0, 2, 0, 0, 0, 3, 1, 0, 0, 4, 255];
        let ask = Ask { south_up: true, ..Ask::default() };
        let source = read_terrain_rgb(&mut tile(png::ColorType::Rgba, &pixels), &ask).unwrap();
        assert_eq!(source.samples, Samples::I32(vec![3, 4, 1, 2]));
        assert_eq!((0..4).filter(|&i| source.voids.get(i)).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn what_is_no_rgb_is_refused() {
        let refused = |input: &mut Input, ask: &Ask| read_terrarium(input, ask).unwrap_err().to_string();
        let grey = || tile(png::ColorType::Grayscale, &[1, 2, 3, 4]);
        assert!(refused(&mut grey(), &Ask::default()).contains("grey of 8 bits"));
        assert!(
            refused(&mut Input::of_bytes("x", b"RIFF1234WEBP".to_vec()), &Ask::default()).contains("WebP")
        );
        assert!(refused(&mut Input::of_bytes("x", Vec::new()), &Ask::default()).contains("neither"));
        let ask = Ask { channel: Some("r".to_owned()), ..Ask::default() };
        assert!(refused(&mut grey(), &ask).contains("--channel"));
        for rgb in [(0.0, 0.0), (0.0, -1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(refused(&mut grey(), &Ask { rgb: Some(rgb), ..Ask::default() }).contains("step"));
        }
    }
}
