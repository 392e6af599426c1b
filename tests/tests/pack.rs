//! Packs: verified whole before anything is used, and never a mix of an old one and a new one.

mod shared;

use highground_terrain::config::TerrainConfig;
use highground_terrain::content::{Layer, LayerImages};
use highground_terrain::coord::BlockSide;
use highground_terrain::disk::{Disk, DiskFile, RealDisk};
use highground_terrain::format::payload::{Head, Section};
use highground_terrain::format::sidecar::Builder;
use highground_terrain::image::Image;
use highground_terrain::layer_images::{Kind, Options, build};
use highground_terrain::pack::{Item, PackError, Role, Roster, Source, open, role_of, sweep, write};
use highground_terrain::store::{BlockSource, PayloadFile, Raster, WriteOptions, write_payload};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A terrain with two layers and a hole.
fn raster(seed: i32) -> Raster {
    let heights = (0..40 * 35).map(|i| (i * 31 + seed * 7) % 997).collect();
    let mut raster = Raster::from_heights(TerrainConfig::new([40, 35], 256), heights);
    raster.mask[seed as usize] = 1;
    raster.catalogue.layers = vec![Layer::named("grass"), Layer::named("rock")];
    raster
}

/// A payload, its sidecar, textures of its layers and a recipe.
fn items(dir: &Path, seed: i32) -> Vec<Item> {
    let raster = raster(seed);
    let path = dir.join(format!("{seed}.terrain"));
    write_payload(&raster, &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
    let digest = PayloadFile::open(&path).unwrap().digest();
    let mut sidecar = Builder::new(&raster.config);
    raster.mask.chunks(39).for_each(|row| sidecar.push_row(row));
    let images = LayerImages { albedo: Some("a".into()), ..LayerImages::default() };
    let open = |_: &str, _| Ok(Image::new([1, 1], 3, 8, vec![seed as u8, 2, 3]).unwrap());
    let options = Options { side: 4, ..Options::default() };
    let arrays = build(&[&images, &LayerImages::default()], options, &open).unwrap();
    let item = |role, source| Item { role, name: "world".into(), source };
    vec![
        item(Role::Recipe, Source::Bytes(format!("(seed: {seed})").into_bytes())),
        item(Role::Payload, Source::File(path)),
        item(Role::Layers, Source::Bytes(arrays.encode())),
        item(Role::Visibility, Source::Bytes(sidecar.finish(digest).encode())),
    ]
}

#[test]
fn what_is_packed_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("pack");
    let items = items(dir.path(), 3);
    let roster = write(&RealDisk, &folder, &items).unwrap();
    let pack = open(&folder).unwrap();
    assert_eq!(pack.roster, roster);
    assert_eq!(pack.recipes["world"], "(seed: 3)");
    let world = &pack.terrains["world"];
    let Source::File(path) = &items[1].source else { unreachable!() };
    assert_eq!(world.payload.digest(), PayloadFile::open(path).unwrap().digest());
    assert_eq!(world.visibility.as_ref().unwrap().digest(), world.payload.digest());
    assert_eq!(world.layers.as_ref().unwrap().texel(Kind::Albedo, 2, 0, 0, 0), Some([3, 2, 3, 128]));
    // Objects are named by what they hold, and the roster's order is not that of packing.
    for o in &roster.objects {
        let hash = blake3::hash(&fs::read(folder.join(&o.file)).unwrap());
        assert_eq!(hash.to_hex().as_str(), o.file);
    }
    let other = dir.path().join("other");
    let reversed: Vec<Item> = items.iter().rev().cloned().collect();
    assert_eq!(write(&RealDisk, &other, &reversed).unwrap(), roster);
    // The digest by hand: tag, then role, name, hash and length of each.
    let mut bytes = b"highground pack 1\0".to_vec();
    for (code, o) in (0u8..).zip(&roster.objects) {
        bytes.push(code);
        bytes.extend(5u32.to_le_bytes());
        bytes.extend(b"world");
        bytes.extend(o.file.as_bytes());
        bytes.extend(o.bytes.to_le_bytes());
    }
    assert_eq!(roster.digest, blake3::hash(&bytes).to_hex().as_str());
}

#[test]
fn files_are_known_by_their_first_bytes() {
    let dir = tempfile::tempdir().unwrap();
    for (item, name) in items(dir.path(), 1).into_iter().zip(["a.ron", "1.terrain", "b", "c"]) {
        let path = dir.path().join(name);
        if let Source::Bytes(bytes) = &item.source {
            fs::write(&path, bytes).unwrap();
        }
        assert_eq!(role_of(&path).unwrap(), item.role);
    }
    fs::write(dir.path().join("x.png"), b"\x89PNG").unwrap();
    assert!(role_of(&dir.path().join("x.png")).unwrap_err().to_string().contains("x.png"));
}

