//! Which hardware does an IP version name?
//!
//! Intel GPUs carry a GMDID: ten bits of architecture, eight of release, eight reserved, six of revision
//! (`HardwareIpVersion` in intel/compute-runtime `shared/source/helpers/hw_ip_version.h`). Written `12.55.8`.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt;

/// The IP version of an Intel GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct IpVersion {
    /// The architecture, 10 bits.
    pub architecture: u16,
    /// The release, 8 bits.
    pub release: u8,
    /// The revision, 6 bits.
    pub revision: u8,
}

impl IpVersion {
    /// Reads `12.55.8` or `12_55_8`; none for anything else, and for numbers that do not fit.
    pub fn parse(text: &str) -> Option<IpVersion> {
        let mut parts = text.split(['.', '_']);
        let mut next = || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (architecture, release, revision) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?);
        let fits = architecture < 1 << 10 && revision < 1 << 6;
        (parts.next().is_none() && fits).then_some(IpVersion { architecture, release, revision })
    }

    /// The version that a GMDID stands for.
    pub fn of_gmdid(gmdid: u32) -> IpVersion {
        let [low, _, _, _] = gmdid.to_le_bytes();
        let [release, _, _, _] = (gmdid >> 14).to_le_bytes();
        IpVersion { architecture: u16::try_from(gmdid >> 22).unwrap_or(u16::MAX), release, revision: low & 0x3f }
    }

    /// The GMDID.
    pub fn gmdid(self) -> u32 {
        u32::from(self.architecture) << 22 | u32::from(self.release) << 14 | u32::from(self.revision)
    }
}

impl Serialize for IpVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.architecture, self.release, self.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_number_agree() {
        // Pairs from intel/compute-runtime third_party/aot_config_headers/platforms.h.
        for (text, gmdid) in [("12.55.8", 0x030d_c008), ("12.0.0", 0x0300_0000), ("35.11.0", 0x08c2_c000)] {
            let version = IpVersion::parse(text).unwrap();
            assert_eq!(
                (version.gmdid(), IpVersion::of_gmdid(gmdid), version.to_string()),
                (gmdid, version, text.into())
            );
        }
        assert_eq!(IpVersion::parse("12_55_8"), IpVersion::parse("12.55.8"));
        for bad in ["", "12", "12.55", "12.55.8.1", "12.55.64", "1024.0.0", "12.256.0", "12.-1.0", "+1.2.3", "a.b.c"] {
            assert_eq!(IpVersion::parse(bad), None, "{bad}");
        }
    }
}
