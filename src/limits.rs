//! How much is too much?
//!
//! Every bound that keeps a hostile file from costing more memory or time than its size warrants is here. Bounds are
//! checked where a count is read, before anything is allocated for it.

/// Images in one file. One descriptor holds at most 65,535; the largest libraries known hold under 10,000.
pub(crate) const MAX_IMAGES: usize = 1 << 18;

/// Images of a file of any size, and bytes of the file for each image beyond them: each takes more than a thousand bytes of memory
/// for any verb, and hundreds of thousands of tiny ones are packed into kilobytes. Compilers write thousands of bytes for each. A
/// file table may have as many as rows.
pub(crate) const MAX_IMAGES_FLOOR: usize = 1 << 14;
/// See [`MAX_IMAGES_FLOOR`].
pub(crate) const IMAGE_BYTES: usize = 64;

/// Returns the number of images that a file of so many bytes may have.
pub(crate) fn images_of(bytes: usize) -> usize {
    MAX_IMAGES_FLOOR.saturating_add(bytes / IMAGE_BYTES).min(MAX_IMAGES)
}

/// Bytes of a thread's stack, told to each: the variable `RUST_MIN_STACK` would ask for other sizes, in which nothing runs.
pub(crate) const THREAD_STACK: usize = 2 << 20;

/// Descriptors in one file: one per object that was wrapped before the final link.
pub(crate) const MAX_DESCRIPTORS: usize = 1 << 16;

/// Offload entries of all images of one file together. Tables may overlap in a hostile file, so the sum is bounded.
pub(crate) const MAX_ENTRIES: usize = 1 << 20;

/// Properties of all images of one file together. Tables may overlap, so the sum is bounded.
pub(crate) const MAX_PROPERTIES: usize = 1 << 20;

/// Properties of one image as text. An image of the largest known library has under 20,000.
pub(crate) const MAX_TEXT_PROPERTIES: usize = 1 << 18;

/// Bytes of the properties of one image as text, and of its entries. Those of the largest known image have 2 MiB.
pub(crate) const MAX_IMAGE_TEXT: usize = 64 << 20;

/// Entries that stand in texts, of all images of a table together: rows may share a text. The largest known library has under 20,000.
pub(crate) const MAX_TEXT_ENTRIES: usize = 1 << 18;

/// Property sets of one image. Upstream knows about twenty.
pub(crate) const MAX_PROPERTY_SETS: usize = 256;

/// Bytes of a NUL-terminated string (kernel names of deeply nested templates reach tens of kilobytes).
pub(crate) const MAX_STRING: usize = 1 << 20;

/// Characters of a path or architecture of a kernel package in a message, and packages of a host file that one names.
pub(crate) const MAX_PACKAGE_PATH: usize = 200;
pub(crate) const MAX_PACKAGES: usize = 20;

/// Bytes of all strings of one file together that are read, beyond the file's size. Many structures of a hostile file
/// may refer to one long string.
pub(crate) const MAX_STRING_BYTES: usize = 64 << 20;

/// Bytes of a section's or needed library's name; longer ones are skipped.
pub(crate) const MAX_NAME: usize = 4096;

/// Names in one table that may have no end: each is looked for up to the table's.
pub(crate) const MAX_UNENDED: usize = 256;

/// Loadable segments of one ELF file, sections of one PE file, libraries that either needs. Linkers write under thirty.
pub(crate) const MAX_SEGMENTS: usize = 512;

/// Words of a file that several relocations write into.
pub(crate) const MAX_WRITTEN_TWICE: usize = 4096;

/// Bytes of a SPIR-V module. The largest of compilers has some megabytes, and what is known of one takes several times its size.
pub(crate) const MAX_MODULE: usize = 128 << 20;

/// Types and constants of a SPIR-V module: each takes eight bytes of it, and a hundred of memory. The largest of compilers has tens of
/// thousands.
pub(crate) const MAX_DECLARATIONS: usize = 1 << 20;

