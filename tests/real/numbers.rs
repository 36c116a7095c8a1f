//! Do selectors of `build` mean the images that `inspect` shows, also in a file that holds native images already?

use crate::embed::built;
use crate::tool::{build, images_of, inspect};
use crate::world::world;

/// oneMKL's lapack has hundreds of lists of images, so what an earlier build added stands between the others.
#[test]
fn an_embedded_file_is_numbered_as_inspect_shows_it() {
    let library = world().root().join("venv/lib/libmkl_sycl_lapack.so.6");
    let (folder, first) = built(&library, &["--image", "0-5"]);
    let before = inspect(&first);
    let native = images_of(&before, "spir64_x86_64");
    assert_eq!(native.len(), 6);
    // A native image counts as the one it was compiled from: asking for it asks to build that again.
    let old = native[0]["index"].as_u64().unwrap();
    // A SPIR-V image whose number is not the one it had in the original.
    let wanted = &before["images"][20];
    assert_eq!((&wanted["index"], &wanted["target"]), (&20.into(), &"spir64".into()));
    // Kernels of one name abound; where the payload lies tells images apart.
    assert_ne!(inspect(&library)["images"][20]["offset"], wanted["offset"], "the numbering has moved");
    let of_its_list = |natives: &[&serde_json::Value]| {
        natives.iter().filter(|image| image["descriptor"] == wanted["descriptor"]).count()
    };
    let there = of_its_list(&native);

    let second = folder.path().join("second.so");
    build(&first, &second, &["--image", "20", "--image", &old.to_string()]);
    let after = inspect(&second);
    let native = images_of(&after, "spir64_x86_64");
    assert_eq!(native.len(), 7, "six as before and one more");
    assert_eq!(of_its_list(&native), there + 1);
}
