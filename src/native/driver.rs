//! Which Intel GPU is a target, and which forms of native code does its driver take?
//!
//! A target may be a live device under a name of its own: its IP version tells which GPU it is, and its driver's version what that
//! takes. Of older forms of code drivers take only the SPIR-V inside, where there is some.

use super::Part;
use super::intel_device::{self, XE};
use crate::device::target::{Backend, IpVersion, Target};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The first drivers that refuse patch tokens (08c086c9c166 of intel/compute-runtime); the branch for GPUs before Xe goes on
/// taking them.
const PATCH_TOKENS_UNTIL: (u32, u32) = (26, 18);
/// The first OpenCL drivers that refuse kernels which reach buffers by handles, that is bindless ones (59829aeb1151 there).
const BINDLESS_UNTIL: (u32, u32) = (24, 22);
/// The first drivers that take code for other GPUs than their own (c65b45471b08 there).
const OTHERS_SINCE: (u32, u32) = (24, 45);

/// Form of native code that some drivers refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum OldForm {
    /// Patch tokens, in place of zebin.
    PatchTokens,
    /// Zebin of bindless kernels.
    Bindless,
}

impl Serialize for OldForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.refused_by())
    }
}

impl OldForm {
    /// The drivers that refuse it, in a message.
    pub(crate) fn refused_by(self) -> &'static str {
        match self {
            OldForm::PatchTokens => "Intel's drivers since 26.18",
            OldForm::Bindless => "Intel's OpenCL driver since 24.22",
        }
    }
}

/// Native code that a driver of Intel's GPUs takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Driver {
    /// Patch tokens.
    pub(crate) patch_tokens: bool,
    /// Zebins of bindless kernels.
    pub(crate) bindless: bool,
    /// Code for other GPUs, where Intel lists them as compatible.
    pub(crate) others: bool,
    /// The revision of its GPU, where that is a live one; of one that is asked about by its name that goes by the name.
    pub(crate) revision: Option<u8>,
}

impl Driver {
    /// A driver that takes every form.
    pub(crate) const ANY: Driver = Driver { patch_tokens: true, bindless: true, others: true, revision: None };
    /// The newest drivers, by the names of the runtime's adapters.
    pub(crate) const NEWEST: [(&'static str, Driver); 2] = [
        ("level_zero", Driver { patch_tokens: false, ..Driver::ANY }),
        ("opencl", Driver { patch_tokens: false, bindless: false, ..Driver::ANY }),
    ];

    /// The driver of a target through an adapter, of which patch tokens are taken where that is not known; whether they are.
    pub(crate) fn of_target(target: &Target, adapter: Option<Backend>) -> (Driver, Option<bool>) {
        let of_xe = target.ip_versions.first().is_some_and(|version| u32::from(version.architecture) >= XE);
        let version = target.driver_version.as_deref().and_then(release);
        let before = |first: (u32, u32)| version.map(|own| own < first);
        let patch_tokens = if of_xe { before(PATCH_TOKENS_UNTIL) } else { Some(true) };
        let bindless = adapter != Some(Backend::OpenCl) || before(BINDLESS_UNTIL) == Some(true);
        let others = before(OTHERS_SINCE) != Some(true);
        let revision = live_version(target).map(|version| version.revision);
        (Driver { patch_tokens: patch_tokens != Some(false), bindless, others, revision }, patch_tokens)
    }

    /// Returns the same driver, with every form of code.
    pub(crate) fn with_any_form(self) -> Driver {
        Driver { patch_tokens: true, bindless: true, ..self }
    }

    /// Whether it takes the form of a part.
    pub(super) fn takes(self, part: &Part) -> bool {
        match part.old_form {
            Some(OldForm::PatchTokens) => self.patch_tokens,
            Some(OldForm::Bindless) => self.bindless,
            None => true,
        }
    }
}

/// Year and week of a driver's version as OpenCL tells it on Linux (`26.27.039122`). Level Zero (`1.14.37435`) and Windows
/// (`31.0.101.5522`) have others, which tell no week.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map_while(|number| number.parse().ok());
    let (year, week) = (numbers.next()?, numbers.next()?);
    ((18..100).contains(&year) && (1..54).contains(&week)).then_some((year, week))
}

/// The IP version of a target that is no GPU by its name.
fn live_version(target: &Target) -> Option<&IpVersion> {
    target.ip_versions.first().filter(|_| !intel_device::is_known(&target.name))
}

/// The Intel GPU that a target is, as native code and the runtime name it: of a live device that of its IP version.
pub(crate) fn gpu_of(target: &Target) -> Cow<'_, str> {
    let by_version = || intel_device::of_gmdid(live_version(target)?.gmdid()).pop();
    by_version().map_or(Cow::Borrowed(&target.name), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drivers_version_tells_what_it_takes_and_the_ip_version_the_gpu() {
        let device = |ip, driver: &str| Target {
            name: "live-x".to_owned(),
            ip_versions: IpVersion::parse(ip).into_iter().collect(),
            driver_version: Some(driver.to_owned()).filter(|driver| !driver.is_empty()),
            ..Target::default()
        };
        assert_eq!(gpu_of(&device("12.60.7", "")), "intel_gpu_pvc");
        for (ip, driver, patch_tokens, bindless) in [
            ("12.60.7", "26.27.039122", Some(false), false),
            ("12.60.7", "26.14.37833", Some(true), false),
            ("12.60.7", "22.43.24595.41", Some(true), true),
            ("12.60.7", "", None, false),
            ("12.60.7", "1.14.37435", None, false),
            ("12.60.7", "31.0.101.5522", None, false),
            ("9.0.9", "24.35.30872.22", Some(true), false),
        ] {
            let target = device(ip, driver);
            let (own, known) = Driver::of_target(&target, Some(Backend::OpenCl));
            assert_eq!((known, own.bindless), (patch_tokens, bindless), "{driver}");
            assert_eq!(
                (own.others, own.revision),
                (!driver.starts_with("22") && !driver.starts_with("24.35"), Some(target.ip_versions[0].revision))
            );
            assert!(Driver::of_target(&target, Some(Backend::LevelZero)).0.bindless);
        }
    }
}
