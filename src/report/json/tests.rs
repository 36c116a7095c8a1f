//! Does the JSON fulfil its published schema?
//!
//! A walker over the part of JSON Schema that the published schemas use; a keyword it does not know fails the test.

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
            "$schema" | "$defs" | "title" | "description" | "uniqueItems" => true,
            "anyOf" | "oneOf" => {
                let fitting = wanted.as_array().unwrap().iter().filter(|schema| {
                    let mut own = Vec::new();
                    check(root, schema, value, at, &mut own);
                    own.is_empty()
                });
                let fitting = fitting.count();
                if keyword == "oneOf" { fitting == 1 } else { fitting > 0 }
            }
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= wanted.as_u64().unwrap()),
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

/// Lists what in a document breaks a schema.
pub(crate) fn against(schema: &str, document: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let mut wrong = Vec::new();
    check(&schema, &schema, document, "", &mut wrong);
    wrong
}
