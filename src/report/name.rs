//! How is a kernel called in the source, and how is that shown in little space?

use crate::demangle::demangle;
use std::borrow::Cow;
use std::fmt::Write as _;

/// A kernel's name for a table: demangled, without what every name has in common. The inline namespace `_V1` goes, and
/// of SYCL's own wrappers around a kernel's type only the type stays; `[rounded]` marks the one that exists beside it.
pub(crate) fn display(mangled: &str) -> String {
    let name = demangle(mangled).replace("sycl::_V1::", "sycl::").replace("> >", ">>").replace("> >", ">>");
    if let Some(kernel) = unwrapped(&name, "sycl::detail::RoundedRangeKernel") {
        return format!("{kernel} [rounded]");
    }
    unwrapped(&name, "sycl::detail::__pf_kernel_wrapper").map(str::to_owned).unwrap_or(name)
}

/// The last template argument of a wrapper.
fn unwrapped<'n>(name: &'n str, wrapper: &str) -> Option<&'n str> {
    let (_, arguments) = name.strip_prefix(wrapper)?.split_once('<')?;
    let arguments = arguments.strip_suffix('>')?;
    let (mut brackets, mut before) = (Brackets::default(), None);
    let mut last = 0usize;
    for (at, letter) in arguments.char_indices() {
        if letter == ',' && !brackets.is_open() {
            last = at.saturating_add(1);
        }
        brackets.take(letter, before.replace(letter));
    }
    arguments.get(last..).map(str::trim).filter(|kernel| !kernel.is_empty())
}

/// Open brackets of a name. Within round ones `<` and `>` may compare numbers: `enable_if<((1)>(0))>`.
#[derive(Default)]
struct Brackets(Vec<char>);

impl Brackets {
    /// Takes a letter, and the one before it.
    fn take(&mut self, letter: char, before: Option<char>) {
        match letter {
            '(' | '{' | '[' => self.0.push(letter),
            '<' if before != Some(')') => self.0.push(letter),
            '>' if before != Some('-') && self.0.last() == Some(&'<') => _ = self.0.pop(),
            // An angle bracket that is still open was none.
            ')' | '}' | ']' => while self.0.pop() == Some('<') {},
            _ => {}
        }
    }

    fn is_open(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Returns the length of what stands before the name of a function template: its result type. Types, which have no
/// parameters, have none.
fn result_type(shown: &str) -> usize {
    let (mut brackets, mut before) = (Brackets::default(), None);
    // Begin of the name, and end of the brackets that belong to it.
    let (mut name, mut own) = (0usize, 0usize);
    for (at, letter) in shown.char_indices() {
        if at < own {
            // Nothing in an operator's template arguments and parameters is a comparison.
            before = None;
            continue;
        }
        if !brackets.is_open() {
            let (earlier, rest) = shown.split_at_checked(at).unwrap_or_default();
            match letter {
                '(' | '<' => match of_name(earlier.get(name..).unwrap_or_default(), rest) {
                    0 if letter == '(' => return name,
                    length => own = at.saturating_add(length),
                },
                ' ' if !earlier.ends_with("operator") && !rest.starts_with(" [") => name = at.saturating_add(1),
                _ => {}
            }
        }
        if at >= own {
            brackets.take(letter, before);
        }
        before = Some(letter);
    }
    0
}

/// The family of a kernel as shown: what stands before its template arguments or parameters, without the type of its
/// result.
pub(crate) fn family(shown: &str) -> &str {
    let shown = shown.get(result_type(shown)..).unwrap_or(shown);
    let mut end = 0usize;
    while let Some(rest) = shown.get(end..) {
        let Some(at) = rest.find(['<', '(']) else { return shown };
        let (before, bracket) = rest.split_at(at);
        end = end.saturating_add(at);
        match of_name(before, bracket) {
            0 => break,
            own => end = end.saturating_add(own),
        }
    }
    shown.get(..end).filter(|family| !family.is_empty()).unwrap_or(shown)
}

/// The length of brackets that belong to the name itself: of an anonymous namespace, of an operator; 0 for others.
fn of_name(before: &str, bracket: &str) -> usize {
    const ANONYMOUS: &str = "(anonymous namespace)";
    if bracket.starts_with(ANONYMOUS) {
        return ANONYMOUS.len();
    }
    const OPERATORS: [&str; 6] = ["()", "<=>", "<<=", "<<", "<=", "<"];
    let word =
        before.strip_suffix("operator").filter(|scope| !scope.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    let own = word.and_then(|_| OPERATORS.iter().find(|operator| bracket.starts_with(**operator)));
    own.map_or(0, |operator| operator.len())
}

/// A text of at most `width` characters: the middle gives way to `…`.
pub(crate) fn shorten(text: &str, width: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= width {
        return Cow::Borrowed(text);
    }
    let kept = width.saturating_sub(1);
    let head = kept.div_ceil(2);
    let tail = kept.saturating_sub(head);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count.saturating_sub(tail)).collect();
    Cow::Owned(format!("{start}…{end}"))
}

/// A path of at most `width` characters: folders give way before the file's name, by which files are told apart.
pub(crate) fn shorten_path(path: &str, width: usize) -> Cow<'_, str> {
    match path.rsplit_once('/') {
        Some((_, name)) if path.chars().count() > width => {
            Cow::Owned(format!("…/{}", shorten(name, width.saturating_sub(2))))
        }
        _ => shorten(path, width),
    }
}

/// A file as a URI.
pub(crate) fn uri(absolute: &str) -> String {
    let mut uri = String::from("file://");
    for byte in absolute.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'+' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The URI of a range of bytes in a file, in the form that ROCm and LLVM tools take: `file://PATH#offset=N&size=N`.
pub(crate) fn uri_at(file: &str, offset: u64, size: usize) -> String {
    let mut uri = String::with_capacity(file.len().saturating_add(48));
    uri.push_str(file);
    // Writing to a string does not fail.
    let _ = write!(uri, "#offset={offset}&size={size}");
    uri
}

/// Path of a file below the one input that it is in, a wheel or a folder; of several inputs the whole path.
pub(crate) fn below<'p>(path: &'p str, inputs: &[String]) -> &'p str {
    let [input] = inputs else { return path };
    let inside = path.strip_prefix(input.as_str()).and_then(|rest| rest.strip_prefix(['!', '/']));
    inside.or_else(|| path.strip_prefix(input.as_str()).filter(|_| input.ends_with('/'))).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_give_way_to_the_type() {
        let rounded = "_ZTSN4sycl3_V16detail18RoundedRangeKernelINS0_4itemILi1ELb1EEELi1EN4dpnp3addIfiEEEE";
        assert_eq!(display(rounded), "dpnp::add<float, int> [rounded]");
        assert_eq!(display("_ZTSN4dpnp3addIfEE"), "dpnp::add<float>");
        assert_eq!(family("dpnp::add<float, int> [rounded]"), "dpnp::add");
        assert_eq!(family("(anonymous)"), "(anonymous)");
        assert_eq!(family("a::(anonymous namespace)::f<int>(char)"), "a::(anonymous namespace)::f");
        assert_eq!(family("(anonymous namespace)::f<int>"), "(anonymous namespace)::f");
        assert_eq!(family("a::operator()(int) const"), "a::operator()");
        assert_eq!(family("operator<<(s&, int)"), "operator<<");
        assert_eq!(family("a::operator<=><int>(a)"), "a::operator<=>");
        assert_eq!(family("my_operator<int>"), "my_operator");
        assert_eq!(family("a::b<int> [rounded]"), "a::b");
        assert_eq!(family("a::operator bool<int>(char)"), "a::operator bool");
    }

