//! `highground query`: questions about the surface of a terrain file, answered as JSON lines.

mod paths;

use crate::{Failure, stdout, summary};
use highground_terrain::collide::{Faces, GroundRay, RayAnswer};
use highground_terrain::content::Catalogue;
use highground_terrain::coord::{BlockPos, CellPos, LatticePos};
use highground_terrain::state::AnswerState;
use highground_terrain::store::{BlockSource, PayloadFile};
use highground_terrain::surface::{Block, Ground, PlaneChoice, PointAnswer, Slot, Spot, Tile};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What blocks and tiles may hold together; when it is exceeded all are given up.
const CACHE_BYTES: usize = 64 << 20;

/// The longest line of a points file.
const MAX_LINE_BYTES: u64 = 4096;

/// Arguments of `highground query`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  echo 100.5,200 | highground query jacksboro.terrain heights --points -\n  \
    echo 100,900,200,0,-1,0,1000 | highground query jacksboro.terrain rays --rays -"
)]
pub(crate) struct Args {
    /// The terrain file
    file: PathBuf,
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// The ground under points, one JSON line a point
    #[command(after_help = "Example:\n  highground query jacksboro.terrain heights --points points.csv\n\n\
        Lines are \"x,z\" in metres; blank ones are passed over. Fields that an answer does not\n\
        have are null; a terrain without layers is layer 0 everywhere. More fields are named\n\
        smooth_normal, layer_tag, water_depth_m, material, weight_N and user_N.")]
    Heights {
        /// A file of lines "x,z", or - for stdin
        #[arg(long, value_name = "FILE|-")]
        points: PathBuf,
        /// More of each answer: smooth-normal, layer-tag, water-depth, material, weight:LAYER, user:CHANNEL, a layer or
        /// channel by name or number
        #[arg(long, value_name = "FIELD,…", value_delimiter = ',')]
        fields: Vec<AskedField>,
        /// Answers are JSON lines in any case
        #[arg(long)]
        json: bool,
    },
    /// The first ground that rays hit, one JSON line a ray
    #[command(
        after_help = "Example:\n  echo 100,900,200,0.5,-1,0,2000 | highground query jacksboro.terrain rays --rays -\n\n\
        Lines are \"ox,oy,oz,dx,dy,dz,max\": origin and length in metres, a direction of any\n\
        length. Fields that an answer does not have are null."
    )]
    Rays {
        /// A file of lines "ox,oy,oz,dx,dy,dz,max", or - for stdin
        #[arg(long, value_name = "FILE|-")]
        rays: PathBuf,
        /// Answers are JSON lines in any case
        #[arg(long)]
        json: bool,
    },
    /// Ways between pairs of points, one JSON line a pair
    Paths(paths::Args),
}

/// What `heights` may be asked for besides.
#[derive(Clone, Copy, Debug)]
enum Field {
    SmoothNormal,
    LayerTag,
    WaterDepth,
    Material,
    Weight(u8),
    User(u8),
}

/// A field as it is asked for: layers and channels by whatever the terrain calls them.
#[derive(Clone, Debug)]
enum AskedField {
    Plain(Field),
    Weight(String),
    User(String),
}

impl std::str::FromStr for AskedField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("weight", layer)) => Ok(AskedField::Weight(layer.to_owned())),
            Some(("user", channel)) => Ok(AskedField::User(channel.to_owned())),
            None if text == "smooth-normal" => Ok(AskedField::Plain(Field::SmoothNormal)),
            None if text == "layer-tag" => Ok(AskedField::Plain(Field::LayerTag)),
            None if text == "water-depth" => Ok(AskedField::Plain(Field::WaterDepth)),
            None if text == "material" => Ok(AskedField::Plain(Field::Material)),
            _ => {
                Err("expected smooth-normal, layer-tag, water-depth, material, weight:LAYER or user:CHANNEL"
                    .into())
            }
        }
    }
}

