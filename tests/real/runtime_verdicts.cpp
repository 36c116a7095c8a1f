// Which kernels does the runtime hold to be compatible with the devices that it sees?
//
// A library for a process that has opened others with device code. `runtime_verdicts` prints a line for each kernel and
// device: four digits (is_compatible; has_kernel_bundle in input, object and executable state) and the kernel, parted by
// a tab. 2 is an exception. `runtime_bundles` prints for each whether get_kernel_bundle in executable state gives one.
#include <cstdio>
#include <sycl/sycl.hpp>

template <typename Question> static char answer(Question question) {
  try {
    return question() ? '1' : '0';
  } catch (const std::exception &) {
    return '2';
  }
}

extern "C" void runtime_verdicts() {
  using state = sycl::bundle_state;
  const auto kernels = sycl::get_kernel_ids();
  for (const auto &device : sycl::device::get_devices()) {
    const sycl::context context{device};
    for (const auto &kernel : kernels)
      std::printf("%c%c%c%c\t%s\n", answer([&] { return sycl::is_compatible({kernel}, device); }),
                  answer([&] { return sycl::has_kernel_bundle<state::input>(context, {device}, {kernel}); }),
                  answer([&] { return sycl::has_kernel_bundle<state::object>(context, {device}, {kernel}); }),
                  answer([&] { return sycl::has_kernel_bundle<state::executable>(context, {device}, {kernel}); }),
                  kernel.get_name());
  }
  std::fflush(stdout);
}

extern "C" void runtime_bundles() {
  const auto kernels = sycl::get_kernel_ids();
  for (const auto &device : sycl::device::get_devices()) {
    const sycl::context context{device};
    for (const auto &kernel : kernels)
      std::printf("%c\t%s\n", answer([&] {
                    return sycl::get_kernel_bundle<sycl::bundle_state::executable>(context, {device}, {kernel})
                        .has_kernel(kernel, device);
                  }),
                  kernel.get_name());
  }
  std::fflush(stdout);
}