/// The refusal of a pack after a change to its folder.
fn refusal(change: impl FnOnce(&Path, &mut Roster)) -> String {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("pack");
    let mut roster = write(&RealDisk, &folder, &items(dir.path(), 2)).unwrap();
    let before = roster.clone();
    change(&folder, &mut roster);
    if roster != before {
        fs::write(folder.join("pack.ron"), ron::to_string(&roster).unwrap()).unwrap();
    }
    let error = open(&folder).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// Makes the roster's digest right again.
fn sign(roster: &mut Roster) {
    roster.digest = Roster::digest_of(&roster.objects);
}

/// Puts other bytes in an object's place and names them rightly.
fn swap(folder: &Path, roster: &mut Roster, role: Role, bytes: &[u8]) {
    let entry = roster.objects.iter_mut().find(|o| o.role == role).unwrap();
    entry.file = blake3::hash(bytes).to_hex().to_string();
    entry.bytes = bytes.len() as u64;
    fs::write(folder.join(&entry.file), bytes).unwrap();
    sign(roster);
}

#[test]
fn whatever_is_wrong_in_a_pack_is_found_before_it_is_used() {
    let said = |words: &[&str], error: String| {
        assert!(words.iter().all(|w| error.contains(w)), "{words:?}: {error}");
    };
    said(&["pack.ron"], refusal(|f, _| fs::remove_file(f.join("pack.ron")).unwrap()));
    said(&["the layers \"world\""], refusal(|f, r| fs::remove_file(f.join(&r.objects[2].file)).unwrap()));
    for at in [0, 1, 2, 3] {
        said(
            &["hash to"],
            refusal(|f, r| {
                let path = f.join(&r.objects[at].file);
                let mut bytes = fs::read(&path).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                fs::write(&path, bytes).unwrap();
            }),
        );
    }
    said(
        &["expected", "bytes, found"],
        refusal(|f, r| {
            let path = f.join(&r.objects[0].file);
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[1..]).unwrap();
        }),
    );
    said(&["digest"], refusal(|_, r| r.objects[0].name = "other".into()));
    said(&["version"], refusal(|_, r| r.version = 2));
    said(
        &["pack.ron:1:", "texture"],
        refusal(|f, _| {
            let text = fs::read_to_string(f.join("pack.ron")).unwrap().replace('\n', " ");
            fs::write(f.join("pack.ron"), text.replacen("role: layers", "role: texture", 1)).unwrap();
        }),
    );
    said(
        &["64 lower-case"],
        refusal(|_, r| {
            r.objects[0].file = "../1.terrain".into();
            sign(r);
        }),
    );
    said(
        &["out of place"],
        refusal(|_, r| {
            r.objects.swap(0, 1);
            sign(r);
        }),
    );
    said(
        &["out of place"],
        refusal(|_, r| {
            r.objects.insert(0, r.objects[0].clone());
            sign(r);
        }),
    );
    said(
        &["payload \"elsewhere\"", "visibility"],
        refusal(|_, r| {
            r.objects[1].name = "elsewhere".into();
            sign(r);
        }),
    );
    said(
        &["expected a payload"],
        refusal(|_, r| {
            r.objects.retain(|o| o.role == Role::Recipe);
            sign(r);
        }),
    );
}

#[test]
fn objects_with_good_hashes_and_wrong_contents_are_refused() {
    let said = |words: &[&str], error: String| {
        assert!(words.iter().all(|w| error.contains(w)), "{words:?}: {error}");
    };
    // Another payload's sidecar, textures of another number of layers, text that is none.
    let dir = tempfile::tempdir().unwrap();
    let of = |seed, at: usize| match &items(dir.path(), seed)[at].source {
        Source::Bytes(bytes) => bytes.clone(),
        Source::File(path) => fs::read(path).unwrap(),
    };
    said(&["content digest"], refusal(|f, r| swap(f, r, Role::Visibility, &of(4, 3))));
    said(&["content digest"], refusal(|f, r| swap(f, r, Role::Payload, &of(4, 1))));
    said(&["UTF-8"], refusal(|f, r| swap(f, r, Role::Recipe, b"\xFF")));
    let open = |_: &str, _| Ok(Image::new([1, 1], 3, 8, vec![1, 2, 3]).unwrap());
    let one = LayerImages::default();
    let arrays = build(&[&one], Options { side: 1, ..Options::default() }, &open).unwrap();
    said(&["2 layers", "found 1"], refusal(|f, r| swap(f, r, Role::Layers, &arrays.encode())));
    said(&["a .layers file"], refusal(|f, r| swap(f, r, Role::Layers, &of(2, 3))));
    // A payload with ranges that its heights do not have, every checksum of it right.
    let mut payload = of(2, 1);
    let length = u32::from_le_bytes(payload[12..16].try_into().unwrap()) as usize;
    let mut head = Head::decode(&payload[..length], payload.len() as u64).unwrap();
    let entry = head.sections.iter_mut().find(|s| s.section == Section::MinMax).unwrap();
    let (from, to) = (entry.offset as usize, (entry.offset + entry.length) as usize);
    payload[to - 1] ^= 0x40;
    entry.checksum = *blake3::hash(&payload[from..to]).as_bytes();
    let bytes = head.encode();
    payload[..bytes.len()].copy_from_slice(&bytes);
    said(&["min/max"], refusal(|f, r| swap(f, r, Role::Payload, &payload)));
}

