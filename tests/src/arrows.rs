//! The checker of the house's arrows: which package, and which module of the terrain crate, may lean on which.
//!
//! Works on text: manifests, and sources without comments, strings and `#[cfg(test)]` items. Owns the rules as tables.
//! Never reads files; the test that uses it does.

/// What a package may depend on within the house, and words that must not occur in its manifest or sources.
pub struct Room {
    /// Folder at the root.
    pub folder: &'static str,
    /// Members of the workspace that it may depend on, without the `highground-` prefix.
    pub members: &'static [&'static str],
    /// Crates that it must not name, wherever they come from.
    pub strangers: &'static [&'static str],
}

const VULKAN: [&str; 3] = ["vulkano", "ash", "naga"];

/// The rooms of the house.
pub const ROOMS: [Room; 6] = [
    Room {
        folder: "terrain",
        members: &[],
        strangers: &[
            "vulkano",
            "ash",
            "naga",
            "hecs",
            "rapier3d_f64",
            "rapier3d",
            "tokio",
            "mio",
            "socket2",
            "quinn",
            "web_transport_quinn",
            "rustls",
        ],
    },
    Room { folder: "gpu", members: &["terrain"], strangers: &["hecs", "rapier3d_f64", "tokio", "quinn"] },
    Room { folder: "game", members: &["terrain"], strangers: &VULKAN },
    Room { folder: "tools", members: &["terrain", "gpu", "game"], strangers: &[] },
    Room { folder: "tests", members: &["terrain", "gpu", "game", "tools"], strangers: &[] },
    Room { folder: "benches", members: &["terrain", "gpu", "game", "tools"], strangers: &[] },
];

/// The one file outside `gpu` that may say `unsafe`: the tests' counting allocator.
pub const COUNTING_ALLOCATOR: &str = "tests/src/counting_allocator.rs";

/// The terrain crate's modules, low before high, with the modules that each may name.
pub const MODULES: &[(&str, &[&str])] = &[
    ("coord", &[]),
    ("state", &[]),
    ("height", &["coord"]),
    ("config", &["coord", "height"]),
    ("triangle", &["coord"]),
    ("kernel", &["coord", "height", "config", "triangle"]),
    ("content", &["config", "kernel"]),
    ("compute", &["coord", "kernel"]),
    ("pass", &["coord", "height", "config", "triangle", "content", "kernel", "compute"]),
    ("layers", &["coord", "config", "kernel", "compute", "pass"]),
    // Blocks, the ground made of them and their stored form know each other; nothing above them is known to any.
    ("format", &["triangle", "coord", "height", "state", "config", "kernel", "content", "surface", "store"]),
    ("surface", &["triangle", "coord", "height", "state", "config", "kernel", "content", "format", "store"]),
    ("store", &["triangle", "coord", "height", "state", "config", "kernel", "content", "format", "surface"]),
    (
        "foliage",
        &[
            "coord", "height", "config", "triangle", "content", "kernel", "compute", "pass", "surface",
            "store",
        ],
    ),
    ("disk", &[]),
    ("image", &["disk", "store"]),
    (
        "folder",
        &[
            "triangle", "coord", "height", "config", "kernel", "content", "format", "surface", "store",
            "disk", "image",
        ],
    ),
    ("layer_images", &["content", "format", "image"]),
    ("pack", &["content", "format", "store", "disk", "layer_images"]),
    (
        "lod",
        &["triangle", "coord", "height", "config", "kernel", "compute", "pass", "format", "surface", "store"],
    ),
    ("collide", &["coord", "height", "state", "config", "content", "surface"]),
    ("nav", &["triangle", "coord", "config", "surface"]),
    ("runtime", &["coord", "height", "state", "config", "format", "surface", "store", "collide"]),
    (
        "import",
        &[
            "coord", "height", "state", "config", "kernel", "content", "compute", "layers", "format",
            "surface", "store",
        ],
    ),
    ("export", &["coord", "height", "state", "config", "surface", "store", "import"]),
    (
        "cook",
        &[
            "coord", "height", "state", "config", "kernel", "content", "compute", "layers", "format",
            "surface", "store", "import", "image",
        ],
    ),
    (
        "page",
        &[
            "coord",
            "height",
            "config",
            "kernel",
            "content",
            "compute",
            "pass",
            "layers",
            "surface",
            "store",
            "image",
            "layer_images",
            "cook",
        ],
    ),
];

