//! Which compiler made this file, and for which SYCL runtime?

/// Compiler that a file names in `.comment`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Producer {
    /// Name with its short version, as the compiler wrote it, e.g. `Intel(R) oneAPI DPC++/C++ Compiler 2026.0.0`.
    pub name: String,
    /// Major version: the release year of oneAPI compilers (2026), or the LLVM major version of others.
    pub major: Option<u32>,
}

impl Producer {
    /// Finds the DPC++ compiler among the NUL-separated strings of `.comment`. Host compilers and linkers, which sign
    /// there too, are skipped.
    pub fn from_comment(comment: &[u8]) -> Option<Producer> {
        comment.split(|&byte| byte == 0).filter_map(|text| std::str::from_utf8(text).ok()).find_map(|text| {
            let known = text.contains("DPC++") || text.contains("oneAPI") || text.contains("intel/llvm");
            known.then(|| {
                let name = text.split(" (").next().unwrap_or(text).trim().to_owned();
                let major = name
                    .rsplit(' ')
                    .next()
                    .and_then(|version| version.split('.').next())
                    .and_then(|major| major.parse().ok());
                Producer { name, major }
            })
        })
    }
}

/// Returns the ABI version in the name of a SYCL runtime library: 9 for `libsycl.so.9`, `sycl9.dll` or its debug form
/// `sycl9d.dll`.
pub fn sycl_abi(library: &str) -> Option<u32> {
    if let Some(rest) = library.strip_prefix("libsycl.so.").or_else(|| library.strip_prefix("libsycl-preview.so.")) {
        return rest.split('.').next()?.parse().ok();
    }
    // File names on Windows are case-insensitive.
    let name = library.to_ascii_lowercase();
    let stem = name.strip_suffix(".dll")?.strip_prefix("sycl")?;
    let stem = stem.strip_suffix('d').unwrap_or(stem);
    stem.strip_suffix("-preview").unwrap_or(stem).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_device_compiler_among_signatures() {
        let comment = b"GCC: (conda-forge gcc 14.3.0-18) 14.3.0\0Linker: LLD 22.1.0\0Intel(R) oneAPI DPC++/C++ Compiler 2026.0.0 (2026.0.0.20260331)\0";
        let producer = Producer::from_comment(comment).unwrap();
        assert_eq!(producer.name, "Intel(R) oneAPI DPC++/C++ Compiler 2026.0.0");
        assert_eq!(producer.major, Some(2026));
        assert_eq!(Producer::from_comment(b"GCC: (GNU) 8.5.0\0"), None);
    }

    #[test]
    fn abi_from_library_name() {
        assert_eq!(sycl_abi("libsycl.so.9"), Some(9));
        assert_eq!(sycl_abi("libsycl-preview.so.8"), Some(8));
        assert_eq!(sycl_abi("libsycl.so"), None);
        assert_eq!(sycl_abi("libsyclfoo.so.9"), None);
        assert_eq!(sycl_abi("sycl9.dll"), Some(9));
        assert_eq!(sycl_abi("SYCL7d.dll"), Some(7));
        assert_eq!(sycl_abi("sycl8-preview.dll"), Some(8));
        assert_eq!(sycl_abi("sycl8-previewd.dll"), Some(8));
        assert_eq!(sycl_abi("mkl_sycl_blas.4.dll"), None);
        assert_eq!(sycl_abi("sycl.dll"), None);
    }
}
