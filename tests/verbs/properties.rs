//! Do properties keep their values through reading, decoding and writing, whatever the bytes?

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use std::collections::HashSet;
use sycl_bundle::bundle::aspect::Epoch;
use sycl_bundle::bundle::property::{Properties, Property, PropertySet, Value};
use sycl_bundle::bundle::property_sets::decode;
use sycl_bundle::bundle::property_text::{self, read, write};
use sycl_bundle::container::Arena;

/// Sets with meanings, and the keys that have one there; other keys are a kernel's or symbol's name.
const SETS: [(&str, &[&str]); 23] = [
    (
        "SYCL/device requirements",
        &[
            "aspects",
            "fixed_target",
            "reqd_work_group_size",
            "reqd_work_group_size_uint64_t",
            "joint_matrix",
            "joint_matrix_mad",
            "reqd_sub_group_size",
            "work_group_num_dim",
            "compile_target",
        ],
    ),
    ("SYCL/specialization constants", &[]),
    ("SYCL/specialization constants default values", &["all"]),
    ("SYCL/kernel param opt", &[]),
    ("SYCL/program metadata", &["k@reqd_work_group_size", "k@work_group_num_dim", "k@global_id_mapping"]),
    ("SYCL/misc properties", &["optLevel", "isEsimdImage", "sycl-grf-size", "specConstsReplacedWithDefault"]),
    ("SYCL/exported symbols", &[]),
    ("SYCL/imported symbols", &[]),
    ("SYCL/device globals", &[]),
    ("SYCL/virtual functions", &["virtual-functions-set", "uses-virtual-functions-set"]),
    ("SYCL/devicelib req mask", &["DeviceLibReqMask"]),
    ("SYCL/devicelib metadata", &["bfloat16"]),
    ("SYCL/kernel names", &[]),
    ("SYCL/specialization constants set values", &["all"]),
    ("SYCL/host pipes", &[]),
    ("SYCL/registered kernels", &[]),
    ("SYCL/assert used", &[]),
    ("SYCL/malloc used", &[]),
    ("SYCL/implicit local arg", &[]),
    ("SYCL/work group dynamic local mem", &[]),
    ("sycl-bundle/kernel aspects", &[]),
    ("ROCm/kernel package", &["host_file"]),
    ("SYCL/no such set", &[]),
];

/// A value with its own bytes.
#[derive(Debug, Clone)]
enum Owned {
    U32(u32),
    Bytes(Vec<u8>),
}

/// Sets with their own names and values, for [`Properties`] to borrow.
#[derive(Debug, Clone)]
struct OwnedSets(Vec<(String, Vec<(String, Owned)>)>);

impl OwnedSets {
    fn properties(&self) -> Properties<'_> {
        let value = |value| match value {
            &Owned::U32(number) => Value::U32(number),
            Owned::Bytes(raw) => Value::Bytes(raw),
        };
        let sets = self.0.iter().map(|(name, properties)| PropertySet {
            name,
            properties: properties.iter().map(|(name, owned)| Property { name, value: value(owned) }).collect(),
        });
        Properties { sets: sets.collect() }
    }
}

/// Whether the length in front of a byte array tells its true length.
fn tells_the_truth(raw: &[u8]) -> bool {
    let bits = u64::from_le_bytes(raw[..8].try_into().unwrap());
    bits.div_ceil(8) == raw.len() as u64 - 8
}

/// Says where sets that were written and read again are not what they were. A byte array whose length lies, and only
/// that, may come back as what its text is in standard base64, and only where the length there is right.
fn changed(before: &Properties<'_>, after: &Properties<'_>) -> Result<(), TestCaseError> {
    prop_assert_eq!(before.sets.len(), after.sets.len());
    for (old, new) in before.sets.iter().zip(&after.sets) {
        prop_assert_eq!(old.name, new.name);
        prop_assert_eq!(old.properties.len(), new.properties.len());
        for (old, new) in old.properties.iter().zip(&new.properties) {
            prop_assert_eq!(old.name, new.name);
            match (old.value, new.value) {
                (Value::Bytes(old), Value::Bytes(new)) if old != new => {
                    prop_assert!(!tells_the_truth(old), "{:?} came back as {:?}", old, new);
                    prop_assert!(tells_the_truth(new), "{:?} came back as {:?}", old, new);
                    let standard = STANDARD.decode(property_text::encode_base64(old));
                    prop_assert_eq!(standard.as_deref(), Ok(new));
                }
                (old, new) => prop_assert_eq!(old, new),
            }
        }
    }
    Ok(())
}

/// A byte array as stored: a length in bits, which may lie, and content.
fn raw() -> impl Strategy<Value = Vec<u8>> {
    let content = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        // Small numbers make sense as ids, offsets and sizes.
        prop::collection::vec(0u32..64, 0..16).prop_map(|words| words.iter().flat_map(|w| w.to_le_bytes()).collect()),
    ];
    let right = content.prop_map(|content: Vec<u8>| (content.len() as u64 * 8, content));
    let bits = prop_oneof![4 => Just(None), 1 => any::<u64>().prop_map(Some), 2 => (0u64..600).prop_map(Some)];
    (right, bits).prop_map(|((right, content), bits)| [&bits.unwrap_or(right).to_le_bytes()[..], &content].concat())
}

