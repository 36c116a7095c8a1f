// What does the DPC++ compiler make of these sources? One process compiles many.
//
//   sycl_compiler COMPILER LIST
//
// COMPILER is the path of libsycl-jit.so (wheel intel-sycl-rt), a whole DPC++ device compiler with the SYCL headers
// inside. Each line of LIST is one compilation: a folder to write into, a source, and the compiler's options, separated by
// tabs. Written for the I-th image: I.spv, I.prop, I.sym, which images.table names, as DPC++'s own tools exchange images;
// and the same properties once more in I.raw, a line each: set, name, "number" or "bytes", the decimal number or the bytes
// in hexadecimal (their length in bits comes first), separated by tabs. `log` holds what the compiler said. Last of all comes
// `status` with "ok" or "failed".
//
// The types below are the C interface of compileSYCL as of 2026.2: plain structures of pointers and sizes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

struct File {
  const char *path, *text;
};
template <typename T> struct View {
  const T *data;
  size_t size;
};
// Owned by the compiler's allocator, hence never destroyed here: the process ends soon.
template <typename T> struct Array {
  T *data;
  size_t size;
};
struct Text {
  char *data;
};
struct Property {
  Text name;
  bool is_number;
  uint32_t number;
  Array<uint8_t> bytes;
};
struct PropertySet {
  Text name;
  Array<Property> values;
};
struct Image {
  uint32_t format;
  uint64_t address_bits;
  const uint8_t *data;
  uint64_t size;
  Array<Text> symbols;
  Array<PropertySet> properties;
};
struct Result {
  int32_t error;
  Array<Image> images;
  Text compile_options;
  Array<char> bitcode;
  Text log;
  // The real one has a destructor, so it is returned through a hidden pointer; so is this one.
  ~Result() {}
};
static_assert(sizeof(Result) == 56, "the layout of compileSYCL's result");
enum Format : uint32_t { Spirv = 2 };
using Compile = Result (*)(File, View<File>, View<const char *>, View<char>, bool, Format);

static std::string text(const Text &value) { return value.data ? value.data : ""; }

static void write(const std::string &path, const std::string &bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    std::cerr << "sycl_compiler: cannot write " << path << '\n';
    std::exit(1);
  }
}

// The .prop form: six bits a character, without padding.
static std::string encoded(const Array<uint8_t> &bytes) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t held = 0;
  int bits = 0;
  for (size_t i = 0; i < bytes.size; ++i) {
    // The least significant bits come first.
    held |= uint32_t(bytes.data[i]) << bits;
    for (bits += 8; bits >= 6; bits -= 6, held >>= 6)
      out += alphabet[held & 63];
  }
  if (bits)
    out += alphabet[held & 63];
  return out;
}

static std::string properties(const Array<PropertySet> &sets) {
  std::ostringstream out;
  for (size_t i = 0; i < sets.size; ++i) {
    const PropertySet &set = sets.data[i];
    out << '[' << text(set.name) << "]\n";
    for (size_t j = 0; j < set.values.size; ++j) {
      const Property &value = set.values.data[j];
      out << text(value.name) << '=';
      if (value.is_number)
        out << "1|" << value.number << '\n';
      else
        out << "2|" << encoded(value.bytes) << '\n';
    }
  }
  return out.str();
}

static std::string raw(const Array<PropertySet> &sets) {
  std::ostringstream out;
  for (size_t i = 0; i < sets.size; ++i) {
    const PropertySet &set = sets.data[i];
    for (size_t j = 0; j < set.values.size; ++j) {
      const Property &value = set.values.data[j];
      out << text(set.name) << '\t' << text(value.name) << '\t';
      if (value.is_number) {
        out << "number\t" << value.number << '\n';
        continue;
      }
      out << "bytes\t";
      for (size_t k = 0; k < value.bytes.size; ++k) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", value.bytes.data[k]);
        out << digits;
      }
      out << '\n';
    }
  }
  return out.str();
}

static void compile(Compile compiler, const std::vector<std::string> &line) {
  const std::string &folder = line[0], &path = line[1];
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::cerr << "sycl_compiler: cannot read " << path << '\n';
    std::exit(1);
  }
  const std::string source((std::istreambuf_iterator<char>(in)), {});
  const std::string name = path.substr(path.rfind('/') + 1);
  std::vector<const char *> options;
  for (size_t i = 2; i < line.size(); ++i)
    options.push_back(line[i].c_str());
  const Result result = compiler({name.c_str(), source.c_str()}, {nullptr, 0}, {options.data(), options.size()},
                                 {nullptr, 0}, false, Spirv);
  write(folder + "/log", text(result.log));
  std::ostringstream table;
  table << "[Code|Properties|Symbols]\n";
  for (size_t i = 0; result.error == 0 && i < result.images.size; ++i) {
    const Image &image = result.images.data[i];
    const std::string stem = std::to_string(i);
    if (image.format != Spirv || image.address_bits != 64 || image.size < 20 ||
        std::memcmp(image.data, "\x03\x02\x23\x07", 4) != 0) {
      std::cerr << "sycl_compiler: the result is not laid out as expected; another version of the compiler?\n";
      std::exit(1);
    }
    write(folder + '/' + stem + ".spv", std::string(reinterpret_cast<const char *>(image.data), image.size));
    write(folder + '/' + stem + ".prop", properties(image.properties));
    write(folder + '/' + stem + ".raw", raw(image.properties));
    std::string symbols;
    for (size_t j = 0; j < image.symbols.size; ++j)
      symbols += text(image.symbols.data[j]) + '\n';
    write(folder + '/' + stem + ".sym", symbols);
    table << stem << ".spv|" << stem << ".prop|" << stem << ".sym\n";
  }
  write(folder + "/images.table", table.str());
  write(folder + "/status", result.error == 0 ? "ok" : "failed");
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: sycl_compiler COMPILER LIST\n";
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW);
  const auto compiler = library ? reinterpret_cast<Compile>(dlsym(library, "compileSYCL")) : nullptr;
  if (!compiler) {
    std::cerr << "sycl_compiler: " << dlerror() << '\n';
    return 1;
  }
  std::ifstream list(argv[2]);
  for (std::string row; std::getline(list, row);) {
    std::vector<std::string> line;
    std::istringstream fields(row);
    for (std::string field; std::getline(fields, field, '\t');)
      line.push_back(field);
    if (line.size() < 2) {
      std::cerr << "sycl_compiler: a line names a folder and a source: " << row << '\n';
      return 2;
    }
    compile(compiler, line);
  }
  // The compiler's static objects need no orderly end.
  std::_Exit(0);
}