    #[test]
    fn a_uri_escapes_what_would_end_it() {
        assert_eq!(uri_at(&uri("/a b/c#.so"), 16, 4), "file:///a%20b/c%23.so#offset=16&size=4");
    }

    #[test]
    fn the_middle_gives_way() {
        assert_eq!(shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(shorten("abcdefghij", 7), "abc…hij");
        assert_eq!(shorten("äöüäöü", 3), "ä…ü");
        assert_eq!(shorten_path("a/long/way/libfoo.so", 12), "…/libfoo.so");
        assert_eq!(shorten_path("way/libabcdefgh.so", 12), "…/libab…h.so");
        assert_eq!(shorten_path("a/b.so", 12), "a/b.so");
        assert_eq!(shorten("abc", 0), "…");
    }

    #[test]
    fn result_types_and_comparisons_part_no_family() {
        // Of torch's kernels for XPU, of vllm-xpu-kernels, and of SYCL's own headers as they stand in oneMKL.
        let real = [
            (
                "_ZTSZZN3gdn15kernel_launcherIfLi4ELb1EEEvRN4sycl3_V15queueEPT_ENKUlRNS2_7handlerEE_clES7_EUlNS2_7nd_itemILi2EEEE_",
                "gdn::kernel_launcher",
            ),
            (
                "_ZTSN4vllm22act_and_mul_vec_kernelIfXadL_ZNS_11silu_kernelIfEET_RKS2_EELb1ELi1EEE",
                "vllm::act_and_mul_vec_kernel",
            ),
            ("_ZTSZN4sycl3_V17handler4fillItEEvPvRKT_mEUlNS0_2idILi1EEEE_", "sycl::handler::fill"),
        ];
        for (mangled, expected) in real {
            assert_eq!(family(&display(mangled)), expected, "{}", display(mangled));
        }
        let copy = "std::enable_if<(((1)>(0)))&&(((1)>(0))), bool>::type sycl::handler::copyAccToAccHelper<unsigned char, 1, \
                    (sycl::access::mode)1024>(sycl::accessor<unsigned char, 1>)::{lambda(sycl::id<1>)#1}";
        assert_eq!(family(copy), "sycl::handler::copyAccToAccHelper");
        // Of llama.cpp.
        let operator = "void bin_bcast_sycl<&op_repeat(float, float)>::operator()<sycl::detail::half_impl::half, float, float>(\
                        ggml_tensor const*, sycl::queue*)::{lambda(sycl::nd_item<3>)#1}";
        assert_eq!(family(operator), "bin_bcast_sycl");
        let wrapped = format!("sycl::detail::RoundedRangeKernel<sycl::item<1, true>, 1, {copy}>");
        assert_eq!(unwrapped(&wrapped, "sycl::detail::RoundedRangeKernel"), Some(copy));
    }
}
