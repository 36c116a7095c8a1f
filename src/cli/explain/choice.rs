//! How does the runtime choose images of a file for kernels, and what do live devices make of them?

use super::super::ask::Asker;
use super::super::device_config::Named;
use super::super::global::Global;
use super::super::live::Live;
use std::collections::HashMap;
use std::sync::Arc;
use sycl_bundle::compat::aspects::{Graph, codes};
use sycl_bundle::compat::choice::choose_among;
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::compat::explain::trace::{Looked, thrown};
use sycl_bundle::compat::fit::Subject;
use sycl_bundle::compat::gate::{Demand, Gate, proof};
use sycl_bundle::compat::kernels::{Depth, kernels};
use sycl_bundle::compat::offers::Lent;
use sycl_bundle::error::Result;
use sycl_bundle::report::FileFacts;
use sycl_bundle::report::explain::{Built, ImageChoice, Objection};
use sycl_bundle::report::kernels::OnDevice;

/// The way of each wanted kernel of a file's images on each target, in the order of targets and kernels.
pub fn choices(
    path: &str,
    images: &[Examined<'_, '_>],
    asked: &[Named<'_>],
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<ImageChoice> {
    if asked.is_empty() {
        return Vec::new();
    }
    let file: Arc<str> = path.into();
    let codes = codes(images);
    let looked = Looked::new(images, Graph::link(&codes));
    let mut order: Vec<&str> = Vec::new();
    let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, image) in images.iter().enumerate() {
        for name in image.kernels.iter().filter(|name| wanted(name)) {
            let places = holders.entry(name).or_insert_with(|| {
                order.push(name);
                Vec::new()
            });
            if places.last() != Some(&at) {
                places.push(at);
            }
        }
    }
    let gate = Gate::new(images, &codes, wanted);
    let mut choices = Vec::new();
    for one in asked {
        let subject = Subject::new(one.target).with_march(one.march);
        let judged = gate.judge(&subject, &Demand::default());
        let proofs = gate.proofs(&[&judged], proof::Depth::All);
        let mut found: HashMap<&str, Vec<Objection>> = HashMap::new();
        for finding in judged.findings() {
            let evidence = finding.evidence(&proofs).cloned();
            let objection = Objection { finding: finding.finding.clone(), image: finding.image, evidence };
            found.entry(finding.kernel).or_default().push(objection);
        }
        for name in &order {
            let places = holders.get(name).cloned().unwrap_or_default();
            let choice = choose_among(images, places, name, &subject);
            let thrown = thrown(&choice, &looked, &subject);
            let findings = found.remove(*name).unwrap_or_default();
            choices.push(ImageChoice::new(file.clone(), name, images, &subject, &choice, (thrown, findings)));
        }
    }
    choices
}

/// The live devices that are asked for, by the words on the command line.
pub fn devices(wanted: &[String]) -> Result<Option<(Live, &[String])>> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let live = Live::find()?;
    for word in wanted {
        live.choose(word)?;
    }
    Ok(Some((live, wanted)))
}

/// Asks the devices' compilers about the wanted kernels of a file.
pub fn ask(
    global: &Global,
    facts: &FileFacts<'_>,
    live: Option<&(Live, &[String])>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Built>> {
    let (Some((live, words)), Some(bundle)) = (live, facts.bundle) else { return Ok(Vec::new()) };
    let mut all = kernels(bundle, &facts.images, Depth { clones: false, evidence: false });
    all.retain(|kernel| wanted(&kernel.name));
    let mut built = Vec::new();
    for word in *words {
        let (place, device) = live.choose(word)?;
        let asker = Asker { live, place, device, jobs: None };
        let (answers, _) = asker.ask(global, bundle, (&facts.images, &Lent::default()), &all)?;
        for kernel in &all {
            let failure = match answers.on_kernel(kernel) {
                Some(OnDevice::Answers { .. }) => None,
                Some(OnDevice::None { errc, reason }) => Some((*errc, reason.clone())),
                None => Some((None, "the device was not asked".to_owned())),
            };
            built.push(Built {
                file: facts.path.into(),
                device: device.name.clone(),
                kernel: kernel.name.clone(),
                image: kernel.image,
                failure,
            });
        }
    }
    Ok(built)
}
