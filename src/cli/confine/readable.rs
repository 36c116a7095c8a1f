//! Which files does a worker read?
//!
//! All, until it gets a module. Then those of the system, and those of its driver or compiler: what lies around the files that it
//! consists of, what variables of loaders name, and what its scripts and programs start and load, as their texts and headers
//! say.

use crate::build::inventory::loaded;
use crate::container::library_folders::library_folders;
use crate::limits;
use crate::plain_file;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Folder of which Intel's compiler for GPUs reads options (`debugFlags/Options.txt`), whoever made it.
const OPTIONS: &str = "IntelIGC";

/// Returns the path of that folder.
pub(super) fn options() -> PathBuf {
    Path::new("/tmp").canonicalize().unwrap_or_else(|_| "/tmp".into()).join(OPTIONS)
}

/// Folders and files of the system that programs, drivers and compilers read, beside their own: libraries, settings of loaders
/// and clocks, and what the kernel tells. Others below `/etc` may be root's alone, which a build may run as.
const SYSTEM: [&str; 22] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/opengl-driver",
    "/run/opengl-driver-32",
    "/etc/OpenCL",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/proc",
    "/sys",
];
/// Folders beside that of a library or program, and a file of Python's, below one prefix, where the rest of a driver or compiler lies.
const BESIDE: [&str; 9] =
    ["bin", "etc/OpenCL", "lib", "lib32", "lib64", "libexec", "pyvenv.cfg", "share/clc", "share/pocl"];
/// Variables with folders and files of loaders and drivers.
const VARIABLES: [&str; 4] = ["LD_LIBRARY_PATH", "OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "OPENCL_DYLIB_PATH"];
/// Beginning of the variables that name programs of PoCL.
const PROGRAMS: &str = "POCL_PATH_";

/// Files and folders that a worker reads.
pub(super) struct Readable {
    /// Files, and folders with all that is below them.
    pub(super) whole: Vec<PathBuf>,
    /// Folders in which, and below which, names are seen: loaders look for lists of drivers there, and Python for modules.
    pub(super) listed: Vec<PathBuf>,
}

/// Returns what may be read: all, where the files of the driver or compiler are not known yet, and else the system's files, what
/// this process was loaded from, what variables name, and what is around those files. The folder of options, and what comes
/// to be beside it or above, is never among it.
pub(super) fn readable(files: Option<&[PathBuf]>, folder: &Path) -> Readable {
    let options = options();
    let Some(files) = files else {
        return Readable { whole: without(Path::new("/"), &[&options]), listed: Vec::new() };
    };
    let named = VARIABLES.iter().filter_map(std::env::var_os);
    let named: Vec<PathBuf> = named.flat_map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>()).collect();
    // A list of a loader may be a link to a file elsewhere.
    let lists = named.iter().map(PathBuf::as_path).chain([Path::new("/etc/OpenCL/vendors")]).flat_map(entries);
    let lists = lists.filter(|path| path.extension().is_some_and(|extension| extension == "icd"));
    let is_program = |name: &OsString| name.as_encoded_bytes().starts_with(PROGRAMS.as_bytes());
    let programs = std::env::vars_os().filter(|(name, _)| is_program(name)).map(|(_, path)| PathBuf::from(path));
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let of_system: Vec<PathBuf> = SYSTEM.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    let is_systems = |path: &Path| of_system.iter().any(|folder| path.starts_with(folder));
    let reached = Reached::from_files(files.iter().cloned().chain(programs), home.as_deref(), is_systems);
    let of_user: Vec<PathBuf> = home.clone().into_iter().chain(folder.canonicalize()).collect();
    let of_driver = loaded().into_iter().chain(lists).chain(named.iter().cloned()).chain(reached.around);
    let of_driver: BTreeSet<PathBuf> = of_driver.filter_map(|path| path.canonicalize().ok()).collect();
    // A user may be at home among the system's folders.
    let own = home.as_deref().filter(|home| is_systems(home) && !of_system.iter().any(|folder| folder == home));
    let hidden: Vec<&Path> = own.into_iter().chain([options.as_path()]).collect();
    let is_open = |path: &Path| is_systems(path) && !own.is_some_and(|home| path.starts_with(home));
    let of_vendors = std::env::var_os("OCL_ICD_VENDORS").map(PathBuf::from);
    let around = of_driver.iter().filter(|path| !is_open(path) && !holds_users(path, &of_user)).cloned();
    let listed = around.chain(of_vendors).filter(|path| path.is_dir()).collect();
    let beside = of_driver.iter().filter(|path| !is_open(path)).flat_map(|path| narrow(path, &of_user));
    let beside = beside.chain(reached.whole.into_iter().filter(|path| !holds_users(path, &of_user)));
    let beside = beside.flat_map(|path| without(&path, &[&options]));
    // The program, by its link: its file may be gone, or another.
    let program = [PathBuf::from("/proc/self/exe")];
    let whole = of_system.iter().flat_map(|path| without(path, &hidden)).chain(beside).chain(program).collect();
    Readable { whole, listed }
}