impl AskedField {
    /// The field of a terrain.
    fn of(&self, catalogue: &Catalogue) -> Result<Field, Failure> {
        let find = |kind: &str, asked: &str, names: Vec<String>| {
            let number = names.iter().position(|n| n == asked).or_else(|| asked.parse().ok());
            match number.filter(|&n| n < names.len()) {
                Some(n) => Ok(n as u8),
                None if names.is_empty() => {
                    Err(Failure::input(format!("--fields {kind}:{asked}: the terrain has none")))
                }
                None => Err(Failure::input(format!(
                    "--fields {kind}:{asked}: the terrain has {}, by name or from 0",
                    names.join(", ")
                ))),
            }
        };
        match self {
            AskedField::Plain(field) => Ok(*field),
            AskedField::Weight(layer) => {
                let mut names = catalogue.layer_names();
                if names.is_empty() {
                    // Layer 0 everywhere.
                    names.push("0".to_owned());
                }
                find("weight", layer, names).map(Field::Weight)
            }
            AskedField::User(channel) => {
                find("user", channel, catalogue.user_channels.clone()).map(Field::User)
            }
        }
    }
}

impl Field {
    /// The name and value in an answer. All planes that are asked for are loaded.
    fn of(self, spot: Option<&Spot<'_>>) -> (String, Value) {
        let ask = |f: &dyn Fn(&Spot<'_>) -> Value| spot.map_or(Value::Null, f);
        match self {
            Field::SmoothNormal => ("smooth_normal".into(), ask(&|s| json!(s.smooth_normal().to_array()))),
            Field::LayerTag => ("layer_tag".into(), ask(&|s| json!(s.layer_tag().known()))),
            Field::WaterDepth => ("water_depth_m".into(), ask(&|s| json!(s.water_depth().known()))),
            Field::Material => {
                ("material".into(), ask(&|s| json!(s.material().known().map(|m| m.name.as_str()))))
            }
            Field::Weight(id) => (format!("weight_{id}"), ask(&|s| json!(s.weight(id).known()))),
            Field::User(id) => (format!("user_{id}"), ask(&|s| json!(s.user(id).known()))),
        }
    }
}

/// The planes that fields need.
fn planes_for(fields: &[Field]) -> PlaneChoice {
    let any = |f: fn(&Field) -> bool| fields.iter().any(f);
    PlaneChoice {
        weights: any(|f| matches!(f, Field::Weight(_))),
        user: any(|f| matches!(f, Field::User(_))),
        water: any(|f| matches!(f, Field::WaterDepth)),
        materials: any(|f| matches!(f, Field::Material)),
        densities: false,
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let file = summary::open(&args.file)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let damage = match &args.what {
        What::Heights { points, fields, .. } => {
            let catalogue = &file.info().catalogue;
            let fields = fields.iter().map(|f| f.of(catalogue)).collect::<Result<Vec<_>, _>>()?;
            let mut ground = LazyGround::new(file, planes_for(&fields));
            each_line(points, "\"x,z\"", &mut out, |line, out| heights(&mut ground, &fields, line, out))?;
            ground.damage.map(|first| format!("{first}; points there are answered \"failed\""))
        }
        What::Rays { rays: path, .. } => {
            let mut ground = LazyGround::new(file, PlaneChoice::NONE);
            each_line(path, "\"ox,oy,oz,dx,dy,dz,max\"", &mut out, |line, out| rays(&mut ground, line, out))?;
            ground.damage.map(|first| format!("{first}; rays that come there are answered \"failed\""))
        }
        What::Paths(what) => paths::run(file, what, &mut out)?,
    };
    out.flush().map_err(stdout::failure)?;
    damage.map_or(Ok(()), |first| Err(Failure::file(&args.file, first)))
}

/// What was wrong with a line, or with writing its answer.
enum LineError {
    Input(String),
    Output(Failure),
}

impl<T: std::fmt::Display> From<T> for LineError {
    fn from(message: T) -> Self {
        LineError::Input(message.to_string())
    }
}

/// Gives each line of a file, or of stdin, to `f`, but for blank ones; a byte order mark before the first is no part of it.
/// A line may not be longer than [`MAX_LINE_BYTES`]. Answers go out before a line is waited for, so that whoever asks through
/// a pipe gets them one by one.
fn each_line<W: Write>(
    path: &Path,
    expected: &str,
    out: &mut W,
    mut f: impl FnMut(&[u8], &mut W) -> Result<(), LineError>,
) -> Result<(), Failure> {
    let stdin = path.as_os_str() == "-";
    let source: Box<dyn Read> = if stdin {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|e| Failure::file(path, format!("cannot be read: {e}")))?)
    };
    let mut input = BufReader::new(source);
    let name = if stdin { "stdin".to_owned() } else { path.display().to_string() };
    let mut line = Vec::new();
    for number in 1u64.. {
        let wrong = |message: String| Failure::input(format!("{name}:{number}: {message}"));
        line.clear();
        if input.buffer().is_empty() {
            out.flush().map_err(stdout::failure)?;
        }
        let read = (&mut input)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(|e| wrong(format!("cannot be read: {e}")))?;
        if read == 0 {
            break;
        }
        if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
            return Err(wrong(format!(
                "the line is longer than {MAX_LINE_BYTES} bytes; expected {expected}"
            )));
        }
        let text = if number == 1 { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line) } else { &line };
        if text.trim_ascii().is_empty() {
            continue;
        }
        f(text, out).map_err(|e| match e {
            LineError::Input(message) => wrong(message),
            LineError::Output(failure) => failure,
        })?;
    }
    Ok(())
}

