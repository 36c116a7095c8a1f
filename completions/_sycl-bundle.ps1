
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'sycl-bundle' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'sycl-bundle'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'sycl-bundle' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show the device images of files')
            [CompletionResult]::new('kernels', 'kernels', [CompletionResultType]::ParameterValue, 'Show the kernels of files: arguments, attributes, aspects, memory, and what a device answers')
            [CompletionResult]::new('props', 'props', [CompletionResultType]::ParameterValue, 'Show the property sets of images, decoded and as they are stored')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Tell whether kernels run on targets, and keep to declared aspects')
            [CompletionResult]::new('has', 'has', [CompletionResultType]::ParameterValue, 'Tell by exit status whether there is a kernel bundle')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Explain an error message, or which image the runtime chooses for a kernel')
            [CompletionResult]::new('diff', 'diff', [CompletionResultType]::ParameterValue, 'Show what changed between two builds: kernels, requirements, targets, resources, bytes')
            [CompletionResult]::new('targets', 'targets', [CompletionResultType]::ParameterValue, 'List targets and what is known of them')
            [CompletionResult]::new('devices', 'devices', [CompletionResultType]::ParameterValue, 'List the live OpenCL devices, with what they can do')
            [CompletionResult]::new('extract', 'extract', [CompletionResultType]::ParameterValue, 'Write the images of a file to files of their own')
            [CompletionResult]::new('filter', 'filter', [CompletionResultType]::ParameterValue, 'Replace the modules that a target cannot run by empty ones')
            [CompletionResult]::new('build', 'build', [CompletionResultType]::ParameterValue, 'Compile images ahead of time and put the native code where the SYCL runtime finds it')
            [CompletionResult]::new('plan', 'plan', [CompletionResultType]::ParameterValue, 'Write what compiles each image by a command of its own, for ninja or make')
            [CompletionResult]::new('compile', 'compile', [CompletionResultType]::ParameterValue, 'Compile SPIR-V images to objects of a device, imports open')
            [CompletionResult]::new('link', 'link', [CompletionResultType]::ParameterValue, 'Link SPIR-V images: resolve what they import from each other')
            [CompletionResult]::new('join', 'join', [CompletionResultType]::ParameterValue, 'Put the images of several files together, copies once')
            [CompletionResult]::new('split', 'split', [CompletionResultType]::ParameterValue, 'Split SPIR-V images by kernel, source and requirements')
            [CompletionResult]::new('wrap', 'wrap', [CompletionResultType]::ParameterValue, 'Write images as an object, a library, a SYCLBIN, an OffloadBinary or other forms')
            [CompletionResult]::new('embed', 'embed', [CompletionResultType]::ParameterValue, 'Add images to the list of a linked file')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Remove images from the list of a linked file')
            [CompletionResult]::new('cache', 'cache', [CompletionResultType]::ParameterValue, 'Show, check, shrink or empty the cache of compiled modules')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Tell what this machine has for building, and how to get what it lacks')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a shell''s completion script')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a page of the manual')
            [CompletionResult]::new('worker', 'worker', [CompletionResultType]::ParameterValue, 'Answers requests of the process that started it')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'sycl-bundle;inspect' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the output')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write also a page for a browser: a map of the bytes, kernels by targets, tables to filter and sort')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'The targets of the page, as `check` takes them (repeatable); by default those of the policy, else those in the files, a CPU and some GPUs')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The targets of the page, as `check` takes them (repeatable); by default those of the policy, else those in the files, a CPU and some GPUs')
            [CompletionResult]::new('--policy', '--policy', [CompletionResultType]::ParameterName, 'Hold the files to this policy; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above')
            [CompletionResult]::new('--baseline', '--baseline', [CompletionResultType]::ParameterName, 'Findings of this file, which `check --write-baseline` wrote, are excused on the page')
            [CompletionResult]::new('--device-config', '--device-config', [CompletionResultType]::ParameterName, 'Add targets from a device configuration, in place of those of the same name (repeatable)')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'List each image')
            [CompletionResult]::new('--sizes', '--sizes', [CompletionResultType]::ParameterName, 'Show who takes the space')
            [CompletionResult]::new('--clones', '--clones', [CompletionResultType]::ParameterName, 'Show which images are the same code under other names, and what they cost')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('--no-policy', '--no-policy', [CompletionResultType]::ParameterName, 'Hold the files to no policy')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;kernels' {
            [CompletionResult]::new('--device', '--device', [CompletionResultType]::ParameterName, 'Ask this device about the kernels: a number of `devices`, cpu, gpu, or a part of its name (repeatable)')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'Build on so many devices'' compilers at once; by default one per processor')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Build on so many devices'' compilers at once; by default one per processor')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the output')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'List each kernel')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;props' {
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Only sets whose name matches, such as ''SYCL/device requirements'' (repeatable)')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'Only properties whose name, mangled or demangled, matches (repeatable)')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the output')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'List each property of each image')
            [CompletionResult]::new('--raw', '--raw', [CompletionResultType]::ParameterName, 'Show values as they are stored')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;check' {
            [CompletionResult]::new('--declared', '--declared', [CompletionResultType]::ParameterName, 'The aspects that `[[sycl::device_has()]]` lists, by SYCL name; '''' for none')
            [CompletionResult]::new('--fixed-targets', '--fixed-targets', [CompletionResultType]::ParameterName, 'The targets of `-fsycl-fixed-targets`, as `targets` lists them')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the output')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'Where each kernel must run: targets, as `targets` lists them, in any spelling (repeatable); by default those of the policy')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Where each kernel must run: targets, as `targets` lists them, in any spelling (repeatable); by default those of the policy')
            [CompletionResult]::new('--policy', '--policy', [CompletionResultType]::ParameterName, 'Hold the files to this policy; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above')
            [CompletionResult]::new('--baseline', '--baseline', [CompletionResultType]::ParameterName, 'Findings of this file are known and do not fail; those that are gone are told')
            [CompletionResult]::new('--write-baseline', '--write-baseline', [CompletionResultType]::ParameterName, 'Write all findings to this file, and fail for none of them')
            [CompletionResult]::new('--device-config', '--device-config', [CompletionResultType]::ParameterName, 'Add targets from a device configuration, in place of those of the same name (repeatable)')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--external', '--external', [CompletionResultType]::ParameterName, 'Warn of functions of other images that use what the calling kernel''s image does not record')
            [CompletionResult]::new('--link', '--link', [CompletionResultType]::ParameterName, 'Tell whether all files together define what their images import, and no symbol or kernel twice')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('--require-native', '--require-native', [CompletionResultType]::ParameterName, 'The image that the runtime chooses must be compiled for the target already')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'End with 1 where the verdict is unknown too')
            [CompletionResult]::new('--no-policy', '--no-policy', [CompletionResultType]::ParameterName, 'Hold the files to no policy')
            [CompletionResult]::new('--example-policy', '--example-policy', [CompletionResultType]::ParameterName, 'Print a policy that uses every key, and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;has' {
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'The devices: targets, as `targets` lists them, in any spelling (repeatable)')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The devices: targets, as `targets` lists them, in any spelling (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'The kernels, by mangled or demangled name; of a glob all that match (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'The state of the bundle')
            [CompletionResult]::new('--device-config', '--device-config', [CompletionResultType]::ParameterName, 'Add targets from a device configuration, in place of those of the same name (repeatable)')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the output; with --quiet there is none')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;explain' {
            [CompletionResult]::new('-m', '-m', [CompletionResultType]::ParameterName, 'What the program, the driver or the compiler printed; `-` reads it from standard input')
            [CompletionResult]::new('--message', '--message', [CompletionResultType]::ParameterName, 'What the program, the driver or the compiler printed; `-` reads it from standard input')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only kernels whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'The targets that the kernels are to run on, in any spelling that `targets` takes')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The targets that the kernels are to run on, in any spelling that `targets` takes')
            [CompletionResult]::new('--device', '--device', [CompletionResultType]::ParameterName, 'Have this device''s compiler build the kernels: a number of `devices`, cpu, gpu, or a part of its name (repeatable)')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the output')
            [CompletionResult]::new('--device-config', '--device-config', [CompletionResultType]::ParameterName, 'Add targets from a device configuration, in place of those of the same name (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;diff' {
            [CompletionResult]::new('--ignore', '--ignore', [CompletionResultType]::ParameterName, 'What counts as the same, whatever it was, for budgets too')
            [CompletionResult]::new('--max-growth', '--max-growth', [CompletionResultType]::ParameterName, 'How much all device code together may grow as it is stored: 64KiB, 5%')
            [CompletionResult]::new('--max-kernel-growth', '--max-kernel-growth', [CompletionResultType]::ParameterName, 'How much the images of any one kernel may grow for any one target')
            [CompletionResult]::new('--max-spill-growth', '--max-spill-growth', [CompletionResultType]::ParameterName, 'How many bytes more any one kernel may spill from registers')
            [CompletionResult]::new('--forbid', '--forbid', [CompletionResultType]::ParameterName, 'What must not happen')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'Write also a page for a browser: what became of each kernel, to filter and sort')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the output')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Name each kernel that changed, not the first few')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End with 1 where there are differences')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;targets' {
            [CompletionResult]::new('--diff', '--diff', [CompletionResultType]::ParameterName, 'Show what two targets differ in')
            [CompletionResult]::new('--of', '--of', [CompletionResultType]::ParameterName, 'List the targets that files hold images for, one per line')
            [CompletionResult]::new('--validate', '--validate', [CompletionResultType]::ParameterName, 'Check device configurations')
            [CompletionResult]::new('--device-config', '--device-config', [CompletionResultType]::ParameterName, 'Add targets from a device configuration, in place of those of the same name (repeatable)')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the output')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;devices' {
            [CompletionResult]::new('--device', '--device', [CompletionResultType]::ParameterName, 'The same, as other verbs have it (repeatable)')
            [CompletionResult]::new('--save', '--save', [CompletionResultType]::ParameterName, 'Write a device configuration of one device; - for standard output')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the output')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--probe', '--probe', [CompletionResultType]::ParameterName, 'Find out which SPIR-V the devices'' drivers take by having them build small kernels')
            [CompletionResult]::new('--kernels', '--kernels', [CompletionResultType]::ParameterName, 'List the kernels that are built into devices; they need no image, and exist on their device only')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'List devices that ONEAPI_DEVICE_SELECTOR hides too')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;extract' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The folder to write to, or the file, where its name tells a form; `-` writes the payload of one selected image to standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The folder to write to, or the file, where its name tells a form; `-` writes the payload of one selected image to standard output')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How to list what was written')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'As what to write the images')
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`')
            [CompletionResult]::new('--descriptor-version', '--descriptor-version', [CompletionResultType]::ParameterName, 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for')
            [CompletionResult]::new('--entries', '--entries', [CompletionResultType]::ParameterName, 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both')
            [CompletionResult]::new('--syclbin-version', '--syclbin-version', [CompletionResultType]::ParameterName, 'The version of a SYCLBIN: 1, which libsycl reads, or 2')
            [CompletionResult]::new('--syclbin-state', '--syclbin-state', [CompletionResultType]::ParameterName, 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states')
            [CompletionResult]::new('--offload-binary-version', '--offload-binary-version', [CompletionResultType]::ParameterName, 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--stored', '--stored', [CompletionResultType]::ParameterName, 'Keep compressed payloads as they are stored')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;filter' {
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'A target, as `targets` lists them, in any spelling, and the table to write for it; without a table, the target of what -o names (repeatable)')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'A target, as `targets` lists them, in any spelling, and the table to write for it; without a table, the target of what -o names (repeatable)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write for the target that has no table, or where all have one, with all images as they are. Of one linked file that is a copy of it, by default; else the name tells the form, or --emit')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write for the target that has no table, or where all have one, with all images as they are. Of one linked file that is a copy of it, by default; else the name tells the form, or --emit')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How to show what was done')
            [CompletionResult]::new('--device-config', '--device-config', [CompletionResultType]::ParameterName, 'Add targets from a device configuration, in place of those of the same name (repeatable)')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'As what to write the images')
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`')
            [CompletionResult]::new('--descriptor-version', '--descriptor-version', [CompletionResultType]::ParameterName, 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for')
            [CompletionResult]::new('--entries', '--entries', [CompletionResultType]::ParameterName, 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both')
            [CompletionResult]::new('--syclbin-version', '--syclbin-version', [CompletionResultType]::ParameterName, 'The version of a SYCLBIN: 1, which libsycl reads, or 2')
            [CompletionResult]::new('--syclbin-state', '--syclbin-state', [CompletionResultType]::ParameterName, 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states')
            [CompletionResult]::new('--offload-binary-version', '--offload-binary-version', [CompletionResultType]::ParameterName, 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--drop-signature', '--drop-signature', [CompletionResultType]::ParameterName, 'Remove the signature of a Windows file, which would be wrong once the file is changed')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;build' {
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'What to compile for; by default what `targets` under [build] of sycl-bundle.toml names')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'What to compile for; by default what `targets` under [build] of sycl-bundle.toml names')
            [CompletionResult]::new('--device', '--device', [CompletionResultType]::ParameterName, 'A live OpenCL device to compile for by its own driver: its number, kind (cpu, gpu) or a part of its name, as `devices` lists them')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--march', '--march', [CompletionResultType]::ParameterName, 'The instruction set of native CPU code, by the names of opencl-aot; by default avx2')
            [CompletionResult]::new('--ocloc', '--ocloc', [CompletionResultType]::ParameterName, 'Intel''s offline compiler for GPUs, a program or library; by default libocloc.so, else the program ocloc')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many worker processes; by default as many as there are cores')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many worker processes; by default as many as there are cores')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Seconds that one image may take in one attempt')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How to show what was done')
            [CompletionResult]::new('--shard', '--shard', [CompletionResultType]::ParameterName, 'Compile one of N parts of the images into the cache and write no output: 1/4 to 4/4, on as many machines as share the folder; a run without it then writes the output')
            [CompletionResult]::new('--stamp', '--stamp', [CompletionResultType]::ParameterName, 'Write this empty file when all is done and nothing failed: an output that did not change keeps its time')
            [CompletionResult]::new('--MF', '--MF', [CompletionResultType]::ParameterName, 'Write them to this file. Also -MF FILE')
            [CompletionResult]::new('--MT', '--MT', [CompletionResultType]::ParameterName, 'The target of the rule, instead of the output and the --stamp. Also -MT NAME')
            [CompletionResult]::new('--retries', '--retries', [CompletionResultType]::ParameterName, 'How many further attempts follow one that ended the driver''s process or overran; by default 2. A repeated command tries failed images again')
            [CompletionResult]::new('--max-memory', '--max-memory', [CompletionResultType]::ParameterName, 'Compile only so much at once that all workers together stay within this much memory (16GiB), by an estimate from the modules'' sizes; a module that needs more is compiled alone')
            [CompletionResult]::new('--unit', '--unit', [CompletionResultType]::ParameterName, 'With --cache-only: this image for this target alone, as `plan` writes it (12:intel_gpu_pvc)')
            [CompletionResult]::new('--save-temps', '--save-temps', [CompletionResultType]::ParameterName, 'Keep in this folder of each image and target the module that the compiler gets (.spv, with .1.spv and so on for what it is linked with), its options (.opts), its binary (.bin) and what the compiler said (.log), by the number of the image and the name of the target: 12.intel_gpu_pvc.spv')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write as JSON what each image took to compile, and what each of its native kernels takes: registers, SIMD width, spills, memory, barriers')
            [CompletionResult]::new('--time-trace', '--time-trace', [CompletionResultType]::ParameterName, 'Write which worker compiled which image when, for chrome://tracing or ui.perfetto.dev')
            [CompletionResult]::new('--driver-version', '--driver-version', [CompletionResultType]::ParameterName, 'Which version of the driver to install')
            [CompletionResult]::new('--options', '--options', [CompletionResultType]::ParameterName, 'Options of the device''s compiler, after those that the images have')
            [CompletionResult]::new('--link-options', '--link-options', [CompletionResultType]::ParameterName, 'Options of the device''s linker, likewise')
            [CompletionResult]::new('--spec', '--spec', [CompletionResultType]::ParameterName, 'Give a specialization constant its value, by its name in the source; a composite takes a list: 1.5,7 (repeatable)')
            [CompletionResult]::new('--spec-id', '--spec-id', [CompletionResultType]::ParameterName, 'The same by the number that the module has for it (repeatable)')
            [CompletionResult]::new('--policy', '--policy', [CompletionResultType]::ParameterName, 'Compile by the rules of this file; by default SYCL_BUNDLE_CONFIG, or sycl-bundle.toml here or in a folder above')
            [CompletionResult]::new('--device-config', '--device-config', [CompletionResultType]::ParameterName, 'Add targets from a device configuration, in place of those of the same name (repeatable)')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'As what to write the images')
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`')
            [CompletionResult]::new('--descriptor-version', '--descriptor-version', [CompletionResultType]::ParameterName, 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for')
            [CompletionResult]::new('--entries', '--entries', [CompletionResultType]::ParameterName, 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both')
            [CompletionResult]::new('--syclbin-version', '--syclbin-version', [CompletionResultType]::ParameterName, 'The version of a SYCLBIN: 1, which libsycl reads, or 2')
            [CompletionResult]::new('--syclbin-state', '--syclbin-state', [CompletionResultType]::ParameterName, 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states')
            [CompletionResult]::new('--offload-binary-version', '--offload-binary-version', [CompletionResultType]::ParameterName, 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Write the copy in place of the linked file itself; `prune --drop` takes the native code out again')
            [CompletionResult]::new('--all-or-nothing', '--all-or-nothing', [CompletionResultType]::ParameterName, 'Write nothing, and fail, unless all selected images become native for all targets')
            [CompletionResult]::new('--no-spirv', '--no-spirv', [CompletionResultType]::ParameterName, 'Leave out the SPIR-V of images that have native code for every target that can run them, and that no other image imports from: their kernels then run on the targets'' devices and on no other, not through another driver''s just-in-time compiler either')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('--no-cache', '--no-cache', [CompletionResultType]::ParameterName, 'Do not look into the cache, and keep nothing there')
            [CompletionResult]::new('--no-fold', '--no-fold', [CompletionResultType]::ParameterName, 'Compile every image, also those that are the same code as another but for the kernel''s name')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Say what would be compiled, and write no output')
            [CompletionResult]::new('--MD', '--MD', [CompletionResultType]::ParameterName, 'Write the files that the output depends on, for make and ninja, to the output''s name and `.d`. Also -MD')
            [CompletionResult]::new('--fail-fast', '--fail-fast', [CompletionResultType]::ParameterName, 'Begin no further image once one did not build, and write nothing; by default all others are compiled')
            [CompletionResult]::new('--keep-going', '--keep-going', [CompletionResultType]::ParameterName, 'Compile all others where an image does not build: the default, which undoes --fail-fast')
            [CompletionResult]::new('--cache-only', '--cache-only', [CompletionResultType]::ParameterName, 'Compile into the cache and write no output')
            [CompletionResult]::new('--report-schema', '--report-schema', [CompletionResultType]::ParameterName, 'Print the JSON schema of --report, and end')
            [CompletionResult]::new('--install-driver', '--install-driver', [CompletionResultType]::ParameterName, 'Install Intel''s OpenCL CPU driver from PyPI for this user where no driver is found')
            [CompletionResult]::new('--spec-defaults', '--spec-defaults', [CompletionResultType]::ParameterName, 'Give specialization constants that nothing else sets their defaults; without, images with such constants stay SPIR-V')
            [CompletionResult]::new('--no-policy', '--no-policy', [CompletionResultType]::ParameterName, 'Compile by no file''s rules')
            [CompletionResult]::new('--example-policy', '--example-policy', [CompletionResultType]::ParameterName, 'Print rules that use every key, and end')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;plan' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'For which engine; by default ninja')
            [CompletionResult]::new('--to', '--to', [CompletionResultType]::ParameterName, 'The file to write; by default standard output')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;compile' {
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'What to compile for')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'What to compile for')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--march', '--march', [CompletionResultType]::ParameterName, 'The instruction set of native CPU code, by the names of opencl-aot; by default avx2')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many worker processes; by default as many as there are cores')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many worker processes; by default as many as there are cores')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Seconds that one image may take in one attempt; by default 120')
            [CompletionResult]::new('--driver-version', '--driver-version', [CompletionResultType]::ParameterName, 'Which version of the driver to install')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'As what to write the images')
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`')
            [CompletionResult]::new('--descriptor-version', '--descriptor-version', [CompletionResultType]::ParameterName, 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for')
            [CompletionResult]::new('--entries', '--entries', [CompletionResultType]::ParameterName, 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both')
            [CompletionResult]::new('--syclbin-version', '--syclbin-version', [CompletionResultType]::ParameterName, 'The version of a SYCLBIN: 1, which libsycl reads, or 2')
            [CompletionResult]::new('--syclbin-state', '--syclbin-state', [CompletionResultType]::ParameterName, 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states')
            [CompletionResult]::new('--offload-binary-version', '--offload-binary-version', [CompletionResultType]::ParameterName, 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--install-driver', '--install-driver', [CompletionResultType]::ParameterName, 'Install Intel''s OpenCL CPU driver from PyPI for this user where no driver is found')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;link' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'Link objects, as `compile` makes them, to executables of this target: `spir64_x86_64`')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Link objects, as `compile` makes them, to executables of this target: `spir64_x86_64`')
            [CompletionResult]::new('--march', '--march', [CompletionResultType]::ParameterName, 'The instruction set of native CPU code, by the names of opencl-aot; by default avx2')
            [CompletionResult]::new('-j', '-j', [CompletionResultType]::ParameterName, 'How many worker processes; by default as many as there are cores')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'How many worker processes; by default as many as there are cores')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Seconds that one image may take in one attempt; by default 120')
            [CompletionResult]::new('--driver-version', '--driver-version', [CompletionResultType]::ParameterName, 'Which version of the driver to install')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'As what to write the images')
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`')
            [CompletionResult]::new('--descriptor-version', '--descriptor-version', [CompletionResultType]::ParameterName, 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for')
            [CompletionResult]::new('--entries', '--entries', [CompletionResultType]::ParameterName, 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both')
            [CompletionResult]::new('--syclbin-version', '--syclbin-version', [CompletionResultType]::ParameterName, 'The version of a SYCLBIN: 1, which libsycl reads, or 2')
            [CompletionResult]::new('--syclbin-state', '--syclbin-state', [CompletionResultType]::ParameterName, 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states')
            [CompletionResult]::new('--offload-binary-version', '--offload-binary-version', [CompletionResultType]::ParameterName, 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--each', '--each', [CompletionResultType]::ParameterName, 'Link each image that imports something with the images that define it')
            [CompletionResult]::new('--partial', '--partial', [CompletionResultType]::ParameterName, 'Leave imports open that nothing defines')
            [CompletionResult]::new('--internalize', '--internalize', [CompletionResultType]::ParameterName, 'Export nothing from the result')
            [CompletionResult]::new('--install-driver', '--install-driver', [CompletionResultType]::ParameterName, 'Install Intel''s OpenCL CPU driver from PyPI for this user where no driver is found')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;join' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'As what to write the images')
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`')
            [CompletionResult]::new('--descriptor-version', '--descriptor-version', [CompletionResultType]::ParameterName, 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for')
            [CompletionResult]::new('--entries', '--entries', [CompletionResultType]::ParameterName, 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both')
            [CompletionResult]::new('--syclbin-version', '--syclbin-version', [CompletionResultType]::ParameterName, 'The version of a SYCLBIN: 1, which libsycl reads, or 2')
            [CompletionResult]::new('--syclbin-state', '--syclbin-state', [CompletionResultType]::ParameterName, 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states')
            [CompletionResult]::new('--offload-binary-version', '--offload-binary-version', [CompletionResultType]::ParameterName, 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--fold-clones', '--fold-clones', [CompletionResultType]::ParameterName, 'Make one image of SPIR-V images that are the same code under other names, with a kernel for each name')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;split' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; of a table its parts lie beside it and are named after it')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; of a table its parts lie beside it and are named after it')
            [CompletionResult]::new('--mode', '--mode', [CompletionResultType]::ParameterName, 'How to split')
            [CompletionResult]::new('--entry', '--entry', [CompletionResultType]::ParameterName, 'An image for the kernels and functions that match, by glob, mangled or demangled (repeatable); others follow the mode')
            [CompletionResult]::new('--fixed-targets', '--fixed-targets', [CompletionResultType]::ParameterName, 'The targets of `-fsycl-fixed-targets`: of one input (`a.spv=intel_gpu_pvc,cpu`), or of all (repeatable)')
            [CompletionResult]::new('--abi', '--abi', [CompletionResultType]::ParameterName, 'The generation of the runtime whose numbers aspects get; by default that of the input')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'As what to write the images')
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`')
            [CompletionResult]::new('--descriptor-version', '--descriptor-version', [CompletionResultType]::ParameterName, 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for')
            [CompletionResult]::new('--entries', '--entries', [CompletionResultType]::ParameterName, 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both')
            [CompletionResult]::new('--syclbin-version', '--syclbin-version', [CompletionResultType]::ParameterName, 'The version of a SYCLBIN: 1, which libsycl reads, or 2')
            [CompletionResult]::new('--syclbin-state', '--syclbin-state', [CompletionResultType]::ParameterName, 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states')
            [CompletionResult]::new('--offload-binary-version', '--offload-binary-version', [CompletionResultType]::ParameterName, 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;wrap' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output. Of a table also a folder, which gets an `images.table`; of several bare modules a folder')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output. Of a table also a folder, which gets an `images.table`; of several bare modules a folder')
            [CompletionResult]::new('--properties', '--properties', [CompletionResultType]::ParameterName, 'The property sets of a module, instead of those beside it')
            [CompletionResult]::new('--symbols', '--symbols', [CompletionResultType]::ParameterName, 'The entries of a module, one a line, instead of those beside it')
            [CompletionResult]::new('--as-target', '--as-target', [CompletionResultType]::ParameterName, 'Say that all images are for this target, whatever they were for: a name that the runtime compares (`spir64_x86_64`), or one of a device, in any spelling (`intel_gpu_pvc`)')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'As what to write the images')
            [CompletionResult]::new('--host', '--host', [CompletionResultType]::ParameterName, 'The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the last two for objects alone). By default this machine''s; x86_64-windows where the output is called `.obj`')
            [CompletionResult]::new('--descriptor-version', '--descriptor-version', [CompletionResultType]::ParameterName, 'The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for the runtime that the images were made for')
            [CompletionResult]::new('--entries', '--entries', [CompletionResultType]::ParameterName, 'The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By default as they were; runtimes since 2025 read both')
            [CompletionResult]::new('--syclbin-version', '--syclbin-version', [CompletionResultType]::ParameterName, 'The version of a SYCLBIN: 1, which libsycl reads, or 2')
            [CompletionResult]::new('--syclbin-state', '--syclbin-state', [CompletionResultType]::ParameterName, 'The state that a SYCLBIN says its images are in. By default what the images'' files state, else executable, or object where an import is open; libsycl loads a file only as what it states')
            [CompletionResult]::new('--offload-binary-version', '--offload-binary-version', [CompletionResultType]::ParameterName, 'The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;embed' {
            [CompletionResult]::new('--as-target', '--as-target', [CompletionResultType]::ParameterName, 'Say that all images are for this target, whatever they were for: a name that the runtime compares (`spir64_x86_64`), or one of a device, in any spelling (`intel_gpu_pvc`)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How to show what was done')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--replace', '--replace', [CompletionResultType]::ParameterName, 'Remove images of the same target all of whose entries the added ones list')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Write the copy in place of the file itself')
            [CompletionResult]::new('--drop-signature', '--drop-signature', [CompletionResultType]::ParameterName, 'Remove the signature of a Windows file, which would be wrong once the file is changed')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;prune' {
            [CompletionResult]::new('--drop', '--drop', [CompletionResultType]::ParameterName, 'Remove images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Keep images for a target whose name matches (repeatable)')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How to show what was done')
            [CompletionResult]::new('--image', '--image', [CompletionResultType]::ParameterName, 'Only these images, by number or range (repeatable)')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only images with a kernel whose mangled or demangled name matches (repeatable)')
            [CompletionResult]::new('--state', '--state', [CompletionResultType]::ParameterName, 'Only images of this state (repeatable)')
            [CompletionResult]::new('--target', '--target', [CompletionResultType]::ParameterName, 'Only images for a target whose name matches (repeatable)')
            [CompletionResult]::new('--aspect', '--aspect', [CompletionResultType]::ParameterName, 'Only images that need this aspect of a device, such as fp64 (repeatable)')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Only images of which this is true, such as `size > 100KiB and aspects = fp64` (repeatable)')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--lose-kernels', '--lose-kernels', [CompletionResultType]::ParameterName, 'Remove images even where a kernel is then in none, and cannot be launched')
            [CompletionResult]::new('--in-place', '--in-place', [CompletionResultType]::ParameterName, 'Write the copy in place of the file itself')
            [CompletionResult]::new('--drop-signature', '--drop-signature', [CompletionResultType]::ParameterName, 'Remove the signature of a Windows file, which would be wrong once the file is changed')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;cache' {
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Bytes that `gc` leaves at most: 500MiB, 2GB, 0')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How to show it')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;doctor' {
            [CompletionResult]::new('--driver-version', '--driver-version', [CompletionResultType]::ParameterName, 'Which version of the driver to install')
            [CompletionResult]::new('--ocloc', '--ocloc', [CompletionResultType]::ParameterName, 'Intel''s offline compiler for GPUs, a program or library; by default libocloc.so, else the program ocloc')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How to show it')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('--install-driver', '--install-driver', [CompletionResultType]::ParameterName, 'Install Intel''s OpenCL CPU driver from PyPI for this user where no driver is found')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON Schema of `--format json` and end')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sycl-bundle;completions' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'sycl-bundle;man' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'sycl-bundle;worker' {
            [CompletionResult]::new('--run', '--run', [CompletionResultType]::ParameterName, 'Run this command in this process''s place, to end with the parent')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less: no notes, no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show kernel names as they are in the file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'sycl-bundle;help' {
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show the device images of files')
            [CompletionResult]::new('kernels', 'kernels', [CompletionResultType]::ParameterValue, 'Show the kernels of files: arguments, attributes, aspects, memory, and what a device answers')
            [CompletionResult]::new('props', 'props', [CompletionResultType]::ParameterValue, 'Show the property sets of images, decoded and as they are stored')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Tell whether kernels run on targets, and keep to declared aspects')
            [CompletionResult]::new('has', 'has', [CompletionResultType]::ParameterValue, 'Tell by exit status whether there is a kernel bundle')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Explain an error message, or which image the runtime chooses for a kernel')
            [CompletionResult]::new('diff', 'diff', [CompletionResultType]::ParameterValue, 'Show what changed between two builds: kernels, requirements, targets, resources, bytes')
            [CompletionResult]::new('targets', 'targets', [CompletionResultType]::ParameterValue, 'List targets and what is known of them')
            [CompletionResult]::new('devices', 'devices', [CompletionResultType]::ParameterValue, 'List the live OpenCL devices, with what they can do')
            [CompletionResult]::new('extract', 'extract', [CompletionResultType]::ParameterValue, 'Write the images of a file to files of their own')
            [CompletionResult]::new('filter', 'filter', [CompletionResultType]::ParameterValue, 'Replace the modules that a target cannot run by empty ones')
            [CompletionResult]::new('build', 'build', [CompletionResultType]::ParameterValue, 'Compile images ahead of time and put the native code where the SYCL runtime finds it')
            [CompletionResult]::new('plan', 'plan', [CompletionResultType]::ParameterValue, 'Write what compiles each image by a command of its own, for ninja or make')
            [CompletionResult]::new('compile', 'compile', [CompletionResultType]::ParameterValue, 'Compile SPIR-V images to objects of a device, imports open')
            [CompletionResult]::new('link', 'link', [CompletionResultType]::ParameterValue, 'Link SPIR-V images: resolve what they import from each other')
            [CompletionResult]::new('join', 'join', [CompletionResultType]::ParameterValue, 'Put the images of several files together, copies once')
            [CompletionResult]::new('split', 'split', [CompletionResultType]::ParameterValue, 'Split SPIR-V images by kernel, source and requirements')
            [CompletionResult]::new('wrap', 'wrap', [CompletionResultType]::ParameterValue, 'Write images as an object, a library, a SYCLBIN, an OffloadBinary or other forms')
            [CompletionResult]::new('embed', 'embed', [CompletionResultType]::ParameterValue, 'Add images to the list of a linked file')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Remove images from the list of a linked file')
            [CompletionResult]::new('cache', 'cache', [CompletionResultType]::ParameterValue, 'Show, check, shrink or empty the cache of compiled modules')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Tell what this machine has for building, and how to get what it lacks')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a shell''s completion script')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a page of the manual')
            [CompletionResult]::new('worker', 'worker', [CompletionResultType]::ParameterValue, 'Answers requests of the process that started it')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'sycl-bundle;help;inspect' {
            break
        }
        'sycl-bundle;help;kernels' {
            break
        }
        'sycl-bundle;help;props' {
            break
        }
        'sycl-bundle;help;check' {
            break
        }
        'sycl-bundle;help;has' {
            break
        }
        'sycl-bundle;help;explain' {
            break
        }
        'sycl-bundle;help;diff' {
            break
        }
        'sycl-bundle;help;targets' {
            break
        }
        'sycl-bundle;help;devices' {
            break
        }
        'sycl-bundle;help;extract' {
            break
        }
        'sycl-bundle;help;filter' {
            break
        }
        'sycl-bundle;help;build' {
            break
        }
        'sycl-bundle;help;plan' {
            break
        }
        'sycl-bundle;help;compile' {
            break
        }
        'sycl-bundle;help;link' {
            break
        }
        'sycl-bundle;help;join' {
            break
        }
        'sycl-bundle;help;split' {
            break
        }
        'sycl-bundle;help;wrap' {
            break
        }
        'sycl-bundle;help;embed' {
            break
        }
        'sycl-bundle;help;prune' {
            break
        }
        'sycl-bundle;help;cache' {
            break
        }
        'sycl-bundle;help;doctor' {
            break
        }
        'sycl-bundle;help;completions' {
            break
        }
        'sycl-bundle;help;man' {
            break
        }
        'sycl-bundle;help;worker' {
            break
        }
        'sycl-bundle;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
