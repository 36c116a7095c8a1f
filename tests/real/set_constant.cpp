// A host program that no SYCL compiler has seen: it runs the kernel `specialized` with its specialization constant `gain` unset
// and set to 11, in every way that a SYCL program can, and prints what the kernel made of 0, 1, 2, 3 each time.
//
//   set_constant LIBRARY                 a library that registers the images
//
// What a compiler would put into the integration header and footer (names of the kernel and of the constant, the layout of
// the kernel's arguments) is written out.
#define __INTEL_SYCL_USE_INTEGRATION_HEADERS
#include <dlfcn.h>
#include <iostream>
#include <sycl/sycl.hpp>

inline constexpr sycl::specialization_id<int> gain(2);

struct Specialized {
  int *data;
  void operator()(sycl::id<1>, sycl::kernel_handler) const {}
};

namespace sycl {
inline namespace _V1 {
namespace detail {
template <> const char *get_spec_constant_symbolic_ID<gain>() { return "uid0123456789abcdef____ZL4gain"; }

template <> struct KernelInfo<Specialized> {
  static constexpr kernel_param_desc_t parameter{kernel_param_kind_t::kind_pointer, sizeof(int *), 0};
  static constexpr unsigned getNumParams() { return 1; }
  static constexpr const kernel_param_desc_t &getParamDesc(int) { return parameter; }
  static constexpr const char *getName() { return "specialized"; }
  static constexpr bool isESIMD() { return false; }
  static constexpr const char *getFileName() { return ""; }
  static constexpr const char *getFunctionName() { return ""; }
  static constexpr unsigned getLineNumber() { return 0; }
  static constexpr unsigned getColumnNumber() { return 0; }
  static constexpr int64_t getKernelSize() { return sizeof(Specialized); }
};
} // namespace detail
} // namespace _V1
} // namespace sycl

static void show(const char *how, sycl::queue &queue, const std::function<void(sycl::handler &, int *)> &submit) {
  int *data = sycl::malloc_shared<int>(4, queue);
  for (int i = 0; i < 4; ++i)
    data[i] = i;
  std::cout << how << ':';
  try {
    queue.submit([&](sycl::handler &handler) { submit(handler, data); }).wait();
    for (int i = 0; i < 4; ++i)
      std::cout << ' ' << data[i];
  } catch (const sycl::exception &error) {
    std::cout << ' ' << error.what();
  }
  std::cout << '\n';
  sycl::free(data, queue);
}

int main(int argc, char **argv) try {
  if (argc != 2)
    return 2;
  if (!dlopen(argv[1], RTLD_NOW)) {
    std::cerr << dlerror() << '\n';
    return 3;
  }
  sycl::queue queue;
  for (const sycl::kernel_id &id : sycl::get_kernel_ids()) {
    if (std::string(id.get_name()) != "specialized")
      continue;
    const auto context = queue.get_context();
    const std::vector<sycl::device> devices{queue.get_device()};
    const auto with = [&](const char *how, const sycl::kernel &kernel) {
      show(how, queue, [&](sycl::handler &handler, int *data) {
        handler.set_args(data);
        handler.parallel_for(sycl::range<1>(4), kernel);
      });
    };
    show("launched", queue, [](sycl::handler &handler, int *data) {
      handler.parallel_for<Specialized>(sycl::range<1>(4), Specialized{data});
    });
    show("launched with 11", queue, [](sycl::handler &handler, int *data) {
      handler.set_specialization_constant<gain>(11);
      handler.parallel_for<Specialized>(sycl::range<1>(4), Specialized{data});
    });
    with("executable", sycl::get_kernel_bundle<sycl::bundle_state::executable>(context, devices, {id}).get_kernel(id));
    auto input = sycl::get_kernel_bundle<sycl::bundle_state::input>(context, devices, {id});
    with("built", sycl::build(input).get_kernel(id));
    input.set_specialization_constant<gain>(11);
    with("built with 11", sycl::build(input).get_kernel(id));
    return 0;
  }
  return 4;
} catch (const sycl::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
