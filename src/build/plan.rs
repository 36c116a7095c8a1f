//! Which images of a bundle are compiled for the CPU, with which options, and which stay as they are?

use super::{Job, options};
use crate::bundle::property::set;
use crate::compat::examine::Examined;
use crate::compat::native::{Stay, stays};
use crate::error::Problem;
use std::collections::BTreeMap;

/// `DeviceTargetSpec` of native CPU images.
pub const CPU_TARGET: &str = "spir64_x86_64";

/// What is to be done with each image of a bundle.
#[derive(Debug, Default)]
pub struct Plan<'a> {
    /// The images to compile.
    pub jobs: Vec<Job<'a>>,
    /// The images that stay as they are, by index, and why.
    pub staying: Vec<(usize, Stay)>,
    /// Options that the driver does not get, and how many images have them.
    pub removed_options: BTreeMap<String, usize>,
    /// Images that cannot be read; they stay too.
    pub problems: Vec<Problem>,
}

/// Plans the compilation of images for the CPU.
pub fn for_cpu<'a>(images: &[Examined<'_, 'a>]) -> Plan<'a> {
    let mut plan = Plan::default();
    for examined in images {
        let image = examined.image;
        if let Some(error) = &examined.problem {
            plan.problems.push(Problem::of_image(image.index, error.clone()));
            continue;
        }
        if let Some(stay) = stays(examined) {
            plan.staying.push((image.index, stay));
            continue;
        }
        let il = match image.contents() {
            Ok(il) => il,
            Err(error) => {
                plan.problems.push(Problem::of_image(image.index, error));
                continue;
            }
        };
        let mut compile = options::for_cpu(image.compile_options);
        let link = options::for_cpu(image.link_options);
        // The runtime passes the level that the image was compiled with; the driver knows only "none".
        let level = image.properties.get(set::MISC, "optLevel").and_then(|value| value.number());
        if level == Some(0) && !compile.kept.contains("-cl-opt-disable") {
            compile.kept = format!("{} -cl-opt-disable", compile.kept).trim_start().to_owned();
        }
        for option in compile.removed.into_iter().chain(link.removed) {
            let count = plan.removed_options.entry(option).or_default();
            *count = count.saturating_add(1);
        }
        plan.jobs.push(Job { image: image.index, il, compile_options: compile.kept, link_options: link.kept });
    }
    plan
}
