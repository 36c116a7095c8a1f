//! As what does the user want the images, and does what else was said make sense for that?
//!
//! The same flags for every verb that makes images. A flag that means nothing for the form is refused, not ignored.

use crate::bundle::image::State;
use crate::bundle::offload_binary::Version;
use crate::bundle::syclbin::Envelope;
use crate::error::{Error, ErrorKind, Result};
use crate::files::emit::{Emit, HostTriple, OutputForm, check_output};
use crate::files::package::is_linked;
use crate::rewrite::image_data::{EntryForm, ImageVersion};
use crate::rewrite::object_file::ObjectFormat;
use crate::rewrite::prepare::ZSTD_LEVEL;
use crate::rewrite::shared::Machine;
use clap::ValueEnum;
use clap::builder::TypedValueParser as _;
use std::path::{Path, PathBuf};

/// A form, as the command line names it.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EmitName {
    /// A copy of the linked file, with the images in its own list
    Embed,
    /// An object file; what is linked with it registers the images
    Object,
    /// A library that registers the images when it is loaded
    Shared,
    /// A SYCLBIN, which the SYCL runtime loads by its path
    Syclbin,
    /// An OffloadBinary of LLVM
    OffloadBinary,
    /// A clang offload bundle
    OffloadBundle,
    /// The images as files beside a file table
    Table,
    /// Bare SPIR-V modules: one as a file, several in a folder with a list of them (`images.table`)
    Spirv,
}

/// Reads a form.
fn emit_parser() -> impl clap::builder::TypedValueParser<Value = Emit> {
    clap::builder::EnumValueParser::<EmitName>::new().map(|name| match name {
        EmitName::Embed => Emit::Embed,
        EmitName::Object => Emit::Object,
        EmitName::Shared => Emit::Shared,
        EmitName::Syclbin => Emit::Syclbin,
        EmitName::OffloadBinary => Emit::OffloadBinary,
        EmitName::OffloadBundle => Emit::OffloadBundle,
        EmitName::Table => Emit::Table,
        EmitName::Spirv => Emit::Spirv,
    })
}

