//! The origin record: where a terrain came from. It is kept in the payload's header and changes no bit of the terrain.

use super::{Georeference, SourceFormat, VoidPolicy};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A part of a source: columns from `x`, rows from `z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crop {
    /// First column.
    pub x: u32,
    /// First row.
    pub z: u32,
    /// Columns.
    pub w: u32,
    /// Rows.
    pub h: u32,
}

/// What a source's sample stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// The height at a point.
    Point,
    /// The height of a pixel's area.
    Area,
}

/// A source value that means "no data": a number, NaN or an infinity. In JSON a number, or "nan", "inf" or "-inf".
#[derive(Clone, Copy, Debug)]
pub struct Nodata(pub f64);

impl PartialEq for Nodata {
    /// NaN is NaN here.
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.0.is_nan() && other.0.is_nan()
    }
}

impl Serialize for Nodata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            v if v.is_nan() => serializer.serialize_str("nan"),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            // Whole numbers below 2⁵³ are exact, and shorter without a fraction.
            v if v.fract() == 0.0 && v.abs() < 9.0e15 => serializer.serialize_i64(v as i64),
            v => serializer.serialize_f64(v),
        }
    }
}

impl<'de> Deserialize<'de> for Nodata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(f64),
            Word(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(v) => Ok(Self(v)),
            Form::Word(word) => match word.as_str() {
                "nan" => Ok(Self(f64::NAN)),
                "inf" => Ok(Self(f64::INFINITY)),
                "-inf" => Ok(Self(f64::NEG_INFINITY)),
                _ => Err(serde::de::Error::custom(format!(
                    "expected a number, \"nan\", \"inf\" or \"-inf\", found {word:?}"
                ))),
            },
        }
    }
}

/// Where a terrain came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The source file's name, without folders.
    pub source: String,
    /// The member of an archive that was read.
    pub member: Option<String>,
    /// Its format.
    pub format: SourceFormat,
    /// Its length in bytes.
    pub bytes: u64,
    /// Columns and rows of the whole source.
    pub size: [u32; 2],
    /// What its samples stand for.
    pub registration: Registration,
    /// The value that was taken for "no data": the one asked for, else the format's own.
    pub nodata: Option<Nodata>,
    /// How many of the samples taken had no data (by either value, by alpha or by transparency).
    pub nodata_samples: u64,
    /// What became of them.
    pub voids: VoidPolicy,
    /// The part of the source that was taken, if not all.
    pub crop: Option<Crop>,
    /// Metres of level 0 of an image or RAW (of 0 of floats), before the vertical scale.
    pub min_m: Option<f64>,
    /// Metres of the highest level (of 1 of floats), before the vertical scale.
    pub max_m: Option<f64>,
    /// Where the source says that it lies.
    pub georeference: Option<Georeference>,
    /// Whether the samples were resampled to square metres (bilinear, only here).
    pub resampled: bool,
    /// Metres between the source's columns and rows where they were resampled.
    pub source_step_m: Option<[f64; 2]>,
    /// The recipe that it was cooked from, without folders.
    pub recipe: Option<String>,
    /// What was seen in the source and not used, or done with it and worth saying.
    pub notes: Vec<String>,
}

impl Origin {
    /// The record as JSON text.
    ///
    /// # Panics
    /// Never: it has no maps and only finite numbers.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an origin record is plain data")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_data_is_a_number_or_a_word() {
        for (value, text) in [
            (-32_768.0, "-32768"),
            (0.0, "0"),
            (-9999.5, "-9999.5"),
            (-3.402_823_466_385_288_6e38, "-3.4028234663852886e+38"),
            (f64::NAN, "\"nan\""),
            (f64::INFINITY, "\"inf\""),
            (f64::NEG_INFINITY, "\"-inf\""),
        ] {
            assert_eq!(serde_json::to_string(&Nodata(value)).unwrap(), text);
            assert_eq!(serde_json::from_str::<Nodata>(text).unwrap(), Nodata(value));
        }
        assert!(serde_json::from_str::<Nodata>("\"none\"").is_err());
    }
}