/// The terrain modules that may open files.
const FILE_MODULES: &[&str] = &["store", "import", "export", "cook", "disk", "image", "folder", "pack"];

/// What a manifest breaks: members it must not depend on, strangers it names. One line each.
pub fn check_manifest(room: &Room, manifest: &str) -> Vec<String> {
    let mut broken = Vec::new();
    let mut in_dependencies = false;
    for (number, line) in manifest.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            in_dependencies = section.split('.').any(|part| part.ends_with("dependencies"));
            // `[dependencies.name]` names its crate in the header.
            if let Some((_, name)) = section.split_once("dependencies.") {
                broken.extend(check_dependency(room, name, number));
            }
            continue;
        }
        if !in_dependencies {
            continue;
        }
        if let Some((key, value)) = line.split_once('=') {
            let name = key.trim().split('.').next().unwrap_or_default();
            broken.extend(check_dependency(room, name, number));
            // `alias = { package = "name" }`
            if let Some((_, rest)) = value.split_once("package") {
                let name = rest.split('"').nth(1).unwrap_or_default();
                broken.extend(check_dependency(room, name, number));
            }
        }
    }
    broken
}

fn check_dependency(room: &Room, name: &str, number: usize) -> Option<String> {
    let name = name.trim().trim_matches('"');
    let place = format!("{}/Cargo.toml:{}", room.folder, number + 1);
    if let Some(member) = name.strip_prefix("highground-") {
        return (!room.members.contains(&member)).then(|| format!("{place}: must not depend on {name}"));
    }
    // The shaders are compiled by the build script, so naga is the GPU room's own.
    let stranger = room.strangers.contains(&name.replace('-', "_").as_str());
    stranger.then(|| format!("{place}: must not depend on {name}"))
}

/// Test modules in files of their own are named `tests.rs` or `…_tests.rs`.
fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == "tests.rs" || name.ends_with("_tests.rs")
}

/// What a source file breaks. `path` is relative to the root, with `/`. One line each.
pub fn check_source(path: &str, source: &str) -> Vec<String> {
    let code = without_tests(&blank(source));
    let tokens = tokens(&code);
    let mut broken = Vec::new();
    let mut say = |line: usize, what: String| broken.push(format!("{path}:{line}: {what}"));
    let folder = path.split('/').next().unwrap_or_default();
    let room = ROOMS.iter().find(|r| r.folder == folder);
    let production = path.split('/').nth(1) == Some("src") && !is_test_file(path);
    let terrain_module = if production && folder == "terrain" { module_of(path) } else { None };
    for (i, &(line, word)) in tokens.iter().enumerate() {
        if word == "unsafe" && folder != "gpu" && path != COUNTING_ALLOCATOR {
            say(line, "unsafe code outside the gpu room".to_owned());
        }
        let Some(room) = room else { continue };
        if let Some(member) = word.strip_prefix("highground_") {
            let known = ROOMS.iter().any(|r| r.folder == member);
            if known && member != folder && !room.members.contains(&member) {
                say(line, format!("must not use {word}"));
            }
        }
        // A crate is named at the start of a path.
        let starts_path = at(&tokens, i + 1) == "::" && at(&tokens, i.wrapping_sub(1)) != "::";
        let extern_use = at(&tokens, i.wrapping_sub(1)) == "use" || starts_path;
        if extern_use && room.strangers.contains(&word) {
            say(line, format!("must not use {word}"));
        }
        if let Some(module) = terrain_module {
            if word == "std" && std_names(&tokens[i..]).contains(&"net") {
                say(line, "the terrain opens no sockets".to_owned());
            }
            if word == "std" && !FILE_MODULES.contains(&module) && std_names(&tokens[i..]).contains(&"fs") {
                say(line, format!("{module} must not open files: only {} do", FILE_MODULES.join(", ")));
            }
            for target in root_names(path, &tokens, i) {
                let allowed = MODULES.iter().find(|m| m.0 == module).map_or(&[][..], |m| m.1);
                let known = MODULES.iter().any(|m| m.0 == target);
                if known && target != module && !allowed.contains(&target) {
                    say(line, format!("{module} must not lean on {target}"));
                }
            }
        }
    }
    broken
}

/// The top-level module that a file of the terrain crate belongs to; `None` for the crate's root.
fn module_of(path: &str) -> Option<&str> {
    let name = path.split('/').nth(2)?.trim_end_matches(".rs");
    (name != "lib").then_some(name)
}

