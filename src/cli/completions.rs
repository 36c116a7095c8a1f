//! `completions`: what does the shell offer while a command is typed?
//!
//! The script of a shell only asks the program, with [`VARIABLE`] set, so that targets, aspects, and the kernels and images of
//! the file on the command line complete as well as verbs and options do.
//!
//! The scripts of bash and PowerShell put what they are answered on the command line as it is, and the shell runs that: a
//! file's name, or a kernel's, may come from anybody. So these are offered nothing that a shell reads as more than a word;
//! where nothing is left bash completes names of files by itself, and quotes them.

use super::Cli;
use super::global::Global;
use super::output::Output;
use crate::bundle::{Bundle, aspect};
use crate::compat::examine::examine;
use crate::container::Host;
use crate::device;
use crate::error::{Error, Exit, Result};
use crate::files::input::Input;
use clap::CommandFactory as _;
use clap_complete::CompleteEnv;
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  sycl-bundle completions bash > ~/.local/share/bash-completion/completions/sycl-bundle
  sycl-bundle completions fish > ~/.config/fish/completions/sycl-bundle.fish";

/// Shells by their scripts, and what separates the answers of those that quote nothing.
const SHELLS: Shells<'static> =
    Shells(&[&Words(&Bash), &Words(&Elvish), &Words(&Fish), &Words(&Powershell), &Words(&Zsh)]);

/// The variable by which a shell's script asks for candidates.
const VARIABLE: &str = "SYCL_BUNDLE_COMPLETE";

/// Files beyond this many bytes are not read for the sake of a completion.
const MAX_FILE: u64 = 256 << 20;

/// Print a shell's completion script
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, _: &Global, out: &mut Output) -> Result<Exit> {
        out.plain(&script(self.shell)?)?;
        Ok(Exit::Done)
    }
}

/// Returns the script that registers the program with a shell.
///
/// # Errors
/// `Usage` for a shell without such a script.
pub(crate) fn script(shell: Shell) -> Result<Vec<u8>> {
    let name = shell.to_string();
    let unknown = || Error::new(crate::error::ErrorKind::Usage, format!("no completion for {name}"));
    let mut script = Vec::new();
    let program = "sycl-bundle";
    let registration = SHELLS.completer(&name).ok_or_else(unknown)?;
    registration
        .write_registration(VARIABLE, program, program, program, &mut script)
        .map_err(|error| Error::io("cannot write the script", &error))?;
    Ok(script)
}

/// Answers a shell that asks for candidates; returns whether one asked.
pub(crate) fn answered() -> bool {
    let folder = std::env::current_dir().ok();
    let environment = CompleteEnv::with_factory(command).var(VARIABLE).shells(SHELLS);
    environment.try_complete(std::env::args_os(), folder.as_deref()).unwrap_or_else(|error| error.exit())
}

/// Shell that is offered plain words only.
struct Words(&'static dyn EnvCompleter);

impl EnvCompleter for Words {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn is(&self, name: &str) -> bool {
        self.0.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> std::io::Result<()> {
        self.0.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        buf: &mut dyn Write,
    ) -> std::io::Result<()> {
        let mut answers = Vec::new();
        self.0.write_complete(command, words, folder, &mut answers)?;
        // bash's script says what stands between answers; a name that holds that is no plain word either.
        let said = std::env::var("_CLAP_IFS").ok().filter(|text| self.is("bash") && !text.is_empty());
        let between = said.unwrap_or_else(|| "\n".to_owned());
        let sign = match self.name() {
            "bash" => None,
            "zsh" => Some(':'),
            _ => Some('\t'),
        };
        buf.write_all(plain_words(&String::from_utf8_lossy(&answers), &between, sign).as_bytes())
    }
}

/// Returns the answers that every shell reads as one word. Behind `sign` stands what is told of one: a tab, or zsh's colon, which has a
/// backslash before it within the word. bash is told nothing, and says itself what stands between answers.
fn plain_words(answers: &str, between: &str, sign: Option<char>) -> String {
    let is_plain = |answer: &&str| {
        let answer = if sign == Some(':') { answer.replace("\\:", "=") } else { (*answer).to_owned() };
        let word = sign.map_or(answer.as_str(), |sign| answer.split(sign).next().unwrap_or_default());
        word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_./:+,=-".contains(letter))
    };
    answers.split(between).filter(is_plain).collect::<Vec<_>>().join(between)
}

/// The command line with what its options' values can be.
fn command() -> clap::Command {
    let mut command = Cli::command();
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    for verb in verbs {
        command = command.mut_subcommand(verb, |verb| verb.mut_args(with_values));
    }
    command
}

/// An argument with what its value can be, by the names that arguments have in every verb.
fn with_values(argument: clap::Arg) -> clap::Arg {
    let values: fn() -> Vec<String> = match argument.get_long() {
        Some("for" | "target" | "fixed-targets" | "targets") => targets,
        Some("aspect") => aspects,
        Some("kernel" | "entry") => kernels,
        Some("image") => images,
        None if argument.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains("TARGET"))) => {
            targets
        }
        _ if argument.get_value_parser().type_id() == TypeId::of::<PathBuf>() => {
            return argument.add(ArgValueCompleter::new(paths));
        }
        _ => return argument,
    };
    argument.add(ArgValueCompleter::new(move |typed: &OsStr| matching(typed, values())))
}

