//! The dictionary of a NumPy header. Owns its grammar, which is a small part of Python's: never more.

/// The most axes that NumPy has.
const MAX_AXES: usize = 64;

/// A header's three keys.
#[derive(Debug, PartialEq)]
pub(super) struct Dict {
    pub(super) descr: String,
    pub(super) fortran: bool,
    pub(super) shape: Vec<u64>,
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order, each once.
pub(super) fn parse(text: &[u8]) -> Result<Dict, String> {
    let mut p = Parser { text, at: 0 };
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    p.expect(b'{')?;
    while !p.take(b'}') {
        let key = p.string()?;
        p.expect(b':')?;
        let again = match &*key {
            "descr" => descr.replace(p.descr()?).is_some(),
            "fortran_order" => fortran.replace(p.boolean()?).is_some(),
            "shape" => shape.replace(p.shape()?).is_some(),
            _ => {
                return Err(format!(
                    "expected descr, fortran_order or shape, found {}",
                    key.escape_default()
                ));
            }
        };
        if again {
            return Err(format!("expected each key once, found {key} again"));
        }
        if !p.take(b',') {
            p.expect(b'}')?;
            break;
        }
    }
    p.space();
    if p.at != text.len() {
        return Err(p.wrong("nothing after the dictionary"));
    }
    match (descr, fortran, shape) {
        (Some(descr), Some(fortran), Some(shape)) => Ok(Dict { descr, fortran, shape }),
        _ => Err("expected the keys descr, fortran_order and shape, found some of them missing".to_owned()),
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn wrong(&self, what: &str) -> String {
        let rest = &self.text[self.at.min(self.text.len())..];
        let shown: String =
            rest.iter().take(20).flat_map(|&b| std::ascii::escape_default(b)).map(char::from).collect();
        format!("expected {what} at byte {}, found \"{shown}\"", self.at)
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.take(byte) { Ok(()) } else { Err(self.wrong(&format!("'{}'", char::from(byte)))) }
    }

    fn string(&mut self) -> Result<String, String> {
        self.space();
        let rest = &self.text[self.at..];
        let ended = match rest {
            [quote @ (b'\'' | b'"'), rest @ ..] => rest.iter().position(|b| b == quote),
            _ => None,
        };
        let Some(length) = ended else { return Err(self.wrong("a string")) };
        let bytes = &rest[1..=length];
        if bytes.contains(&b'\\') {
            return Err(self.wrong("a string without backslashes"));
        }
        self.at += length + 2;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    fn descr(&mut self) -> Result<String, String> {
        self.space();
        if self.text.get(self.at) == Some(&b'[') {
            return Err(self.wrong("one element type, not records"));
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.space();
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            if shape.len() == MAX_AXES {
                return Err(self.wrong(&format!("at most {MAX_AXES} axes")));
            }
            shape.push(self.length()?);
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn length(&mut self) -> Result<u64, String> {
        self.space();
        let rest = &self.text[self.at..];
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[..digits]).ok().and_then(|t| t.parse().ok());
        let number = number.ok_or_else(|| self.wrong("the length of an axis"))?;
        self.at += digits;
        // Python 2 wrote long integers with an L.
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
        Ok(number)
    }
}
