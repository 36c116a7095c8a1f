//! What does `build --help` say after the options?

/// The text.
pub const AFTER_HELP: &str = "\
Every SPIR-V image is compiled for every target, each with its own options: for spir64_x86_64 by
Intel's OpenCL CPU driver, for Intel GPUs (intel_gpu_pvc, acm-g10, a family such as dg2, a range
such as dg1:acm-g12, in any spelling of `targets`) by Intel's offline compiler ocloc, for a
--device by its own driver. A family or range is all of its members. The work is done in worker
processes: an image that kills a compiler or makes it hang fails alone, after two more attempts. A
binary counts where it is one, holds all kernels of its image, and (of OpenCL drivers) is taken
back by its driver.

What a target cannot run (by `check` and `filter`) is skipped, and what must stay SPIR-V (imported
symbols that no other image defines, specialization constants without values; for CPUs also
explicit SIMD, requirements no CPU meets) or does not build stays; both are named. SPIR-V stays
beside native code, for other devices, unless --no-spirv says otherwise.

Native code has one value of each specialization constant: what --spec, --spec-id or a rule says,
or with --spec-defaults its default, and its property sets say so. A program that sets a constant,
or launches a kernel that takes a kernel_handler, gets SPIR-V all the same; executable kernel
bundles, and with --no-spirv every launch, get the native code, whatever the program sets.

Table [build] of sycl-bundle.toml (--example-policy prints one) gives targets, options and values
to all images, and by rules to some: by kernel, number and target. The command line comes last.

Native images of GPUs are tagged spir64_gen and name their GPU (compile_target), by which libsycl
tells GPUs apart; runtimes of early 2024 do not look at the name, and hand them to any Intel GPU.
Building again replaces the images of the same targets and keeps those of others.

What was compiled before, with the same options by the same compiler, comes out of a cache
(`sycl-bundle cache --help`). Under `make -j` no more modules are compiled at once than make
allows. Ctrl-C keeps what is compiled; the same command goes on.

CPU images that are the same code but for the name of their one kernel are compiled once, and the
native code gets each name in turn: byte for byte what the driver makes. The names must be of one
length. --dry-run says how many these are, and which others cannot be renamed so, and why.

An image that does not build does not keep the others from being compiled, as by `make -k`;
--fail-fast ends the build there. --max-memory bounds how many large modules are compiled at once.
--save-temps, --report and --time-trace keep what went in and came out, what it took, and when.

Native CPU code is for one instruction set, by default avx2: the driver refuses code for a newer
set than the machine's, and all libraries of a process must have the same set.

Without --emit the form is told by the output's name (`.o` object, `.syclbin`, `.table`, of modules
`.so` shared); else it is `embed` for a linked ELF file and `table` for modules. Of a linked file,
an object or library holds the native images alone, since the file registers the others.

Examples:
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 -t intel_gpu_pvc -t dg2 --compress -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 --emit shared -o libfoo-native.so
  sycl-bundle build a.spv b.spv -t pvc --all-or-nothing -o kernels.table
  sycl-bundle build libfoo.so --device gpu -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 --spec block=64 --spec-defaults -o out/libfoo.so
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so --install-driver
  sycl-bundle build libfoo.so -t spir64_x86_64 -o out/libfoo.so -MD --stamp out/libfoo.stamp
  sycl-bundle build libfoo.so -t spir64_x86_64 --shard 1/8
  sycl-bundle build libfoo.so -t pvc -o out/libfoo.so --report out.json --time-trace trace.json

Exit status:
  0  done
  3  the input cannot be read, or images in it are damaged
  4  some image did not build; all others are compiled, the output is written, and the image is in
     it as SPIR-V (with --all-or-nothing or --fail-fast nothing is written)
  5  there is no driver, device or ocloc, or ocloc does not know a target
  6  there is no device code; with --emit shared, also where none of it can be native";