/// Bytes that one compressed image may inflate to; those that all files of a run may, beyond [`MAX_INFLATED_RATIO`] times
/// their size on the disk.
pub(crate) const MAX_INFLATED: u64 = 1 << 30;

/// Bytes from which what is inflated or rewritten is kept in a file without a name, not in memory.
pub(crate) const LARGE: usize = 16 << 20;

/// Bytes that are read of what was inflated into files, of which the memory is given back then.
pub(crate) const MAX_READ_AT_A_TIME: usize = 64 << 20;

/// Bytes that the parts of a file may inflate to, most of them in files without a name: of a library of 459 MB (XLA for ROCm) bundles of 29 MB
/// inflate to 2.4 GB.
pub(crate) const MAX_FILED: u64 = 8 * MAX_INFLATED;

/// Bytes of them that are in memory, beyond [`MAX_HELD_RATIO`] times the file's size, and up to [`MAX_INFLATED`]: those
/// smaller than [`LARGE`] as long as this lasts, and smaller than [`SMALL_DRAFT`] always.
pub(crate) const MAX_HELD_FLOOR: u64 = 192 << 20;

/// See [`MAX_HELD_FLOOR`].
pub(crate) const MAX_HELD_RATIO: u64 = 2;

/// Bytes below which a part stays in memory.
pub(crate) const SMALL_DRAFT: usize = 32 << 10;

/// Files without a name for the parts of a file that are not [`LARGE`].
pub(crate) const MAX_FILES: u64 = 1 << 15;

/// Bytes of an LZ4 block. Compilers for NVIDIA GPUs make one of the code for each of them.
pub(crate) const MAX_LZ4_BLOCK: usize = 256 << 20;

/// Bytes that a compressed image may inflate to beyond [`MAX_INFLATED_RATIO`] times its stored size.
pub(crate) const MAX_INFLATED_FLOOR: u64 = 64 << 20;

/// Factor by which a large compressed image may exceed its stored size.
pub(crate) const MAX_INFLATED_RATIO: u64 = 256;

/// Bytes that the parts of a file may inflate to, beyond [`MAX_INFLATED_FILE_RATIO`] times its size, and up to [`MAX_FILED`].
pub(crate) const MAX_INFLATED_FILE_FLOOR: u64 = 128 << 20;

/// Factor by which all that a file holds may exceed it. Bundles for dozens of AMD's GPUs come to eighty times their size.
pub(crate) const MAX_INFLATED_FILE_RATIO: u64 = 128;

/// Factor by which all compressed images of a file together may exceed it, beyond [`MAX_INFLATED_IMAGES_FLOOR`]. Those of compilers
/// have a third of it.
pub(crate) const MAX_INFLATED_IMAGES_RATIO: u64 = 12;

/// Bytes that all compressed images of a file of any size may inflate to.
pub(crate) const MAX_INFLATED_IMAGES_FLOOR: u64 = 256 << 20;

/// Factor by which what the parts of all native payloads of a file inflate to may exceed these, beyond
/// [`MAX_INFLATED_FILE_FLOOR`]. Compilers for NVIDIA GPUs have a tenth of it.
pub(crate) const MAX_INFLATED_NATIVE_RATIO: u64 = 32;

/// Bytes that the parts of a native payload may inflate to beyond [`MAX_INFLATED_RATIO`] times its size: a file may have
/// payloads of a hundred bytes by the thousands.
pub(crate) const MAX_INFLATED_PARTS_FLOOR: u64 = 16 << 10;

/// Nesting depth of blobs (an OffloadBinary in a bundle in an OffloadBinary).
pub(crate) const MAX_BLOB_NESTING: u32 = 6;

/// Factor by which the parts of a blob together may exceed its size. Parts of a valid file do not overlap, but each
/// layer of nesting counts.
pub(crate) const MAX_OVERLAP: u64 = 12;

/// Layers of images that earlier runs added to a file, and that are taken off it one after the other. Each run takes off what it
/// finds, so that there are three.
pub(crate) const MAX_LAYERS: usize = 16;

