
use builtin;
use str;

set edit:completion:arg-completer[sycl-bundle] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'sycl-bundle'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'sycl-bundle'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand inspect 'Show the device images of files'
            cand kernels 'Show the kernels of files: arguments, attributes, aspects, memory, and what a device answers'
            cand check 'Tell whether kernels run on targets, and keep to declared aspects'
            cand has 'Tell by exit status whether there is a kernel bundle'
            cand explain 'Explain an error message, or which image the runtime chooses for a kernel'
            cand diff 'Show what changed between two builds: kernels, requirements, targets, resources, bytes'
            cand targets 'List targets and what is known of them'
            cand devices 'List the live OpenCL devices, with what they can do'
            cand extract 'Write the images of a file to files of their own'
            cand filter 'Replace the modules that a target cannot run by empty ones'
            cand build 'Compile images ahead of time and put the native code where the SYCL runtime finds it'
            cand link 'Link SPIR-V images: resolve what they import from each other'
            cand join 'Put the images of several files together, copies once'
            cand wrap 'Write images as an object, a library, a SYCLBIN, an OffloadBinary or other forms'
            cand embed 'Add images to the list of a linked file'
            cand prune 'Remove images from the list of a linked file'
            cand cache 'Show, check, shrink or empty the cache of compiled modules'
            cand doctor 'Tell what this machine has for building, and how to get what it lacks'
            cand completions 'Print a shell''s completion script'
            cand man 'Print a page of the manual'
            cand worker 'Answers requests of the process that started it'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'sycl-bundle;inspect'= {
            cand --format 'The form of the output'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --all 'List each image'
            cand --sizes 'Show who takes the space'
            cand --schema 'Print the JSON Schema of `--format json` and end'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;kernels'= {
            cand --device 'Ask this device about the kernels: a number of `devices`, cpu, gpu, or a part of its name (repeatable)'
            cand -j 'Build on so many devices'' compilers at once; by default one per processor'
            cand --jobs 'Build on so many devices'' compilers at once; by default one per processor'
            cand --format 'The form of the output'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --all 'List each kernel'
            cand --schema 'Print the JSON Schema of `--format json` and end'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;check'= {
            cand --declared 'The aspects that `[[sycl::device_has()]]` lists, by SYCL name; '''' for none'
            cand --fixed-targets 'The targets of `-fsycl-fixed-targets`, as `targets` lists them'
            cand --format 'The form of the output'
            cand -t 'Where each kernel must run: targets, as `targets` lists them, in any spelling (repeatable); by default those of the policy'
            cand --for 'Where each kernel must run: targets, as `targets` lists them, in any spelling (repeatable); by default those of the policy'
            cand --policy 'Hold the files to this policy; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above'
            cand --baseline 'Findings of this file are known and do not fail; those that are gone are told'
            cand --write-baseline 'Write all findings to this file, and fail for none of them'
            cand --device-config 'Add targets from a device configuration, in place of those of the same name (repeatable)'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --external 'Warn of functions of other images that use what the calling kernel''s image does not record'
            cand --link 'Tell whether all files together define what their images import, and no symbol or kernel twice'
            cand --schema 'Print the JSON Schema of `--format json` and end'
            cand --require-native 'The image that the runtime chooses must be compiled for the target already'
            cand --strict 'End with 1 where the verdict is unknown too'
            cand --no-policy 'Hold the files to no policy'
            cand --example-policy 'Print a policy that uses every key, and end'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;has'= {
            cand -t 'The devices: targets, as `targets` lists them, in any spelling (repeatable)'
            cand --for 'The devices: targets, as `targets` lists them, in any spelling (repeatable)'
            cand --kernel 'The kernels, by mangled or demangled name; of a glob all that match (repeatable)'
            cand --state 'The state of the bundle'
            cand --device-config 'Add targets from a device configuration, in place of those of the same name (repeatable)'
            cand --format 'The form of the output; with --quiet there is none'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --schema 'Print the JSON Schema of `--format json` and end'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;explain'= {
            cand -m 'What the program, the driver or the compiler printed; `-` reads it from standard input'
            cand --message 'What the program, the driver or the compiler printed; `-` reads it from standard input'
            cand --kernel 'Only kernels whose mangled or demangled name matches (repeatable)'
            cand -t 'The targets that the kernels are to run on, in any spelling that `targets` takes'
            cand --for 'The targets that the kernels are to run on, in any spelling that `targets` takes'
            cand --device 'Have this device''s compiler build the kernels: a number of `devices`, cpu, gpu, or a part of its name (repeatable)'
            cand --format 'The form of the output'
            cand --device-config 'Add targets from a device configuration, in place of those of the same name (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --schema 'Print the JSON Schema of `--format json` and end'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;diff'= {
            cand --ignore 'What counts as the same, whatever it was'
            cand --max-growth 'How much all device code together may grow as it is stored: 64KiB, 5%'
            cand --max-kernel-growth 'How much the images of any one kernel may grow'
            cand --max-spill-growth 'How many bytes more any one kernel may spill from registers'
            cand --forbid 'What must not happen'
            cand --format 'The form of the output'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --all 'Name each kernel that changed, not the first few'
            cand --exit-code 'End with 1 where there are differences'
            cand --schema 'Print the JSON Schema of `--format json` and end'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;targets'= {
            cand --diff 'Show what two targets differ in'
            cand --of 'List the targets that files hold images for, one per line'
            cand --validate 'Check device configurations'
            cand --device-config 'Add targets from a device configuration, in place of those of the same name (repeatable)'
            cand --format 'The form of the output'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --schema 'Print the JSON Schema of `--format json` and end'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;devices'= {
            cand --format 'The form of the output'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --kernels 'List the kernels that are built into devices; they need no image, and exist on their device only'
            cand --all 'List devices that ONEAPI_DEVICE_SELECTOR hides too'
            cand --schema 'Print the JSON Schema of `--format json` and end'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;extract'= {
            cand -o 'The folder to write to; `-` writes the payload of one selected image to standard output'
            cand --output 'The folder to write to; `-` writes the payload of one selected image to standard output'
            cand --format 'How to list what was written'
            cand --emit 'As what to write the images'
            cand --host 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`'
            cand --descriptor-version 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for'
            cand --entries 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both'
            cand --syclbin-version 'The version of a SYCLBIN: 1, which libsycl reads, or 2'
            cand --syclbin-state 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states'
            cand --offload-binary-version 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --stored 'Keep compressed payloads as they are stored'
            cand --compress 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;filter'= {
            cand -t 'A target, as `targets` lists them, in any spelling, and the table to write for it; without a table, the target of what -o names (repeatable)'
            cand --for 'A target, as `targets` lists them, in any spelling, and the table to write for it; without a table, the target of what -o names (repeatable)'
            cand -o 'The file to write for the target that has no table, or where all have one, with all images as they are. Of one linked file that is a copy of it, by default; else the name tells the form, or --emit'
            cand --output 'The file to write for the target that has no table, or where all have one, with all images as they are. Of one linked file that is a copy of it, by default; else the name tells the form, or --emit'
            cand --format 'How to show what was done'
            cand --device-config 'Add targets from a device configuration, in place of those of the same name (repeatable)'
            cand --emit 'As what to write the images'
            cand --host 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`'
            cand --descriptor-version 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for'
            cand --entries 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both'
            cand --syclbin-version 'The version of a SYCLBIN: 1, which libsycl reads, or 2'
            cand --syclbin-state 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states'
            cand --offload-binary-version 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --drop-signature 'Remove the signature of a Windows file, which would be wrong once the file is changed'
            cand --compress 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;build'= {
            cand -t 'What to compile for'
            cand --for 'What to compile for'
            cand -o 'The file to write; `-` is standard output'
            cand --output 'The file to write; `-` is standard output'
            cand --march 'The instruction set of native CPU code, by the names of opencl-aot'
            cand -j 'How many worker processes; by default as many as there are cores'
            cand --jobs 'How many worker processes; by default as many as there are cores'
            cand --timeout 'Seconds that one image may take in one attempt'
            cand --format 'How to show what was done'
            cand --shard 'Compile one of N parts of the images into the cache and write no output: 1/4 to 4/4, on as many machines as share the folder; a run without it then writes the output'
            cand --stamp 'Write this empty file when all is done: an output that did not change keeps its time'
            cand --MF 'Write them to this file. Also -MF FILE'
            cand --MT 'The target of the rule, instead of the output. Also -MT NAME'
            cand --driver-version 'Which version of the driver to install'
            cand --emit 'As what to write the images'
            cand --host 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`'
            cand --descriptor-version 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for'
            cand --entries 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both'
            cand --syclbin-version 'The version of a SYCLBIN: 1, which libsycl reads, or 2'
            cand --syclbin-state 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states'
            cand --offload-binary-version 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --no-cache 'Do not look into the cache, and keep nothing there'
            cand --dry-run 'Say what would be compiled, and write nothing'
            cand --MD 'Write the files that the output depends on, for make and ninja, to the output''s name and `.d`. Also -MD'
            cand --install-driver 'Install Intel''s OpenCL CPU driver from PyPI for this user where no driver is found'
            cand --compress 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;link'= {
            cand -o 'The file to write; `-` is standard output'
            cand --output 'The file to write; `-` is standard output'
            cand --emit 'As what to write the images'
            cand --host 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`'
            cand --descriptor-version 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for'
            cand --entries 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both'
            cand --syclbin-version 'The version of a SYCLBIN: 1, which libsycl reads, or 2'
            cand --syclbin-state 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states'
            cand --offload-binary-version 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --each 'Link each image that imports something with the images that define it'
            cand --partial 'Leave imports open that nothing defines'
            cand --internalize 'Export nothing from the result'
            cand --compress 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;join'= {
            cand -o 'The file to write; `-` is standard output'
            cand --output 'The file to write; `-` is standard output'
            cand --emit 'As what to write the images'
            cand --host 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`'
            cand --descriptor-version 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for'
            cand --entries 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both'
            cand --syclbin-version 'The version of a SYCLBIN: 1, which libsycl reads, or 2'
            cand --syclbin-state 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states'
            cand --offload-binary-version 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --compress 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;wrap'= {
            cand -o 'The file to write; `-` is standard output. Of a table also a folder, which gets an `images.table`; of several bare modules a folder'
            cand --output 'The file to write; `-` is standard output. Of a table also a folder, which gets an `images.table`; of several bare modules a folder'
            cand --properties 'The property sets of a module, instead of those beside it'
            cand --symbols 'The entries of a module, one a line, instead of those beside it'
            cand --as-target 'Say that all images are for this target, whatever they were for: a name that the runtime compares (`spir64_x86_64`), or one of a device, in any spelling (`intel_gpu_pvc`)'
            cand --emit 'As what to write the images'
            cand --host 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`'
            cand --descriptor-version 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for'
            cand --entries 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both'
            cand --syclbin-version 'The version of a SYCLBIN: 1, which libsycl reads, or 2'
            cand --syclbin-state 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states'
            cand --offload-binary-version 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --compress 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;embed'= {
            cand --as-target 'Say that all images are for this target, whatever they were for: a name that the runtime compares (`spir64_x86_64`), or one of a device, in any spelling (`intel_gpu_pvc`)'
            cand -o 'The file to write; `-` is standard output'
            cand --output 'The file to write; `-` is standard output'
            cand --format 'How to show what was done'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --replace 'Remove images of the same target and entries'
            cand --drop-signature 'Remove the signature of a Windows file, which would be wrong once the file is changed'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;prune'= {
            cand --drop 'Remove images for a target whose name matches (repeatable)'
            cand --keep 'Keep images for a target whose name matches (repeatable)'
            cand -o 'The file to write; `-` is standard output'
            cand --output 'The file to write; `-` is standard output'
            cand --format 'How to show what was done'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --lose-kernels 'Remove images even where a kernel is then in none, and cannot be launched'
            cand --drop-signature 'Remove the signature of a Windows file, which would be wrong once the file is changed'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;cache'= {
            cand --limit 'Bytes that `gc` leaves at most: 500MiB, 2GB, 0'
            cand --format 'How to show it'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;doctor'= {
            cand --driver-version 'Which version of the driver to install'
            cand --format 'How to show it'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --install-driver 'Install Intel''s OpenCL CPU driver from PyPI for this user where no driver is found'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sycl-bundle;completions'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'sycl-bundle;man'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'sycl-bundle;worker'= {
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand -q 'Say less: no notes, no progress'
            cand --quiet 'Say less: no notes, no progress'
            cand -v 'Say more'
            cand --verbose 'Say more'
            cand --no-demangle 'Show kernel names as they are in the file'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'sycl-bundle;help'= {
            cand inspect 'Show the device images of files'
            cand kernels 'Show the kernels of files: arguments, attributes, aspects, memory, and what a device answers'
            cand check 'Tell whether kernels run on targets, and keep to declared aspects'
            cand has 'Tell by exit status whether there is a kernel bundle'
            cand explain 'Explain an error message, or which image the runtime chooses for a kernel'
            cand diff 'Show what changed between two builds: kernels, requirements, targets, resources, bytes'
            cand targets 'List targets and what is known of them'
            cand devices 'List the live OpenCL devices, with what they can do'
            cand extract 'Write the images of a file to files of their own'
            cand filter 'Replace the modules that a target cannot run by empty ones'
            cand build 'Compile images ahead of time and put the native code where the SYCL runtime finds it'
            cand link 'Link SPIR-V images: resolve what they import from each other'
            cand join 'Put the images of several files together, copies once'
            cand wrap 'Write images as an object, a library, a SYCLBIN, an OffloadBinary or other forms'
            cand embed 'Add images to the list of a linked file'
            cand prune 'Remove images from the list of a linked file'
            cand cache 'Show, check, shrink or empty the cache of compiled modules'
            cand doctor 'Tell what this machine has for building, and how to get what it lacks'
            cand completions 'Print a shell''s completion script'
            cand man 'Print a page of the manual'
            cand worker 'Answers requests of the process that started it'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'sycl-bundle;help;inspect'= {
        }
        &'sycl-bundle;help;kernels'= {
        }
        &'sycl-bundle;help;check'= {
        }
        &'sycl-bundle;help;has'= {
        }
        &'sycl-bundle;help;explain'= {
        }
        &'sycl-bundle;help;diff'= {
        }
        &'sycl-bundle;help;targets'= {
        }
        &'sycl-bundle;help;devices'= {
        }
        &'sycl-bundle;help;extract'= {
        }
        &'sycl-bundle;help;filter'= {
        }
        &'sycl-bundle;help;build'= {
        }
        &'sycl-bundle;help;link'= {
        }
        &'sycl-bundle;help;join'= {
        }
        &'sycl-bundle;help;wrap'= {
        }
        &'sycl-bundle;help;embed'= {
        }
        &'sycl-bundle;help;prune'= {
        }
        &'sycl-bundle;help;cache'= {
        }
        &'sycl-bundle;help;doctor'= {
        }
        &'sycl-bundle;help;completions'= {
        }
        &'sycl-bundle;help;man'= {
        }
        &'sycl-bundle;help;worker'= {
        }
        &'sycl-bundle;help;help'= {
        }
    ]
    $completions[$command]
}
