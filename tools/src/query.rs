//! `highground query`: questions about the surface of a terrain file, answered as JSON lines.

mod paths;

use crate::{Failure, stdout, summary};
use highground_terrain::coord::{BlockPos, CellPos, LatticePos};
use highground_terrain::state::AnswerState;
use highground_terrain::store::{BlockSource, PayloadFile};
use highground_terrain::surface::{Block, Ground, PointAnswer, Slot, Tile};
use serde::Serialize;
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
#[command(after_help = "Example:\n  echo 100.5,200 | highground query jacksboro.terrain heights --points -")]
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
        Lines are \"x,z\" in metres. Fields that an answer does not have are null; a\n\
        terrain without layers is layer 0 everywhere.")]
    Heights {
        /// A file of lines "x,z", or - for stdin
        #[arg(long, value_name = "FILE|-")]
        points: PathBuf,
        /// Answers are JSON lines in any case
        #[arg(long)]
        json: bool,
    },
    /// Ways between pairs of points, one JSON line a pair
    Paths(paths::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let file = summary::open(&args.file)?;
    let out = BufWriter::new(io::stdout().lock());
    match &args.what {
        What::Heights { points, .. } => heights(&args.file, file, points, open(points)?, out),
        What::Paths(what) => paths::run(&args.file, file, what, open(&what.points)?, out),
    }
}

fn open(points: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if points.as_os_str() == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(points).map_err(|e| Failure::file(points, format!("cannot be read: {e}")))?;
    Ok(Box::new(BufReader::new(file)))
}

/// Gives every line of a points file to `answer`; what that says is wrong is told with the line's number.
fn each_line(
    points: &Path,
    mut input: impl BufRead,
    expected: &str,
    mut answer: impl FnMut(&[u8]) -> Result<(), LineFailure>,
) -> Result<(), Failure> {
    let name = if points.as_os_str() == "-" { "stdin".to_owned() } else { points.display().to_string() };
    let mut line = Vec::new();
    for number in 1u64.. {
        let wrong = |message: String| Failure::input(format!("{name}:{number}: {message}"));
        line.clear();
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
        match answer(&line) {
            Ok(()) => {}
            Err(LineFailure::Wrong(message)) => return Err(wrong(message)),
            Err(LineFailure::Other(failure)) => return Err(failure),
        }
    }
    Ok(())
}

/// Why a line has no answer.
enum LineFailure {
    /// What is wrong with it.
    Wrong(String),
    /// Something else is.
    Other(Failure),
}

impl From<Failure> for LineFailure {
    fn from(failure: Failure) -> Self {
        LineFailure::Other(failure)
    }
}

/// `N` numbers with commas between them.
fn parse_numbers<const N: usize>(line: &[u8], expected: &str) -> Result<[f64; N], LineFailure> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    let numbers: Vec<f64> = text.split(',').map_while(|t| t.trim().parse().ok()).collect();
    let whole = text.split(',').count() == N;
    numbers.try_into().ok().filter(|_| whole).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        LineFailure::Wrong(format!("expected {expected} in metres, found \"{shown}\""))
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
    terrain: &Path,
    file: PayloadFile,
    points: &Path,
    input: impl BufRead,
    mut out: impl Write,
) -> Result<(), Failure> {
    let mut ground = LazyGround::new(file);
    const EXPECTED: &str = "\"x,z\", two numbers";
    each_line(points, input, EXPECTED, |line| {
        let [x, z] = parse_numbers(line, EXPECTED)?;
        let at = LatticePos::from_metres(x, z).map_err(|e| LineFailure::Wrong(e.to_string()))?;
        let answer = ground.point(at);
        let text = serde_json::to_string(&HeightLine::new(x, z, &answer)).map_err(Failure::input)?;
        Ok(writeln!(out, "{text}").map_err(stdout::failure)?)
    })?;
    out.flush().map_err(stdout::failure)?;
    match ground.damage {
        Some(first) => Err(Failure::file(terrain, format!("{first}; points there are answered \"failed\""))),
        None => Ok(()),
    }
}

/// Ground that loads the tiles a point needs, and forgets everything when it holds too much.
struct LazyGround {
    file: PayloadFile,
    blocks: BTreeMap<BlockPos, Arc<Block>>,
    block_bytes: usize,
    ground: Ground,
    /// The first block that could not be read.
    damage: Option<String>,
}

impl LazyGround {
    fn new(file: PayloadFile) -> Self {
        let ground = Ground::empty(file.config(), file.block_side());
        Self { file, blocks: BTreeMap::new(), block_bytes: 0, ground, damage: None }
    }

    fn point(&mut self, p: LatticePos) -> PointAnswer {
        if self.block_bytes + self.ground.resident_bytes() > CACHE_BYTES {
            self.blocks.clear();
            self.block_bytes = 0;
            self.ground = Ground::empty(self.file.config(), self.file.block_side());
        }
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
                match self.file.read_block(near) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use highground_terrain::config::{Diagonal, TerrainConfig};
    use highground_terrain::coord::{BlockSide, CellRect};
    use highground_terrain::kernel::weight_mip::HdTexel;
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
        let mut some = LazyGround::new(PayloadFile::open(&path).unwrap());
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
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