/// Problems reported for one file; the rest is counted.
pub(crate) const MAX_PROBLEMS: usize = 10_000;

/// Nesting depth of packages: an archive in a tar in a conda package in a wheel in a zip is five.
pub(crate) const MAX_NESTING: usize = 8;

/// Bytes that one member of a package may inflate to. The largest libraries with device code reach 3 GiB.
pub(crate) const MAX_MEMBER: u64 = 4 << 30;

/// Factor by which all members of a package together may exceed it. Packages shrink to a tenth, and of members that are alike to less.
pub(crate) const MAX_PACKAGE_RATIO: u64 = 64;

/// Bytes that all members of a package together may inflate to, beyond [`MAX_PACKAGE_RATIO`] times its size.
pub(crate) const MAX_PACKAGE_FLOOR: u64 = 128 << 20;

/// KiB of memory that an xz stream may ask for. The highest preset of xz needs 65 MiB.
pub(crate) const MAX_XZ_MEMORY: u32 = 96 << 10;

/// Members of a zip archive.
pub(crate) const MAX_ZIP_MEMBERS: usize = 1 << 20;

/// Binary logarithm of the bytes of a zstd frame's window: what `zstd -d` takes without being asked for more, and `--ultra` makes.
pub(crate) const MAX_ZSTD_WINDOW: u32 = 27;

/// Packages around a compressed one that may have decoders as large as [`MAX_XZ_MEMORY`] and [`MAX_ZSTD_WINDOW`] say: more would have
/// half a gigabyte together.
pub(crate) const MAX_DEPTH_OF_LARGE_DECODERS: usize = 2;

/// KiB of memory that an xz stream may ask for where it is deeper. Preset 6, which is the default, needs 9 MiB.
pub(crate) const MAX_DEEP_XZ_MEMORY: u32 = 16 << 10;

/// Binary logarithm of the bytes of a zstd frame's window where it is deeper. All levels but those of `--ultra`, and of `--long`, keep to it.
pub(crate) const MAX_DEEP_ZSTD_WINDOW: u32 = 23;

/// Bytes of the path of one member; the rest is cut off.
pub(crate) const MAX_MEMBER_PATH: usize = 4096;

/// Bytes of the name of a member of an archive; one with a longer name is refused.
pub(crate) const MAX_MEMBER_NAME: usize = 16 << 10;

/// Times the size of a package that the paths of its members together may have: thousands may share a name, and each has those of
/// the packages around it.
pub(crate) const MAX_PATHS_RATIO: usize = 2;

/// Bytes that a member counts beside its path: what is made of each for any verb. Hundreds of thousands of tiny ones are packed into
/// kilobytes.
pub(crate) const MEMBER_COST: usize = 256;

/// Bytes of the paths of members of a package of any size.
pub(crate) const MAX_PATHS_FLOOR: usize = 16 << 20;

/// Decorations of one id that are read. Compilers write under ten; with decoration groups the number could be a
/// product.
pub(crate) const MAX_DECORATIONS: usize = 256;

/// Words of decorations that are written for the ids of decoration groups: 64 MiB. Their number could be a product.
pub(crate) const MAX_GROUPED_WORDS: usize = 1 << 24;

/// Members of one structure, including nested ones, that are laid out.
pub(crate) const MAX_MEMBERS: usize = 1 << 20;

/// Bytes of the names of the functions that one instruction was inlined from; of those further out nothing is told.
pub(crate) const MAX_INLINED_TEXT: usize = 64 << 10;

/// Bytes of the names of a call chain beyond which only its last function is added.
pub(crate) const MAX_CHAIN_TEXT: usize = 128 << 10;

/// Bytes that the call chains of all kernels of linked modules may take together, however small these are; of larger ones by
/// [`MAX_LISTS_RATIO`].
pub(crate) const CHAINS_TEXT_FLOOR: usize = 8 << 20;

/// Functions of a call chain that are shown; of a longer one the middle is left out. Real ones have under ten.
pub(crate) const MAX_CHAIN: usize = 64;