/// Whether a folder holds what is the user's, or is that.
fn holds_users(path: &Path, of_user: &[PathBuf]) -> bool {
    of_user.iter().any(|one| one.starts_with(path))
}

/// Returns what may be read of a folder that a driver or compiler lies in: all, where it is one of programs or libraries, and else its
/// plain files. A library may also lie in a project with its secrets, in the folder for temporary files, or among all that is the
/// user's; there it is libraries alone.
fn narrow(path: &Path, of_user: &[PathBuf]) -> Vec<PathBuf> {
    let is_users = holds_users(path, of_user);
    if !is_users && (prefix(path).is_some() || !path.is_dir()) {
        return vec![path.to_owned()];
    }
    // A link may lead to what has nothing to do with the driver, as one to the user's home does.
    let is_plain = |entry: &PathBuf| entry.symlink_metadata().is_ok_and(|entry| entry.is_file());
    let is_its = |entry: &PathBuf| is_of_driver(entry) || !is_users && !is_hidden(entry) && is_plain(entry);
    let mut all: Vec<PathBuf> = entries(path).filter(is_its).collect();
    if all.len() > limits::MAX_READ_ENTRIES {
        all.sort_by_cached_key(|entry| !is_of_driver(entry));
        all.truncate(limits::MAX_READ_ENTRIES);
    }
    all
}

/// Files and folders that a driver or compiler reads by what its scripts and headers say.
#[derive(Default)]
struct Reached {
    /// Files and folders to read, and those beside them.
    around: Vec<PathBuf>,
    /// Folders to read with all that is below them.
    whole: Vec<PathBuf>,
    /// Files that were looked into.
    seen: BTreeSet<PathBuf>,
    /// Folders of libraries that were looked through.
    searched: BTreeSet<PathBuf>,
}

impl Reached {
    /// Follows files to what they start and load. Those of the system load what is the system's.
    fn from_files(
        files: impl Iterator<Item = PathBuf>,
        home: Option<&Path>,
        is_systems: impl Fn(&Path) -> bool,
    ) -> Reached {
        let mut reached = Reached::default();
        let mut next: Vec<(PathBuf, bool)> = files.map(|path| (path, true)).collect();
        while let Some((named, is_its)) = next.pop() {
            let Ok(file) = named.canonicalize() else { continue };
            let mut head = [0; 4];
            let opened = plain_file::open(&file).ok();
            let opened = opened.and_then(|(mut file, _)| file.read_exact(&mut head).is_ok().then_some(file));
            let (is_script, is_elf) = (head.starts_with(b"#!"), head == *b"\x7fELF");
            // A file that a script names may as well lie among keys. Python goes by the name that it is started by.
            match is_its || is_script || is_elf {
                true => reached.around.extend([&named, &file].into_iter().flat_map(|path| around(path))),
                false => reached.around.push(file.clone()),
            }
            if reached.seen.len() >= limits::MAX_READ_FILES || !reached.seen.insert(file.clone()) {
                continue;
            }
            let Some(mut opened) = opened else { continue };
            if is_script && (is_its || !is_systems(&file)) {
                let mut text = head.to_vec();
                let _ = opened.by_ref().take(limits::MAX_READ_SCRIPT).read_to_end(&mut text);
                let text = String::from_utf8_lossy(&text);
                let folder = file.parent().unwrap_or(&file);
                let root = prefix(folder).filter(|root| Some(*root) != home).unwrap_or(folder);
                let Named { files, folders } = words(&text, &file, home, &is_systems);
                next.extend(files.into_iter().map(|path| (path, false)));
                // A folder that a script names is the compiler's where it lies with it, or is one of programs or libraries. Those
                // around the script may hold anything.
                let is_compilers = |path: &PathBuf| prefix(path).is_some() || path.starts_with(root);
                let of_compiler = folders.into_iter().filter(|path| is_compilers(path) && !folder.starts_with(path));
                reached.whole.extend(of_compiler);
            // Libraries of the driver or compiler itself are loaded with all that they need.
            } else if is_elf
                && !(is_its && is_of_driver(&file))
                && !is_systems(&file)
                && let Some(folders) = library_folders(opened, &file)
            {
                // Libraries of one folder name the same ones.
                for folder in folders.into_iter().filter(|folder| !is_systems(folder)) {
                    if reached.searched.insert(folder.clone()) {
                        next.extend(entries(&folder).filter(|path| is_of_driver(path)).map(|path| (path, false)));
                        reached.around.push(folder);
                    }
                }
            }
        }
        reached
    }
}

