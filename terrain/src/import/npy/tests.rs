use super::*;
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;

const NOT_ASKED: Ask = Ask {
    size: None,
    spacing_given: false,
    big_endian: None,
    signed: false,
    south_up: false,
    channel: None,
    rgb: None,
};

fn array(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut all = b"\x93NUMPY\x01\x00".to_vec();
    all.extend((dict.len() as u16).to_le_bytes());
    all.extend(dict.as_bytes());
    all.extend(data);
    all
}

fn of(bytes: Vec<u8>) -> Result<Source, ImportError> {
    read(&mut Input::of_bytes("a.npy", bytes), &NOT_ASKED)
}

fn refused(bytes: Vec<u8>) -> String {
    let error = of(bytes).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

fn le<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&v| bytes(v)).collect()
}

#[test]
fn every_element_type_is_read_in_both_byte_orders() {
    let shape = "(2, 3)";
    let of = |descr: &str, data: Vec<u8>| of(array(descr, "False", shape, &data)).unwrap().samples;
    let i = [-5i8, 4, -3, 2, -1, i8::MIN];
    assert_eq!(of("|i1", le(&i, i8::to_le_bytes)), Samples::I32(i.map(i32::from).to_vec()));
    assert_eq!(of("|u1", vec![0, 1, 2, 3, 4, 255]), Samples::U8(vec![0, 1, 2, 3, 4, 255]));
    let v = [-5i16, 4, -300, 2, -1, i16::MIN];
    assert_eq!(of("<i2", le(&v, i16::to_le_bytes)), Samples::I16(v.to_vec()));
    assert_eq!(of(">i2", le(&v, i16::to_be_bytes)), Samples::I16(v.to_vec()));
    let v = [5u16, 4, 300, 2, 1, u16::MAX];
    assert_eq!(of(">u2", le(&v, u16::to_be_bytes)), Samples::U16(v.to_vec()));
    let v = [-5i32, 4, 70_000, 2, 1, i32::MIN];
    assert_eq!(of("<i4", le(&v, i32::to_le_bytes)), Samples::I32(v.to_vec()));
    let v = [5u32, 4, 70_000, 2, 1, i32::MAX as u32];
    assert_eq!(of(">u4", le(&v, u32::to_be_bytes)), Samples::I32(v.map(|v| v as i32).to_vec()));
    let v = [5u32, 4, 70_000, 2, 1, u32::MAX];
    assert_eq!(of("<u4", le(&v, u32::to_le_bytes)), Samples::F64(v.map(f64::from).to_vec()));
    let v = [5i64, -4, 1 << 40, 2, 1 << 53, -(1 << 53)];
    assert_eq!(of("<i8", le(&v, i64::to_le_bytes)), Samples::F64(v.map(|v| v as f64).to_vec()));
    let v = [5u64, 4, 1 << 40, 2, 1, 1 << 53];
    assert_eq!(of(">u8", le(&v, u64::to_be_bytes)), Samples::F64(v.map(|v| v as f64).to_vec()));
    let v = [1.5f32, -0.1, f32::MAX, f32::INFINITY, 0.0, 1e-40];
    assert_eq!(of(">f4", le(&v, f32::to_be_bytes)), Samples::F32(v.to_vec()));
    let v = [1.5f64, -0.1, f64::MAX, f64::INFINITY, 0.0, 1e-310];
    assert_eq!(of("<f8", le(&v, f64::to_le_bytes)), Samples::F64(v.to_vec()));
}

