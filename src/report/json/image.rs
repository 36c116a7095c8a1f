//! What does the JSON say of one image?

use super::native::NativeJson;
use super::property::Sets;
use super::put::{List, Object, Put, With, push_number};
use crate::bundle::aspect::Epoch;
use crate::bundle::requirements::Requirements;
use crate::bytes::hex;
use crate::compat::examine::Examined;
use crate::native::Native;
use crate::report::{FileFacts, name};
use crate::spirv::{Module, grammar};

/// Appends what is known of an image; `path` first, where it is given, and `base` is the URI of the file on disk.
pub(super) fn put(
    out: &mut String,
    facts: &FileFacts<'_>,
    path: Option<&str>,
    base: Option<&str>,
    examined: &Examined<'_, '_>,
) {
    let image = examined.image;
    let epoch = facts.bundle.map_or(Epoch::From2026, |bundle| bundle.epoch);
    let uri = base
        .filter(|_| !image.inflated)
        .map(|base| name::uri_at(base, facts.base.saturating_add(image.offset), image.stored.len()));
    let mut object = Object::open(out);
    if let Some(path) = path {
        object.field("path", path);
    }
    object.field("index", image.index);
    object.field("state", examined.state.name());
    object.field("format", examined.format.name());
    object.field("declared_format", image.declared.name());
    object.field("target", image.target);
    object.field("compile_target", image.compile_target());
    object.field("march", examined.march.map(crate::device::cpu::CpuArch::name));
    object.field("size", examined.size);
    object.field("stored_size", image.stored.len());
    object.field("compression", image.compression().map(|compression| compression.name()));
    object.field("offset", image.offset);
    object.field("uri", uri);
    object.field("descriptor", image.origin.map(|origin| origin.descriptor));
    object.field("blake3", hex(&examined.blake3));
    object.field("compile_options", image.compile_options);
    object.field("link_options", image.link_options);
    object.field("kernels", &examined.kernels);
    object.field("demangled", List(examined.kernels.iter().map(|kernel| name::demangle(kernel))));
    object.field("entries", &image.entries);
    object.field("exports", &examined.exports);
    object.field("imports", &examined.imports);
    object.field("requirements", &examined.requirements);
    object.field("properties", Sets::of(&image.properties, epoch));
    object.field("spirv", examined.module.as_ref());
    object.field("native", examined.native.as_ref());
    object.close();
}

impl Put for Native {
    /// Files of compiled code hold few images: what is said of them goes through serde.
    fn put(&self, out: &mut String) {
        match serde_json::to_string(&NativeJson::from(self)) {
            Ok(text) => out.push_str(&text),
            // Nothing in it can fail to be JSON.
            Err(_) => out.push_str("null"),
        }
    }
}

impl Put for Requirements {
    fn put(&self, out: &mut String) {
        let mut object = Object::open(out);
        object.field("aspects", &self.aspects);
        object.field("reqd_work_group_size", self.reqd_work_group_size.as_ref());
        object.field("reqd_sub_group_size", List(self.reqd_sub_group_size.iter()));
        object.field("fixed_targets", self.fixed_targets.as_ref());
        object.close();
    }
}

impl Put for Module {
    fn put(&self, out: &mut String) {
        let version = |out: &mut String| {
            out.push('"');
            push_number(self.version.0.into(), out);
            out.push('.');
            push_number(self.version.1.into(), out);
            out.push('"');
        };
        let mut object = Object::open(out);
        object.field("version", With(version));
        object.field("generator", grammar::generator_name(self.generator));
        object.field("capabilities", List(self.capabilities.iter().map(|&number| grammar::capability_name(number))));
        object.field("extensions", &self.extensions);
        object.field("used_aspects", List(self.used_aspects.iter()));
        object.close();
    }
}
