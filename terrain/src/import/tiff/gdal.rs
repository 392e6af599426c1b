//! What GDAL writes beside the standard tags: the nodata value, and scale, offset and unit of a band's values.

use super::ifd::{Ifd, tag};
use super::refuse;
use super::sample::Nodata;
use crate::import::ImportError;

/// Metres of a foot.
pub(super) const FOOT_M: f64 = 0.3048;

/// Metres of a US survey foot.
pub(super) const US_FOOT_M: f64 = 1200.0 / 3937.0;

/// What is declared of one band.
#[derive(Debug, PartialEq)]
pub(super) struct Declared {
    pub(super) nodata: Nodata,
    /// Units = raw · scale + offset.
    pub(super) scale: f64,
    pub(super) offset: f64,
    /// Metres of one unit, where one is named.
    pub(super) unit_m: Option<f64>,
    /// Whether anything of it was in the file.
    pub(super) any: bool,
}

impl Declared {
    /// Reads what is declared of a band (from 0).
    ///
    /// # Errors
    /// Tags of a wrong type, and a scale or offset that is no number.
    pub(super) fn read(ifd: &mut Ifd<'_>, band: usize, notes: &mut Vec<String>) -> Result<Self, ImportError> {
        let mut declared = Self {
            nodata: Nodata::None,
            scale: 1.0,
            offset: 0.0,
            unit_m: None,
            any: ifd.has(tag::GDAL_NODATA) || ifd.has(tag::GDAL_METADATA),
        };
        if let Some(text) = ifd.text(tag::GDAL_NODATA)? {
            match Nodata::parse(&text) {
                Some(nodata) => declared.nodata = nodata,
                None => {
                    notes.push(format!("the declared nodata value {:?} is no number: ignored", clip(&text)))
                }
            }
        }
        let Some(xml) = ifd.text(tag::GDAL_METADATA)? else { return Ok(declared) };
        for item in items(&xml) {
            if item.sample.is_some_and(|s| s != band) {
                continue;
            }
            match item.role {
                "scale" => declared.scale = number("scale", item.text)?,
                "offset" => declared.offset = number("offset", item.text)?,
                "unittype" => declared.unit(item.text, notes),
                _ => {}
            }
        }
        if declared.scale == 0.0 {
            return Err(refuse("expected a scale other than 0, found 0 in GDAL's metadata"));
        }
        Ok(declared)
    }

    fn unit(&mut self, text: &str, notes: &mut Vec<String>) {
        let unit = text.trim().to_ascii_lowercase();
        self.unit_m = match unit.as_str() {
            "" => return,
            "m" | "metre" | "metres" | "meter" | "meters" => Some(1.0),
            "ft" | "foot" | "feet" | "international foot" => Some(FOOT_M),
            "us-ft" | "ftus" | "us survey foot" | "us survey feet" | "us foot" | "foot_us" => Some(US_FOOT_M),
            "dm" => Some(0.1),
            "cm" => Some(0.01),
            "mm" => Some(0.001),
            "km" => Some(1000.0),
            _ => {
                notes.push(format!("heights in the unknown unit {:?}: taken as metres", clip(text)));
                return;
            }
        };
    }
}

fn number(what: &str, text: &str) -> Result<f64, ImportError> {
    match text.trim().parse::<f64>() {
        Ok(v) if v.is_finite() => Ok(v),
        _ => Err(refuse(format!("expected a number as {what} in GDAL's metadata, found {:?}", clip(text)))),
    }
}

/// The start of a text, for a message of one line.
fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

/// One `<Item name=".." sample="0" role="scale">0.1</Item>`.
#[derive(Debug, PartialEq)]
struct Item<'a> {
    sample: Option<usize>,
    role: &'a str,
    text: &'a str,
}

/// The items that have a role.
fn items(xml: &str) -> impl Iterator<Item = Item<'_>> {
    xml.split("<Item").skip(1).filter_map(|rest| {
        let (attributes, rest) = rest.split_once('>')?;
        let text = rest.split('<').next()?;
        let attribute = |name: &str| {
            let (_, value) = attributes.split_once(&format!(" {name}=\""))?;
            value.split('"').next()
        };
        Some(Item {
            sample: attribute("sample").and_then(|s| s.parse().ok()),
            role: attribute("role")?,
            text,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_with_roles_are_found() {
        let xml = "<GDALMetadata>\n  <Item name=\"A\">x</Item>\n  <Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.5</Item>\n  <Item name=\"OFFSET\" sample=\"1\" role=\"offset\">-10</Item>\n</GDALMetadata>";
        let found: Vec<_> = items(xml).collect();
        let item = |sample, role, text| Item { sample: Some(sample), role, text };
        assert_eq!(found, [item(0, "scale", "0.5"), item(1, "offset", "-10")]);
        // Damaged text ends it, and nothing more.
        assert_eq!(items("<Item role=\"scale\"").count(), 0);
        assert_eq!(items("<Item role=\"scale\">1").count(), 1);
    }
}