/// Bytes of a device configuration; the built-in ones have under 200 KiB together.
pub(crate) const MAX_CONFIG: usize = 1 << 20;

/// Bytes of a baseline or a profile of a program. The baseline of every kernel of the largest known library on all targets
/// has a tenth of it.
pub(crate) const MAX_RECORDED: usize = 64 << 20;

/// Factor by which all native code of a profile may exceed what is stored of it, beyond [`MAX_INFLATED_FLOOR`]. Drivers'
/// code is two to four times as large.
pub(crate) const MAX_RECORDED_RATIO: u64 = 16;

/// Texts, lists and mappings in a device configuration or a policy: each may be compared with all others, and be a fault
/// with a message. No built-in configuration has a quarter of them.
pub(crate) const MAX_CONFIG_VALUES: usize = 1 << 14;

/// Bytes that `like` may take over in one device configuration, where each base is counted as the whole file.
pub(crate) const MAX_CONFIG_COPIED: usize = 64 << 20;

/// Nesting depth of lists and mappings in a device configuration, and of lists and tables in brackets in a policy. Their grammars need
/// three.
pub(crate) const MAX_CONFIG_DEPTH: usize = 16;

/// Notes with metadata in one code object of an AMD GPU: linkers leave one, and one for each partition of a program.
pub(crate) const MAX_METADATA_NOTES: usize = 1024;

/// Functions that compiled code calls and does not have, of which the names are kept: one is enough to say so.
pub(crate) const MAX_UNDEFINED: usize = 16;

/// Findings of one rule that are told of an image on a target. Compilers give cause for a few; a module may declare sizes and
/// extensions by the hundred thousand.
pub(crate) const MAX_FINDINGS_OF_A_RULE: usize = 256;

/// Names of instructions that are kept of a module's inline assembly, and the longest of them in bytes. Intel's GPUs have some two
/// hundred instructions, with types behind them.
pub(crate) const MAX_MNEMONICS: usize = 1024;
/// See [`MAX_MNEMONICS`].
pub(crate) const MAX_MNEMONIC: usize = 64;

/// Clones that are listed with each kernel. Complete lists would grow as the square of their number.
pub(crate) const MAX_CLONES_TOLD: usize = 1000;

/// Bytes of the names of clones, and of the numbers of images, that all kernels of a file together list; shorter lists are made of
/// what would be more.
pub(crate) const MAX_CLONE_BYTES: usize = 64 << 20;

/// Bytes of all values of the specialization constants of an image that states no defaults. Compilers write a few dozen.
pub(crate) const MAX_SPEC_VALUES: u64 = 1 << 20;

/// Required sizes, targets that an image is fixed to, and aspects without a name, of one image. Compilers write under ten.
pub(crate) const MAX_REQUIREMENTS: usize = 64;

/// Kernels, their arguments, parts and sections of all native payloads of a file, beyond one for [`NATIVE_ITEM_BYTES`] of
/// their stored bytes. Each takes hundreds of bytes of memory. Compilers write hundreds of bytes for each, a fourth of that
/// compressed.
pub(crate) const MAX_NATIVE_ITEMS: usize = 1 << 18;
/// Items of a file of any size, which take a gigabyte of memory. The largest libraries have half a million.
pub(crate) const MOST_NATIVE_ITEMS: usize = 1 << 22;
pub(crate) const NATIVE_ITEM_BYTES: usize = 64;

/// Bytes of a name of native code that count as one more of [`MAX_NATIVE_ITEMS`].
pub(crate) const NATIVE_NAME_BYTES: usize = 128;

/// Bytes of the name of a part of a native payload; the rest is cut off. Those of ocloc and clang have under a hundred.
pub(crate) const MAX_PART_NAME: usize = 256;

/// Bytes of an image's options that `diff` tells of each of its kernels; the rest is counted. Compilers write under two hundred.
pub(crate) const MAX_TOLD_OPTIONS: usize = 1 << 10;