/// The paths that begin with what is typed, without those that hold what stands between answers: their pieces would be answers.
fn paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let is_one_line = |path: &CompletionCandidate| !path.get_value().to_string_lossy().contains(char::is_control);
    PathCompleter::any().complete(typed).into_iter().filter(is_one_line).collect()
}

/// The values that begin with what is typed; where that is a list, the values go behind its last comma.
fn matching(typed: &OsStr, values: Vec<String>) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let (before, last) = typed.rfind(',').map_or(("", typed), |comma| typed.split_at(comma.saturating_add(1)));
    let matching = values.into_iter().filter(|value| value.starts_with(last));
    matching.map(|value| CompletionCandidate::new(format!("{before}{value}"))).collect()
}

fn targets() -> Vec<String> {
    let table = device::table();
    let names = table.targets().iter().map(|target| target.name.clone());
    names.chain(table.families().iter().map(|family| family.name.clone())).collect()
}

fn aspects() -> Vec<String> {
    aspect::names().map(str::to_owned).collect()
}

/// The mangled names of the kernels in the files of the command line.
fn kernels() -> Vec<String> {
    let mut names = Vec::new();
    for path in files() {
        let _ = read(&path, |bundle| {
            names.extend(examine(bundle).into_iter().flat_map(|image| image.kernels));
        });
    }
    names.sort();
    names.dedup();
    names
}

/// The numbers of the images in the files of the command line.
fn images() -> Vec<String> {
    let mut most = 0;
    for path in files() {
        let _ = read(&path, |bundle| most = most.max(bundle.images.len()));
    }
    (0..most).map(|number| number.to_string()).collect()
}

/// The words of the command line being typed that are plain files.
fn files() -> Vec<PathBuf> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(2);
    let plain = |word: &OsString| {
        std::fs::metadata(word).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_FILE)
    };
    words.filter(plain).map(PathBuf::from).collect()
}

/// Reads the images of a file. One that cannot be read has nothing to offer.
fn read(path: &Path, use_bundle: impl FnOnce(&Bundle<'_>)) -> Result<()> {
    let input = Input::open(path)?;
    let host = Host::read(input.bytes())?;
    use_bundle(&Bundle::read(&host)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_plain_words() {
        let answers = "_ZTS4gemm\u{b}a;touch x\u{b}$(x)\u{b}two words\u{b}x\ny\u{b}*\u{b}~\u{b}dir/m.spv";
        assert_eq!(plain_words(answers, "\u{b}", None), "_ZTS4gemm\u{b}dir/m.spv");
        assert_eq!(plain_words("a\tb\u{b}c", "\u{b}", None), "c");
        assert_eq!(
            plain_words("--kernel\tKernels; by name\nx`y\tz\n", "\n", Some('\t')),
            "--kernel\tKernels; by name\n"
        );
        let of_zsh = "dg1\\:acm-g12:Range; of GPUs\nx`y:z\nx\\\\:y\n--kernel\n";
        assert_eq!(plain_words(of_zsh, "\n", Some(':')), "dg1\\:acm-g12:Range; of GPUs\n--kernel\n");
    }

    #[test]
    fn pieces_of_names_are_no_answers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["plain.so", "a\u{b}--in-place", "b\n--in-place"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("c\u{b}d")).unwrap();
        let offered = paths(folder.path().join("").as_os_str());
        let names: Vec<_> = offered.iter().map(|one| Path::new(one.get_value()).file_name().unwrap()).collect();
        assert_eq!(names, ["plain.so"]);
        let mut command = command();
        let build = command.find_subcommand_mut("build").unwrap();
        let inputs = build.get_positionals().next().unwrap();
        assert!(inputs.get::<ArgValueCompleter>().is_some());
    }

    #[test]
    fn lists_complete_behind_their_last_comma() {
        let values = || ["pvc", "ptl", "dg1"].map(str::to_owned).to_vec();
        let offered = |typed: &str| -> Vec<String> {
            let candidates = matching(OsStr::new(typed), values());
            candidates.iter().map(|one| one.get_value().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(offered("p"), ["pvc", "ptl"]);
        assert_eq!(offered("dg1,pt"), ["dg1,ptl"]);
        assert_eq!(offered("x"), [""; 0]);
    }
}