#[test]
fn writing_checks_first_and_leaves_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("pack");
    let good = items(dir.path(), 1);
    let roster = write(&RealDisk, &folder, &good).unwrap();
    let files = || fs::read_dir(&folder).unwrap().count();
    let there = files();
    let mut mixed = items(dir.path(), 2);
    mixed[3] = good[3].clone();
    let twice = [good.clone(), good.clone()].concat();
    let mut bytes = good.clone();
    bytes[1].source = Source::Bytes(b"no file".to_vec());
    for bad in [mixed, twice, bytes, vec![good[0].clone()], Vec::new()] {
        let error: PackError = write(&RealDisk, &folder, &bad).unwrap_err();
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
        assert_eq!((files(), open(&folder).unwrap().roster), (there, roster.clone()));
    }
}

#[test]
fn what_an_older_pack_alone_had_is_swept_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("pack");
    let old = write(&RealDisk, &folder, &items(dir.path(), 1)).unwrap();
    let new = write(&RealDisk, &folder, &items(dir.path(), 2)).unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    fs::write(folder.join(".pack.ron.77.tmp"), "half").unwrap();
    // Somebody's own, whatever they are called.
    fs::write(folder.join(".notes.tmp"), "mine").unwrap();
    fs::write(folder.join("c".repeat(64)), "mine").unwrap();
    fs::create_dir(folder.join("b".repeat(64))).unwrap();
    let mut expected: Vec<String> = old.objects.iter().map(|o| o.file.clone()).collect();
    expected.push(".pack.ron.77.tmp".into());
    expected.sort();
    assert_eq!(sweep(&RealDisk, &folder).unwrap(), expected);
    assert_eq!(open(&folder).unwrap().roster, new);
    for own in ["notes.txt".to_owned(), ".notes.tmp".into(), "c".repeat(64), "b".repeat(64)] {
        assert!(folder.join(&own).exists(), "{own}");
    }
    fs::write(folder.join("pack.ron"), "(").unwrap();
    let before = fs::read_dir(&folder).unwrap().count();
    assert!(sweep(&RealDisk, &folder).is_err());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), before);
}