/// Images of a kernel of which `explain` tells what the runtime makes of them. Compilers know forty targets.
pub(crate) const MAX_TOLD_IMAGES: usize = 64;

/// Causes that a message of an error may tell; logs of genuine builds have a handful.
pub(crate) const MAX_SAYINGS: usize = 128;
/// Symbols of a cause that are looked for in files.
pub(crate) const MAX_SAID_SYMBOLS: usize = 1 << 10;
/// Kernels and images of all files that the causes of a message are about; what is beyond is counted.
pub(crate) const MAX_CONCERNS: usize = 1 << 16;

/// Times that a member of a wheel is longer than its bytes, beyond [`ANEW_FLOOR`], where it is written anew; longer ones are copied.
pub(crate) const ANEW_RATIO: u64 = 64;
/// See [`ANEW_RATIO`].
pub(crate) const ANEW_FLOOR: u64 = 1 << 20;

/// Entries of a folder of a driver or compiler that a worker may read, where that is not one of libraries by its name.
pub(crate) const MAX_READ_ENTRIES: usize = 1 << 13;

/// Bytes of a list of folders in the header of a program.
pub(crate) const MAX_RUN_PATH: u64 = 1 << 16;

/// Files of a driver or compiler that are looked into for what they start and load, bytes of each, and words of a script.
pub(crate) const MAX_READ_FILES: usize = 1 << 10;
/// See [`MAX_READ_FILES`].
pub(crate) const MAX_READ_SCRIPT: u64 = 1 << 16;
/// See [`MAX_READ_FILES`].
pub(crate) const MAX_READ_WORDS: usize = 1 << 10;

/// Folders that a script names in which its other words are looked for.
pub(crate) const MAX_READ_ROOTS: usize = 16;

/// Targets of a kernel's images, and letters of each, in a message that is told of each kernel. Compilers know forty targets.
pub(crate) const MAX_TOLD_TARGETS: usize = 32;
pub(crate) const MAX_TOLD_TARGET: usize = 100;

/// Bytes of the options of an image that are judged; of longer ones nothing is known. Compilers write under two hundred.
pub(crate) const MAX_READ_OPTIONS: usize = 16 << 10;

/// Bytes of all options of the compiler and the linker in the table `build` of a file: each image may get them for each target.
/// Those of projects have some hundreds.
pub(crate) const MAX_RULE_OPTIONS: usize = 16 << 10;

/// Problems reported for one native payload.
pub(crate) const MAX_NATIVE_PROBLEMS: usize = 100;

/// Members of an archive of Intel GPUs' code that are named after a stepping, for each family of GPUs.
pub(crate) const MAX_STEPPINGS: usize = 16;

/// Abbreviations of one block of LLVM bitcode. LLVM writes under a hundred.
pub(crate) const MAX_ABBREVIATIONS: usize = 1024;

/// Fields of an abbreviation of LLVM bitcode. LLVM writes under thirty.
pub(crate) const MAX_ABBREVIATION_FIELDS: u64 = 1024;

/// Blocks of LLVM bitcode for which abbreviations are registered. LLVM knows under thirty.
pub(crate) const MAX_ABBREVIATED_BLOCKS: usize = 64;

/// Bytes of bitcode that is written without abbreviations, by those that it had, beyond [`BITCODE_FLOOR`]. What LLVM writes grows by
/// half.
pub(crate) const BITCODE_GROWTH: usize = 2;

/// Bytes that any bitcode may grow by: a text of letters and digits alone grows most.
pub(crate) const BITCODE_FLOOR: usize = 1 << 20;

/// Operands of one record of bitcode that is read: elements of a table of constants, or letters of a text.
pub(crate) const MAX_OPERANDS: u64 = 1 << 23;

/// Bytes of names, sources, aspects and types that all functions of a module of LLVM bitcode may have together, beyond four times
/// those of its names: thousands may name one of a megabyte.
pub(crate) const MAX_BITCODE_TEXT: usize = 32 << 20;