/// Writes one answer.
fn put(out: &mut impl Write, answer: &impl Serialize) -> Result<(), LineError> {
    let text = serde_json::to_string(answer).map_err(|e| LineError::Output(Failure::input(e)))?;
    writeln!(out, "{text}").map_err(|e| LineError::Output(stdout::failure(e)))
}

/// The numbers of a line.
fn parse_numbers<const N: usize>(line: &[u8], expected: &str) -> Result<[f64; N], String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    let numbers: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    numbers.and_then(|n| n.try_into().ok()).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        format!("expected {expected}, found \"{shown}\"")
    })
}

/// One answer; what it does not have is null.
#[derive(Serialize)]
struct HeightLine {
    x: f64,
    z: f64,
    state: AnswerState,
    height_m: Option<f64>,
    cell: Option<[i32; 2]>,
    triangle: Option<u8>,
    normal: Option<[f64; 3]>,
    layer: Option<u8>,
}

impl HeightLine {
    fn new(x: f64, z: f64, answer: &PointAnswer) -> Self {
        let g = answer.ground;
        Self {
            x,
            z,
            state: answer.state,
            height_m: g.map(|g| g.height),
            cell: g.map(|g| [g.cell.x, g.cell.z]),
            triangle: g.map(|g| g.triangle.index()),
            normal: g.map(|g| g.normal.to_array()),
            layer: g.map(|g| g.layer),
        }
    }
}

fn heights(
    ground: &mut LazyGround,
    fields: &[Field],
    line: &[u8],
    out: &mut impl Write,
) -> Result<(), LineError> {
    let [x, z] = parse_numbers(line, "\"x,z\", two numbers in metres")?;
    let at = LatticePos::from_metres(x, z)?;
    let answer = HeightLine::new(x, z, &ground.point(at));
    if fields.is_empty() {
        return put(out, &answer);
    }
    let spot = ground.ground.spot_at(at).valid();
    let more = fields.iter().map(|f| f.of(spot.as_ref())).collect();
    put(out, &WithFields { answer, more })
}

