//! How does the user say which images are meant?

use sycl_bundle::bundle::image::State;
use sycl_bundle::compat::examine::Examined;
use sycl_bundle::error::{Error, Result};
use sycl_bundle::report::name;
use sycl_bundle::select::{Pattern, Selector, aspect, range};

/// The selectors, the same for every verb.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Selectors")]
pub struct Selection {
    /// Only these images, by number or range (repeatable)
    #[arg(long, value_name = "N|A-B", value_delimiter = ',')]
    image: Vec<String>,
    /// Only images with a kernel whose mangled or demangled name matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    kernel: Vec<String>,
    /// Only images of this state (repeatable)
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<StateName>,
    /// Only images for a target whose name matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    target: Vec<String>,
    /// Only images that need this aspect of a device, such as fp64 (repeatable)
    #[arg(long, value_name = "ASPECT", value_delimiter = ',')]
    aspect: Vec<String>,
}

/// A state, as the command line names it.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum StateName {
    /// SPIR-V or other intermediate code
    Input,
    /// Compiled, with open imports
    Object,
    /// Ready to run
    Executable,
}

impl StateName {
    /// The state.
    pub fn state(self) -> State {
        match self {
            StateName::Input => State::Input,
            StateName::Object => State::Object,
            StateName::Executable => State::Executable,
        }
    }
}

impl Selection {
    /// The selector.
    ///
    /// # Errors
    /// `Usage` where a number or glob is malformed.
    pub fn selector(&self) -> Result<Selector> {
        let globs = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>();
        Ok(Selector {
            images: self.image.iter().map(|text| range(text)).collect::<Result<Vec<_>>>()?,
            kernels: globs(&self.kernel)?,
            states: self.state.iter().map(|name| name.state()).collect(),
            targets: globs(&self.target)?,
            aspects: self.aspect.iter().map(|name| aspect(name)).collect::<Result<Vec<_>>>()?,
        })
    }

    /// Whether images are asked for by number.
    pub fn names_images(&self) -> bool {
        !self.image.is_empty()
    }
}

/// Splits images into the selected ones; where none is, the error that says so.
pub fn keep<'b, 'a>(selector: &Selector, mut images: Vec<Examined<'b, 'a>>) -> Result<Vec<Examined<'b, 'a>>, Error> {
    let demangle = |mangled: &str| name::demangle(mangled).into_owned();
    if selector.is_all() {
        return Ok(images);
    }
    if !images.iter().any(|image| selector.selects(image, &demangle)) {
        return Err(selector.no_match(&images, &demangle));
    }
    images.retain(|image| selector.selects(image, &demangle));
    Ok(images)
}