/// Parameters of all functions of a module of LLVM bitcode that have a body, which may share a type with many.
pub(crate) const MAX_BITCODE_PARAMETERS: usize = 1 << 23;

/// Values, and nodes and operands of metadata, that are kept of one module of LLVM bitcode.
pub(crate) const MAX_BITCODE_METADATA: usize = 1 << 24;

/// Values in the metadata of a native payload.
pub(crate) const MAX_METADATA_VALUES: usize = 1 << 22;

/// Bytes of a `.ze_info` section for each of its values, beyond [`MANY_YAML_VALUES`] of them: IGC writes twenty, and each takes forty
/// in memory.
pub(crate) const MIN_YAML_VALUE: usize = 4;
/// See [`MIN_YAML_VALUE`].
pub(crate) const MANY_YAML_VALUES: usize = 1 << 16;

/// Bytes of a profile for each of its values, beyond [`MANY_JSON_VALUES`] of them: those of `record` have thirty on average, and each may
/// take forty in memory.
pub(crate) const MIN_JSON_VALUE: usize = 16;
/// See [`MIN_JSON_VALUE`].
pub(crate) const MANY_JSON_VALUES: usize = 1 << 20;

/// Bytes of MessagePack for each of its values, beyond [`MANY_MSGPACK_VALUES`] of them: keys have six and more, and their values one.
pub(crate) const MIN_MSGPACK_VALUE: usize = 2;
/// See [`MIN_MSGPACK_VALUE`].
pub(crate) const MANY_MSGPACK_VALUES: usize = 1 << 16;
/// Bytes of the text of an HCF container for each of its values, and for the begin and the end of each node, beyond
/// [`MANY_HCF_ITEMS`] of them: AdaptiveCpp writes ten and more, and each takes thirty in memory.
pub(crate) const HCF_ITEM_BYTES: usize = 8;
/// See [`HCF_ITEM_BYTES`].
pub(crate) const MANY_HCF_ITEMS: usize = 1 << 16;
/// Values and nodes of a text of any size.
pub(crate) const MOST_HCF_ITEMS: usize = 1 << 22;

/// Nesting depth of lists in the metadata of a native payload.
pub(crate) const MAX_METADATA_DEPTH: usize = 32;

/// Nesting depth of brackets and negations in a condition on images.
pub(crate) const MAX_CONDITION_DEPTH: usize = 32;

/// Braces within each other in a glob.
pub(crate) const MAX_GLOB_DEPTH: usize = 16;

/// Bytes of a glob; mangled names reach tens of thousands.
pub(crate) const MAX_GLOB: usize = 64 << 10;

/// Globs of a policy that are held against kernels, each glob, each star in it, each kernel and each 256 letters of its name
/// counted, for all files of a command; and more of them for each byte of these files. A kernel takes hundreds of bytes at
/// least, so that thousands of globs are in order.
pub(crate) const MAX_GLOB_TRIALS: u64 = 1 << 24;
pub(crate) const GLOB_TRIALS_PER_BYTE: u64 = 4;

/// Findings against one kernel on one target: of what stands against it beyond, only the first of each rule and aspect is told.
pub(crate) const MAX_KERNEL_FINDINGS: usize = 256;

/// Instructions that are read to find what the kernels of one module reach. The largest modules of compilers need a hundredth
/// of them; those of a library of oneMKL, linked into one, more than a quarter. Also the imports that are followed for all kernels
/// of a file.
pub(crate) const MAX_REACHED: usize = 1 << 24;

/// Instructions that are read for that however small the module is, and more for each that it has: a file may have thousands of
/// modules of which all kernels reach all of the code.
pub(crate) const MAX_REACHED_FLOOR: usize = 1 << 20;
pub(crate) const REACHED_PER_INSTRUCTION: usize = 128;

/// Bytes of arguments and properties that are held against those of other images of the same kernels: an old kernel may have thousands of
/// them, and a new one thousands of images.
pub(crate) const MAX_COMPARED_FACTS: usize = 64 << 20;

