//! Which description of kernels (`.ze_info`) does Intel's driver refuse?
//!
//! The rules are those of `zeinfo_decoder.cpp` in intel/compute-runtime, which drops the whole binary at the first thing that it does
//! not know: a key, a word (`ze_keys`), a number out of its range, an argument without what its kind needs. It refuses what
//! `ZEInfoYAML.cpp` in intel/intel-graphics-compiler could write beside them (`quantum_size`, `region_group_size`). It ends, with the
//! program, where a list's entry begins with a key without a value, where pieces of an argument contradict each other, and at some
//! numbers that are out of all bounds: these are refused here too.

use super::yaml::Node;
use super::ze_keys::{Form, ROOT, Table};
use crate::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The version that the rules are of. Of a newer one with the same major number, drivers take what they know.
const NEWEST: (u32, u32) = (1, 73);
/// Arguments of which driver 26.27 takes none without a place.
const PLACED: [&str; 9] = [
    "printf_buffer",
    "private_base_stateless",
    "sync_buffer",
    "assert_buffer",
    "rt_global_buffer",
    "implicit_arg_buffer",
    "inline_sampler",
    "scratch_pointer",
    "indirect_data_pointer",
];
/// The most bytes that all arguments take, and arguments that there may be: drivers count them in 16 bits.
const MOST_BYTES: i64 = 0xffff;
/// Functions that kernels may call stand under this name.
pub(super) const FUNCTIONS: &str = "Intel_Symbol_Table_Void_Program";

/// Checks the version of a form, as the section itself and a note state it: a driver goes on where its major number is 1.
pub(super) fn version(text: &str) -> std::result::Result<(), String> {
    let (major, minor) = text.split_once('.').unwrap_or((text, ""));
    if major.is_empty() || minor.is_empty() {
        return Err(format!("its version `{}` is no `MAJOR.MINOR`", shown(text)));
    }
    if major.parse() == Ok(NEWEST.0) {
        return Ok(());
    }
    Err(format!("its version is {}, and drivers take {}.0 to {}.{}", shown(text), NEWEST.0, NEWEST.0, NEWEST.1))
}

fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Checks what the text of a section says.
///
/// # Errors
/// `Input` for the first thing for which drivers refuse the code, with the offset in the text.
pub(super) fn check(text: &str, root: &Node<'_>) -> Result<()> {
    let rules = Rules { text };
    if *root == Node::Null {
        return Ok(());
    }
    rules.mapping(root, &ROOT, "the section")?;
    rules.hidden(root)?;
    if let Some(version) = root.get("version") {
        let stated = version.text().unwrap_or_default();
        self::version(stated).map_err(|message| rules.error(root, "version", message))?;
    }
    for function in root.get("functions").map(Node::items).unwrap_or_default() {
        if let Some(environment) = function.get("execution_env") {
            rules.environment(environment, function)?;
        }
    }
    let kernels = root.get("kernels").map(Node::items).unwrap_or_default();
    kernels.iter().try_for_each(|kernel| rules.kernel(kernel))?;
    rules.told(root.get("kernels_misc_info").map(Node::items).unwrap_or_default(), kernels)
}

/// Kind that an argument of the source has. Drivers end where two pieces of one argument disagree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pointer,
    Image,
    Sampler,
    Value,
}

/// Ways in which the pieces of a kernel's arguments reach buffers and images.
#[derive(Default)]
struct Ways {
    bindless_buffer: bool,
    bindless_image: bool,
    bound_buffer: bool,
    bound_image: bool,
    table: bool,
}

struct Rules<'a> {
    text: &'a str,
}

