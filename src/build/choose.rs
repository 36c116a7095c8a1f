//! Which live device does the user mean?
//!
//! A number is a place in the list, a kind means the first such device that takes SPIR-V (custom devices have kernels of
//! their own and need not), anything else a part of the
//! device's or platform's name. A device that takes no SPIR-V (PoCL on some systems) is meant only where it is named.

use super::inventory::{Device, Inventory};
use crate::error::{Error, ErrorKind, Result};

/// The kinds by which a device can be asked for.
pub const KINDS: [&str; 4] = ["cpu", "gpu", "accelerator", "custom"];

/// Finds the device, with its place in the inventory. Only devices that `visible` admits count, by place.
///
/// # Errors
/// `Environment` where there is none; `Usage` where a name means several.
pub fn choose<'i>(
    inventory: &'i Inventory,
    wanted: &str,
    visible: &dyn Fn(usize) -> bool,
) -> Result<(usize, &'i Device)> {
    let seen: Vec<(usize, &Device)> =
        inventory.devices.iter().enumerate().filter(|(place, _)| visible(*place)).collect();
    if let Ok(number) = wanted.parse::<usize>() {
        return seen.iter().find(|(place, _)| *place == number).copied().ok_or_else(|| missing(wanted, &seen));
    }
    let lower = wanted.to_lowercase();
    if KINDS.contains(&lower.as_str()) {
        let fits = |(_, device): &&(usize, &Device)| device.kind == lower;
        let able = seen.iter().filter(fits).find(|(_, device)| device.takes_spirv() || lower == "custom");
        return able.copied().ok_or_else(|| match seen.iter().find(fits) {
            Some((place, device)) => {
                let message =
                    format!("the {lower} device there is, {} ({}), takes no SPIR-V", device.name, device.platform);
                let error = Error::new(ErrorKind::Environment, message);
                error.with_remedy(format!("its number, {place}, means it nevertheless"))
            }
            None => missing(wanted, &seen),
        });
    }
    let named = |device: &Device| {
        let full = format!("{} {}", device.platform, device.name).to_lowercase();
        device.name.to_lowercase() == lower || full.contains(&lower)
    };
    let found: Vec<(usize, &Device)> = seen.iter().copied().filter(|(_, device)| named(device)).collect();
    match found.as_slice() {
        [] => Err(missing(wanted, &seen)),
        [one] => Ok(*one),
        several => {
            let error = Error::new(ErrorKind::Usage, format!("`{wanted}` means several devices: {}", list(several)));
            Err(error.with_remedy("name one by its number"))
        }
    }
}

fn missing(wanted: &str, seen: &[(usize, &Device)]) -> Error {
    let there = if seen.is_empty() { "no device at all".to_owned() } else { list(seen) };
    let error = Error::new(ErrorKind::Environment, format!("no OpenCL device `{wanted}`; there is {there}"));
    error.with_remedy("`sycl-bundle devices` lists them, `sycl-bundle doctor` tells what is missing")
}

fn list(devices: &[(usize, &Device)]) -> String {
    let one = |(place, device): &(usize, &Device)| format!("{place} {} ({})", device.name, device.platform);
    devices.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory() -> Inventory {
        let device = |name: &str, platform: &str, kind: &str, il: &str| Device {
            name: name.into(),
            platform: platform.into(),
            kind: kind.into(),
            il: il.into(),
            ..Device::default()
        };
        let devices = vec![
            device("pthread-EPYC", "Portable Computing Language", "cpu", ""),
            device("AMD EPYC", "Intel(R) OpenCL", "cpu", "SPIR-V_1.4"),
            device("Arc A770", "Intel(R) OpenCL Graphics", "gpu", "SPIR-V_1.3"),
        ];
        Inventory { devices, ..Inventory::default() }
    }

    fn place(wanted: &str) -> std::result::Result<usize, ErrorKind> {
        choose(&inventory(), wanted, &|_| true).map(|(place, _)| place).map_err(|error| error.kind())
    }

    #[test]
    fn what_takes_no_spirv_is_meant_only_by_name() {
        assert_eq!(place("cpu"), Ok(1));
        assert_eq!(place("CPU"), Ok(1));
        assert_eq!(place("0"), Ok(0));
        assert_eq!(place("portable"), Ok(0));
        assert_eq!(place("arc"), Ok(2));
        assert_eq!(place("epyc"), Err(ErrorKind::Usage));
        assert_eq!(place("7"), Err(ErrorKind::Environment));
        assert_eq!(place("accelerator"), Err(ErrorKind::Environment));
        let only_first = choose(&inventory(), "cpu", &|place| place == 0).unwrap_err();
        assert_eq!(only_first.kind(), ErrorKind::Environment);
        assert!(only_first.to_string().contains("takes no SPIR-V"), "{only_first}");
    }
}
