
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
            cand extract 'Write the images of a file to files of their own'
            cand completions 'Print a shell''s completion script'
            cand man 'Print a page of the manual'
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
        &'sycl-bundle;extract'= {
            cand -o 'The folder to write to; `-` writes the payload of one selected image to standard output'
            cand --output 'The folder to write to; `-` writes the payload of one selected image to standard output'
            cand --format 'How to list what was written'
            cand --image 'Only these images, by number or range (repeatable)'
            cand --kernel 'Only images with a kernel whose mangled or demangled name matches (repeatable)'
            cand --state 'Only images of this state (repeatable)'
            cand --target 'Only images for a target whose name matches (repeatable)'
            cand --color 'When to colour the output; NO_COLOR and CLICOLOR_FORCE count for `auto`'
            cand --stored 'Keep compressed payloads as they are stored'
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
        &'sycl-bundle;help'= {
            cand inspect 'Show the device images of files'
            cand extract 'Write the images of a file to files of their own'
            cand completions 'Print a shell''s completion script'
            cand man 'Print a page of the manual'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'sycl-bundle;help;inspect'= {
        }
        &'sycl-bundle;help;extract'= {
        }
        &'sycl-bundle;help;completions'= {
        }
        &'sycl-bundle;help;man'= {
        }
        &'sycl-bundle;help;help'= {
        }
    ]
    $completions[$command]
}
