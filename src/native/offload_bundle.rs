//! Which device binaries are in an offload bundle that is itself the payload of an image?
//!
//! So HIP takes its code objects: clang bundles them per architecture (`clang-offload-bundler`), with an empty part for
//! the host, plain or compressed, and DPC++ hands that on as the image.

use super::Reader;
use crate::bundle::blob;
use crate::bundle::format::Format;
use crate::bundle::offload_bundle;
use crate::container::place::Place;
use crate::error::Result;

pub(super) fn read<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, depth: u32) -> Result<()> {
    reader.contained("offload-bundle");
    let mut blobs = blob::Reader::new(reader.arena, data.len());
    let parts = offload_bundle::parse(&mut blobs, data, place);
    for problem in std::mem::take(&mut blobs.problems) {
        reader.problem(problem.error);
    }
    for part in parts.into_iter().filter(|part| part.names().0 != "host" && !part.data.is_empty()) {
        if part.place.is_inflated() {
            reader.grant(part.data.len());
        }
        reader.part(part.id, part.data, Format::sniff(part.data), part.place, depth);
    }
    Ok(())
}
