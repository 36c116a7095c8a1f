//! What is in one image of a fixture?

/// The form of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    /// 32 bytes, clang-offload-wrapper.
    Old,
    /// 56 bytes, clang-linker-wrapper.
    New,
}

/// One image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSpec {
    /// `spir64`, `spir64_x86_64`, ...
    pub target: String,
    /// 0 none, 1 native, 2 SPIR-V, 3 bitcode, 4 compressed.
    pub format: u8,
    /// Options for the device compiler.
    pub compile_options: String,
    /// Options for the device linker.
    pub link_options: String,
    /// The bytes of the image as stored.
    pub payload: Vec<u8>,
    /// Names of kernels and exported functions.
    pub entries: Vec<String>,
    /// The property sets in order.
    pub sets: Vec<SetSpec>,
}

/// One property set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSpec {
    /// For example `SYCL/device requirements`.
    pub name: String,
    /// In order.
    pub properties: Vec<PropertySpec>,
}

/// One property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertySpec {
    /// The key.
    pub name: String,
    /// The value.
    pub value: Value,
}

/// The value of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Type 1.
    U32(u32),
    /// Type 2: the length in bits and that many bits of content.
    Bits(u64, Vec<u8>),
}

impl Value {
    /// A byte array.
    pub fn bytes(content: impl Into<Vec<u8>>) -> Self {
        let content = content.into();
        Value::Bits(content.len() as u64 * 8, content)
    }

    /// A byte array of u32 (aspects, sizes, specialization constants).
    pub fn words(words: &[u32]) -> Self {
        Value::bytes(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// A byte array of u64 (required work-group sizes).
    pub fn longs(longs: &[u64]) -> Self {
        Value::bytes(longs.iter().flat_map(|long| long.to_le_bytes()).collect::<Vec<u8>>())
    }

    /// The bytes in the file: content preceded by its length in bits. None for [`Value::U32`].
    pub fn raw(&self) -> Option<Vec<u8>> {
        match self {
            Value::U32(_) => None,
            Value::Bits(bits, content) => Some([&bits.to_le_bytes()[..], content].concat()),
        }
    }
}

impl ImageSpec {
    /// An image of the target `spir64`, format 0, without options, entries and properties.
    pub fn new(payload: impl Into<Vec<u8>>) -> Self {
        ImageSpec {
            target: "spir64".to_owned(),
            format: 0,
            compile_options: String::new(),
            link_options: String::new(),
            payload: payload.into(),
            entries: Vec::new(),
            sets: Vec::new(),
        }
    }

    /// Sets the target and the format.
    pub fn for_target(self, target: &str, format: u8) -> Self {
        ImageSpec { target: target.to_owned(), format, ..self }
    }

    /// Sets both kinds of options.
    pub fn options(self, compile: &str, link: &str) -> Self {
        ImageSpec { compile_options: compile.to_owned(), link_options: link.to_owned(), ..self }
    }

    /// Adds an entry.
    pub fn entry(mut self, name: &str) -> Self {
        self.entries.push(name.to_owned());
        self
    }

    /// Adds a property set.
    pub fn set(mut self, name: &str, properties: &[(&str, Value)]) -> Self {
        let properties =
            properties.iter().map(|(name, value)| PropertySpec { name: (*name).to_owned(), value: value.clone() });
        self.sets.push(SetSpec { name: name.to_owned(), properties: properties.collect() });
        self
    }

    /// Adds `SYCL/device requirements` with aspects by number.
    pub fn aspects(self, aspects: &[u32]) -> Self {
        self.set("SYCL/device requirements", &[("aspects", Value::words(aspects))])
    }

    /// Compresses the payload into a zstd frame that carries its size, and sets the format to 4.
    pub fn compressed(self) -> Self {
        let payload = zstd::bulk::compress(&self.payload, 10).expect("zstd");
        ImageSpec { payload, format: 4, ..self }
    }
}