impl Rules<'_> {
    /// The offset of a part of the text.
    fn place(&self, part: &str) -> u64 {
        part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr()) as u64
    }

    /// An error at a key of a mapping, or where it has none, at its beginning.
    #[cold]
    fn error(&self, node: &Node<'_>, key: &str, message: impl Into<String>) -> Error {
        let own = match node {
            Node::Mapping(entries) => entries.iter().find(|(own, _)| *own == key).or(entries.first()),
            _ => None,
        };
        Error::at(own.map_or(0, |(key, _)| self.place(key)), message)
    }

    fn mapping(&self, node: &Node<'_>, table: &Table, of: &str) -> Result<()> {
        let entries = match node {
            Node::Mapping(entries) => entries,
            Node::Null => return Ok(()),
            _ => return Err(Error::at(0, format!("{of} is no list of keys and values"))),
        };
        let mut seen = 0u64;
        for (key, value) in entries {
            let Some(place) = table.keys.iter().position(|(known, _)| known == key) else {
                if table.others.is_some_and(|others| key.contains(others)) {
                    continue;
                }
                let message = format!("no driver is known to know `{}` in {of}", shown(key));
                return Err(Error::at(self.place(key), message));
            };
            let bit = 1u64 << (place & 63);
            if seen & bit != 0 {
                return Err(Error::at(self.place(key), format!("`{key}` stands twice in {of}")));
            }
            seen |= bit;
            let Some((_, form)) = table.keys.get(place) else { continue };
            self.value(key, value, form)?;
        }
        Ok(())
    }

    fn value(&self, key: &str, value: &Node<'_>, form: &Form) -> Result<()> {
        let number = || value.word().and_then(|word| word.parse::<i32>().ok());
        let right = match form {
            Form::Any => true,
            Form::Number => number().is_some(),
            Form::Size => number().is_some_and(|number| number >= 0),
            Form::Text => value.text().is_some_and(|text| !text.is_empty()),
            Form::Byte => number().is_some_and(|number| u8::try_from(number).is_ok()),
            Form::Flag => matches!(value.word(), Some("true" | "false")),
            Form::Word(words) => value.word().is_some_and(|word| words.contains(&word)),
            Form::Three => {
                let size = |item: &Node<'_>| item.word().and_then(|word| word.parse::<i32>().ok());
                value.items().len() == 3 && value.items().iter().all(|item| size(item).is_some_and(|size| size >= 0))
            }
            Form::Map(table) => return self.mapping(value, table, &format!("`{key}`")),
            Form::Listed(_) if !matches!(value, Node::Sequence(_)) => true,
            Form::List(table) | Form::Listed(table) => match value {
                Node::Null => true,
                Node::Sequence(items) => {
                    let of = format!("an entry of `{key}`");
                    return items.iter().try_for_each(|item| match item {
                        Node::Mapping(entries) => match entries.first() {
                            Some((first, Node::Null | Node::Sequence(_) | Node::Mapping(_))) => {
                                Err(Error::at(self.place(first), format!("{of} begins with a key without a value")))
                            }
                            _ => self.mapping(item, table, &of),
                        },
                        _ => Err(Error::at(self.place(key), format!("{of} is no list of keys and values"))),
                    });
                }
                _ => false,
            },
        };
        if right {
            return Ok(());
        }
        let stated = value.text().map(shown).unwrap_or_default();
        Err(Error::at(self.place(key), format!("`{key}` is `{stated}`, which no driver is known to take")))
    }

    /// Finds what stands where drivers do not read: they cut the text at the first `kernels_misc_info`, wherever that
    /// stands.
    fn hidden(&self, root: &Node<'_>) -> Result<()> {
        let Some(cut) = self.text.find("kernels_misc_info") else { return Ok(()) };
        let cut = cut as u64;
        let Node::Mapping(entries) = root else { return Ok(()) };
        let mut own = entries.iter().map(|(key, _)| (*key, self.place(key)));
        if !own.clone().any(|(key, at)| key == "kernels_misc_info" && at == cut) {
            return Err(Error::at(
                cut,
                "drivers read no further than the word `kernels_misc_info`, which is no key here",
            ));
        }
        let is_needed = |key: &str| matches!(key, "version" | "kernels" | "functions" | "global_host_access_table");
        match own.find(|(key, at)| *at > cut && is_needed(key)) {
            Some((key, at)) => {
                Err(Error::at(at, format!("`{key}` stands behind `kernels_misc_info`, where drivers do not look")))
            }
            None => Ok(()),
        }
    }

    /// Checks what is told of arguments, which drivers read once a program asks: they end where it is of no argument that there is.
    fn told(&self, told: &[Node<'_>], kernels: &[Node<'_>]) -> Result<()> {
        let most = |kernel: &Node<'_>| {
            let pieces = kernel.get("payload_arguments").map(Node::items).unwrap_or_default();
            pieces
                .iter()
                .filter_map(|piece| number(piece, "arg_index"))
                .max()
                .map_or(0, |index| index.saturating_add(1))
        };
        let mut counts: HashMap<&str, i64> = HashMap::new();
        // Of kernels of one name the first counts.
        for kernel in kernels.iter().rev() {
            counts.insert(kernel.text_of("name").unwrap_or_default(), most(kernel));
        }
        for of in told {
            let name = of.text_of("name").unwrap_or_default();
            let count = counts.get(name);
            let count = count.ok_or_else(|| self.error(of, "name", "what is told of arguments is of no kernel"))?;
            let entries = of.get("args_info").map(Node::items).unwrap_or_default();
            let most = (*count).min(i64::try_from(entries.len()).unwrap_or(i64::MAX));
            let is_none = |entry: &&Node<'_>| !number(entry, "index").is_some_and(|index| (0..most).contains(&index));
            if let Some(entry) = entries.iter().find(is_none) {
                let message = format!("what is told of an argument of `{}` is of none that there is", shown(name));
                return Err(self.error(entry, "index", message));
            }
        }
        Ok(())
    }

    fn environment(&self, environment: &Node<'_>, of: &Node<'_>) -> Result<()> {
        let number = |key| number(environment, key);
        if !matches!(number("simd_size"), Some(1 | 8 | 16 | 32)) {
            let stated = number("simd_size").map_or("none".to_owned(), |size| size.to_string());
            let message = format!("`simd_size` is {stated}, and drivers take 1, 8, 16 and 32");
            let (node, key) =
                if environment.get("simd_size").is_some() { (environment, "simd_size") } else { (of, "execution_env") };
            return Err(self.error(node, key, message));
        }
        // The driver looks these up when a kernel is launched, and ends where they are none of its own.
        if let Some(count) = number("barrier_count").filter(|count| !matches!(count, 0 | 1 | 2 | 4 | 8 | 16 | 24 | 32))
        {
            let message = format!("`barrier_count` is {count}, and devices have 1, 2, 4, 8, 16, 24 or 32");
            return Err(self.error(environment, "barrier_count", message));
        }
        if let Some(count) = number("grf_count").filter(|count| !(32..=512).contains(count)) {
            return Err(self.error(
                environment,
                "grf_count",
                format!("`grf_count` is {count}, and threads have 32 to 512"),
            ));
        }
        // Of functions that kernels call, the order is three zeros.
        const ORDER: &str = "work_group_walk_order_dimensions";
        let order = environment.get(ORDER).map(Node::items).unwrap_or_default();
        if !order.iter().all(|dimension| matches!(dimension.word(), Some("0" | "1" | "2"))) {
            return Err(self.error(environment, ORDER, format!("`{ORDER}` names a dimension that there is not")));
        }
        if !matches!(number("slm_alloc_mode"), None | Some(0 | 1)) {
            return Err(self.error(environment, "slm_alloc_mode", "`slm_alloc_mode` is neither 0 nor 1"));
        }
        Ok(())
    }

    fn kernel(&self, kernel: &Node<'_>) -> Result<()> {
        let is_name = |node: &Node<'_>| match node {
            Node::Scalar(name) => !name.is_empty(),
            // Drivers know no quotes within quotes, and read another name.
            Node::Quoted(name) => !name.is_empty() && matches!(name, std::borrow::Cow::Borrowed(_)),
            _ => false,
        };
        if !kernel.get("name").is_some_and(is_name) {
            return Err(self.error(kernel, "name", "a kernel has no name that drivers read"));
        }
        let name = kernel.text_of("name").unwrap_or_default();
        let checked = self.environment(kernel.get("execution_env").unwrap_or(&Node::Null), kernel);
        let checked = checked.and_then(|()| self.described(kernel));
        checked.map_err(|error| error.context(format!("kernel `{}`", shown(name))))
    }

    /// Checks what of a kernel drivers read after its environment.
    fn described(&self, kernel: &Node<'_>) -> Result<()> {
        let list = |key| kernel.get(key).map(Node::items).unwrap_or_default();
        let simd = kernel.get("execution_env").and_then(|environment| number(environment, "simd_size"));
        list("per_thread_payload_arguments").iter().try_for_each(|argument| self.per_thread(argument, simd))?;
        let mut samplers = 0;
        for sampler in list("inline_samplers") {
            let index = number(sampler, "sampler_index").filter(|index| *index >= 0);
            let index = index.ok_or_else(|| self.error(sampler, "sampler_index", "a sampler has no index"))?;
            samplers = samplers.max(index.saturating_add(1));
            for key in ["addrmode", "filtermode"] {
                sampler.get(key).ok_or_else(|| self.error(sampler, key, format!("a sampler has no `{key}`")))?;
            }
        }
        let kinds = self.payload(kernel, samplers)?;
        self.buffers(list("per_thread_memory_buffers"))?;
        for entry in list("binding_table_indices") {
            let index = number(entry, "arg_index").unwrap_or(0);
            if !matches!(kinds.get(&index), Some(Kind::Pointer | Kind::Image)) {
                let message =
                    format!("a place in the binding table is for argument {index}, which is no pointer or image");
                return Err(self.error(entry, "arg_index", message));
            }
        }
        Ok(())
    }

    fn per_thread(&self, argument: &Node<'_>, simd: Option<i64>) -> Result<()> {
        let size = number(argument, "size").unwrap_or(-1);
        if size == 0 {
            return Ok(());
        }
        let is_whole = |unit: i64| (1..=3).any(|ids| unit.checked_mul(ids) == Some(size));
        let right = match argument.text_of("arg_type") {
            // Each of one to three indices fills registers, which have 32 or 64 bytes.
            Some("local_id") => is_whole(if simd == Some(32) { 64 } else { 32 }) || is_whole(64),
            Some("packed_local_ids") => is_whole(2),
            _ => return Err(self.error(argument, "arg_type", "what is passed to each thread is of no type")),
        };
        if !right {
            return Err(self.error(argument, "size", format!("local ids of {size} bytes are no one to three ids")));
        }
        match number(argument, "offset") {
            Some(0) => Ok(()),
            _ => Err(self.error(argument, "offset", "local ids do not begin at offset 0")),
        }
    }

    fn payload(&self, kernel: &Node<'_>, mut samplers: i64) -> Result<BTreeMap<i64, Kind>> {
        let environment = kernel.get("execution_env").unwrap_or(&Node::Null);
        let inline = number(environment, "inline_data_payload_size").unwrap_or(0);
        let mut kinds: BTreeMap<i64, Kind> = BTreeMap::new();
        let (mut values, mut accessed) = (BTreeSet::new(), BTreeSet::new());
        let mut ways = Ways {
            table: kernel.get("debug_env").and_then(|debug| number(debug, "sip_surface_bti")) == Some(0),
            ..Ways::default()
        };
        for piece in kernel.get("payload_arguments").map(Node::items).unwrap_or_default() {
            let wrong = |key: &str, message: &str| self.error(piece, key, message);
            let of = piece.text_of("arg_type").ok_or_else(|| wrong("arg_type", "an argument is of no type"))?;
            let (size, mode) = (number(piece, "size").unwrap_or(0), piece.text_of("addrmode"));
            let offset = number(piece, "offset").unwrap_or(-1);
            if offset < -1 || size < 0 || offset.saturating_add(size) > MOST_BYTES {
                return Err(wrong("offset", &format!("`{of}` is outside of what arguments take")));
            }
            let is_size = match of {
                "buffer_offset" | "work_dimensions" | "region_group_dimension" => size == 4,
                "buffer_size" => size == 8,
                "const_base" | "global_base" if mode != Some("bindless") => {
                    matches!(size, 4 | 8) || size == 0 && number(piece, "bti_value").is_some()
                }
                // An address of 32 or 64 bits is written there, or none.
                "printf_buffer"
                | "assert_buffer"
                | "rt_global_buffer"
                | "sync_buffer"
                | "private_base_stateless"
                | "buffer_address" => matches!(size, 0 | 4 | 8),
                "arg_bypointer" if mode != Some("bindless") => matches!(size, 0 | 4 | 8),
                "local_size" | "global_id_offset" | "group_count" | "global_size" | "enqueued_local_size" => {
                    matches!(size, 4 | 8 | 12)
                }
                _ => true,
            };
            let has_place = offset != -1 || size != 0;
            if !has_place && PLACED.contains(&of) {
                return Err(wrong("offset", &format!("`{of}` has neither a place nor a size")));
            }
            if !is_size {
                return Err(wrong("size", &format!("`{of}` has {size} bytes, which drivers do not take")));
            }
            let kind = match of {
                "arg_bypointer" => match piece.text_of("addrspace") {
                    Some("image") => Kind::Image,
                    Some("sampler") => Kind::Sampler,
                    _ => Kind::Pointer,
                },
                "arg_byvalue" => Kind::Value,
                "buffer_address" | "buffer_offset" | "buffer_size" => Kind::Pointer,
                _ if of.starts_with("image_") || of.starts_with("flat_image_") => Kind::Image,
                _ if of.starts_with("sampler_") => Kind::Sampler,
                "scratch_pointer" | "indirect_data_pointer" => {
                    if offset != -1 && offset.saturating_add(size) > inline {
                        return Err(wrong("offset", &format!("`{of}` is not within the data that are passed inline")));
                    }
                    continue;
                }
                "const_base" | "global_base" => {
                    ways.bindless_buffer |= mode == Some("bindless");
                    ways.table |=
                        mode != Some("bindless") && number(piece, "bti_value").is_some_and(|place| place != -1);
                    continue;
                }
                "inline_sampler" => {
                    if number(piece, "sampler_index").unwrap_or(-1) > samplers {
                        return Err(wrong("sampler_index", "a sampler is passed that the kernel does not have"));
                    }
                    continue;
                }
                _ => continue,
            };
            let index = number(piece, "arg_index").filter(|index| (0..=MOST_BYTES).contains(index));
            let index =
                index.ok_or_else(|| wrong("arg_index", &format!("`{of}` is of no argument that drivers take")))?;
            if *kinds.entry(index).or_insert(kind) != kind {
                return Err(wrong("arg_index", &format!("argument {index} is of two kinds")));
            }
            match (of, mode) {
                // The first piece of a struct may leave out where in it that stands.
                ("arg_byvalue", _) => {
                    let is_first = values.insert(index);
                    if !is_first && number(piece, "source_offset").is_none_or(|offset| offset == -1) {
                        return Err(wrong(
                            "source_offset",
                            "a later piece of a struct does not tell where in it that stands",
                        ));
                    }
                }
                ("arg_bypointer", _) if piece.get("access_type").is_none() && accessed.contains(&index) => {
                    return Err(wrong("arg_index", "a later piece of an argument does not tell how it is accessed"));
                }
                ("arg_bypointer", None) => return Err(wrong("addrmode", "a pointer is passed in no way")),
                ("arg_bypointer", Some("stateless" | "slm")) if kind != Kind::Pointer => {
                    return Err(wrong("addrmode", "an image or a sampler is passed as a pointer"));
                }
                ("arg_bypointer", Some("stateless")) if size == 0 => {
                    return Err(wrong("size", "a pointer is passed as an address of no bytes"));
                }
                ("arg_bypointer", Some("stateless")) if piece.text_of("addrspace") == Some("local") => {
                    return Err(wrong("addrspace", "local memory is passed as an address of global memory"));
                }
                ("arg_bypointer", Some(_)) if kind == Kind::Sampler => {
                    samplers = samplers.max(number(piece, "sampler_index").unwrap_or(-1).saturating_add(1));
                }
                _ => {}
            }
            if of == "arg_bypointer" && piece.get("access_type").is_some() {
                accessed.insert(index);
            }
            match (mode, kind) {
                (Some("bindless"), Kind::Pointer) => ways.bindless_buffer = true,
                (Some("bindless"), Kind::Image) => ways.bindless_image = true,
                (Some("stateful"), Kind::Pointer) => ways.bound_buffer = true,
                (Some("stateful"), Kind::Image) => ways.bound_image = true,
                _ => {}
            }
        }
        let Ways { bindless_buffer, bindless_image, bound_buffer, bound_image, table } = ways;
        if bindless_buffer && (bound_buffer || table) || bindless_image && (bound_image || table) {
            return Err(self.error(
                kernel,
                "payload_arguments",
                "it reaches some by handles and some by the binding table",
            ));
        }
        Ok(kinds)
    }

    fn buffers(&self, buffers: &[Node<'_>]) -> Result<()> {
        let mut slots = [false; 2];
        for buffer in buffers {
            let wrong = |key: &str, message: &str| self.error(buffer, key, message);
            if number(buffer, "size").is_none_or(|size| size <= 0 || size == i64::from(i32::MAX)) {
                return Err(wrong("size", "memory for each thread has no size that drivers take"));
            }
            match buffer.text_of("type") {
                Some("global") if buffer.text_of("usage") == Some("private_space") => {}
                Some("global") => {
                    return Err(wrong("usage", "global memory for each thread is for more than private memory"));
                }
                Some("scratch") => {
                    let slot = usize::try_from(number(buffer, "slot").unwrap_or(0)).ok();
                    match slot.and_then(|slot| slots.get_mut(slot)) {
                        Some(taken) if !*taken => *taken = true,
                        Some(_) => return Err(wrong("slot", "two scratch memories are at one place")),
                        None => return Err(wrong("slot", "scratch memory is at neither place 0 nor 1")),
                    }
                }
                _ => return Err(wrong("type", "memory for each thread is of no type that drivers take")),
            }
        }
        Ok(())
    }
}

