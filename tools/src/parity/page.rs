//! Cases of pages: random words for everything that a page is told, and pages as the product asks for them.

use super::{Case, Random};
use highground_terrain::compute::{Batch, Compute, ComputeError, Outputs};
use highground_terrain::config::{Diagonal, TerrainConfig};
use highground_terrain::content::{Catalogue, Layer, Overlay};
use highground_terrain::coord::PagePos;
use highground_terrain::height::VOID;
use highground_terrain::kernel::page::{
    BAKE, PIECE_WORDS, Params, ROW_WORDS, SAMPLE_WORDS, TEXEL_WORDS, row, tables,
};
use highground_terrain::pass::page::{Baker, Look, PageInput, Scratch, Texel, Textures, Windows};

pub(super) fn cases(seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for n in 0..48 {
        // Small ones first: a changed constant is found sooner.
        let side = [7, 16, 33, 90][n / 12];
        cases.push(Case::new(format!("random page {n} of {side} texels a side"), move |compute| {
            World::random(seed ^ (n as u64) << 32, side).bake(compute)
        }));
    }
    for mip in 0..5 {
        cases.push(Case::new(format!("all pages of mip {mip}"), move |compute| {
            world_pages(compute, seed, mip)
        }));
    }
    cases
}

/// A page's buffers and parameters.
struct World {
    params: Params,
    colours: Vec<u32>,
    surfaces: Vec<u32>,
    inputs: Vec<u32>,
}

/// A number below another.
fn below(random: &mut Random, n: u32) -> u32 {
    (random.next() % u64::from(n)) as u32
}

impl World {
    fn random(seed: u64, side: u32) -> Self {
        let mut random = Random(seed);
        let mut world =
            Self { params: Params::default(), colours: tables(), surfaces: Vec::new(), inputs: Vec::new() };
        // Up to all ids there are, so that any may be met.
        for id in 0..32 {
            let words = world.row(&mut random, id);
            world.inputs.extend(words);
        }
        let p = &mut world.params;
        p.side = side;
        p.mip = below(&mut random, 8);
        p.kept = 2 + 2 * below(&mut random, 2);
        p.flags = below(&mut random, 4);
        p.first = [below(&mut random, 200) as i32 - 100, below(&mut random, 200) as i32 - 100];
        p.weights_at = world.inputs.len() as u32;
        p.weights_first = [below(&mut random, 9) as i32 - 4, below(&mut random, 9) as i32 - 4];
        p.weights_size = [1 + below(&mut random, 40), 1 + below(&mut random, 40)];
        p.weights_shift = below(&mut random, 6);
        // Few ids tie and leave layers out; many give four and more.
        let ids = [2, 6, 40][below(&mut random, 3) as usize];
        for _ in 0..p.weights_size[0] * p.weights_size[1] {
            let id = |random: &mut Random| (31 + below(random, ids)) % 40;
            let ratio = [0, 127, 128, 255, below(&mut random, 256)][below(&mut random, 5) as usize];
            world.inputs.push(id(&mut random) | id(&mut random) << 8 | ratio << 16);
        }
        p.samples_at = world.inputs.len() as u32;
        p.samples_first = [below(&mut random, 9) as i32 - 4, below(&mut random, 9) as i32 - 4];
        p.samples_size = [2 + below(&mut random, 30), 2 + below(&mut random, 30)];
        p.samples_shift = below(&mut random, 6);
        p.diagonal = below(&mut random, 3);
        let tall = [1 << 10, 1 << 24][below(&mut random, 2) as usize];
        let lean = [20, 256][below(&mut random, 2) as usize];
        for _ in 0..p.samples_size[0] * p.samples_size[1] {
            let q = if below(&mut random, 20) == 0 {
                VOID
            } else {
                below(&mut random, 2 * tall) as i32 - tall as i32
            };
            let code = |random: &mut Random| 128 - lean / 2 + below(random, lean);
            world.inputs.extend([q as u32, code(&mut random) | code(&mut random) << 8, random.next() as u32]);
        }
        p.pieces_at = world.inputs.len() as u32;
        p.pieces = below(&mut random, 4);
        for _ in 0..p.pieces {
            world.inputs.extend(Self::piece(&mut random));
        }
        p.variation = below(&mut random, 129);
        p.variation_step = random.next() as u32 >> below(&mut random, 20);
        p.steep_start = below(&mut random, 16_385);
        p.steep_span = 1 + below(&mut random, 6000);
        world
    }