/// Files that a script names, and folders by their real paths.
#[derive(Default)]
struct Named {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

/// Returns what a script names: its interpreter, and words that are paths, by themselves, in the user's home, or behind a variable, in
/// the script's folder or prefix, or in a folder that is named so. There programs lie also that are named alone.
fn words(text: &str, script: &Path, home: Option<&Path>, is_systems: impl Fn(&Path) -> bool) -> Named {
    let folder = script.parent().unwrap_or(script);
    let separators = |c: char| c.is_whitespace() || "\"'`=:;&|()<>,[]{}#!".contains(c);
    let words: BTreeSet<&str> =
        text.split(separators).filter(|word| !word.is_empty()).take(limits::MAX_READ_WORDS).collect();
    let paths: Vec<&str> = words.iter().copied().filter(|word| word.contains('/')).collect();
    let mut named = Named::default();
    let mut roots: Vec<PathBuf> =
        [Some(folder), prefix(folder), home].into_iter().flatten().map(Path::to_owned).collect();
    // Of variables that hold folders only those are known.
    for _ in 0..2 {
        let mut found = BTreeSet::new();
        for word in &paths {
            let behind = word.strip_prefix(['$', '~', '/']).and_then(|rest| rest.split_once('/').map(|(_, rest)| rest));
            let within = [word.trim_start_matches('/'), behind.unwrap_or_default()];
            let places = roots.iter().flat_map(|root| within.map(|rest| root.join(rest)));
            let by_itself = Some(PathBuf::from(word)).filter(|path| path.is_absolute());
            found.extend(by_itself.into_iter().chain(places).filter(|path| path.exists()));
        }
        // Programs go by the names that they are started by.
        let (files, folders): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| path.is_file());
        named.files.extend(files);
        let folders: BTreeSet<PathBuf> = folders.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let is_new = |path: &&PathBuf| !folder.starts_with(path) && !is_systems(path) && !roots.contains(path);
        let new: Vec<PathBuf> = folders.iter().filter(is_new).take(limits::MAX_READ_ROOTS).cloned().collect();
        roots.extend(new);
        named.folders.extend(folders);
    }
    // `PATH=$HOME/tools:$PATH exec ocloc`, `cd ~/tools && ./ocloc`, and `#!/usr/bin/env python3`.
    let first = text.lines().next().unwrap_or_default();
    let search: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    let by_path = first.split_whitespace().skip(1).filter(|word| !word.contains('/'));
    named.files.extend(by_path.filter_map(|name| program(&search, name)));
    let alone = words.iter().map(|word| word.strip_prefix("./").unwrap_or(word)).filter(|word| !word.contains('/'));
    named.files.extend(alone.filter_map(|name| program(&roots, name)));
    named
}

/// Returns the program of a name in the first of these folders that has one.
fn program(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0);
    folders.iter().map(|folder| folder.join(name)).find(is_program)
}

/// Returns a file of a driver or compiler, the folder that it lies in, and those beside that.
fn around(file: &Path) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(file).to_owned();
    let beside = prefix(&folder).into_iter().flat_map(|prefix| BESIDE.map(|name| prefix.join(name)));
    beside.chain([folder.clone(), file.to_owned()]).collect()
}

/// Returns the prefix of a folder that is one of [`BESIDE`], or lies in one of libraries (`lib/intel-opencl`), up to two folders below
/// where the first is for a kind of machines (`lib/x86_64-linux-gnu/intel-opencl`). What lies in `/var/lib` is of all kinds.
fn prefix(folder: &Path) -> Option<&Path> {
    let beside = |folder: &'_ Path| BESIDE.iter().find(|name| folder.ends_with(name));
    let holds_libraries = |folder: &&Path| beside(folder).is_some_and(|name| name.starts_with("lib"));
    let of_machine = |folder: &Path| folder.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux"));
    let machine = folder.ancestors().take(2).find(|folder| of_machine(folder)).and_then(Path::parent);
    let around = [folder.parent(), machine].into_iter().flatten().find(holds_libraries);
    let folder = [Some(folder), around].into_iter().flatten().find(|folder| beside(folder).is_some())?;
    let prefix = folder.ancestors().nth(Path::new(beside(folder)?).components().count());
    prefix.filter(|prefix| *prefix != Path::new("/var"))
}

/// Whether a file's name begins with a dot.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Whether a path is a plain file that is a library by its name, or what drivers for CPUs have beside theirs.
fn is_of_driver(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ends = [".so", ".rtl", ".cfg", ".bc", ".o"].iter().any(|ending| name.ends_with(ending));
    (ends || name.contains(".so.")) && !is_hidden(path) && path.is_file()
}

/// Returns what is in a folder.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Returns a file or folder; where what is hidden lies in it, all else in it, by the folders on the way there. Links among that may
/// lead back to what is hidden.
fn without(root: &Path, hidden: &[&Path]) -> Vec<PathBuf> {
    let holds = |path: &Path| hidden.iter().any(|hidden| hidden.starts_with(path));
    let leads_back = |real: PathBuf| holds(&real) || hidden.iter().any(|hidden| real.starts_with(hidden));
    if hidden.contains(&root) || root.is_symlink() && root.canonicalize().is_ok_and(leads_back) {
        return Vec::new();
    }
    match holds(root) {
        true => entries(root).flat_map(|entry| without(&entry, hidden)).collect(),
        false => vec![root.to_owned()],
    }
}
