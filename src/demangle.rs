//! What is a mangled name in the source?

mod type_name;

use cpp_demangle::{DemangleOptions, Symbol};
use std::borrow::Cow;

/// Returns the name as the source has it. Kernel names are mangled type names (`_ZTS...`): of these it is the type itself.
/// Names that are not mangled stay as they are.
pub fn demangle(mangled: &str) -> Cow<'_, str> {
    if !mangled.starts_with("_Z") {
        return Cow::Borrowed(mangled);
    }
    // Most names are of the plain sort.
    if let Some(kernel) = mangled.strip_prefix("_ZTS") {
        let mut name = String::with_capacity(mangled.len().saturating_mul(2));
        if type_name::push(kernel, &mut name) {
            return Cow::Owned(name);
        }
    }
    let demangled =
        Symbol::new(mangled).ok().and_then(|symbol| symbol.demangle_with_options(&DemangleOptions::new()).ok());
    match demangled {
        Some(name) => match name.strip_prefix("typeinfo name for ") {
            Some(kernel) => Cow::Owned(kernel.to_owned()),
            None => Cow::Owned(name),
        },
        None => Cow::Borrowed(mangled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_names_are_types() {
        assert_eq!(demangle("_ZTSN4dpnp3addIfEE"), "dpnp::add<float>");
        assert_eq!(demangle("_Z18free_function_iotai"), "free_function_iota(int)");
        assert_eq!(demangle("plain"), "plain");
        assert_eq!(demangle("_Zgarbage"), "_Zgarbage");
    }
}
