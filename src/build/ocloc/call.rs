//! How is a function called that takes and gives arrays as C does?
//!
//! All that is `unsafe` of calling ocloc but for looking its functions up. The tests call functions written here in their
//! place, so that Miri judges every pointer: `cargo +nightly miri test --lib --no-default-features --features drivers call`.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

/// The name under which the library gets the module.
pub(super) const INPUT: &str = "module.spv";

/// `oclocInvoke`.
pub(super) type Invoke = unsafe extern "C" fn(
    u32,
    *const *const c_char,
    u32,
    *const *const u8,
    *const u64,
    *const *const c_char,
    u32,
    *const *const u8,
    *const u64,
    *const *const c_char,
    *mut u32,
    *mut *mut *mut u8,
    *mut *mut u64,
    *mut *mut *mut c_char,
) -> c_int;
/// `oclocFreeOutput`.
pub(super) type Free = unsafe extern "C" fn(*mut u32, *mut *mut *mut u8, *mut *mut u64, *mut *mut *mut c_char) -> c_int;

/// Result of a command.
pub(super) struct Invoked {
    /// Status that the function returned.
    pub(crate) status: i32,
    /// Names and contents.
    pub(crate) outputs: Vec<(String, Vec<u8>)>,
}

/// Runs a command in memory; the reason where it cannot be called.
///
/// # Safety
/// The functions keep to `ocloc_api.h`: the first reads the arrays it is given, and gives arrays of as many items as it
/// counts, names that end in a zero byte among them, which live until the second frees them.
#[allow(unsafe_code)]
pub(super) unsafe fn call(
    (invoke, free): (Invoke, Free),
    args: &[String],
    input: Option<&[u8]>,
) -> std::result::Result<Invoked, String> {
    let args: Vec<CString> = args
        .iter()
        .map(|arg| CString::new(arg.as_str()).map_err(|_| "an option contains a zero byte".to_owned()))
        .collect::<std::result::Result<_, _>>()?;
    let pointers: Vec<*const c_char> = args.iter().map(|arg| arg.as_ptr()).collect();
    let name = CString::new(INPUT).map_err(|error| error.to_string())?;
    let (data, lengths, names) =
        (input.map(<[u8]>::as_ptr), input.map(|input| input.len() as u64), input.map(|_| name.as_ptr()));
    let pointer = |given: bool| u32::from(given);
    let (mut count, mut outputs, mut sizes, mut labels) = (0u32, ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: every array holds as many items as its count says and outlives the call, and there are no headers; the
    // outputs are written before it returns.
    let status = unsafe {
        invoke(
            u32::try_from(pointers.len()).unwrap_or(u32::MAX),
            pointers.as_ptr(),
            pointer(input.is_some()),
            data.as_ref().map_or(ptr::null(), ptr::from_ref),
            lengths.as_ref().map_or(ptr::null(), ptr::from_ref),
            names.as_ref().map_or(ptr::null(), ptr::from_ref),
            0,
            ptr::null(),
            ptr::null(),
            ptr::null(),
            &raw mut count,
            &raw mut outputs,
            &raw mut sizes,
            &raw mut labels,
        )
    };
    let mut made = Vec::new();
    for at in 0..usize::try_from(count).unwrap_or(0) {
        if outputs.is_null() || sizes.is_null() || labels.is_null() {
            break;
        }
        // SAFETY: the library gave arrays of `count` items each, of which the pointer and the size of one describe one
        // block, and its name ends in a zero byte; all live until they are freed below.
        let one: Option<(String, Vec<u8>)> = unsafe {
            let (bytes, size, label) = (*outputs.add(at), *sizes.add(at), *labels.add(at));
            let size = usize::try_from(size).unwrap_or(0);
            (!bytes.is_null() && !label.is_null()).then(|| {
                let name = CStr::from_ptr(label).to_string_lossy().into_owned();
                (name, std::slice::from_raw_parts(bytes, size).to_vec())
            })
        };
        made.extend(one);
    }
    // SAFETY: what is freed is what the call gave, once; nothing refers to it any more.
    unsafe {
        free(&raw mut count, &raw mut outputs, &raw mut sizes, &raw mut labels);
    }
    Ok(Invoked { status, outputs: made })
}

#[cfg(test)]
#[allow(unsafe_code, clippy::unwrap_used, clippy::indexing_slicing, reason = "stands in for C")]
mod tests {
    use super::*;

    /// Hands an array to whoever asked, as C does.
    fn give<T>(items: Vec<T>) -> *mut T {
        Box::into_raw(items.into_boxed_slice()).cast()
    }

    unsafe fn take<T>(items: *mut T, count: usize) -> Vec<T> {
        unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(items, count)) }.into_vec()
    }

    /// Gives each argument back, and the input last; an output without bytes where `nothing` is asked for.
    unsafe extern "C" fn echo(
        argc: u32,
        argv: *const *const c_char,
        sources: u32,
        data: *const *const u8,
        lengths: *const u64,
        names: *const *const c_char,
        headers: u32,
        _: *const *const u8,
        _: *const u64,
        _: *const *const c_char,
        count: *mut u32,
        outputs: *mut *mut *mut u8,
        sizes: *mut *mut u64,
        labels: *mut *mut *mut c_char,
    ) -> c_int {
        let (mut bytes, mut lens, mut titles) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |name: &CStr, content: &[u8]| {
            lens.push(content.len() as u64);
            bytes.push(if name.to_bytes() == b"nothing" { ptr::null_mut() } else { give(content.to_vec()) });
            titles.push(name.to_owned().into_raw());
        };
        unsafe {
            for at in 0..argc as usize {
                let arg = CStr::from_ptr(*argv.add(at));
                add(arg, arg.to_bytes());
            }
            for at in 0..sources as usize {
                let content = std::slice::from_raw_parts(*data.add(at), usize::try_from(*lengths.add(at)).unwrap());
                add(CStr::from_ptr(*names.add(at)), content);
            }
            *count = u32::try_from(bytes.len()).unwrap();
            (*outputs, *sizes, *labels) = (give(bytes), give(lens), give(titles));
        }
        i32::try_from(headers).unwrap()
    }

    unsafe extern "C" fn release(
        count: *mut u32,
        outputs: *mut *mut *mut u8,
        sizes: *mut *mut u64,
        labels: *mut *mut *mut c_char,
    ) -> c_int {
        unsafe {
            let count = *count as usize;
            let lens = take(*sizes, count);
            for (bytes, len) in take(*outputs, count).into_iter().zip(lens).filter(|(bytes, _)| !bytes.is_null()) {
                drop(take(bytes, usize::try_from(len).unwrap()));
            }
            take(*labels, count).into_iter().for_each(|label| drop(CString::from_raw(label)));
        }
        0
    }

    /// Fails, and gives nothing.
    unsafe extern "C" fn refuse(
        _: u32,
        _: *const *const c_char,
        _: u32,
        _: *const *const u8,
        _: *const u64,
        _: *const *const c_char,
        _: u32,
        _: *const *const u8,
        _: *const u64,
        _: *const *const c_char,
        count: *mut u32,
        _: *mut *mut *mut u8,
        _: *mut *mut u64,
        _: *mut *mut *mut c_char,
    ) -> c_int {
        // Arrays that are not there count nothing, whatever is said.
        unsafe { *count = 3 };
        -11
    }

    unsafe extern "C" fn nothing(
        _: *mut u32,
        _: *mut *mut *mut u8,
        _: *mut *mut u64,
        _: *mut *mut *mut c_char,
    ) -> c_int {
        0
    }

    #[test]
    fn what_goes_in_comes_out() {
        let args = ["ocloc", "nothing", ""].map(str::to_owned);
        // SAFETY: the functions above keep to what is asked of them.
        let done = unsafe { call((echo, release), &args, Some(&[1, 2, 3])) }.unwrap();
        let outputs: Vec<(&str, &[u8])> =
            done.outputs.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
        assert_eq!(outputs, [("ocloc", &b"ocloc"[..]), ("", b""), (INPUT, &[1, 2, 3])]);
        assert_eq!(done.status, 0);
        let without = unsafe { call((echo, release), &args[..1], None) }.unwrap();
        assert_eq!(without.outputs.len(), 1);
    }

    #[test]
    fn nothing_is_read_where_nothing_is() {
        // SAFETY: as above.
        let done = unsafe { call((refuse, nothing), &["ocloc".to_owned()], Some(&[])) }.unwrap();
        assert_eq!((done.status, done.outputs.len()), (-11, 0));
        let refused = unsafe { call((refuse, nothing), &["a\0b".to_owned()], None) };
        assert!(refused.is_err_and(|error| error.contains("zero byte")));
    }
}