/// A disk whose power fails after so many steps: what was begun stays half done, and nothing is done any more.
struct FailingDisk(&'static AtomicU64);

struct FailingFile(Box<dyn DiskFile>, &'static AtomicU64);

fn step(left: &AtomicU64) -> io::Result<()> {
    let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    before.map(drop).map_err(|_| io::Error::other("no power"))
}

impl Write for FailingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step(self.1).inspect_err(|_| {
            let _ = self.0.write(&bytes[..bytes.len() / 2]);
        })?;
        // A little at a time, so that there are many places to stop at.
        self.0.write(&bytes[..bytes.len().min(4_000)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl DiskFile for FailingFile {
    fn flush_to_device(&mut self) -> io::Result<()> {
        step(self.1)
    }
}

impl Disk for FailingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        step(self.0)?;
        Ok(Box::new(FailingFile(RealDisk.create(path)?, self.0)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        step(self.0)?;
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        step(self.0)?;
        RealDisk.remove(path)
    }

    fn flush_folder(&self, folder: &Path) -> io::Result<()> {
        assert!(folder.is_dir());
        step(self.0)
    }
}

fn failing(steps: u64) -> FailingDisk {
    FailingDisk(Box::leak(Box::new(AtomicU64::new(steps))))
}

#[test]
fn writing_stopped_at_any_step_leaves_the_old_pack_the_new_one_or_a_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (items(dir.path(), 1), items(dir.path(), 2));
    let (mut seen_old, mut seen_new) = (0, 0);
    for steps in 0.. {
        let folder = dir.path().join(steps.to_string());
        let old_roster = write(&failing(u64::MAX), &folder, &old).unwrap();
        let done = write(&failing(steps), &folder, &new);
        let found = open(&folder).unwrap_or_else(|e| panic!("after {steps} steps: {e}")).roster;
        seen_old += u32::from(found == old_roster);
        seen_new += u32::from(found != old_roster);
        // Written again, it is whole, whatever lay about; and sweeping stopped anywhere harms nothing.
        let new_roster = write(&failing(u64::MAX), &folder, &new).unwrap();
        assert!(found == old_roster || found == new_roster, "a mix after {steps} steps");
        let _ = sweep(&failing(steps % 4), &folder);
        assert_eq!(open(&folder).unwrap().roster, new_roster);
        // A pack that was never there is refused until it is whole.
        let fresh = dir.path().join(format!("{steps}-fresh"));
        let first = write(&failing(steps), &fresh, &new);
        match open(&fresh) {
            Ok(pack) => assert_eq!(pack.roster, new_roster),
            Err(e) => assert!(first.is_err() && e.to_string().contains("pack.ron"), "{e}"),
        }
        if done.is_ok() {
            assert_eq!(found, new_roster);
            break;
        }
    }
    assert!(seen_old > 15 && seen_new >= 2, "{seen_old} old, {seen_new} new");
}

/// What the command prints as JSON, or its refusal.
fn run(args: &[&std::ffi::OsStr]) -> Result<serde_json::Value, String> {
    let output = highground_tests::highground().args(args).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    match output.status.code() {
        Some(0) => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        Some(2) => Err(said),
        other => panic!("{other:?}: {said}"),
    }
}

#[test]
fn the_command_unpacks_cooks_packs_and_verifies() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).into_os_string();
    items(dir.path(), 5);
    let (terrain, folder, again, pack) =
        (path("5.terrain"), path("world"), path("again.terrain"), path("pack"));
    let unpacked = run(&["unpack".as_ref(), &terrain, "--out".as_ref(), &folder, "--json".as_ref()]).unwrap();
    let files = ["heightmap.png", "holes.png", "origin.json", "terrain.ron"];
    // The payload's origin is empty, so there is none to keep.
    let files: Vec<&str> = files.into_iter().filter(|f| *f != "origin.json").collect();
    assert_eq!(unpacked["files"], serde_json::json!(files));
    let cooked = run(&["cook".as_ref(), &folder, "--out".as_ref(), &again, "--json".as_ref()]).unwrap();
    assert_eq!(cooked["digest"], unpacked["digest"]);
    let error =
        run(&["unpack".as_ref(), &terrain, "--out".as_ref(), &folder, "--json".as_ref()]).unwrap_err();
    assert!(error.contains("not empty"), "{error}");
    // Textures for layers without images are the defaults, and packed on request.
    let mut args: Vec<&std::ffi::OsStr> = vec!["pack".as_ref(), &again, "--out".as_ref(), &pack];
    args.extend(["--images".as_ref(), folder.as_os_str(), "--texture-size".as_ref(), "8".as_ref()]);
    args.push("--json".as_ref());
    let packed = run(&args).unwrap();
    let verified = run(&["verify".as_ref(), &pack, "--json".as_ref()]).unwrap();
    assert_eq!((&verified["digest"], verified["objects"].as_array().unwrap().len()), (&packed["digest"], 2));
    let object = Path::new(&pack).join(verified["objects"][0]["file"].as_str().unwrap());
    let mut bytes = fs::read(&object).unwrap();
    bytes[70] ^= 1;
    fs::write(&object, bytes).unwrap();
    let error = run(&["verify".as_ref(), &pack, "--json".as_ref()]).unwrap_err();
    assert!(error.contains("hash to") && error.lines().count() == 1, "{error}");
}

#[test]
fn a_sidecar_and_textures_longer_than_they_can_be_are_refused_before_they_are_read() {
    let dir = tempfile::tempdir().unwrap();
    for (role, expected) in
        [(Role::Visibility, "is larger than the"), (Role::Layers, "bytes of layer textures, found 3145728")]
    {
        let mut all = items(dir.path(), 1);
        let item = all.iter_mut().find(|i| i.role == role).unwrap();
        let Source::Bytes(bytes) = &item.source else { unreachable!() };
        let long = dir.path().join(format!("long.{}", role.name()));
        fs::write(&long, bytes).unwrap();
        // A hole in the file: it takes no room on the disk, but would in memory.
        fs::OpenOptions::new().write(true).open(&long).unwrap().set_len(3 << 20).unwrap();
        item.source = Source::File(long);
        let error = write(&RealDisk, &dir.path().join("pack"), &all).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