/// Options of writing images.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Form of the output")]
pub(crate) struct EmitArgs {
    /// As what to write the images
    #[arg(long, value_name = "FORM", value_parser = emit_parser())]
    pub(crate) emit: Option<Emit>,
    /// The system that an object or library is for: x86_64-linux, aarch64-linux, x86_64-windows, aarch64-windows (the
    /// last two for objects alone). By default this machine's; x86_64-windows where the output is called `.obj`
    #[arg(long, value_name = "TRIPLE", value_parser = HostTriple::parse)]
    host: Option<HostTriple>,
    /// The image structures of an object or library: 3 for libsycl.so.9, 1 or 2 for older ones. By default those for
    /// the runtime that the images were made for
    #[arg(long, value_name = "N", value_parser = ["1", "2", "3"])]
    descriptor_version: Option<String>,
    /// The entries of an object or library: `old` as of clang-offload-wrapper, `new` as of clang-linker-wrapper. By
    /// default as they were; runtimes since 2025 read both
    #[arg(long, value_name = "FORM")]
    entries: Option<Entries>,
    /// The way an object registers its images: `descriptor` for DPC++'s runtime, `offload-binary` for that of LLVM's own
    /// SYCL since 2026
    #[arg(long, value_name = "FORM")]
    registration: Option<Registration>,
    /// Compress with zstd: each image of an object or library, a bundle or an OffloadBinary as a whole
    #[arg(long)]
    compress: bool,
    /// The version of a SYCLBIN: 1, which libsycl reads, or 2
    #[arg(long, value_name = "N", value_parser = ["1", "2"])]
    syclbin_version: Option<String>,
    /// The state that a SYCLBIN says its images are in. By default what the images' files state, else executable, or
    /// object where an import is open; libsycl loads a file only as what it states
    #[arg(long, value_name = "STATE")]
    syclbin_state: Option<StateName>,
    /// The version of an OffloadBinary: 1, which all tools read, 2 or 3. By default 1, compressed 3
    #[arg(long, value_name = "N", value_parser = ["1", "2", "3"])]
    offload_binary_version: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Entries {
    Old,
    New,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Registration {
    Descriptor,
    OffloadBinary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StateName {
    Input,
    Object,
    Executable,
}

impl EmitArgs {
    /// Whether copies of linked files are to be written: that is asked for; or neither a flag nor the path tells a form, and
    /// there are such files.
    pub(crate) fn emits_copies(&self, inputs: &[PathBuf], path: &Path) -> bool {
        match self.emit.or(Emit::by_extension(path)) {
            Some(emit) => emit == Emit::Embed,
            None => inputs.iter().all(|input| is_linked(input, true)),
        }
    }

    /// The form to write to a path: the form that is asked for, else the one that the path's name tells.
    ///
    /// # Errors
    /// `Usage` where nothing tells, and as [`EmitArgs::form`].
    pub(crate) fn form_of(&self, path: &Path) -> Result<OutputForm> {
        let Some(emit) = self.emit.or(Emit::by_extension(path)) else {
            let message = format!("`{}` does not tell in which form to write", path.display());
            return Err(usage(message, "say so with --emit"));
        };
        self.form(emit, path)
    }

    /// As [`EmitArgs::form_of`], of a path that can be written to and is none of the inputs.
    ///
    /// # Errors
    /// `Usage` and `Environment` where it is not so.
    pub(crate) fn form_for(&self, inputs: &[PathBuf], output: &Path) -> Result<OutputForm> {
        let form = self.form_of(output)?;
        check_output(&form, inputs, output)?;
        Ok(form)
    }

    /// The form for `build`, which compresses what it adds to a linked file's own list too.
    ///
    /// # Errors
    /// As [`EmitArgs::form`].
    pub(crate) fn form_of_build(&self, emit: Emit, path: &Path) -> Result<OutputForm> {
        if emit != Emit::Embed {
            return self.form(emit, path);
        }
        let form = EmitArgs { compress: false, ..self.clone() }.form(emit, path)?;
        Ok(OutputForm { compress: self.compress.then_some(ZSTD_LEVEL), ..form })
    }

    /// The form `emit` with the options for a path.
    ///
    /// # Errors
    /// `Usage` for a flag that means nothing for that form.
    pub(crate) fn form(&self, emit: Emit, path: &Path) -> Result<OutputForm> {
        let binary = self.registration == Some(Registration::OffloadBinary);
        if binary && (self.descriptor_version.is_some() || self.entries.is_some() || self.compress) {
            let message =
                "--descriptor-version, --entries and --compress are of descriptors, and an OffloadBinary has none";
            return Err(usage(message, "leave them away"));
        }
        let registers = emit.registers();
        let compresses = registers || matches!(emit, Emit::OffloadBinary | Emit::OffloadBundle);
        let bundle = emit == Emit::OffloadBundle;
        for (given, means, flag) in [
            (self.host.is_some(), registers || bundle, "--host"),
            (self.descriptor_version.is_some(), registers, "--descriptor-version"),
            (self.entries.is_some(), registers, "--entries"),
            (self.registration.is_some(), emit == Emit::Object, "--registration"),
            (self.compress, compresses, "--compress"),
            (self.syclbin_version.is_some(), emit == Emit::Syclbin, "--syclbin-version"),
            (self.syclbin_state.is_some(), emit == Emit::Syclbin, "--syclbin-state"),
            (self.offload_binary_version.is_some(), emit == Emit::OffloadBinary, "--offload-binary-version"),
        ] {
            if given && !means {
                let message = format!("{flag} means nothing for an output in the form `{}`", emit.name());
                return Err(usage(message, format!("leave {flag} away, or choose another form with --emit")));
            }
        }
        let windows = path.extension().is_some_and(|extension| extension == "obj");
        let windows = windows.then_some(HostTriple { machine: Machine::X86_64, format: ObjectFormat::Coff });
        let host = self.host.or(windows.filter(|_| emit == Emit::Object));
        if emit == Emit::Shared && host.is_some_and(|host| host.format == ObjectFormat::Coff) {
            let remedy = "write an object (--emit object) and link it to a library with lld-link";
            return Err(usage("libraries for Windows are not written", remedy));
        }
        let version_of_binary = match (self.offload_binary_version.as_deref(), self.compress) {
            (None | Some("3"), true) => Version::V3Compressed(ZSTD_LEVEL),
            (Some(_), true) => {
                return Err(usage("only version 3 of an OffloadBinary can be compressed", "leave the version away"));
            }
            (Some("3"), false) => Version::V3,
            (Some("2"), false) => Version::V2,
            _ => Version::V1,
        };
        Ok(OutputForm {
            emit,
            host,
            version: self.descriptor_version.as_deref().map(|version| match version {
                "1" => ImageVersion::V1,
                "2" => ImageVersion::V2,
                _ => ImageVersion::V3,
            }),
            entries: self.entries.map(|entries| match entries {
                Entries::Old => EntryForm::Old,
                Entries::New => EntryForm::New,
            }),
            registers_binary: binary,
            compress: self.compress.then_some(ZSTD_LEVEL),
            envelope: if self.syclbin_version.as_deref() == Some("2") { Envelope::V2 } else { Envelope::V1 },
            state: self.syclbin_state.map(|state| match state {
                StateName::Input => State::Input,
                StateName::Object => State::Object,
                StateName::Executable => State::Executable,
            }),
            version_of_binary,
        })
    }
}

#[cold]
fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message).with_remedy(remedy)
}