/// An answer and what was asked for besides.
#[derive(Serialize)]
struct WithFields {
    #[serde(flatten)]
    answer: HeightLine,
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// One answer; what it does not have is null.
#[derive(Serialize)]
struct RayLine {
    hit: bool,
    state: &'static str,
    t: Option<f64>,
    point: Option<[f64; 3]>,
    normal: Option<[f64; 3]>,
    front: Option<bool>,
    cell: Option<[i32; 2]>,
    triangle: Option<u8>,
}

fn rays(ground: &mut LazyGround, line: &[u8], out: &mut impl Write) -> Result<(), LineError> {
    let expected = "\"ox,oy,oz,dx,dy,dz,max\", seven numbers";
    let [ox, oy, oz, dx, dy, dz, max] = parse_numbers(line, expected)?;
    let ray = GroundRay::new([ox, oy, oz].into(), [dx, dy, dz].into(), max)?;
    let answer = ground.ray(&ray);
    let hit = if let RayAnswer::Hit(hit) = &answer { Some(hit) } else { None };
    let line = RayLine {
        hit: hit.is_some(),
        state: match answer {
            RayAnswer::Hit(_) => "hit",
            RayAnswer::Miss => "miss",
            RayAnswer::Pending => "pending",
            RayAnswer::Failed => "failed",
        },
        t: hit.map(|h| h.t),
        point: hit.map(|h| h.point.to_array()),
        normal: hit.map(|h| h.normal.to_array()),
        front: hit.map(|h| h.front),
        cell: hit.map(|h| [h.cell.x, h.cell.z]),
        triangle: hit.map(|h| h.triangle.index()),
    };
    put(out, &line)
}

/// Ground that loads the tiles a point or a ray needs, and forgets everything when it holds too much.
struct LazyGround {
    file: PayloadFile,
    planes: PlaneChoice,
    blocks: BTreeMap<BlockPos, Arc<Block>>,
    block_bytes: usize,
    ground: Ground,
    /// The first block that could not be read.
    damage: Option<String>,
}

impl LazyGround {
    fn new(file: PayloadFile, planes: PlaneChoice) -> Self {
        let ground = nothing_of(&file);
        Self { file, planes, blocks: BTreeMap::new(), block_bytes: 0, ground, damage: None }
    }

    fn forget(&mut self) {
        if self.block_bytes + self.ground.resident_bytes() > CACHE_BYTES {
            self.blocks.clear();
            self.block_bytes = 0;
            self.ground = nothing_of(&self.file);
        }
    }

    fn ray(&mut self, ray: &GroundRay) -> RayAnswer {
        self.forget();
        // What a ray needs is known only as it goes on: one block after another, each of them made resident or Failed.
        while let Some(pos) = self.ground.first_absent(ray, Faces::Both) {
            if self.block_bytes > CACHE_BYTES {
                self.blocks.clear();
                self.block_bytes = 0;
            }
            self.need(pos);
        }
        self.ground.first_hit(ray, Faces::Both)
    }

    fn point(&mut self, p: LatticePos) -> PointAnswer {
        self.forget();
        for pos in self.tiles_around(p) {
            self.need(pos);
        }
        self.ground.point_at(p)
    }

    /// The blocks of every cell that may answer for a point: its own and those around it.
    fn tiles_around(&self, p: LatticePos) -> Vec<BlockPos> {
        let (config, side) = (self.file.config(), self.file.block_side());
        let s = config.spacing_lattice();
        let e = config.extent;
        let placed = [config.placement.x, config.placement.z].map(|v| i64::from(v) * s);
        let p = LatticePos { x: p.x - placed[0], z: p.z - placed[1] };
        let near = |v: i64, first: i32, end: i32| {
            // Beyond the extent there is nothing to load; the quotient fits after the clamp.
            let cell = v.div_euclid(s);
            let clamp = |c: i64| c.clamp(i64::from(first), i64::from(end) - 1) as i32;
            (clamp(cell - 1), clamp(cell + 1))
        };
        let ((x0, x1), (z0, z1)) = (near(p.x, e.x0, e.x1), near(p.z, e.z0, e.z1));
        let (a, b) = (side.block_of_cell(CellPos::new(x0, z0)), side.block_of_cell(CellPos::new(x1, z1)));
        (a.z..=b.z).flat_map(|z| (a.x..=b.x).map(move |x| BlockPos::new(x, z))).collect()
    }

