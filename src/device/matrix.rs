//! Which matrix operations does a target have, and does one of them do what a kernel asks for?
//!
//! A device reports combinations (`sycl::ext::oneapi::experimental::info::device::matrix_combinations`): four element
//! types and three sizes, each fixed or a maximum. Kernels record what they use as texts `type,use,rows,cols` and
//! `A,B,C,D,M,K,N` (DPC++ `sycl/doc/design/PropertySets.md`); the rules are the runtime's (`checkDevSupportJointMatrix`
//! and `checkDevSupportJointMatrixMad` in DPC++ `sycl/source/detail/program_manager/program_manager.cpp`).

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt;

/// A size of a combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Exactly this size.
    Exactly(u32),
    /// Any size up to this.
    UpTo(u32),
}

impl Extent {
    fn takes(self, size: u32) -> bool {
        match self {
            Extent::Exactly(own) => own == size,
            Extent::UpTo(most) => size <= most,
        }
    }
}

/// Element types in the order A, B, C, D and sizes M, N, K: `D[MxN] = A[MxK] * B[KxN] + C[MxN]`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct Combination {
    /// Element types of A, B, C and D, as in `matrix_type`.
    pub(crate) types: [String; 4],
    /// M, N and K.
    pub(crate) sizes: [Extent; 3],
}

/// Names of `sycl::ext::oneapi::experimental::matrix::matrix_type`.
pub(crate) const TYPES: [&str; 13] = [
    "bf16", "fp16", "tf32", "fp32", "fp64", "sint8", "sint16", "sint32", "sint64", "uint8", "uint16", "uint32",
    "uint64",
];

impl Combination {
    /// Reads `bf16 bf16 fp32 fp32 <=8x16x16`: types of A, B, C, D, then M, N, K.
    pub(crate) fn parse(text: &str) -> Option<Combination> {
        let mut words = text.split_ascii_whitespace();
        let mut kind = || words.next().filter(|word| TYPES.contains(word)).map(str::to_owned);
        let types = [kind()?, kind()?, kind()?, kind()?];
        let mut sizes = words.next()?.split('x').map(|size| match size.strip_prefix("<=") {
            Some(most) => most.parse().ok().map(Extent::UpTo),
            None => size.parse().ok().map(Extent::Exactly),
        });
        let mut size = || sizes.next().flatten();
        let found = Combination { types, sizes: [size()?, size()?, size()?] };
        (sizes.next().is_none() && words.next().is_none()).then_some(found)
    }

    /// Whether a matrix `type,use,rows,cols` is one of this combination's.
    pub(crate) fn takes_matrix(&self, kind: &str, usage: &str, rows: u32, columns: u32) -> bool {
        let ([a, b, c, d], [m, n, k]) = (&self.types, self.sizes);
        match usage {
            "a" => a == kind && m.takes(rows) && k.takes(columns),
            "b" => b == kind && k.takes(rows) && n.takes(columns),
            "accumulator" => (c == kind || d == kind) && m.takes(rows) && n.takes(columns),
            _ => false,
        }
    }
}

impl Serialize for Combination {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |size: &Extent| match size {
            Extent::Exactly(size) => size.to_string(),
            Extent::UpTo(most) => format!("<={most}"),
        };
        write!(f, "{} {}", self.types.join(" "), self.sizes.each_ref().map(size).join("x"))
    }
}

/// The first matrix of a recorded `joint_matrix` text that no combination takes; what cannot be read is one too.
pub(crate) fn unsupported_matrix<'t>(text: &'t str, combinations: &[Combination]) -> Option<&'t str> {
    text.split(';').filter(|one| !one.is_empty()).find(|one| {
        let mut parts = one.split(',').map(str::trim);
        let mut next = || parts.next().unwrap_or_default();
        let (kind, usage, rows, columns) = (plain(next()), plain(next()), next().parse(), next().parse());
        let (Ok(rows), Ok(columns)) = (rows, columns) else { return true };
        !combinations.iter().any(|combination| combination.takes_matrix(kind, usage, rows, columns))
    })
}

/// The first operation of a recorded `joint_matrix_mad` text that no combination takes; what cannot be read is one too.
pub(crate) fn unsupported_mad<'t>(text: &'t str, combinations: &[Combination]) -> Option<&'t str> {
    text.split(';').filter(|one| !one.is_empty()).find(|one| {
        let parts: Vec<&str> = one.split(',').map(str::trim).collect();
        let [a, b, c, d, m, k, n] = parts.as_slice() else { return true };
        let (Ok(m), Ok(k), Ok(n)) = (m.parse(), k.parse(), n.parse()) else { return true };
        let types = [a, b, c, d].map(|kind| plain(kind));
        !combinations.iter().any(|own| {
            let [own_m, own_n, own_k] = own.sizes;
            own.types.iter().eq(types.iter()) && own_m.takes(m) && own_n.takes(n) && own_k.takes(k)
        })
    })
}

/// An enumerator without its type: `matrix_type::bf16` is `bf16`.
fn plain(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xe() -> Vec<Combination> {
        ["sint8 sint8 sint32 sint32 <=8x16x32", "bf16 bf16 fp32 fp32 <=8x16x16"]
            .map(|t| Combination::parse(t).unwrap())
            .into()
    }

    #[test]
    fn reads_its_own_text() {
        for text in ["bf16 bf16 fp32 fp32 <=8x16x16", "fp64 fp64 fp64 fp64 8x8x4"] {
            assert_eq!(Combination::parse(text).unwrap().to_string(), text);
        }
        for bad in [
            "",
            "bf16",
            "bf16 bf16 fp32 fp32",
            "bf16 bf16 fp32 fp32 8x8",
            "bf16 bf16 fp32 fp32 8x8x8x8",
            "half half half half 8x8x8",
            "bf16 bf16 fp32 fp32 8x8x8 x",
        ] {
            assert_eq!(Combination::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_are_fixed_or_a_maximum() {
        let text =
            "matrix_type::bf16,use::a,8,16;matrix_type::bf16,use::b,16,16;matrix_type::fp32,use::accumulator,8,16";
        assert_eq!(unsupported_matrix(text, &xe()), None);
        assert_eq!(unsupported_matrix("matrix_type::bf16,use::a,9,16", &xe()), Some("matrix_type::bf16,use::a,9,16"));
        assert!(unsupported_matrix("matrix_type::bf16,use::a,3,16", &xe()).is_none());
        assert!(unsupported_matrix("matrix_type::bf16,use::b,16,8", &xe()).is_some());
        assert!(unsupported_matrix("matrix_type::fp64,use::a,8,16", &xe()).is_some());
        assert!(unsupported_matrix("matrix_type::bf16,use::a,many,16", &xe()).is_some());
        assert!(unsupported_matrix("", &[]).is_none());
    }

    #[test]
    fn an_operation_is_one_combination_as_a_whole() {
        let mad = |a: &str, c: &str, m, k, n| {
            format!("matrix_type::{a},matrix_type::{a},matrix_type::{c},matrix_type::{c},{m},{k},{n}")
        };
        assert!(unsupported_mad(&mad("bf16", "fp32", 8, 16, 16), &xe()).is_none());
        assert!(unsupported_mad(&mad("sint8", "sint32", 8, 32, 16), &xe()).is_none());
        // Each matrix alone is fine, the product is not.
        assert!(unsupported_mad(&mad("bf16", "sint32", 8, 16, 16), &xe()).is_some());
        assert!(unsupported_mad("bf16,bf16", &xe()).is_some());
    }
}
