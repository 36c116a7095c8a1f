//! Does the JSON fulfil its published schema, and does it say what the module says?

use super::*;
use crate::build::Device;
use crate::build::query::KernelAnswers;
use crate::build::query::sycl::answers;
use crate::bundle::Bundle;
use crate::compat::examine::examine;
use crate::compat::kernels::{Depth, kernels};
use crate::container::Host;
use crate::error::{Error, Problem};
use crate::report::json::tests::against;
use crate::report::kernels::Answers;
use serde_json::{Value, json};
use std::collections::HashMap;

/// A kernel `k` with a pointer to global memory and a 32-bit integer, a work-group size and a specialization constant.
fn module() -> Vec<u8> {
    let name = |text: &[u8; 4]| u32::from_le_bytes(*text);
    let instructions: Vec<Vec<u32>> = vec![
        vec![17, 6],
        vec![14, 2, 2],
        vec![15, 6, 1, name(b"k\0\0\0")],
        vec![16, 1, 17, 8, 4, 2],
        vec![5, 2, name(b"out\0")],
        vec![71, 9, 1, 7],
        vec![19, 3],
        vec![21, 4, 32, 0],
        vec![32, 5, 5, 4],
        vec![33, 6, 3, 5, 4],
        vec![50, 4, 9, 3],
        vec![54, 3, 1, 0, 6],
        vec![55, 5, 2],
        vec![55, 4, 7],
        vec![248, 8],
        vec![128, 4, 10, 7, 9],
        vec![253],
        vec![56],
    ];
    let mut words = vec![0x0723_0203, 0x0001_0200, 0, 11, 0];
    for instruction in instructions {
        words.push((instruction.len() as u32) << 16 | instruction[0]);
        words.extend(&instruction[1..]);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn what_is_written_fulfils_the_schema() {
    let bytes = module();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let images = examine(&bundle);
    let found = kernels(&bundle, &images, Depth { clones: true, evidence: true });
    let device = Device { name: "CPU".into(), kind: "cpu".into(), ..Device::default() };
    let raw = KernelAnswers { answers: vec![(0x11B0, Ok(vec![8; 8]))], ..KernelAnswers::default() };
    let on = |answer| Answers { device: &device, kernels: HashMap::from([((0, "k".to_owned()), answer)]) };
    let answered = on(OnDevice::Answers { sycl: answers(&raw, &device, false), beyond: vec![("registers", 128)] });
    let other = Device { name: "GPU".into(), ..Device::default() };
    let none = OnDevice::None { errc: Some("invalid"), reason: "no".into() };
    let none = Answers { device: &other, kernels: HashMap::from([((0, "k".to_owned()), none)]) };
    let problems = vec![Problem::of_image(0, Error::at(8, "cut"))];
    let file = FileKernels { path: "k.spv", kernels: found, devices: vec![answered, none], problems };
    let mut document = Document::open(Vec::new()).unwrap();
    document.file(&file).unwrap();
    document.file(&FileKernels::default()).unwrap();
    let document: Value = serde_json::from_slice(&document.close().unwrap()).unwrap();
    assert_eq!(against(&schema(), &document), Vec::<String>::new());

    let kernel = &document["kernels"][0];
    assert_eq!(kernel["num_args"], 2);
    assert_eq!(kernel["args"][0]["name"], "out");
    assert_eq!(kernel["args"][0]["type"], "int*");
    assert_eq!(kernel["args"][0]["address_space"], "global");
    assert_eq!(kernel["args"][1]["size"], 4);
    assert_eq!(kernel["attributes"]["text"], "reqd_work_group_size(8,4,2)");
    assert_eq!(kernel["attributes"]["reqd_work_group_size"], json!([8, 4, 2]));
    let constant = &kernel["spec_constants"][0];
    assert_eq!((&constant["id"], &constant["default"]), (&json!(7), &json!(3)));
    assert_eq!(kernel["devices"]["CPU"]["errors"]["global_work_size"]["errc"], "invalid");
    assert_eq!(kernel["devices"]["CPU"]["registers"], 128);
    assert_eq!(kernel["devices"]["GPU"]["error"]["errc"], "invalid");
    let mut broken = document;
    broken["kernels"][0]["args"][0]["index"] = json!("x");
    assert_eq!(against(&schema(), &broken).len(), 1);
}