    /// Makes a block resident, or Failed when it or a neighbour that it reads is damaged.
    fn need(&mut self, pos: BlockPos) {
        if !matches!(self.ground.slot(pos), Slot::Absent) {
            return;
        }
        let (config, side) = (*self.file.config(), self.file.block_side());
        for near in pos.neighbourhood().filter(|&n| config.has_block(side, n)) {
            if !self.blocks.contains_key(&near) {
                match self.file.read_block_with(near, self.planes) {
                    Ok(block) => {
                        self.block_bytes += block.bytes();
                        self.blocks.insert(near, Arc::new(block));
                    }
                    Err(error) => {
                        self.damage.get_or_insert_with(|| error.to_string());
                        self.ground = self.ground.with_changes(&[(pos, Slot::Failed)]);
                        return;
                    }
                }
            }
        }
        let around = |p: BlockPos| self.blocks.get(&p).map(Arc::as_ref);
        if let Some(block) = around(pos) {
            let tile = Tile::new(&config, block, around);
            self.ground = self.ground.with_changes(&[(pos, Slot::Resident(Arc::new(tile)))]);
        }
    }
}

fn nothing_of(file: &PayloadFile) -> Ground {
    let catalogue = Arc::new(file.catalogue().clone());
    Ground::empty(file.config(), file.block_side()).with_catalogue(catalogue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use highground_terrain::config::{Diagonal, TerrainConfig};
    use highground_terrain::coord::{BlockSide, CellRect};
    use highground_terrain::kernel::weight_mip::HdTexel;
    use highground_terrain::parry::math::Vector as DVec3;
    use highground_terrain::store::{Raster, WriteOptions, write_payload};

    /// 100×70 samples with ragged holes and two layers, so that answers often come from another cell or block.
    fn terrain() -> Raster {
        let mut config = TerrainConfig::new([100, 70], 256);
        config.diagonal = Diagonal::Checkerboard;
        config.extent = CellRect { x0: 2, z0: 1, x1: 99, z1: 68 };
        let heights = (0..100 * 70).map(|i: i32| i * 7919 % 2003).collect();
        let mut raster = Raster::from_heights(config, heights);
        raster.mask.iter_mut().enumerate().for_each(|(i, m)| *m &= [3, 0, 1, 2, 0][i * 31 % 5]);
        let texels: Vec<HdTexel> =
            (0..99 * 69).map(|i| HdTexel { id1: (i % 2) as u8, id2: 0, ratio: 0 }).collect();
        raster.set_hd_weights(&["a", "b"], &texels);
        raster
    }

    #[test]
    fn ground_loaded_on_demand_answers_like_all_of_it() {
        let dir = std::env::temp_dir().join(format!("highground-query-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("a.terrain");
        write_payload(&terrain(), &WriteOptions::new(BlockSide::S32, "{}", 0.0), &path).unwrap();
        let all = Ground::all_of(&PayloadFile::open(&path).unwrap()).unwrap();
        let mut some = LazyGround::new(PayloadFile::open(&path).unwrap(), PlaneChoice::NONE);
        for z in -2..140i64 {
            for x in -2..202i64 {
                // Corners, edges and middles of cells; now and then everything is forgotten.
                let p = LatticePos { x: x << 15, z: z << 15 };
                if (x + z) % 97 == 0 {
                    some.block_bytes = CACHE_BYTES + 1;
                }
                assert_eq!(some.point(p), all.point_at(p), "{p:?}");
            }
        }
        for i in 0..600 {
            let start = DVec3::new(f64::from(i * 37 % 120) - 10.0, 12.0, f64::from(i * 53 % 90) - 10.0);
            let dir = DVec3::new(f64::from(i * 29 % 41 - 20), -3.0, f64::from(i * 31 % 37 - 18));
            let ray = GroundRay::new(start, dir, 150.0).unwrap();
            if i % 50 == 0 {
                some.block_bytes = CACHE_BYTES + 1;
            }
            assert_eq!(some.ray(&ray), all.first_hit(&ray, Faces::Both), "{start} {dir}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