/// Words of execution modes and decorations that are looked at to compare the code of the kernels of a module of so many instructions.
pub(crate) fn compared_annotations(instructions: usize) -> usize {
    reached(instructions).saturating_mul(4)
}

/// Instructions that the kernels of a module of so many may reach in all.
pub(crate) fn reached(instructions: usize) -> usize {
    MAX_REACHED.min(MAX_REACHED_FLOOR.saturating_add(instructions.saturating_mul(REACHED_PER_INSTRUCTION)))
}

/// Factor by which the names of the kernels and functions that may call what an image imports, told for each import, may exceed the
/// image. Each of thousands of kernels may call each of thousands of imports; compilers import a few functions.
pub(crate) const MAX_CALLERS_RATIO: usize = 16;

/// Bytes that these names may have whatever the image's size.
pub(crate) const MAX_CALLERS_FLOOR: usize = 1 << 20;

/// Factor by which the lists of all kernels of a module (arguments, constants, symbols) may exceed it. Thousands of entry points may
/// share a function of thousands of parameters; no module of a library that was read meets it.
pub(crate) const MAX_LISTS_RATIO: usize = 16;

/// Bytes that these lists may have whatever the module's size.
pub(crate) const MAX_LISTS_FLOOR: usize = 1 << 20;

/// Bytes of the lists of kernels whose facts are held at a time.
pub(crate) const MAX_LISTS_HELD: usize = 16 << 20;

/// Execution modes of a function beyond which they are read once for all its entry points.
pub(crate) const MANY_MODES: usize = 32;

/// Calls that are followed to find what all kernels of a module of LLVM bitcode reach.
pub(crate) const MAX_BITCODE_REACHED: usize = 1 << 21;

/// Images that one is split into. One descriptor, which a runtime is handed, holds no more; each takes thousands of bytes of memory.
pub(crate) const MAX_SPLIT_IMAGES: usize = 65_535;

/// Factor by which the parts of a module together may exceed its size. Many entry points of a hostile module may each
/// reach all of it; with debug information the parts of real modules reach ten times the whole.
pub(crate) const MAX_SPLIT_RATIO: u64 = 64;

/// Bytes that the parts of a module may have whatever its size.
pub(crate) const MAX_SPLIT_FLOOR: u64 = 64 << 20;

/// Factor by which the images that `link --each` makes may exceed its inputs together: each takes in all that it needs, and each of
/// thousands may need all others.
pub(crate) const MAX_LINKED_RATIO: u64 = 64;

/// Bytes that these images may have whatever the size of the inputs.
pub(crate) const MAX_LINKED_FLOOR: u64 = 64 << 20;

/// Images that are taken into all these together: each is read anew for each of them. Libraries have some for each kernel.
pub(crate) const MAX_LINKED_INPUTS: usize = 1 << 16;

/// Bytes of the images of other files that all files of a run are lent, to be judged with what they import: each counts with what
/// it inflates to and [`LENT_COST`], as it is examined anew for each of them, and each of thousands of files may need all others.
/// The modules of oneMKL's library of vector functions, each in a file, come to 80 MB.
pub(crate) const MAX_LENT_FLOOR: usize = 64 << 20;
/// Factor by which these may exceed all files together, beyond [`MAX_LENT_FLOOR`].
pub(crate) const MAX_LENT_RATIO: usize = 16;
/// Bytes that an image that is lent counts beside its own.
pub(crate) const LENT_COST: usize = 2 << 10;

/// Returns the bytes that files of so many bytes may be lent.
pub(crate) fn lent_of(bytes: usize) -> usize {
    bytes.saturating_mul(MAX_LENT_RATIO).saturating_add(MAX_LENT_FLOOR)
}

/// Links between files that `check --link` tells, and images that define what it finds fault with, for each image and beyond; the
/// rest is counted. Each of thousands of images may export what each of thousands imports.
pub(crate) const LINKS_PER_IMAGE: usize = 16;
/// See [`LINKS_PER_IMAGE`].
pub(crate) const MAX_LINKS_FLOOR: usize = 1 << 16;

