// What does the runtime do with a kernel that a program launches by its name, as compiled programs do?
//
//   launch_kernel LIBRARY KERNEL ARGUMENTS SIZE[xSIZE[xSIZE]]
//   launch_kernel LIBRARY KERNEL has
//
// Opens LIBRARY for the images that it registers (`-` for none) and launches one work-group of SIZE (slowest dimension
// first); the kernel has that many arguments, each a pointer to 64 KiB of zeros. Prints a line: `runs`, or `throws`, the
// category and the number of the error code and the exception's text, separated by tabs, control characters escaped.
// With `has` nothing is launched: the line is `has` and what sycl::has_kernel_bundle does for input, object and
// executable: `yes`, `no` or `throws`.
#include <cstring>
#include <dlfcn.h>
#include <iostream>
#include <string>
#include <sycl/ext/oneapi/experimental/enqueue_functions.hpp>
#include <sycl/sycl.hpp>
#include <vector>

template <int D> static sycl::nd_range<D> group(const std::vector<size_t> &sizes) {
  sycl::range<D> range;
  for (int i = 0; i < D; ++i)
    range[i] = sizes[i];
  return {range, range};
}

template <int D>
static void launch(sycl::queue &queue, const std::string &name, int count, const std::vector<size_t> &sizes) {
  std::vector<void *> arguments;
  for (int i = 0; i < count; ++i) {
    arguments.push_back(sycl::malloc_shared(65536, queue));
    std::memset(arguments.back(), 0, 65536);
  }
  queue.submit([&](sycl::handler &handler) {
    for (int i = 0; i < count; ++i)
      handler.set_arg(i, arguments[i]);
    handler.nd_launch_free_function(&sycl::detail::getDeviceKernelInfo(std::string_view(name)), group<D>(sizes),
                                    sycl::ext::oneapi::experimental::empty_properties_t{});
  });
  queue.wait_and_throw();
}

template <sycl::bundle_state S> static std::string bundle(const sycl::queue &queue, const sycl::kernel_id &id) try {
  return sycl::has_kernel_bundle<S>(queue.get_context(), {queue.get_device()}, {id}) ? "yes" : "no";
} catch (const sycl::exception &) {
  return "throws";
}

static std::string escaped(const char *text) {
  std::string out;
  for (; *text; ++text)
    out += *text == '\n' ? "\\n" : *text == '\t' ? "\\t" : std::string(1, *text);
  return out;
}

int main(int argc, char **argv) try {
  const bool has = argc == 4 && !std::strcmp(argv[3], "has");
  if (argc != 5 && !has)
    return 2;
  if (std::strcmp(argv[1], "-") && !dlopen(argv[1], RTLD_NOW)) {
    std::cerr << dlerror() << '\n';
    return 3;
  }
  // As sycl::get_kernel_id does, which throws where there is none; launching one that is not there ends the process.
  const sycl::kernel_id id = sycl::detail::get_kernel_id_impl(std::string_view(argv[2]));
  sycl::queue queue;
  if (has) {
    std::cout << "has\t" << bundle<sycl::bundle_state::input>(queue, id) << '\t'
              << bundle<sycl::bundle_state::object>(queue, id) << '\t'
              << bundle<sycl::bundle_state::executable>(queue, id) << '\n';
    return 0;
  }
  std::vector<size_t> sizes;
  for (const char *at = argv[4]; *at; at += *at == 'x')
    sizes.push_back(std::strtoul(at, const_cast<char **>(&at), 10));
  const int count = std::stoi(argv[3]);
  if (sizes.size() == 1)
    launch<1>(queue, argv[2], count, sizes);
  else if (sizes.size() == 2)
    launch<2>(queue, argv[2], count, sizes);
  else
    launch<3>(queue, argv[2], count, sizes);
  std::cout << "runs\n";
  return 0;
} catch (const sycl::exception &error) {
  std::cout << "throws\t" << error.code().category().name() << '\t' << error.code().value() << '\t'
            << escaped(error.what()) << '\n';
  return 1;
}