fn value() -> impl Strategy<Value = Owned> {
    prop_oneof![any::<u32>().prop_map(Owned::U32), raw().prop_map(Owned::Bytes)]
}

fn sets(set: impl Strategy<Value = String>, key: impl Strategy<Value = String>) -> impl Strategy<Value = OwnedSets> {
    let properties = prop::collection::vec((key, value()), 0..6);
    let sets = prop::collection::vec((set, properties), 0..5);
    sets.prop_map(|sets| OwnedSets(once(sets).into_iter().map(|(set, keys)| (set, once(keys))).collect()))
}

/// Leaves of several with one name the first: in text they are one.
fn once<T>(named: Vec<(String, T)>) -> Vec<(String, T)> {
    let mut known = HashSet::new();
    named.into_iter().filter(|(name, _)| known.insert(name.clone())).collect()
}

/// Sets and keys that are known more often than not.
fn known() -> impl Strategy<Value = OwnedSets> {
    let key = (any::<prop::sample::Index>(), "[a-z]{1,3}").prop_map(|(at, other)| {
        let keys: Vec<&str> = SETS.iter().flat_map(|(_, keys)| keys.iter().copied()).collect();
        keys.get(at.index(keys.len() * 2)).map_or(other, |key| (*key).to_owned())
    });
    sets(prop::sample::select(SETS.map(|(set, _)| set.to_owned()).to_vec()), key)
}

proptest! {
    #[test]
    fn text_is_read_as_it_was_written(owned in sets("[^\\n\\r]{1,12}", "[^=\\n\\r\\[][^=\\n\\r]{0,12}")) {
        let arena = Arena::default();
        let written = write(&owned.properties()).unwrap();
        let again = read(written.as_bytes(), |bytes| arena.keep(bytes)).unwrap();
        changed(&owned.properties(), &again)?;
    }

    /// As LLVM upstream writes it: the length, where it is right, tells the encoding.
    #[test]
    fn standard_base64_is_read(content in prop::collection::vec(any::<u8>(), 0..60)) {
        let raw = [&(content.len() as u64 * 8).to_le_bytes()[..], &content].concat();
        let text = format!("[s]\nx=2|{}\n", STANDARD.encode(&raw));
        let arena = Arena::default();
        let properties = read(text.as_bytes(), |bytes| arena.keep(bytes)).unwrap();
        let Some(Value::Bytes(found)) = properties.get("s", "x") else { panic!("{properties:?}") };
        // Text without padding may be text of DPC++'s own encoding, with a length that is right there.
        let ours = property_text::decode_base64(&STANDARD.encode(&raw));
        let ambiguous = ours.filter(|ours| tells_the_truth(ours));
        prop_assert_eq!(found, ambiguous.as_deref().unwrap_or(&raw));
    }

    #[test]
    fn any_bytes_are_read_or_refused_with_their_place(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let arena = Arena::default();
        if let Err(error) = read(&bytes, |bytes| arena.keep(bytes)) {
            prop_assert!(error.offset().unwrap() <= bytes.len() as u64);
        }
    }

    #[test]
    fn text_of_its_own_alphabet_is_read_or_refused(text in "(\\[?[a=|1-2 \\]]{0,8}(AAAA){0,4}=?\\r?\\n){0,6}") {
        let arena = Arena::default();
        match read(text.as_bytes(), |bytes| arena.keep(bytes)) {
            // Properties that were read can be written, and are the same again.
            Ok(before) => {
                if let Ok(written) = write(&before) {
                    let again = read(written.as_bytes(), |bytes| arena.keep(bytes)).unwrap();
                    changed(&before, &again)?;
                }
            }
            Err(error) => prop_assert!(error.offset().unwrap() <= text.len() as u64),
        }
    }

    #[test]
    fn a_value_is_cut_to_its_length(raw in raw()) {
        let bits = u64::from_le_bytes(raw[..8].try_into().unwrap());
        let content = &raw[8..];
        let payload = Value::Bytes(&raw).payload().unwrap();
        prop_assert_eq!(payload, &content[..content.len().min(usize::try_from(bits.div_ceil(8)).unwrap())]);
        prop_assert_eq!(Value::Bytes(&raw).words().unwrap().len(), payload.len() / 4);
        prop_assert_eq!(Value::Bytes(&raw).double_words().unwrap().len(), payload.len() / 8);
    }

    /// Each property of each set, with whatever value: decoding says what it can, and never more than there is.
    #[test]
    fn any_value_is_decoded_or_left(owned in known()) {
        let properties = owned.properties();
        for set in &properties.sets {
            for property in &set.properties {
                for epoch in [Epoch::Before2023, Epoch::From2023, Epoch::From2026] {
                    let decoded = format!("{:?}", decode(&properties, set.name, property, epoch));
                    prop_assert!(decoded.len() < 20_000, "{} bytes", decoded.len());
                }
            }
        }
    }

    #[test]
    fn short_values_are_no_arrays(raw in prop::collection::vec(any::<u8>(), 0..8)) {
        prop_assert_eq!(Value::Bytes(&raw).payload(), None);
        let property = Property { name: "aspects", value: Value::Bytes(&raw) };
        let all = Properties { sets: vec![PropertySet { name: SETS[0].0, properties: vec![property] }] };
        prop_assert_eq!(decode(&all, SETS[0].0, &property, Epoch::From2026), None);
    }
}
