//! Cases of the weight-mip pass: edge texels, random bytes, ties, and sizes around everything that has a size.

use super::{Case, Random, words};
use highground_terrain::kernel::weight_mip::Encoding;
use highground_terrain::layers::WeightChain;
use highground_terrain::pass::weight_mip::{mip, mip_in_strips};

pub(super) fn cases(seed: u64) -> Vec<Case> {
    let mut cases: Vec<Case> = weight_mip_cases(seed)
        .into_iter()
        .map(|c| Case::new(c.name(), move |compute| Ok(words(&mip(compute, c.encoding, c.size, &c.texels)?))))
        .collect();
    let small = |c: &WeightMipCase| c.size[0] * c.size[1] < 200_000;
    for c in weight_mip_cases(seed ^ 1).into_iter().filter(small) {
        cases.push(Case::new(format!("chain of {}", c.name()), move |compute| {
            let chain = WeightChain::build(compute, c.encoding, c.size, &c.texels)?;
            Ok(chain.mips()[1..].iter().flat_map(|mip| words(mip.texels())).collect())
        }));
    }
    // Strips of two rows and of a few.
    for c in weight_mip_cases(seed ^ 2).into_iter().filter(|c| c.size[1] < 300 && small(c)) {
        cases.push(Case::new(format!("strips of {}", c.name()), move |compute| {
            let strips = |bytes| mip_in_strips(compute, c.encoding, c.size, &c.texels, bytes);
            Ok([words(&strips(0)?), words(&strips(7000)?)].concat())
        }));
    }
    cases
}

/// An input on which devices are compared.
#[derive(Clone, Debug)]
struct WeightMipCase {
    /// What it provokes.
    what: &'static str,
    /// How its texels are stored.
    encoding: Encoding,
    /// Width and height in texels.
    size: [u32; 2],
    /// Stored texels, row-major.
    texels: Vec<u8>,
}

impl WeightMipCase {
    /// One line for messages.
    fn name(&self) -> String {
        format!("{} {} {}x{}", self.encoding.name(), self.what, self.size[0], self.size[1])
    }
}

/// Sizes around one texel, around a word, around a group of invocations, and beyond one strip of 16 MiB.
const SIZES: [[u32; 2]; 20] = [
    [1, 1],
    [1, 2],
    [2, 1],
    [1, 9],
    [9, 1],
    [2, 2],
    [3, 3],
    [5, 3],
    [4, 6],
    [7, 8],
    [1, 1031],
    [1031, 1],
    [31, 33],
    [127, 129],
    [128, 128],
    [255, 257],
    [256, 512],
    [513, 31],
    [1021, 2],
    [4099, 2101],
];

/// The inputs on which CPU and GPU have to give the same bytes.
fn weight_mip_cases(seed: u64) -> Vec<WeightMipCase> {
    let mut random = Random(seed);
    let mut cases = Vec::new();
    for encoding in Encoding::ALL {
        cases.push(edge_case(encoding));
        for size in SIZES {
            let n = size[0] as usize * size[1] as usize;
            let mut bytes = vec![0; n * encoding.texel_bytes()];
            for byte in &mut bytes {
                *byte = random.next() as u8;
            }
            cases.push(WeightMipCase { what: "random bytes", encoding, size, texels: bytes });
            // Few layers and few ratios: contributions add up and tie.
            let ratios: &[u8] = match encoding {
                Encoding::Hd => &[0, 1, 64, 127, 128, 191, 254, 255],
                Encoding::Normal => &[0, 1, 2, 3, 4, 5, 6, 7],
            };
            let mut texels = Vec::with_capacity(bytes_of(encoding, n));
            for _ in 0..n {
                let bits = random.next();
                let texel = [(bits % 3) as u8, (bits / 3 % 3) as u8, ratios[(bits / 9 % 8) as usize]];
                push(encoding, &mut texels, texel);
            }
            cases.push(WeightMipCase { what: "ties", encoding, size, texels });
        }
    }
    cases
}

/// Every edge texel beside every edge texel, over two more of them.
fn edge_case(encoding: Encoding) -> WeightMipCase {
    let (ids, ratios): (&[u8], &[u8]) = match encoding {
        Encoding::Hd => (&[0, 1, 31, 32, 255], &[0, 1, 127, 128, 254, 255]),
        Encoding::Normal => (&[0, 1, 30, 31], &[0, 1, 2, 3, 4, 5, 6, 7]),
    };
    let mut edges = Vec::new();
    for &id1 in ids {
        for &id2 in ids {
            edges.extend(ratios.iter().map(|&ratio| [id1, id2, ratio]));
        }
    }
    let n = edges.len();
    let mut texels = Vec::with_capacity(bytes_of(encoding, 4 * n * n));
    for z in 0..2 * n {
        for x in 0..n {
            // On even rows the pair (x, z / 2), below it a pair that runs through the others.
            let partner = if z % 2 == 0 { z / 2 } else { (z / 2 + 7 * x + 3) % n };
            push(encoding, &mut texels, edges[x]);
            push(encoding, &mut texels, edges[partner]);
        }
    }
    WeightMipCase { what: "edge values", encoding, size: [2 * n as u32; 2], texels }
}

fn bytes_of(encoding: Encoding, texels: usize) -> usize {
    texels * encoding.texel_bytes()
}

fn push(encoding: Encoding, out: &mut Vec<u8>, [id1, id2, ratio]: [u8; 3]) {
    match encoding {
        Encoding::Hd => out.extend([id1, id2, ratio]),
        Encoding::Normal => {
            let bits = u16::from(id1) | u16::from(id2) << 5 | u16::from(ratio) << 10;
            out.extend(bits.to_le_bytes());
        }
    }
}
