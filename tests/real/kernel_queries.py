"""What does the SYCL runtime answer about kernels, and which aspects does it give the device?

Prints one JSON document: `aspects` of the default device, and by path of each SPIR-V module and by kernel what
`sycl::kernel::get_info` returns, both through dpctl. Kernel names stand after the path, parted by tabs.
"""

import json
import sys

import dpctl
import dpctl.program

QUERIES = [
    "work_group_size",
    "preferred_work_group_size_multiple",
    "private_mem_size",
    "max_num_sub_groups",
    "compile_num_sub_groups",
    "max_sub_group_size",
    "compile_sub_group_size",
]

queue = dpctl.SyclQueue()
device = queue.sycl_device
aspects = {}
for name in dir(device):
    if name.startswith("has_aspect_"):
        aspects[name.removeprefix("has_aspect_")] = bool(getattr(device, name))
found = {}
for line in sys.stdin:
    path, *names = line.rstrip("\n").split("\t")
    with open(path, "rb") as module:
        program = dpctl.program.create_program_from_spirv(queue, module.read())
    for name in names:
        kernel = program.get_sycl_kernel(name)
        found[name] = {query: getattr(kernel, query) for query in QUERIES}
        found[name]["opencl_num_args"] = kernel.num_args
json.dump({"aspects": aspects, "sub_group_sizes": list(device.sub_group_sizes), "kernels": found}, sys.stdout)
