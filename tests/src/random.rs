//! Numbers and settings of tests that take different cases every time: a seed that is printed, and repeated on demand.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "an endless iterator would be one more thing to name")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to but not including `n`; 0 when `n` is.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// An index into `n` things; 0 when there are none.
    pub fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// From `lo` to `hi`, both included.
    pub fn within(&mut self, lo: i64, hi: i64) -> i64 {
        lo + self.below((hi - lo + 1) as u64) as i64
    }

    /// From 0 up to but not including 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From `low` up to but not including `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// One of a list.
    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.index(list.len())]
    }
}

/// `HIGHGROUND_SEED`, or another one every time. It is printed: give it back to see a failure again.
pub fn seed(of: &str) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let seed = setting("HIGHGROUND_SEED", now.as_nanos() as u64);
    println!("{of}: repeat with HIGHGROUND_SEED={seed}");
    seed
}

/// A number from the environment, or `otherwise`: how much of a long line is run.
pub fn setting(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |v| {
        v.parse().unwrap_or_else(|_| panic!("{variable} must be a whole number, not {v:?}"))
    })
}
