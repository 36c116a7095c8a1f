//! How are packages made, sound ones and others?

use std::io::{Cursor, Write as _};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// A zip with all members stored in one way.
pub fn zip(method: CompressionMethod, members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A zip whose members have their sizes behind them, as one that is written to a pipe.
pub fn streamed_zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new_stream(Vec::new());
    for (name, bytes) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A zip of which a member is in the directory no more.
pub fn unlisted(mut zip: Vec<u8>, name: &str) -> Vec<u8> {
    let end = zip.windows(4).rposition(|window| window == b"PK\x05\x06").unwrap();
    let half = |zip: &[u8], at: usize| usize::from(u16::from_le_bytes([zip[at], zip[at + 1]]));
    let mut at = u32::from_le_bytes(zip[end + 16..end + 20].try_into().unwrap()) as usize;
    while &zip[at + 46..at + 46 + half(&zip, at + 28)] != name.as_bytes() {
        at += 46 + half(&zip, at + 28) + half(&zip, at + 30) + half(&zip, at + 32);
    }
    let length = 46 + half(&zip, at + 28) + half(&zip, at + 30) + half(&zip, at + 32);
    let (count, size) = (half(&zip, end + 8) as u16 - 1, half(&zip, end + 12) - length);
    zip[end + 8..end + 10].copy_from_slice(&count.to_le_bytes());
    zip[end + 10..end + 12].copy_from_slice(&count.to_le_bytes());
    zip[end + 12..end + 16].copy_from_slice(&(size as u32).to_le_bytes());
    zip.drain(at..at + length);
    zip
}

/// A tar archive. Names are written as they are, dots and slashes and all.
pub fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        if name.len() < 100 {
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        } else {
            builder.append_data(&mut header, name, *bytes).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

/// An archive with the names of GNU's `ar`: long ones in a table, or at the front of the member as BSD's does.
pub fn archive(bsd: bool, members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    let add = |out: &mut Vec<u8>, name: &str, bytes: &[u8]| {
        writeln!(out, "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`", 0, 0, 0, 644, bytes.len()).unwrap();
        out.extend(bytes);
        if bytes.len() % 2 == 1 {
            out.push(b'\n');
        }
    };
    let table: String = members.iter().map(|(name, _)| format!("{name}/\n")).collect();
    if !bsd {
        add(&mut out, "//", table.as_bytes());
    }
    for (name, bytes) in members {
        if bsd {
            add(&mut out, &format!("#1/{}", name.len()), &[name.as_bytes(), bytes].concat());
        } else {
            add(&mut out, &format!("/{}", table.find(&format!("{name}/")).unwrap()), bytes);
        }
    }
    out
}

/// A thin archive of files.
pub fn thin(names: &[&str]) -> Vec<u8> {
    let mut table: String = names.iter().map(|name| format!("{name}/\n")).collect();
    if table.len() % 2 == 1 {
        table.push('\n');
    }
    let mut out = b"!<thin>\n".to_vec();
    let header = |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
    out.extend(header("//", table.len()).bytes());
    out.extend(table.bytes());
    for name in names {
        out.extend(header(&format!("/{}", table.find(&format!("{name}/")).unwrap()), 10).bytes());
    }
    out
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

pub fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 3).unwrap()
}