fn at<'a>(tokens: &[(usize, &'a str)], i: usize) -> &'a str {
    tokens.get(i).map_or("", |t| t.1)
}

/// The modules of std named by a path that starts at the first token: `std::fs` or `std::{fs, io}`.
fn std_names<'a>(tokens: &[(usize, &'a str)]) -> Vec<&'a str> {
    if at(tokens, 1) == "::" { names_after(&tokens[2..]) } else { Vec::new() }
}

/// The crate's top-level modules named by a path that starts at token `i` with `crate` or enough `super`s.
fn root_names<'a>(path: &str, tokens: &[(usize, &'a str)], i: usize) -> Vec<&'a str> {
    let mut next = i;
    match at(tokens, i) {
        "crate" => next += 2,
        "super" if at(tokens, i.wrapping_sub(1)) != "::" => {
            let mut supers = 0;
            while at(tokens, next) == "super" && at(tokens, next + 1) == "::" {
                supers += 1;
                next += 2;
            }
            if supers < depth(path) {
                return Vec::new();
            }
        }
        _ => return Vec::new(),
    }
    if at(tokens, next.wrapping_sub(1)) == "::" { names_after(&tokens[next..]) } else { Vec::new() }
}

/// How many `super`s lead from a file's module to the crate's root.
fn depth(path: &str) -> usize {
    let parts = path.split('/').skip(2);
    parts.filter(|part| *part != "mod.rs").count()
}

/// The first name of a path, or the first names of every branch of a braced group.
fn names_after<'a>(tokens: &[(usize, &'a str)]) -> Vec<&'a str> {
    if at(tokens, 0) != "{" {
        return vec![at(tokens, 0)];
    }
    let mut names = Vec::new();
    let mut depth = 0;
    for (i, &(_, word)) in tokens.iter().enumerate() {
        match word {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if depth == 1 && matches!(at(tokens, i - 1), "{" | ",") => names.push(word),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// Words and punctuation with their line; `::` is one token.
fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let len = match word {
                0 if rest.starts_with("::") => 2,
                0 => c.len_utf8(),
                n => n,
            };
            if !c.is_whitespace() {
                out.push((number + 1, &rest[..len]));
            }
            rest = &rest[len..];
        }
    }
    out
}

/// The source with comments, strings and character literals turned into spaces; lines stay where they are.
fn blank(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let after_word = out.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let len = blank_len(rest, after_word);
        if len == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            out.extend(rest[..len].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[len..];
        }
    }
    out
}

/// Bytes of the comment or literal that starts here, or 0.
fn blank_len(text: &str, after_word: bool) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment_len(text);
    }
    if text.starts_with('"') {
        return quoted_len(text, '"');
    }
    if !after_word && let Some(n) = raw_string_len(text) {
        return n;
    }
    if let Some(body) = text.strip_prefix('\'') {
        // A lifetime has no closing quote one character on.
        let mut chars = body.char_indices();
        let (first, second) = (chars.next(), chars.next());
        return match (first, second) {
            (Some((_, '\\')), _) => quoted_len(text, '\''),
            (Some(_), Some((n, '\''))) => n + 2,
            _ => 0,
        };
    }
    0
}

/// Bytes of the raw string, or raw byte string, that starts here.
fn raw_string_len(text: &str) -> Option<usize> {
    let quoted = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let hashes = quoted.len() - quoted.trim_start_matches('#').len();
    let body = quoted[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let rest = body.find(&end).map_or("", |n| &body[n + end.len()..]);
    Some(text.len() - rest.len())
}

fn block_comment_len(text: &str) -> usize {
    let (mut depth, mut i) = (0, 0);
    while i < text.len() {
        let rest = &text.as_bytes()[i..];
        match rest {
            [b'/', b'*', ..] => (depth, i) = (depth + 1, i + 2),
            [b'*', b'/', ..] => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    text.len()
}

fn quoted_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return i + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Blanked code with every `#[cfg(test)]` item turned into spaces, and all of it where the file is test code.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find(MARK) {
        out.push_str(&rest[..start]);
        let item = &rest[start..];
        let mut depth = 0;
        let mut end = item.len();
        for (i, c) in item.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(c, '}' | ';') {
                end = i + 1;
                break;
            }
        }
        out.extend(item[..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &item[end..];
    }
    out.push_str(rest);
    out
}
