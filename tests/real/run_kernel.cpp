// A host program that no SYCL compiler has seen: it runs a kernel out of whatever images are registered in the process
// or in a SYCLBIN, and prints what the kernel made of 0, 1, 2, ...
//
//   run_kernel KERNEL N                  images linked in or preloaded
//   run_kernel KERNEL N library FILE     registered by a library that is opened
//   run_kernel KERNEL N syclbin FILE     a SYCLBIN, loaded by its path
//
// The kernel has one argument, a pointer to N ints in shared memory. Exits with 4 where there is no such kernel.
#include <cstring>
#include <dlfcn.h>
#include <iostream>
#include <sycl/sycl.hpp>

namespace experimental = sycl::ext::oneapi::experimental;
using executable_bundle = sycl::kernel_bundle<sycl::bundle_state::executable>;

static int run(sycl::queue &queue, const sycl::kernel &kernel, size_t n) {
  int *data = sycl::malloc_shared<int>(n, queue);
  for (size_t i = 0; i < n; ++i)
    data[i] = static_cast<int>(i);
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(data);
    handler.parallel_for(sycl::range<1>(n), kernel);
  }).wait();
  for (size_t i = 0; i < n; ++i)
    std::cout << data[i] << (i + 1 < n ? ' ' : '\n');
  sycl::free(data, queue);
  return 0;
}

int main(int argc, char **argv) try {
  if (argc != 3 && argc != 5)
    return 2;
  const std::string name = argv[1];
  const size_t n = std::stoul(argv[2]);
  if (argc == 5 && !std::strcmp(argv[3], "library") && !dlopen(argv[4], RTLD_NOW)) {
    std::cerr << dlerror() << '\n';
    return 3;
  }
  sycl::queue queue;
  if (argc == 5 && !std::strcmp(argv[3], "syclbin")) {
    const std::vector<sycl::device> devices{queue.get_device()};
    executable_bundle bundle = experimental::get_kernel_bundle<sycl::bundle_state::executable>(
        queue.get_context(), devices, std::filesystem::path(argv[4]));
    if (!bundle.ext_oneapi_has_kernel(name))
      return 4;
    return run(queue, bundle.ext_oneapi_get_kernel(name), n);
  }
  for (const sycl::kernel_id &id : sycl::get_kernel_ids())
    if (id.get_name() == name) {
      executable_bundle bundle = sycl::get_kernel_bundle<sycl::bundle_state::executable>(
          queue.get_context(), {queue.get_device()}, {id});
      return run(queue, bundle.get_kernel(id), n);
    }
  return 4;
} catch (const sycl::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
