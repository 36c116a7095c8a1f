//! Which native code would the runtime take beside the SPIR-V that it copies to?

use super::judged::module;
use super::support::folder::{Folder, said};

/// The runtime launches kernels from one of the images that a device takes, and copies to a device global in the other.
#[test]
fn images_with_device_globals_of_their_own_have_no_native_code_beside_them() {
    let folder = Folder::new();
    folder.put("0.spv", module(&[], &[], &[], &[]));
    folder.put("0.sym", "k\n");
    folder.put("t.table", "[Code|Properties|Symbols]\n0.spv|0.prop|0.sym\n");
    for (scope, staying) in [("ABAAAAAAAAABAAAAAAAAAA", 0), ("ABAAAAAAAAABAAAABAAAAA", 1)] {
        folder.put("0.prop", format!("[SYCL/device globals]\n_Z3own=2|{scope}\n"));
        for target in ["spir64_x86_64", "pvc", "spir64_x86_64,pvc"] {
            for more in [&[][..], &["--no-spirv"]] {
                let call = ["build", "t.table", "-t", target, "-o", "o.table", "--dry-run", "--format", "json"];
                let planned = folder.tool(call.into_iter().chain(more.iter().copied()));
                let planned: serde_json::Value = serde_json::from_str(&said(&planned)).unwrap();
                let stays = planned["staying"].as_array().unwrap();
                assert_eq!(stays.len(), staying, "{target}: {planned}");
                for one in stays {
                    assert!(one["reason"].as_str().unwrap().starts_with("it has _Z3own for itself"), "{one}");
                }
            }
        }
    }
}