#[test]
fn half_precision_is_exact() {
    // IEEE 754: the smallest and largest subnormal, the smallest normal, a third, the largest, and the rest.
    for (bits, value) in [
        (0x0001, 5.960_464_5e-8),
        (0x03ff, 6.097_555e-5),
        (0x0400, 6.103_515_6e-5),
        (0x3555, 0.333_251_95),
        (0x3c00, 1.0),
        (0xc000, -2.0),
        (0x7bff, 65_504.0),
        (0xfc00, f32::NEG_INFINITY),
    ] {
        assert_eq!(half(bits), value, "{bits:x}");
    }
    assert!(half(0x7e00).is_nan() && half(0x8000).to_bits() == 0x8000_0000);
    let data: Vec<u8> = [0x3c00u16, 0xc000, 0x7bff, 0].iter().flat_map(|v| v.to_be_bytes()).collect();
    let source = of(array(">f2", "False", "(2, 2)", &data)).unwrap();
    assert_eq!(source.samples, Samples::F32(vec![1.0, -2.0, 65_504.0, 0.0]));
}

#[test]
fn fortran_order_and_axes_of_length_one_give_the_same_raster() {
    let rows = Samples::U8(vec![1, 2, 3, 4, 5, 6]);
    let columns = [1, 4, 2, 5, 3, 6];
    for (shape, dropped) in [("(2, 3)", 0), ("(1, 2, 3)", 1), ("(1L, 2L, 3L, 1L, 1)", 1), ("(2,3,1)", 1)] {
        for (fortran, data) in [("False", [1, 2, 3, 4, 5, 6]), ("True", columns)] {
            let source = of(array("|u1", fortran, shape, &data)).unwrap();
            assert_eq!((source.size, &source.samples), ([3, 2], &rows), "{shape} {fortran}");
            assert_eq!(source.notes.len(), dropped);
        }
    }
    for shape in ["()", "(6,)", "(1, 6)", "(6, 1)", "(1, 2, 1, 3)", "(2, 3, 1, 2)", "(0, 3)", "(1,1,1)"] {
        assert!(
            refused(array("|u1", "False", shape, &columns)).starts_with("expected an array of"),
            "{shape}"
        );
    }
}

#[test]
fn a_long_column_wise_array_is_turned_across_buffers() {
    let (rows, columns) = (300u32, 211u32);
    let data: Vec<u8> =
        (0..rows * columns).flat_map(|i| f64::from(i % rows * columns + i / rows).to_le_bytes()).collect();
    let source = of(array("<f8", "True", "(300, 211)", &data)).unwrap();
    assert!((0..(rows * columns) as usize).all(|i| source.samples.get(i) == i as f64));
}

#[test]
fn every_version_of_the_header_is_read() {
    let dict = b"{\"shape\":(2,2),\"fortran_order\":False,\"descr\":\"|u1\"}";
    for (version, wide) in [(1, 2), (2, 4), (3, 4)] {
        let mut all = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        all.extend(&(dict.len() as u32).to_le_bytes()[..wide]);
        all.extend(dict);
        all.extend([1, 2, 3, 4]);
        assert_eq!(of(all).unwrap().samples, Samples::U8(vec![1, 2, 3, 4]));
    }
}

