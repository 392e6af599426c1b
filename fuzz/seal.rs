//! Puts checksums right, in bytes that need not be in any order: what lies outside the bytes is left alone.

use highground_terrain::format::payload::{DirectoryLayout, Head, Section, SectionEntry};

/// The blake3 hash of everything before the last 32 bytes, as the last 32 bytes.
pub(crate) fn last_32(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut::<32>() {
        *sum = *blake3::hash(body).as_bytes();
    }
}

fn get<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    get(bytes, at).map(u64::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    get(bytes, at).map(u32::from_le_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    get(bytes, at).map(|b| usize::from(u16::from_le_bytes(b)))
}

fn part(bytes: &[u8], at: u64, length: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(at).ok()?..usize::try_from(at.checked_add(length)?).ok()?)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) -> Option<()> {
    bytes.get_mut(at..at.checked_add(value.len())?)?.copy_from_slice(value);
    Some(())
}

fn hash_into(bytes: &mut [u8], at: usize, from: u64, length: u64, keep: usize) -> Option<()> {
    let sum = *blake3::hash(part(bytes, from, length)?).as_bytes();
    put(bytes, at, &sum[..keep])
}

const PREFIX: usize = 256;
const CONFIG: (u64, u64) = (176, 51);

/// The sums of a payload's head of version 2, whose bytes start the slice: its length, its configuration's, its own.
pub(crate) fn head(bytes: &mut [u8]) -> Option<()> {
    hash_into(bytes, 32, CONFIG.0, CONFIG.1, 32)?;
    let sections = u32_at(bytes, 24)?.min(64) as usize;
    let body = PREFIX + sections * 64;
    put(bytes, 12, &(body as u32 + 32).to_le_bytes())?;
    hash_into(bytes, body, 0, body as u64, 32)
}

/// Every sum of a payload of version 2, bodies first, and its length. Where the head is wrong beyond sums, only its own.
pub(crate) fn payload(bytes: &mut [u8]) -> Option<()> {
    let length = bytes.len() as u64;
    put(bytes, 16, &length.to_le_bytes())?;
    head(bytes)?;
    let head_bytes = u32_at(bytes, 12)? as usize;
    if let Ok(decoded) = Head::decode(&bytes[..head_bytes], length)
        && let Ok(layout) = DirectoryLayout::of(&decoded)
        && let Some(directory) = decoded.section(Section::Directory)
    {
        let _ = root(bytes, directory, &layout);
        for (i, s) in decoded.sections.iter().enumerate().filter(|(_, s)| s.offset > 0) {
            let _ = hash_into(bytes, PREFIX + i * 64 + 32, s.offset, s.length, 32);
        }
        head(bytes)?;
    }
    Some(())
}

fn root(bytes: &mut [u8], directory: &SectionEntry, layout: &DirectoryLayout) -> Option<()> {
    let (at, pages) = (directory.offset as usize, directory.length.checked_sub(32)? / 32);
    for page in 0..pages.min(u64::from(layout.pages())) as u32 {
        let offset = u64_at(bytes, at + page as usize * 32)?;
        let length = layout.page_bytes(page);
        if part(bytes, offset, length as u64).is_none() {
            continue;
        }
        let slots = layout.slots(layout.page_blocks(page).0).len();
        for entry in (offset as usize..offset as usize + length).step_by(ENTRY + slots * SLOT) {
            for i in 0..slots {
                let _ = slot(bytes, entry + ENTRY + i * SLOT);
            }
        }
        hash_into(bytes, at + page as usize * 32 + 16, offset, length as u64, 16)?;
    }
    let body = at + directory.length as usize - 32;
    hash_into(bytes, body, at as u64, (body - at) as u64, 32)
}

/// Bytes of an entry of the directory without its slots, and of a slot.
const ENTRY: usize = 20;
const SLOT: usize = 32;

fn slot(bytes: &mut [u8], at: usize) -> Option<()> {
    let (offset, length) = (u64_at(bytes, at)?, u64::from(u32_at(bytes, at + 8)?));
    if length > 0 { hash_into(bytes, at + 16, offset, length, 16) } else { None }
}

/// Every sum of a payload of version 1, bodies first, and its length.
pub(crate) fn payload_v1(bytes: &mut [u8]) -> Option<()> {
    let length = bytes.len() as u64;
    put(bytes, 16, &length.to_le_bytes())?;
    let (at, length) = (u64_at(bytes, 32)?, u64_at(bytes, 40)?);
    let body = usize::try_from(at.checked_add(length)?.checked_sub(32)?).ok()?;
    if at < body as u64 && body < bytes.len() {
        for entry in (at as usize..body).step_by(48) {
            let (offset, length) = (u64_at(bytes, entry + 8)?, u64::from(u32_at(bytes, entry + 16)?));
            let _ = hash_into(bytes, entry + 32, offset, length, 16);
        }
        let _ = hash_into(bytes, body, at, body as u64 - at, 32);
    }
    hash_into(bytes, 64, 128, 51, 32)?;
    let header = u32_at(bytes, 12)? as usize;
    let body = header.checked_sub(32)?;
    hash_into(bytes, body, 0, body as u64, 32)
}

/// The sum of a layer pack: of everything but itself.
pub(crate) fn layers(bytes: &mut [u8]) -> Option<()> {
    let sum = *blake3::hash(&[bytes.get(..32)?, bytes.get(64..)?].concat()).as_bytes();
    put(bytes, 32, &sum)
}

/// CRC-32 as PNG and zip have it.
fn crc32(parts: &[&[u8]]) -> u32 {
    let mut crc = !0u32;
    for &byte in parts.iter().copied().flatten() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ (0xEDB8_8320 & 0u32.wrapping_sub(crc & 1));
        }
    }
    !crc
}

/// A PNG with the sums of its chunks put right; `None` where there is no chunk.
pub(crate) fn png(data: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = data.to_vec();
    let mut at = 8;
    while let Some(length) = get(&bytes, at).map(u32::from_be_bytes) {
        let end = at.checked_add(8)?.checked_add(length as usize)?;
        let Some(chunk) = bytes.get(at + 4..end) else { break };
        let crc = crc32(&[chunk]);
        if put(&mut bytes, end, &crc.to_be_bytes()).is_none() {
            break;
        }
        at = end + 4;
    }
    (at > 8).then_some(bytes)
}

/// A zip archive with the sums of its stored members put right; `None` where there is none. Packed members keep theirs.
pub(crate) fn zip(data: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = data.to_vec();
    let mut changed = false;
    let mut at = 0;
    while let Some(found) = bytes.get(at..)?.windows(4).position(|w| w == b"PK\x01\x02") {
        at += found;
        let Some(local) = u32_at(&bytes, at + 42).map(|v| v as usize) else { break };
        let stored = u16_at(&bytes, at + 10) == Some(0);
        let length = u32_at(&bytes, at + 20)?;
        at += 4;
        let (Some(name), Some(extra)) = (u16_at(&bytes, local + 26), u16_at(&bytes, local + 28)) else {
            continue;
        };
        let first = local + 30 + name + extra;
        if let (true, Some(body)) = (stored, part(&bytes, first as u64, length.into())) {
            let crc = crc32(&[body]).to_le_bytes();
            put(&mut bytes, at - 4 + 16, &crc)?;
            put(&mut bytes, local + 14, &crc)?;
            changed = true;
        }
    }
    changed.then_some(bytes)
}