    /// The row of a layer with a texture of its own.
    fn row(&mut self, random: &mut Random, id: usize) -> [u32; ROW_WORDS] {
        let bits = (id % 4) as u32;
        let texels = 1usize << (2 * bits);
        let mut r = [0; ROW_WORDS];
        r[row::COLOUR] = self.colours.len() as u32;
        self.colours.extend((0..texels).map(|_| random.next() as u32));
        r[row::SURFACE] = self.surfaces.len() as u32;
        self.surfaces.extend((0..texels).map(|_| random.next() as u32));
        r[row::METAL] = u32::MAX;
        if id.is_multiple_of(3) {
            r[row::METAL] = self.surfaces.len() as u32;
            self.surfaces.extend((0..texels.div_ceil(4)).map(|_| random.next() as u32));
        }
        r[row::SIDE_LOG2] = bits;
        r[row::STEP] = random.next() as u32 >> 4;
        r[row::STEP_UP] = random.next() as u32 >> 12;
        (0..3).for_each(|c| r[row::TINT + c] = below(random, 8192));
        let contrast = [1, 13_000, 65_535][below(random, 3) as usize];
        r[row::CONTRAST] = contrast | below(random, 1025) << 16;
        r[row::NORMAL] = below(random, 4097) | below(random, 256) << 16;
        r[row::FLAGS] = below(random, 4);
        (0..3).for_each(|c| r[row::HEX + c] = random.next() as u32 >> below(random, 14));
        r
    }

    fn piece(random: &mut Random) -> [u32; PIECE_WORDS] {
        let (ax, az) = (below(random, 700) as i32 - 350, below(random, 700) as i32 - 350);
        let length = ((ax * ax + az * az) as u32 * 256).isqrt().max(1);
        let (outer, fade) = (below(random, 3000), 1 + below(random, 2000));
        let from = [0, 1].map(|_| (below(random, 2000) as i32 - 1000) as u32);
        [from[0], from[1], ax as u32, az as u32, length, outer, fade, below(random, 32), below(random, 4), 0]
    }

    fn bake(&self, compute: &dyn Compute) -> Result<Vec<u32>, ComputeError> {
        let texels = self.params.side as usize * self.params.side as usize;
        let mut batch = Batch::new();
        let reads = [batch.words(&self.colours), batch.words(&self.surfaces), batch.words(&self.inputs)];
        let out = batch.target(texels * TEXEL_WORDS);
        batch.step(&BAKE, texels as u64, &self.params.words(), &reads, &[out]);
        batch.read(out);
        let mut answers = Outputs::new();
        compute.run(&batch, &mut answers)?;
        Ok(answers.words(0).to_vec())
    }
}

/// The contents of a page's windows: hills, and layers in wide bands.
fn contents(windows: &Windows, random: &mut Random) -> (Vec<u32>, Vec<u32>) {
    let mut weights = Vec::new();
    for i in 0..windows.weights.area() as u32 {
        let x = i % windows.weights.size[0];
        weights.push((x / 7 % 3) | (x / 5 % 4) << 8 | (random.next() as u32 & 255) << 16);
    }
    let mut samples = Vec::with_capacity(windows.samples.area() * SAMPLE_WORDS);
    for i in 0..windows.samples.area() as u32 {
        let (x, z) = (i % windows.samples.size[0], i / windows.samples.size[0]);
        let lean = 128 - 40 + (random.next() as u32 & 63);
        samples.extend([x * 90 + z * z * 3, lean | (200 - lean / 2) << 8, 0x0080_8080]);
    }
    (weights, samples)
}

/// All pages of a mip of a terrain with a road, in one batch, as the product bakes them.
fn world_pages(compute: &dyn Compute, seed: u64, mip: u32) -> Result<Vec<u32>, ComputeError> {
    let config = TerrainConfig { diagonal: Diagonal::Checkerboard, ..TerrainConfig::new([70, 58], 512) };
    let layers = ["grass", "rock", "sand", "snow"].map(Layer::named).to_vec();
    let road = Overlay {
        name: "road".into(),
        points: vec![[5.0, 9.0], [120.0, 80.0]],
        layer: 2,
        ..Overlay::default()
    };
    let catalogue = Catalogue { layers, overlays: vec![road], ..Catalogue::default() };
    let texel = |id: u32| {
        move |mip: u32, x: u32, y: u32| {
            let b = Random(seed ^ u64::from(id | mip << 5 | x << 10 | y << 20)).next().to_le_bytes();
            let normal = [b[4] / 2 + 64, b[5] / 2 + 64, 220];
            let (albedo, height) = ([b[0], b[1], b[2]], b[3]);
            Texel { albedo, height, normal, roughness: b[6], occlusion: b[7], metallic: b[0] / 16 }
        }
    };
    let texels = [0, 1, 2, 3].map(texel);
    let textures = Textures::new(64, &texels.each_ref().map(|f| f as &dyn Fn(u32, u32, u32) -> Texel))?;
    let look = Look { side: 64, ..Look::default() };
    let baker = Baker::new(&config, &look, &catalogue, textures, false)?;
    let [w, h] = baker.pages(mip).map(|n| n as i32);
    let pages: Vec<PagePos> = (0..w * h).map(|i| PagePos::new(mip, i % w, i / w)).collect();
    let mut random = Random(seed ^ u64::from(mip));
    let mut windows = Vec::new();
    for &pos in &pages {
        windows.push(contents(&baker.windows(pos)?, &mut random));
    }
    let inputs: Vec<PageInput<'_>> = pages
        .iter()
        .zip(&windows)
        .map(|(&pos, (weights, samples))| PageInput { pos, weights, samples })
        .collect();
    let mut all = Vec::new();
    baker.bake(compute, &inputs, &mut Scratch::default(), &mut |_, words| all.extend_from_slice(words))?;
    Ok(all)
}