#[test]
fn headers_that_are_none_are_refused() {
    let good = array("|u1", "False", "(2, 2)", &[1; 4]);
    assert!(of(good.clone()).is_ok());
    for (from, to, words) in [
        ("'shape'", "'shapE'", "expected descr"),
        ("'shape': (2, 2), ", "                 ", "some of them missing"),
        ("'shape': (2, 2), ", "'descr': '|u1', ", "descr again"),
        ("False", "Flase", "True or False"),
        ("(2, 2)", "(2, -)", "length of an axis"),
        ("(2, 2)", "[2, 2]", "'('"),
        ("(2, 2), }", "(2, 2)) }", "'}'"),
        ("(2, 2), }", "(2, 2) }}", "nothing after"),
        ("'|u1'", "[('a', '|u1')]", "not records"),
        ("'|u1'", "'|u1\\n'", "backslashes"),
        ("'|u1'", "'|u1", "found"),
        ("|u1", "|O", "found |O"),
        ("|u1", "|b1", "found |b1"),
        ("|u1", "<c8", "found <c8"),
        ("|u1", "=u2", "found =u2"),
        ("|u1", "|u2", "found |u2"),
        ("|u1", "<f1", "found <f1"),
        ("|u1", "<U16", "found <U16"),
        ("\x01", "\x04", "version"),
        ("NUMPY", "NUMPI", "version"),
    ] {
        // The first byte of the magic is no ASCII; the text of the rest is one byte a character.
        let text: String = good.iter().map(|&b| char::from(b)).collect();
        let mut bad: Vec<u8> = text.replacen(from, to, 1).chars().map(|c| c as u8).collect();
        let grown = bad.len() as i64 - good.len() as i64;
        bad[8] = (i64::from(good[8]) + grown) as u8;
        let error = refused(bad);
        assert!(error.contains(words), "{from} {to}: {error}");
    }
    let huge = array("<f8", "False", "(200000, 200000)", &[0; 8]);
    assert!(refused(huge).contains("samples a side"));
    assert!(refused(array("<f8", "False", "(18446744073709551615, 2)", &[])).contains("samples a side"));
    assert!(refused(array("<f8", "False", "(99999999999999999999, 2)", &[])).contains("length of an axis"));
    assert!(refused(array("<f8", "False", "(16384, 16384)", &[0; 8])).contains("expected 2147483648 bytes"));
    let mut long = good.clone();
    (long[6], long[10], long[11]) = (2, 0xff, 0xff);
    assert!(refused(long).contains("at most 65536 bytes"));
    let many = format!("({})", "1,".repeat(65));
    assert!(refused(array("|u1", "False", &many, &[])).contains("at most 64 axes"));
}

#[test]
fn integers_that_double_precision_does_not_have_are_refused() {
    let data = le(&[1u64, 2, (1 << 53) + 1, 4], u64::to_le_bytes);
    for descr in ["<u8", "<i8"] {
        let error = refused(array(descr, "False", "(2, 2)", &data));
        assert!(error.contains("element 2") && error.contains("9007199254740993"), "{error}");
    }
}

#[test]
fn an_array_cut_or_continued_anywhere_is_refused() {
    let good = array("<f4", "False", "(2, 2)", &[1; 16]);
    for n in 0..good.len() {
        refused(good[..n].to_vec());
    }
    assert!(refused([&good[..], &[0]].concat()).contains("expected 16 bytes"));
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        if let Ok(source) = of(bad) {
            assert_eq!(source.samples.len() as u64, u64::from(source.size[0]) * u64::from(source.size[1]));
        }
    }
}

#[test]
fn south_first_rows_are_turned_when_asked() {
    let bytes = array("|u1", "False", "(3, 2)", &[1, 2, 3, 4, 5, 6]);
    let ask = Ask { south_up: true, ..NOT_ASKED };
    let source = read(&mut Input::of_bytes("a.npy", bytes), &ask).unwrap();
    assert_eq!(source.samples, Samples::U8(vec![5, 6, 3, 4, 1, 2]));
}

