# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_sycl_bundle_global_optspecs
    string join \n color= q/quiet v/verbose no-demangle h/help V/version
end

function __fish_sycl_bundle_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_sycl_bundle_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_sycl_bundle_using_subcommand
    set -l cmd (__fish_sycl_bundle_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -s V -l version -d 'Print version'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "inspect" -d 'Show the device images of files'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "kernels" -d 'Show the kernels of files: arguments, attributes, aspects, memory, and what a device answers'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "props" -d 'Show the property sets of images, decoded and as they are stored'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "check" -d 'Tell whether kernels run on targets, and keep to declared aspects'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "has" -d 'Tell by exit status whether there is a kernel bundle'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "explain" -d 'Explain an error message, or which image the runtime chooses for a kernel'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "diff" -d 'Show what changed between two builds: kernels, requirements, targets, resources, bytes'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "targets" -d 'List targets and what is known of them'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "devices" -d 'List the live OpenCL devices, with what they can do'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "extract" -d 'Write the images of a file to files of their own'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "filter" -d 'Replace the modules that a target cannot run by empty ones'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "build" -d 'Compile images ahead of time and put the native code where the SYCL runtime finds it'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "plan" -d 'Write what compiles each image by a command of its own, for ninja or make'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "compile" -d 'Compile SPIR-V images to objects of a device, imports open'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "link" -d 'Link SPIR-V images: resolve what they import from each other'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "join" -d 'Put the images of several files together, copies once'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "split" -d 'Split SPIR-V images by kernel, source and requirements'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "wrap" -d 'Write images as an object, a library, a SYCLBIN, an OffloadBinary or other forms'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "embed" -d 'Add images to the list of a linked file'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "prune" -d 'Remove images from the list of a linked file'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "cache" -d 'Show, check, shrink or empty the cache of compiled modules'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "doctor" -d 'Tell what this machine has for building, and how to get what it lacks'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "completions" -d 'Print a shell\'s completion script'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "man" -d 'Print a page of the manual'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "worker" -d 'Answers requests of the process that started it'
complete -c sycl-bundle -n "__fish_sycl_bundle_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l format -d 'The form of the output' -r -f -a "table\t'For people'
json\t'One document'
jsonl\t'One line per image'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l html -d 'Write also a page for a browser: a map of the bytes, kernels by targets, tables to filter and sort' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -s t -l for -d 'The targets of the page, as `check` takes them (repeatable); by default those of the policy, else those in the files, a CPU and some GPUs' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l policy -d 'Hold the files to this policy; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l baseline -d 'Findings of this file, which `check --write-baseline` wrote, are excused on the page' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l device-config -d 'Add targets from a device configuration, in place of those of the same name (repeatable)' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l all -d 'List each image'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l sizes -d 'Show who takes the space'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l clones -d 'Show which images are the same code under other names, and what they cost'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l no-policy -d 'Hold the files to no policy'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l device -d 'Ask this device about the kernels: a number of `devices`, cpu, gpu, or a part of its name (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -s j -l jobs -d 'Build on so many devices\' compilers at once; by default one per processor' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l format -d 'The form of the output' -r -f -a "table\t'For people'
json\t'One document'
jsonl\t'One line per kernel'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l all -d 'List each kernel'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand kernels" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l set -d 'Only sets whose name matches, such as \'SYCL/device requirements\' (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l name -d 'Only properties whose name, mangled or demangled, matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l format -d 'The form of the output' -r -f -a "table\t'For people'
json\t'One document'
jsonl\t'One line per property of an image'
text\t'The sets of one image, as DPC++\'s tools write them'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l all -d 'List each property of each image'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l raw -d 'Show values as they are stored'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand props" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l declared -d 'The aspects that `[[sycl::device_has()]]` lists, by SYCL name; \'\' for none' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l fixed-targets -d 'The targets of `-fsycl-fixed-targets`, as `targets` lists them' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l format -d 'The form of the output' -r -f -a "table\t'For people'
matrix\t'Kernels by targets, a sign each; with -t'
json\t'One document'
jsonl\t'One line per finding'
sarif\t'SARIF 2.1.0, for code scanning; with -t or --link'
junit\t'JUnit\'s XML, a test case for each kernel; with -t or --link'
github\t'Annotations of a GitHub workflow; with -t or --link'
markdown\t'A summary for a pull request; with -t or --link'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -s t -l for -d 'Where each kernel must run: targets, as `targets` lists them, in any spelling (repeatable); by default those of the policy' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l policy -d 'Hold the files to this policy; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l baseline -d 'Findings of this file are known and do not fail; those that are gone are told' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l write-baseline -d 'Write all findings to this file, and fail for none of them' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l device-config -d 'Add targets from a device configuration, in place of those of the same name (repeatable)' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l external -d 'Warn of functions of other images that use what the calling kernel\'s image does not record'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l link -d 'Tell whether all files together define what their images import, and no symbol or kernel twice'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l require-native -d 'The image that the runtime chooses must be compiled for the target already'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l strict -d 'End with 1 where the verdict is unknown too'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l no-policy -d 'Hold the files to no policy'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l example-policy -d 'Print a policy that uses every key, and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -s t -l for -d 'The devices: targets, as `targets` lists them, in any spelling (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -l kernel -d 'The kernels, by mangled or demangled name; of a glob all that match (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -l state -d 'The state of the bundle' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -l device-config -d 'Add targets from a device configuration, in place of those of the same name (repeatable)' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -l format -d 'The form of the output; with --quiet there is none' -r -f -a "table\t'For people'
json\t'One document'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand has" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -s m -l message -d 'What the program, the driver or the compiler printed; `-` reads it from standard input' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -l kernel -d 'Only kernels whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -s t -l for -d 'The targets that the kernels are to run on, in any spelling that `targets` takes' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -l device -d 'Have this device\'s compiler build the kernels: a number of `devices`, cpu, gpu, or a part of its name (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -l format -d 'The form of the output' -r -f -a "table\t'For people'
json\t'One document'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -l device-config -d 'Add targets from a device configuration, in place of those of the same name (repeatable)' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l ignore -d 'What counts as the same, whatever it was, for budgets too' -r -f -a "arguments\t'Arguments of kernels'
aspects\t'Aspects that kernels need'
attributes\t'Required sizes and other attributes'
constants\t'Specialization constants'
resources\t'Registers, spills, local memory'
options\t'Options for the device\'s compiler'
properties\t'Other property sets: optimization, symbols, device globals'
targets\t'Targets that a kernel has images for'
bytes\t'Bytes of images'
code\t'Code that differs in itself only'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l max-growth -d 'How much all device code together may grow as it is stored: 64KiB, 5%' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l max-kernel-growth -d 'How much the images of any one kernel may grow for any one target' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l max-spill-growth -d 'How many bytes more any one kernel may spill from registers' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l forbid -d 'What must not happen' -r -f -a "lost-files\t'A file is gone'
lost-targets\t'A file has no image for a target any more'
lost-kernels\t'A kernel is gone'
gained-requirements\t'A kernel needs an aspect or a size that it did not'
changed-arguments\t'A kernel has other arguments'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l html -d 'Write also a page for a browser: what became of each kernel, to filter and sort' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l format -d 'The form of the output' -r -f -a "table\t'For people'
json\t'One document'
markdown\t'For a pull request'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l all -d 'Name each kernel that changed, not the first few'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l exit-code -d 'End with 1 where there are differences'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -l diff -d 'Show what two targets differ in' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -l of -d 'List the targets that files hold images for, one per line' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -l validate -d 'Check device configurations' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -l device-config -d 'Add targets from a device configuration, in place of those of the same name (repeatable)' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -l format -d 'The form of the output' -r -f -a "table\t'For people'
json\t'One document'
jsonl\t'One line per target'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand targets" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -l device -d 'The same, as other verbs have it (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -l save -d 'Write a device configuration of one device; - for standard output' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -l format -d 'The form of the output' -r -f -a "table\t'For people'
json\t'One document'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -l probe -d 'Find out which SPIR-V the devices\' drivers take by having them build small kernels'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -l kernels -d 'List the kernels that are built into devices; they need no image, and exist on their device only'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -l all -d 'List devices that ONEAPI_DEVICE_SELECTOR hides too'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand devices" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -s o -l output -d 'The folder to write to, or the file, where its name tells a form; `-` writes the payload of one selected image to standard output' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l format -d 'How to list what was written' -r -f -a "none\t'A note on standard error'
json\t'A document on standard output'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l emit -d 'As what to write the images' -r -f -a "embed\t'A copy of the linked file, with the images in its own list'
object\t'An object file; what is linked with it registers the images'
shared\t'A library that registers the images when it is loaded'
syclbin\t'A SYCLBIN, which the SYCL runtime loads by its path'
offload-binary\t'An OffloadBinary of LLVM'
offload-bundle\t'A clang offload bundle'
table\t'The images as files beside a file table'
spirv\t'Bare SPIR-V modules: one as a file, several in a folder'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l host -d 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine\'s; x86_64-windows where the output is called `.obj`' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l descriptor-version -d 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l entries -d 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both' -r -f -a "old\t''
new\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l syclbin-version -d 'The version of a SYCLBIN: 1, which libsycl reads, or 2' -r -f -a "1\t''
2\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l syclbin-state -d 'The state that a SYCLBIN says its images are in. By default what the images\' files state, else executable, or object where an import is open; libsycl loads a file only as what it states' -r -f -a "input\t''
object\t''
executable\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l offload-binary-version -d 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l stored -d 'Keep compressed payloads as they are stored'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l compress -d 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand extract" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -s t -l for -d 'A target, as `targets` lists them, in any spelling, and the table to write for it; without a table, the target of what -o names (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -s o -l output -d 'The file to write for the target that has no table, or where all have one, with all images as they are. Of one linked file that is a copy of it, by default; else the name tells the form, or --emit' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l format -d 'How to show what was done' -r -f -a "text\t'A summary on standard error'
json\t'A document on standard output'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l device-config -d 'Add targets from a device configuration, in place of those of the same name (repeatable)' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l emit -d 'As what to write the images' -r -f -a "embed\t'A copy of the linked file, with the images in its own list'
object\t'An object file; what is linked with it registers the images'
shared\t'A library that registers the images when it is loaded'
syclbin\t'A SYCLBIN, which the SYCL runtime loads by its path'
offload-binary\t'An OffloadBinary of LLVM'
offload-bundle\t'A clang offload bundle'
table\t'The images as files beside a file table'
spirv\t'Bare SPIR-V modules: one as a file, several in a folder'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l host -d 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine\'s; x86_64-windows where the output is called `.obj`' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l descriptor-version -d 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l entries -d 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both' -r -f -a "old\t''
new\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l syclbin-version -d 'The version of a SYCLBIN: 1, which libsycl reads, or 2' -r -f -a "1\t''
2\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l syclbin-state -d 'The state that a SYCLBIN says its images are in. By default what the images\' files state, else executable, or object where an import is open; libsycl loads a file only as what it states' -r -f -a "input\t''
object\t''
executable\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l offload-binary-version -d 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l drop-signature -d 'Remove the signature of a Windows file, which would be wrong once the file is changed'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l compress -d 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand filter" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -s t -l for -d 'What to compile for; by default what `targets` under [build] of sycl-bundle.toml names' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l device -d 'A live OpenCL device to compile for by its own driver: its number, kind (cpu, gpu) or a part of its name, as `devices` lists them' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -s o -l output -d 'The file to write; `-` is standard output' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l march -d 'The instruction set of native CPU code, by the names of opencl-aot; by default avx2' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l ocloc -d 'Intel\'s offline compiler for GPUs, a program or library; by default libocloc.so, else the program ocloc' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -s j -l jobs -d 'How many worker processes; by default as many as there are cores' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l timeout -d 'Seconds that one image may take in one attempt' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l format -d 'How to show what was done' -r -f -a "text\t'A summary on standard error'
json\t'A document on standard output'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l shard -d 'Compile one of N parts of the images into the cache and write no output: 1/4 to 4/4, on as many machines as share the folder; a run without it then writes the output' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l stamp -d 'Write this empty file when all is done and nothing failed: an output that did not change keeps its time' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l MF -d 'Write them to this file. Also -MF FILE' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l MT -d 'The target of the rule, instead of the output and the --stamp. Also -MT NAME' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l retries -d 'How many further attempts follow one that ended the driver\'s process or overran; by default 2. A repeated command tries failed images again' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l max-memory -d 'Compile only so much at once that all workers together stay within this much memory (16GiB), by an estimate from the modules\' sizes; a module that needs more is compiled alone' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l unit -d 'With --cache-only: this image for this target alone, as `plan` writes it (12:intel_gpu_pvc)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l save-temps -d 'Keep in this folder of each image and target the module that the compiler gets (.spv, with .1.spv and so on for what it is linked with), its options (.opts), its binary (.bin) and what the compiler said (.log), by the number of the image and the name of the target: 12.intel_gpu_pvc.spv' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l report -d 'Write as JSON what each image took to compile, and what each of its native kernels takes: registers, SIMD width, spills, memory, barriers' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l time-trace -d 'Write which worker compiled which image when, for chrome://tracing or ui.perfetto.dev' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l driver-version -d 'Which version of the driver to install' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l options -d 'Options of the device\'s compiler, after those that the images have' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l link-options -d 'Options of the device\'s linker, likewise' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l spec -d 'Give a specialization constant its value, by its name in the source; a composite takes a list: 1.5,7 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l spec-id -d 'The same by the number that the module has for it (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l policy -d 'Compile by the rules of this file; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l device-config -d 'Add targets from a device configuration, in place of those of the same name (repeatable)' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l emit -d 'As what to write the images' -r -f -a "embed\t'A copy of the linked file, with the images in its own list'
object\t'An object file; what is linked with it registers the images'
shared\t'A library that registers the images when it is loaded'
syclbin\t'A SYCLBIN, which the SYCL runtime loads by its path'
offload-binary\t'An OffloadBinary of LLVM'
offload-bundle\t'A clang offload bundle'
table\t'The images as files beside a file table'
spirv\t'Bare SPIR-V modules: one as a file, several in a folder'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l host -d 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine\'s; x86_64-windows where the output is called `.obj`' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l descriptor-version -d 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l entries -d 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both' -r -f -a "old\t''
new\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l syclbin-version -d 'The version of a SYCLBIN: 1, which libsycl reads, or 2' -r -f -a "1\t''
2\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l syclbin-state -d 'The state that a SYCLBIN says its images are in. By default what the images\' files state, else executable, or object where an import is open; libsycl loads a file only as what it states' -r -f -a "input\t''
object\t''
executable\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l offload-binary-version -d 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l in-place -d 'Write the copy in place of the linked file itself; `prune --drop` takes the native code out again'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l all-or-nothing -d 'Write nothing, and fail, unless all selected images become native for all targets'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l no-spirv -d 'Leave out the SPIR-V of images that have native code for every target that can run them, and that no other image imports from: their kernels then run on the targets\' devices and on no other, not through another driver\'s just-in-time compiler either'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l no-cache -d 'Do not look into the cache, and keep nothing there'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l no-fold -d 'Compile every image, also those that are the same code as another but for the kernel\'s name'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l dry-run -d 'Say what would be compiled, and write no output'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l MD -d 'Write the files that the output depends on, for make and ninja, to the output\'s name and `.d`. Also -MD'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l fail-fast -d 'Begin no further image once one did not build, and write nothing; by default all others are compiled'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l keep-going -d 'Compile all others where an image does not build: the default, which undoes --fail-fast'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l cache-only -d 'Compile into the cache and write no output'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l report-schema -d 'Print the JSON schema of --report, and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l install-driver -d 'Install Intel\'s OpenCL CPU driver from PyPI for this user where no driver is found'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l spec-defaults -d 'Give specialization constants that nothing else sets their defaults; without, images with such constants stay SPIR-V'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l no-policy -d 'Compile by no file\'s rules'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l example-policy -d 'Print rules that use every key, and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l compress -d 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand build" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand plan" -l format -d 'For which engine; by default ninja' -r -f -a "ninja\t'Ninja'
make\t'GNU make'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand plan" -l to -d 'The file to write; by default standard output' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand plan" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand plan" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand plan" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand plan" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -s t -l for -d 'What to compile for' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -s o -l output -d 'The file to write; `-` is standard output' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l march -d 'The instruction set of native CPU code, by the names of opencl-aot; by default avx2' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -s j -l jobs -d 'How many worker processes; by default as many as there are cores' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l timeout -d 'Seconds that one image may take in one attempt; by default 120' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l driver-version -d 'Which version of the driver to install' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l emit -d 'As what to write the images' -r -f -a "embed\t'A copy of the linked file, with the images in its own list'
object\t'An object file; what is linked with it registers the images'
shared\t'A library that registers the images when it is loaded'
syclbin\t'A SYCLBIN, which the SYCL runtime loads by its path'
offload-binary\t'An OffloadBinary of LLVM'
offload-bundle\t'A clang offload bundle'
table\t'The images as files beside a file table'
spirv\t'Bare SPIR-V modules: one as a file, several in a folder'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l host -d 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine\'s; x86_64-windows where the output is called `.obj`' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l descriptor-version -d 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l entries -d 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both' -r -f -a "old\t''
new\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l syclbin-version -d 'The version of a SYCLBIN: 1, which libsycl reads, or 2' -r -f -a "1\t''
2\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l syclbin-state -d 'The state that a SYCLBIN says its images are in. By default what the images\' files state, else executable, or object where an import is open; libsycl loads a file only as what it states' -r -f -a "input\t''
object\t''
executable\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l offload-binary-version -d 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l install-driver -d 'Install Intel\'s OpenCL CPU driver from PyPI for this user where no driver is found'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l compress -d 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand compile" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -s o -l output -d 'The file to write; `-` is standard output' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -s t -l for -d 'Link objects, as `compile` makes them, to executables of this target: `spir64_x86_64`' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l march -d 'The instruction set of native CPU code, by the names of opencl-aot; by default avx2' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -s j -l jobs -d 'How many worker processes; by default as many as there are cores' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l timeout -d 'Seconds that one image may take in one attempt; by default 120' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l driver-version -d 'Which version of the driver to install' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l emit -d 'As what to write the images' -r -f -a "embed\t'A copy of the linked file, with the images in its own list'
object\t'An object file; what is linked with it registers the images'
shared\t'A library that registers the images when it is loaded'
syclbin\t'A SYCLBIN, which the SYCL runtime loads by its path'
offload-binary\t'An OffloadBinary of LLVM'
offload-bundle\t'A clang offload bundle'
table\t'The images as files beside a file table'
spirv\t'Bare SPIR-V modules: one as a file, several in a folder'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l host -d 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine\'s; x86_64-windows where the output is called `.obj`' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l descriptor-version -d 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l entries -d 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both' -r -f -a "old\t''
new\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l syclbin-version -d 'The version of a SYCLBIN: 1, which libsycl reads, or 2' -r -f -a "1\t''
2\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l syclbin-state -d 'The state that a SYCLBIN says its images are in. By default what the images\' files state, else executable, or object where an import is open; libsycl loads a file only as what it states' -r -f -a "input\t''
object\t''
executable\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l offload-binary-version -d 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l each -d 'Link each image that imports something with the images that define it'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l partial -d 'Leave imports open that nothing defines'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l internalize -d 'Export nothing from the result'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l install-driver -d 'Install Intel\'s OpenCL CPU driver from PyPI for this user where no driver is found'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l compress -d 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand link" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -s o -l output -d 'The file to write; `-` is standard output' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l emit -d 'As what to write the images' -r -f -a "embed\t'A copy of the linked file, with the images in its own list'
object\t'An object file; what is linked with it registers the images'
shared\t'A library that registers the images when it is loaded'
syclbin\t'A SYCLBIN, which the SYCL runtime loads by its path'
offload-binary\t'An OffloadBinary of LLVM'
offload-bundle\t'A clang offload bundle'
table\t'The images as files beside a file table'
spirv\t'Bare SPIR-V modules: one as a file, several in a folder'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l host -d 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine\'s; x86_64-windows where the output is called `.obj`' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l descriptor-version -d 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l entries -d 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both' -r -f -a "old\t''
new\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l syclbin-version -d 'The version of a SYCLBIN: 1, which libsycl reads, or 2' -r -f -a "1\t''
2\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l syclbin-state -d 'The state that a SYCLBIN says its images are in. By default what the images\' files state, else executable, or object where an import is open; libsycl loads a file only as what it states' -r -f -a "input\t''
object\t''
executable\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l offload-binary-version -d 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l fold-clones -d 'Make one image of SPIR-V images that are the same code under other names, with a kernel for each name'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l compress -d 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand join" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -s o -l output -d 'The file to write; of a table its parts lie beside it and are named after it' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l mode -d 'How to split' -r -f -a "per_kernel\t'An image for each kernel and each exported function'
per_source\t'An image for each source and set of requirements'
auto\t'The same as per_source'
off\t'An image for each set of requirements'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l entry -d 'An image for the kernels and functions that match, by glob, mangled or demangled (repeatable); others follow the mode' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l fixed-targets -d 'The targets of `-fsycl-fixed-targets`: of one input (`a.spv=intel_gpu_pvc,cpu`), or of all (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l abi -d 'The generation of the runtime whose numbers aspects get; by default that of the input' -r -f -a "2025\t'libsycl.so.6 to .8'
2026\t'libsycl.so.9'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l emit -d 'As what to write the images' -r -f -a "embed\t'A copy of the linked file, with the images in its own list'
object\t'An object file; what is linked with it registers the images'
shared\t'A library that registers the images when it is loaded'
syclbin\t'A SYCLBIN, which the SYCL runtime loads by its path'
offload-binary\t'An OffloadBinary of LLVM'
offload-bundle\t'A clang offload bundle'
table\t'The images as files beside a file table'
spirv\t'Bare SPIR-V modules: one as a file, several in a folder'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l host -d 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine\'s; x86_64-windows where the output is called `.obj`' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l descriptor-version -d 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l entries -d 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both' -r -f -a "old\t''
new\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l syclbin-version -d 'The version of a SYCLBIN: 1, which libsycl reads, or 2' -r -f -a "1\t''
2\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l syclbin-state -d 'The state that a SYCLBIN says its images are in. By default what the images\' files state, else executable, or object where an import is open; libsycl loads a file only as what it states' -r -f -a "input\t''
object\t''
executable\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l offload-binary-version -d 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l compress -d 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand split" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -s o -l output -d 'The file to write; `-` is standard output. Of a table also a folder, which gets an `images.table`; of several bare modules a folder' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l properties -d 'The property sets of a module, instead of those beside it' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l symbols -d 'The entries of a module, one a line, instead of those beside it' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l as-target -d 'Say that all images are for this target, whatever they were for: a name that the runtime compares (`spir64_x86_64`), or one of a device, in any spelling (`intel_gpu_pvc`)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l emit -d 'As what to write the images' -r -f -a "embed\t'A copy of the linked file, with the images in its own list'
object\t'An object file; what is linked with it registers the images'
shared\t'A library that registers the images when it is loaded'
syclbin\t'A SYCLBIN, which the SYCL runtime loads by its path'
offload-binary\t'An OffloadBinary of LLVM'
offload-bundle\t'A clang offload bundle'
table\t'The images as files beside a file table'
spirv\t'Bare SPIR-V modules: one as a file, several in a folder'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l host -d 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine\'s; x86_64-windows where the output is called `.obj`' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l descriptor-version -d 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l entries -d 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both' -r -f -a "old\t''
new\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l syclbin-version -d 'The version of a SYCLBIN: 1, which libsycl reads, or 2' -r -f -a "1\t''
2\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l syclbin-state -d 'The state that a SYCLBIN says its images are in. By default what the images\' files state, else executable, or object where an import is open; libsycl loads a file only as what it states' -r -f -a "input\t''
object\t''
executable\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l offload-binary-version -d 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3' -r -f -a "1\t''
2\t''
3\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l compress -d 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand wrap" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l as-target -d 'Say that all images are for this target, whatever they were for: a name that the runtime compares (`spir64_x86_64`), or one of a device, in any spelling (`intel_gpu_pvc`)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -s o -l output -d 'The file to write; `-` is standard output' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l format -d 'How to show what was done' -r -f -a "text\t'A summary on standard error'
json\t'A document on standard output'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l replace -d 'Remove images of the same target all of whose entries the added ones list'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l in-place -d 'Write the copy in place of the file itself'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l drop-signature -d 'Remove the signature of a Windows file, which would be wrong once the file is changed'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand embed" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l drop -d 'Remove images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l keep -d 'Keep images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -s o -l output -d 'The file to write; `-` is standard output' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l format -d 'How to show what was done' -r -f -a "text\t'A summary on standard error'
json\t'A document on standard output'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l image -d 'Only these images, by number or range (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l kernel -d 'Only images with a kernel whose mangled or demangled name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l state -d 'Only images of this state (repeatable)' -r -f -a "input\t'SPIR-V or other intermediate code'
object\t'Compiled, with open imports'
executable\t'Ready to run'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l target -d 'Only images for a target whose name matches (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l aspect -d 'Only images that need this aspect of a device, such as fp64 (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l where -d 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l lose-kernels -d 'Remove images even where a kernel is then in none, and cannot be launched'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l in-place -d 'Write the copy in place of the file itself'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l drop-signature -d 'Remove the signature of a Windows file, which would be wrong once the file is changed'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand cache" -l limit -d 'Bytes that `gc` leaves at most: 500MiB, 2GB, 0' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand cache" -l format -d 'How to show it' -r -f -a "text\t'Lines for a person'
json\t'A document'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand cache" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand cache" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand cache" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand cache" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand cache" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand cache" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -l driver-version -d 'Which version of the driver to install' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -l ocloc -d 'Intel\'s offline compiler for GPUs, a program or library; by default libocloc.so, else the program ocloc' -r -F
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -l format -d 'How to show it' -r -f -a "table\t'For people'
json\t'One document'"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -l install-driver -d 'Install Intel\'s OpenCL CPU driver from PyPI for this user where no driver is found'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -l schema -d 'Print the JSON Schema of `--format json` and end'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand completions" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand completions" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand completions" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand completions" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand completions" -s h -l help -d 'Print help'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand man" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand man" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand man" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand man" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand man" -s h -l help -d 'Print help'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand worker" -l run -d 'Run this command in this process\'s place, to end with the parent' -r
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand worker" -l color -d 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand worker" -s q -l quiet -d 'Say less: no notes, no progress'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand worker" -s v -l verbose -d 'Say more'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand worker" -l no-demangle -d 'Show kernel names as they are in the file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand worker" -s h -l help -d 'Print help'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "inspect" -d 'Show the device images of files'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "kernels" -d 'Show the kernels of files: arguments, attributes, aspects, memory, and what a device answers'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "props" -d 'Show the property sets of images, decoded and as they are stored'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "check" -d 'Tell whether kernels run on targets, and keep to declared aspects'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "has" -d 'Tell by exit status whether there is a kernel bundle'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "explain" -d 'Explain an error message, or which image the runtime chooses for a kernel'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "diff" -d 'Show what changed between two builds: kernels, requirements, targets, resources, bytes'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "targets" -d 'List targets and what is known of them'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "devices" -d 'List the live OpenCL devices, with what they can do'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "extract" -d 'Write the images of a file to files of their own'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "filter" -d 'Replace the modules that a target cannot run by empty ones'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "build" -d 'Compile images ahead of time and put the native code where the SYCL runtime finds it'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "plan" -d 'Write what compiles each image by a command of its own, for ninja or make'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "compile" -d 'Compile SPIR-V images to objects of a device, imports open'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "link" -d 'Link SPIR-V images: resolve what they import from each other'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "join" -d 'Put the images of several files together, copies once'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "split" -d 'Split SPIR-V images by kernel, source and requirements'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "wrap" -d 'Write images as an object, a library, a SYCLBIN, an OffloadBinary or other forms'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "embed" -d 'Add images to the list of a linked file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "prune" -d 'Remove images from the list of a linked file'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "cache" -d 'Show, check, shrink or empty the cache of compiled modules'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "doctor" -d 'Tell what this machine has for building, and how to get what it lacks'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "completions" -d 'Print a shell\'s completion script'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "man" -d 'Print a page of the manual'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "worker" -d 'Answers requests of the process that started it'
complete -c sycl-bundle -n "__fish_sycl_bundle_using_subcommand help; and not __fish_seen_subcommand_from inspect kernels props check has explain diff targets devices extract filter build plan compile link join split wrap embed prune cache doctor completions man worker help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