/// Bytes of a module of SYCL's device library. The largest known one has 3 MB.
pub(crate) const MAX_LIBRARY_MODULE: u64 = 64 << 20;

/// Bytes of the value of a specialization constant without a stored default.
pub(crate) const MAX_SPEC_CONSTANT: usize = 1 << 20;

/// Bytes of a file table. The largest known one, of a library split by kernel, has 2 MiB.
pub(crate) const MAX_TABLE: usize = 32 << 20;

/// Rows of a file table; one split by kernel has under 20,000.
pub(crate) const MAX_TABLE_ROWS: usize = 1 << 16;

/// Instructions that walks from the functions that a module exports may look at, beyond [`EXPORTS_REACHED_RATIO`] times its own.
pub(crate) const EXPORTS_REACHED_FLOOR: usize = 1 << 16;

/// Factor by which these walks together may exceed the module.
pub(crate) const EXPORTS_REACHED_RATIO: usize = 8;

/// Programs of profiles that are tried for a module: those that it was compiled for with other options, constants and devices.
pub(crate) const MAX_HARVESTED: usize = 256;

/// Columns of a file table. DPC++'s tools write three.
pub(crate) const MAX_TABLE_COLUMNS: usize = 16;

/// Bytes of all rows of a file table together that may repeat other rows' files, beyond [`MAX_OVERLAP`] times the files.
pub(crate) const MAX_TABLE_REPEATED: u64 = 64 << 20;

/// Bytes of an input that cannot be mapped: a pipe, standard input.
pub(crate) const MAX_STREAM: u64 = 4 << 30;

/// Bytes that are read of a device: what a person types, or nothing at all.
pub(crate) const MAX_DEVICE: u64 = 1 << 20;

/// Bytes of memory that a worker with a driver may take where the machine does not tell how much it has; else three quarters
/// of what it has.
pub(crate) const MAX_WORKER_MEMORY: u64 = 64 << 30;

/// Bytes of one file that a worker writes: a compiler's output.
pub(crate) const MAX_WORKER_FILE: u64 = 4 << 30;

/// Seconds of processor time that one worker may take; a new one takes over what is left to compile.
pub(crate) const MAX_WORKER_SECONDS: u64 = 4 * 3600;

/// Bytes of the list of a set's files, and of those that it replaces, in a temporary folder that was left: two tables of the
/// most rows.
pub(crate) const MAX_LISTING: u64 = 64 << 20;

/// Bytes of a text that a worker sends, of its beginning and of its end each: a compiler's log, mostly.
pub(crate) const MAX_WORKER_TEXT: usize = 64 << 10;

/// Bytes of what the loader writes of the libraries that a compiler loads: some hundred bytes of each.
pub(crate) const MAX_LIBRARY_LIST: u64 = 4 << 20;

/// Bytes of a worker's answer that is no binary: a text or two, devices, or facts about tens of thousands of kernels.
pub(crate) const MAX_WORKER_ANSWER: u32 = 64 << 20;

/// Times the bytes of what is compiled that a worker's binary may have, beside [`MAX_WORKER_ANSWER`].
pub(crate) const MAX_BINARY_RATIO: u64 = 256;

/// Bytes of each stream of a compiler that a worker keeps: tens of thousands of symbols, or what ptxas says of as many kernels.
pub(crate) const MAX_PROGRAM_TEXT: usize = 64 << 20;

/// Bytes of a file that a compiler consists of: the largest libraries of drivers have some hundred million.
pub(crate) const MAX_COMPILER_FILE: u64 = 4 << 30;

/// Platforms of an OpenCL loader.
pub(crate) const MAX_PLATFORMS: usize = 256;

/// Devices of an OpenCL platform, of one kind.
pub(crate) const MAX_DEVICES: usize = 1024;

/// Bytes of the history of earlier builds.
pub(crate) const HISTORY: u64 = 1 << 20;
