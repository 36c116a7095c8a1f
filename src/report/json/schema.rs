//! Does the JSON fulfil its published schema?
//!
//! A walker over the part of JSON Schema that the published schemas use; a keyword it does not know fails the test.

use crate::bundle::Bundle;
use crate::bundle::property::{Properties, Property, PropertySet, Value as Stored};
use crate::compat::examine::examine;
use crate::container::Host;
use crate::error::{Error, Problem};
use crate::report::{FileFacts, json};
use serde_json::Value;

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() || number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    for (keyword, wanted) in schema.as_object().unwrap() {
        let fine = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let target = root.pointer(wanted.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
                check(root, target, value, at, wrong);
                true
            }
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|name| name == type_of(value)),
                name => name == type_of(value),
            },
            "const" => wanted == value,
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "pattern" => value.as_str().is_none_or(|text| match wanted.as_str().unwrap() {
                "^[0-9a-f]{64}$" => text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "^[0-9]+[.][0-9]+$" => text.split('.').filter(|part| part.parse::<u8>().is_ok()).count() == 2,
                pattern => panic!("unknown pattern {pattern}"),
            }),
            "required" => value.as_object().is_none_or(|object| {
                wanted.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
            }),
            "properties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    // A key that the schema does not name is one that it should: it is the reference.
                    match wanted.get(key) {
                        Some(schema) => check(root, schema, value, &format!("{at}/{key}"), wrong),
                        None => wrong.push(format!("{at}/{key}: not in the schema")),
                    }
                }
                true
            }
            "additionalProperties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    check(root, wanted, value, &format!("{at}/{key}"), wrong);
                }
                true
            }
            "items" => {
                for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, value, &format!("{at}/{index}"), wrong);
                }
                true
            }
            other => panic!("unknown keyword {other}"),
        };
        if !fine {
            wrong.push(format!("{at}: {keyword} {wanted} does not hold for {value}"));
        }
    }
}

fn validate(document: &Value) -> Vec<String> {
    against(json::SCHEMA, document)
}

/// What in a document a schema forbids.
pub(crate) fn against(schema: &str, document: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let mut wrong = Vec::new();
    check(&schema, &schema, document, "", &mut wrong);
    wrong
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
    let facts = FileFacts {
        path: "a \"quoted\" path",
        absolute: Some("/tmp/a b.spv"),
        base: 0,
        bytes: bytes.len() as u64,
        host: Some(&host),
        bundle: Some(&bundle),
        images: examine(&bundle),
        problems: vec![Problem::of_image(0, Error::at(8, "cut"))],
    };
    let mut document = json::Document::open(Vec::new()).unwrap();
    document.file(&facts).unwrap();
    document
        .file(&FileFacts { path: "-", problems: vec![Problem::general(Error::input("no"))], ..FileFacts::default() })
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
    let facts = FileFacts {
        path: "k.ptx",
        host: Some(&host),
        bundle: Some(&bundle),
        images: examine(&bundle),
        ..FileFacts::default()
    };
    let mut document = json::Document::open(Vec::new()).unwrap();
    document.file(&facts).unwrap();
    let document: Value = serde_json::from_slice(&document.close().unwrap()).unwrap();
    assert_eq!(validate(&document), Vec::<String>::new());
    let image = &document["files"][0]["images"][0];
    assert_eq!(image["kernels"], serde_json::json!(["k"]));
    assert_eq!(image["native"]["devices"], serde_json::json!(["nvidia_gpu_sm_80"]));
    let kernel = &image["native"]["parts"][0]["kernels"][0];
    assert_eq!(kernel["reqd_work_group_size"], serde_json::json!([64, 1, 1]));
    assert_eq!((&kernel["registers"], &kernel["arguments"][0]["size"]), (&Value::Null, &Value::from(8)));
}
