//! Does what is written of images fulfil the published schema?

use super::*;
use crate::bundle::Bundle;
use crate::bundle::property::{Properties, Property, PropertySet, Value as Stored};
use crate::compat::examine::examine;
use crate::container::Host;
use crate::error::{Error, Problem};
use crate::report::json::tests::against;
use serde_json::Value;

fn validate(document: &Value) -> Vec<String> {
    against(&schema(), document)
}

#[test]
fn what_is_written_fulfils_the_schema() {
    // OpCapability Kernel; OpEntryPoint Kernel %1 "k"
    let words =
        [0x0723_0203, 0x0001_0200, 0, 10, 0, 0x0002_0011, 6, 0x0004_000f, 6, 1, u32::from_le_bytes(*b"k\0\0\0")];
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let host = Host::read(&bytes).unwrap();
    let mut bundle = Bundle::read(&host).unwrap();
    let array = [32, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0];
    let property = |name, value| Property { name, value };
    let requirements = vec![
        property("aspects", Stored::Bytes(&array)),
        property("reqd_work_group_size", Stored::Bytes(&array)),
        property("reqd_sub_group_size", Stored::U32(16)),
        property("fixed_target", Stored::Bytes(&array)),
        property("strange", Stored::Unknown { kind: 9, bytes: b"x" }),
    ];
    let twice =
        PropertySet { name: "SYCL/kernel param opt", properties: vec![property("k", Stored::Bytes(&array)); 2] };
    let sets = vec![PropertySet { name: "SYCL/device requirements", properties: requirements }, twice];
    bundle.images[0].properties = Properties { sets };
    let mut facts = FileFacts {
        path: "a \"quoted\" path",
        absolute: Some("/tmp/a b.spv"),
        base: 0,
        bytes: bytes.len() as u64,
        host: Some(&host),
        bundle: Some(&bundle),
        images: examine(&bundle),
        deferred: false,
        problems: vec![Problem::of_image(0, Error::at(8, "cut"))],
    };
    let mut document = Document::open(Vec::new()).unwrap();
    document.file(&mut facts).unwrap();
    document
        .file(&mut FileFacts {
            path: "-",
            problems: vec![Problem::general(Error::input("no"))],
            ..FileFacts::default()
        })
        .unwrap();
    let text = document.close().unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(validate(&document), Vec::<String>::new());
    let image = &document["files"][0]["images"][0];
    assert_eq!(image["requirements"]["aspects"], serde_json::json!(["fp64"]));
    assert_eq!(image["requirements"]["reqd_sub_group_size"], serde_json::json!([16]));
    assert_eq!(image["kernels"], serde_json::json!(["k"]));
    let mut broken = document;
    broken["files"][0]["images"][0]["blake3"] = Value::from("x");
    assert_eq!(validate(&broken).len(), 1);
}

#[test]
fn compiled_code_fulfils_the_schema() {
    let text =
        b".version 8.6\n.target sm_80\n.visible .entry k(.param .u64 .ptr .global .align 4 a)\n.reqntid 64\n{ ret; }\n";
    let host = Host::read(text).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let mut facts = FileFacts {
        path: "k.ptx",
        host: Some(&host),
        bundle: Some(&bundle),
        images: examine(&bundle),
        ..FileFacts::default()
    };
    let mut document = Document::open(Vec::new()).unwrap();
    document.file(&mut facts).unwrap();
    let document: Value = serde_json::from_slice(&document.close().unwrap()).unwrap();
    assert_eq!(validate(&document), Vec::<String>::new());
    let image = &document["files"][0]["images"][0];
    assert_eq!(image["kernels"], serde_json::json!(["k"]));
    assert_eq!(image["native"]["devices"], serde_json::json!(["nvidia_gpu_sm_80"]));
    let kernel = &image["native"]["parts"][0]["kernels"][0];
    assert_eq!(kernel["reqd_work_group_size"], serde_json::json!([64, 1, 1]));
    assert_eq!((&kernel["registers"], &kernel["arguments"][0]["size"]), (&Value::Null, &Value::from(8)));
}
