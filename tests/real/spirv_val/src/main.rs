//! Does SPIRV-Tools accept these modules?
//!
//!   spirv_val ENVIRONMENT < LIST
//!
//! LIST names a file of modules a line: each module's length as 8 bytes, little-endian, and then the module. For each
//! module that is refused a line comes out: the file, the module's number in it from 0, and the first message.
//! ENVIRONMENT is `universal` or the version of a universal environment of SPIR-V, `1.0` to `1.6`.

use spirv_tools::TargetEnv;
use spirv_tools::val::{Validator, create};
use std::io::BufRead;

fn environment(name: &str) -> TargetEnv {
    match name {
        "1.0" => TargetEnv::Universal_1_0,
        "1.1" => TargetEnv::Universal_1_1,
        "1.2" => TargetEnv::Universal_1_2,
        "1.3" => TargetEnv::Universal_1_3,
        "1.4" => TargetEnv::Universal_1_4,
        "1.5" => TargetEnv::Universal_1_5,
        _ => TargetEnv::Universal_1_6,
    }
}

fn main() {
    let name = std::env::args().nth(1).expect("an environment");
    let validator = create(Some(environment(&name)));
    for line in std::io::stdin().lock().lines() {
        let path = line.expect("a line");
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut rest = &bytes[..];
        let mut number = 0;
        while !rest.is_empty() {
            let (length, after) = rest.split_at(8);
            let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
            let (module, after) = after.split_at(usize::try_from(length).expect("a length"));
            let words: Vec<u32> =
                module.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect();
            if let Err(error) = validator.validate(&words, None) {
                println!("{path}\t{number}\t{}", error.to_string().replace('\n', " "));
            }
            rest = after;
            number += 1;
        }
    }
}