fn zipped(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn line(values: &[f64]) -> Vec<u8> {
    array("<f8", "False", &format!("({},)", values.len()), &le(values, f64::to_le_bytes))
}

fn number(value: f64) -> Vec<u8> {
    array("<f8", "False", "()", &value.to_le_bytes())
}

fn raster() -> Vec<u8> {
    array("|u1", "False", "(2, 3)", &[1, 2, 3, 4, 5, 6])
}

fn npz(arrays: &[(&str, Vec<u8>)], ask: &Ask) -> Result<Source, ImportError> {
    read_npz(&mut Input::of_bytes("a.npz", zipped(arrays)), ask)
}

#[test]
fn the_only_raster_of_an_archive_is_taken_or_the_one_asked_for() {
    let two =
        [("a.npy", raster()), ("b.npy", array("|u1", "False", "(2, 2)", &[7, 8, 9, 10])), ("c.txt", vec![1])];
    let source = npz(&two[..1], &NOT_ASKED).unwrap();
    assert_eq!((source.size, source.samples), ([3, 2], Samples::U8(vec![1, 2, 3, 4, 5, 6])));
    assert_eq!(source.notes, ["array a: uint8 (2, 3)"]);
    let error = npz(&two, &NOT_ASKED).unwrap_err().to_string();
    assert!(error.contains("a uint8 (2, 3), b uint8 (2, 2): pass --channel NAME"), "{error}");
    for name in ["b", "b.npy"] {
        let ask = Ask { channel: Some(name.to_owned()), ..NOT_ASKED };
        assert_eq!(npz(&two, &ask).unwrap().samples, Samples::U8(vec![7, 8, 9, 10]));
    }
    let ask = Ask { channel: Some("c".to_owned()), ..NOT_ASKED };
    assert!(npz(&two, &ask).unwrap_err().to_string().contains("a uint8 (2, 3), b"));
    assert!(npz(&[], &NOT_ASKED).unwrap_err().to_string().contains("found none"));
    let objects = npz(&[("a.npy", array("|O", "False", "(2, 2)", &[]))], &NOT_ASKED);
    assert!(objects.unwrap_err().to_string().contains("found |O"));
}

#[test]
fn ascending_latitudes_turn_the_rows_and_descending_longitudes_the_columns() {
    let lat = ("latitude.npy", line(&[48.0, 48.25]));
    let lon = ("LON.npy", line(&[234.0, 234.25, 234.5]));
    let source = npz(&[("z.npy", raster()), lat.clone(), lon.clone()], &NOT_ASKED).unwrap();
    assert_eq!(source.samples, Samples::U8(vec![4, 5, 6, 1, 2, 3]));
    let place = Place::Degrees { north_deg: 48.25, west_deg: 234.0, step_x_deg: 0.25, step_z_deg: 0.25 };
    assert_eq!((source.place, source.registration), (place, Registration::Point));
    // Asked to turn what is turned already: once.
    let ask = Ask { south_up: true, ..NOT_ASKED };
    let asked = npz(&[("z.npy", raster()), lat, lon], &ask).unwrap();
    assert_eq!(asked.samples, source.samples);
    let lat = ("lat.npy", line(&[48.25, 48.0]));
    let lon = ("lon.npy", line(&[234.5, 234.25, 234.0]));
    let source = npz(&[("z.npy", raster()), lat, lon], &NOT_ASKED).unwrap();
    assert_eq!((source.samples, source.place), (Samples::U8(vec![3, 2, 1, 6, 5, 4]), place));
}

#[test]
fn coordinates_are_used_only_as_far_as_they_are_safe() {
    let with = |y: &[f64], x: &[f64], names: [&str; 2]| {
        npz(&[("z.npy", raster()), (names[0], line(y)), (names[1], line(x))], &NOT_ASKED).unwrap()
    };
    let xy = ["y.npy", "x.npy"];
    let metres = with(&[5060.0, 5000.0], &[300.0, 330.0, 360.0], xy);
    assert_eq!(metres.place, Place::Metres { step_x: 30.0, step_z: 60.0 });
    // Small steps near zero could be degrees; counts say nothing; neither does what goes to and fro.
    assert_eq!(with(&[48.5, 48.45], &[7.0, 7.05, 7.1], xy).place, Place::None);
    for (y, x) in
        [([0.0, 1.0], [0.0, 1.0, 2.0]), ([1.0, 2.0], [1.0, 2.0, 3.0]), ([1.0, 1.0], [5.0, 3.0, 4.0])]
    {
        let source = with(&y, &x, xy);
        assert_eq!((source.place, &source.samples), (Place::None, &Samples::U8(vec![1, 2, 3, 4, 5, 6])));
        assert!(source.notes.iter().any(|n| n.contains("y not used")), "{:?}", source.notes);
    }
    // Uneven latitudes still turn the rows.
    let uneven = with(&[48.0, 48.5], &[7.0, 7.5, 8.2], ["lat.npy", "lon.npy"]);
    assert_eq!((uneven.place, uneven.samples.get(0)), (Place::None, 4.0));
    assert!(uneven.notes.iter().any(|n| n.contains("lon is unevenly spaced")), "{:?}", uneven.notes);
    assert_eq!(with(&[f64::NAN, 1.5], &[7.0, 7.5, f64::INFINITY], xy).place, Place::None);
    // A line of another length than the rows is none of theirs.
    assert_eq!(with(&[1.5, 2.5, 3.5], &[7.0, 17.0, 27.0], xy).samples.get(0), 1.0);
}

#[test]
fn single_numbers_give_the_place_only_where_they_agree_and_never_turn_rows() {
    let with = |numbers: [f64; 6]| {
        let names = ["dx.npy", "dy.npy", "xmin.npy", "xmax.npy", "ymin.npy", "ymax.npy"];
        let mut arrays = vec![("z.npy", raster())];
        arrays.extend(names.into_iter().zip(numbers.map(number)));
        let source = npz(&arrays, &NOT_ASKED).unwrap();
        assert_eq!(source.samples.get(0), 1.0);
        (source.place, source.registration, source.notes.join("; "))
    };
    // Three columns and two rows of areas of 1/16 degree, with ymin and ymax swapped.
    let (place, registration, notes) = with([0.0625, 0.0625, -84.0, -83.8125, 36.625, 36.5]);
    assert_eq!(registration, Registration::Area);
    let degrees =
        Place::Degrees { north_deg: 36.59375, west_deg: -83.96875, step_x_deg: 0.0625, step_z_deg: 0.0625 };
    assert_eq!(place, degrees);
    assert!(notes.contains("ymin is greater"), "{notes}");
    let (place, registration, _) = with([10.0, 20.0, 100.0, 120.0, 500.0, 520.0]);
    assert_eq!((place, registration), (Place::Metres { step_x: 10.0, step_z: 20.0 }, Registration::Point));
    for bad in [[10.0, 20.0, 100.0, 150.0, 500.0, 520.0], [0.0, 0.0, 1.0, 1.0, 2.0, 2.0], [f64::NAN; 6]] {
        assert_eq!(with(bad).0, Place::None, "{bad:?}");
    }
}

#[test]
fn archives_cut_anywhere_or_damaged_are_refused() {
    let good = zipped(&[("z.npy", raster()), ("dx.npy", number(1.0))]);
    let of = |bytes: &[u8]| read_npz(&mut Input::of_bytes("a.npz", bytes.to_vec()), &NOT_ASKED);
    let whole = of(&good).unwrap();
    for n in 0..good.len() {
        assert!(of(&good[..n]).is_err(), "{n}");
    }
    // No flipped bit panics, and none changes the samples unseen.
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        if let Ok(source) = of(&bad) {
            assert_eq!(source.samples, whole.samples, "bit {bit}");
        }
    }
}

#[test]
fn archives_that_promise_more_than_they_can_hold_are_refused() {
    let lies = array("<f8", "False", "(16384, 16384)", &[0; 64]);
    let error = npz(&[("z.npy", lies)], &NOT_ASKED).unwrap_err().to_string();
    assert!(error.contains("expected 2147483") && error.contains("array z"), "{error}");
    // An honest size in the header, and a size in the zip's directory that no deflate reaches.
    let mut bytes = zipped(&[("z.npy", array("|u1", "False", "(16384, 16384)", &[0; 64]))]);
    let directory = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    let header = array("|u1", "False", "(16384, 16384)", &[]).len() as u32;
    bytes[directory + 24..directory + 28].copy_from_slice(&((1 << 28) + header).to_le_bytes());
    let error = read_npz(&mut Input::of_bytes("a.npz", bytes), &NOT_ASKED).unwrap_err().to_string();
    assert!(error.contains("packed ones"), "{error}");
}
