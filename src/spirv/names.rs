//! What are capabilities and generators called?

use rspirv::spirv::Capability;
use std::borrow::Cow;
use std::sync::OnceLock;

/// Bound above the largest capability number of the registry.
const CAPABILITIES: u32 = 1 << 13;

/// Returns the name of a capability, or its number where the grammar does not have it.
pub fn capability(number: u32) -> Cow<'static, str> {
    // Formatting a name is slower than looking it up, and a library has tens of thousands of capabilities.
    static NAMES: OnceLock<Vec<(u32, String)>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let known = |number| Some((number, format!("{:?}", Capability::from_u32(number)?)));
        (0..CAPABILITIES).filter_map(known).collect()
    });
    let place = names.binary_search_by_key(&number, |(known, _)| *known);
    match place.ok().and_then(|place| names.get(place)) {
        Some((_, name)) => Cow::Borrowed(name),
        None => Cow::Owned(number.to_string()),
    }
}

/// Returns the tool that wrote a module, from the generator word (SPIR-V registry, `spir-v.xml`): the tool in the high
/// half, its version in the low half.
pub fn generator(word: u32) -> String {
    let tool = match word >> 16 {
        0 => "unknown",
        6 => "Khronos LLVM/SPIR-V Translator",
        7 => "Khronos SPIR-V Tools Assembler",
        8 => "Khronos Glslang Reference Front End",
        14 => "Khronos SPIR-V Tools Assembler",
        15 => "rspirv",
        17 => "Khronos SPIR-V Tools Linker",
        43 => "LLVM SPIR-V Backend",
        tool => return format!("tool {tool} version {}", word & 0xffff),
    };
    format!("{tool} {}", word & 0xffff)
}

#[cfg(test)]
mod tests {
    #[test]
    fn unknown_numbers_stay_numbers() {
        assert_eq!(super::capability(10), "Float64");
        assert_eq!(super::capability(6146), "6146");
        assert_eq!(super::generator(0x0006_000e), "Khronos LLVM/SPIR-V Translator 14");
    }
}