/// A number under a key.
fn number(node: &Node<'_>, key: &str) -> Option<i64> {
    node.get(key)?.word()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::yaml;

    fn refused(text: &str) -> Option<(u64, String)> {
        let error = super::check(text, &yaml::read(text).unwrap()).err()?;
        Some((error.offset().unwrap(), error.without_offset().to_string()))
    }

    /// A description of a kernel with some lines more, each of a list's entries on one line.
    fn kernel(environment: &str, more: &str) -> String {
        let lines = more.lines().map(|line| format!("    {}\n", line.replace(", ", "\n        "))).collect::<String>();
        let environment = environment.lines().map(|line| format!("      {line}\n")).collect::<String>();
        format!(
            "version: '1.73'\nkernels:\n  - name: k\n    execution_env:\n      simd_size: 16\n{environment}{lines}...\n"
        )
    }

    #[test]
    fn what_drivers_know_is_taken() {
        for (environment, more) in [
            ("", ""),
            ("required_work_group_size: [ 4, 2, 1 ]\nslm_alloc_mode: 1\nthread_scheduling_mode: age_based", ""),
            ("has_dpas: false\nhw_preemption_mode: -1", "user_attributes:\n  vec_type_hint: int\n  my_hint: 5"),
            ("", "per_thread_payload_arguments:\n  - arg_type: local_id, offset: 0, size: 96"),
            ("", "per_thread_payload_arguments:\n  - arg_type: packed_local_ids, offset: 0, size: 6"),
            (
                "",
                "per_thread_memory_buffers:\n  - type: scratch, usage: single_space, size: 64\n  - type: scratch, usage: private_space, size: 1, slot: 1",
            ),
            (
                "",
                "inline_samplers:\n  - sampler_index: 0, addrmode: none, filtermode: linear\nexperimental_properties:\n  other: 1",
            ),
            (
                "inline_data_payload_size: 32",
                "payload_arguments:\n  - arg_type: indirect_data_pointer, offset: 0, size: 8\n  \
                 - arg_type: local_size, offset: 8, size: 12\n  - arg_type: arg_byvalue, offset: 32, size: 4, arg_index: 0\n  \
                 - arg_type: arg_byvalue, offset: 36, size: 4, arg_index: 0, source_offset: 4\n  \
                 - arg_type: arg_bypointer, offset: 0, size: 0, arg_index: 1, addrmode: stateful, addrspace: global\n  \
                 - arg_type: buffer_address, offset: 40, size: 8, arg_index: 1\nbinding_table_indices:\n  - bti_value: 0, arg_index: 1",
            ),
        ] {
            assert_eq!(refused(&kernel(environment, more)), None, "{environment} {more}");
        }
        for text in
            ["", "---\n...\n", "kernels: []\n", "version: '1.999'\nkernels:\n", "kernels:\nkernels_misc_info:\n"]
        {
            assert_eq!(refused(text), None, "{text}");
        }
    }

    /// Drivers end where a program asks for them.
    #[test]
    fn what_is_told_of_arguments_is_of_one_that_there_is() {
        let two = "payload_arguments:\n  - arg_type: arg_byvalue, offset: 0, size: 4, arg_index: 0\n  \
                   - arg_type: arg_byvalue, offset: 4, size: 4, arg_index: 1";
        let told = |name: &str, entries: &[&str]| {
            let entries: String =
                entries.iter().map(|entry| format!("      - {}\n", entry.replace(", ", "\n        "))).collect();
            let text = kernel("", two).replace("...\n", "");
            refused(&format!("{text}kernels_misc_info:\n  - name: {name}\n    args_info:\n{entries}...\n"))
        };
        let second = "index: 1, name: b, address_qualifier: __private, access_qualifier: NONE, type_name: 'int;4'";
        assert_eq!(told("k", &["index: 0", second]), None);
        assert_eq!(told("k", &["index: 0, other: []", "index: 0"]), None);
        for (name, entries, expected) in [
            ("k", &["index: 0", "index: 2"][..], "of none that there is"),
            ("k", &["index: 1"], "of none that there is"),
            ("k", &["index: 0", "index: 1", "index: 2"], "of none that there is"),
            ("k", &["index: 0", "name: b"], "of none that there is"),
            ("k", &["index: -1"], "`index` is `-1`"),
            ("l", &["index: 0"], "of no kernel"),
            ("k", &["index: 0, name: ''"], "`name`"),
            ("k", &["index: 0, access_qualifier: [ 1, 2 ]"], "`access_qualifier`"),
            ("k", &["index: 0, address_qualifier:", "index: 1"], "`address_qualifier`"),
            ("k", &["index: 0, type_qualifiers: [ 1, 2 ]"], "`type_qualifiers`"),
        ] {
            let (_, said) = told(name, entries).unwrap_or_else(|| panic!("{name} {entries:?}"));
            assert!(said.contains(expected), "{expected}: {said}");
        }
        assert!(refused("kernels:\nkernels_misc_info:\n  - any: 1\n").unwrap().1.contains("of no kernel"));
    }

    #[test]
    fn the_first_thing_that_drivers_refuse_is_told() {
        let argument = |argument: &str| format!("payload_arguments:\n  - {argument}");
        let two = |one: &str, other: &str| format!("payload_arguments:\n  - {one}\n  - {other}");
        let buffer = |buffer: &str| format!("per_thread_memory_buffers:\n  - {buffer}");
        let value = "arg_type: arg_byvalue, offset: 0, size: 4, arg_index: 0";
        for (environment, more, expected) in [
            ("simd_size: 8", String::new(), "`simd_size` stands twice"),
            ("foo: 1", String::new(), "`foo` in `execution_env`"),
            ("has_dpas: 1", String::new(), "`has_dpas` is `1`"),
            ("barrier_count: 3000000000", String::new(), "`barrier_count` is `3000000000`"),
            ("barrier_count: 0x1", String::new(), "`barrier_count` is `0x1`"),
            ("barrier_count: 14", String::new(), "`barrier_count` is 14"),
            ("barrier_count: -1", String::new(), "`barrier_count` is -1"),
            ("grf_count: 0", String::new(), "`grf_count` is 0"),
            ("grf_count: 65536", String::new(), "`grf_count` is 65536"),
            ("required_work_group_size: [ 4, 2 ]", String::new(), "`required_work_group_size`"),
            ("slm_alloc_mode: 2", String::new(), "neither 0 nor 1"),
            ("work_group_walk_order_dimensions: [ 5, 1, 0 ]", String::new(), "a dimension that there is not"),
            (
                "",
                argument("arg_type: arg_bypointer, offset: 0, arg_index: 0, addrmode: stateless, addrspace: global"),
                "no bytes",
            ),
            (
                "",
                argument("arg_type: arg_bypointer, size: 8, arg_index: 0, addrmode: stateless, addrspace: local"),
                "as an address of global memory",
            ),
            ("", "per_thread_payload_arguments:\n  - arg_type: local_id, offset: 0, size: 48".to_owned(), "48 bytes"),
            ("", argument("arg_type: locax_size, offset: 0, size: 12"), "`arg_type` is `locax_size`"),
            ("", argument("offset: 0, size: 12"), "of no type"),
            ("", argument("arg_type: local_size, offset: 0, size: 16"), "has 16 bytes"),
            ("", argument("arg_type: arg_byvalue, offset: 0, size: 4"), "is of no argument"),
            ("", argument("arg_type: arg_bypointer, offset: 0, size: 8, arg_index: 0, addrspace: global"), "in no way"),
            (
                "",
                argument("arg_type: arg_bypointer, offset: 0, size: 8, arg_index: 0, addrspace: 'global'"),
                "`addrspace` is `global`",
            ),
            (
                "",
                argument("arg_type: arg_bypointer, arg_index: 0, addrmode: stateless, addrspace: image"),
                "passed as a pointer",
            ),
            (
                "inline_data_payload_size: 32",
                argument("arg_type: scratch_pointer, offset: 32, size: 8"),
                "passed inline",
            ),
            ("", argument("arg_type: printf_buffer, offset: 32, size: 16"), "has 16 bytes"),
            ("", argument("arg_type: printf_buffer"), "neither a place nor a size"),
            ("inline_data_payload_size: 32", argument("arg_type: scratch_pointer"), "neither a place nor a size"),
            ("", argument("arg_type: inline_sampler"), "neither a place nor a size"),
            ("", argument("arg_type: const_base, offset: 32"), "has 0 bytes"),
            ("", argument("arg_type: global_base, offset: 32, size: 0"), "has 0 bytes"),
            (
                "",
                argument("arg_type: arg_byvalue, offset: 65535, size: 4, arg_index: 0"),
                "outside of what arguments take",
            ),
            (
                "",
                argument("arg_type: arg_byvalue, offset: 0, size: -1, arg_index: 0"),
                "outside of what arguments take",
            ),
            (
                "",
                argument("arg_type: arg_byvalue, offset: 0, size: 4, arg_index: 2147483647"),
                "no argument that drivers take",
            ),
            (
                "",
                two(
                    "arg_type: arg_bypointer, size: 8, arg_index: 0, addrmode: stateless, access_type: readonly",
                    "arg_type: arg_bypointer, arg_index: 0, addrmode: stateful",
                ),
                "how it is accessed",
            ),
            ("quantum_size: 1", String::new(), "`quantum_size`"),
            ("", "experimental_properties:\n  - other: 1".to_owned(), "`other` in an entry"),
            ("", argument("arg_type: inline_sampler, offset: 0, size: 8, sampler_index: 1"), "does not have"),
            ("", two(value, value), "later piece of a struct"),
            ("", two(value, "arg_type: buffer_address, offset: 8, size: 8, arg_index: 0"), "of two kinds"),
            (
                "",
                two(
                    "arg_type: arg_bypointer, arg_index: 0, addrmode: bindless, addrspace: global",
                    "arg_type: arg_bypointer, arg_index: 1, addrmode: stateful, addrspace: global",
                ),
                "some by handles",
            ),
            ("", "per_thread_payload_arguments:\n  - arg_type: local_id, offset: 0, size: 16".to_owned(), "16 bytes"),
            ("", "per_thread_payload_arguments:\n  - arg_type: local_id, offset: 4, size: 32".to_owned(), "offset 0"),
            ("", "binding_table_indices:\n  - bti_value: 0, arg_index: 0".to_owned(), "no pointer or image"),
            ("", "inline_samplers:\n  - sampler_index: 0, addrmode: none".to_owned(), "no `filtermode`"),
            ("", buffer("type: slm, usage: private_space, size: 1"), "no type that drivers take"),
            ("", buffer("type: global, usage: single_space, size: 1"), "more than private memory"),
            ("", buffer("type: scratch, usage: single_space, size: 0"), "no size"),
            ("", buffer("type: scratch, usage: single_space, size: 1, slot: 2"), "neither place 0 nor 1"),
            ("slm_size: -1", String::new(), "`slm_size` is `-1`"),
            ("required_work_group_size: [ -1, 1, 1 ]", String::new(), "`required_work_group_size`"),
            ("", "user_attributes:\n  reqd_work_group_size: [ -1, 1, 1 ]".to_owned(), "`reqd_work_group_size`"),
            (
                "",
                "user_attributes:\n  intel_reqd_workgroup_walk_order: [ -1, 1, 1 ]".to_owned(),
                "`intel_reqd_workgroup_walk_order`",
            ),
            ("", "user_attributes:\n  other: 1".to_owned(), "`other` in `user_attributes`"),
            ("", "debug_env:\n  other: 1".to_owned(), "`other` in `debug_env`"),
        ] {
            let text = kernel(environment, &more);
            let (at, told) = refused(&text).unwrap_or_else(|| panic!("{text}"));
            assert!(told.contains(expected), "{expected}: {told}");
            assert!(at > 0, "{told}");
        }
        for (text, at, expected) in [
            ("a: 1\n", 0, "`a` in the section"),
            ("kernels:\nkernels:\n", 9, "`kernels` stands twice"),
            ("kernels:\n  - execution_env:\n      simd_size: 8\n", 13, "begins with a key without a value"),
            ("kernels:\n  - user_attributes: \n", 13, "begins with a key without a value"),
            ("kernels:\n  - name: ''\n    execution_env:\n      simd_size: 8\n", 13, "no name"),
            (
                "kernels_misc_info:\n  - name: k\n    args_info:\n      - index:\n",
                54,
                "begins with a key without a value",
            ),
            ("required_libs:\n  - a\n", 0, "`required_libs` in the section"),
            ("kernels:\n  - name: 'a''b'\n", 13, "no name"),
            ("kernels: 5\n", 0, "`kernels` is `5`"),
            ("version: '0.9'\n", 0, "version is 0.9"),
            ("l1_cache_policy: zz\n", 0, "`l1_cache_policy` is `zz`"),
            ("functions:\n  - name: f\n    execution_env:\n      simd_size: 7\n", 48, "`simd_size` is 7"),
            // Drivers read up to the word, wherever it stands.
            ("# kernels_misc_info\nkernels:\n", 2, "is no key here"),
            ("kernels_misc_info:\nkernels:\n", 19, "where drivers do not look"),
        ] {
            let (place, told) = refused(text).unwrap_or_else(|| panic!("{text}"));
            assert!(told.contains(expected), "{expected}: {told}");
            assert_eq!(place, at, "{text}: {told}");
        }
    }
}
