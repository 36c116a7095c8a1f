/* What does the driver answer about kernels, asked by a plain C program?
 *
 * Reads paths of SPIR-V modules, one per line; prints `module PATH`, per kernel `kernel NAME`, `args N`, and a line per
 * query: its number in hexadecimal, and the status or the bytes of the answer as 64-bit numbers (shorter ones padded).
 * With the argument `source` the files are OpenCL C, built with -cl-kernel-arg-info, and the answers of
 * clGetKernelArgInfo follow. Build: cc kernel_queries.c -o kernel_queries -ldl */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
static void *cl;
#define CALL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(cl, #name))

static handle first_cpu(void) {
  handle platforms[16], device = 0;
  uint32_t count = 0;
  CALL(int, clGetPlatformIDs, uint32_t, handle *, uint32_t *)(16, platforms, &count);
  for (uint32_t at = 0; at < count && !device; at++) {
    char vendor[256] = "";
    CALL(int, clGetPlatformInfo, handle, uint32_t, size_t, void *, size_t *)(platforms[at], 0x0903, 255, vendor, 0);
    if (!strncmp(vendor, "Intel", 5))
      CALL(int, clGetDeviceIDs, handle, uint64_t, uint32_t, handle *, uint32_t *)(platforms[at], 2, 1, &device, 0);
  }
  return device;
}

static void answer(unsigned query, int status, const unsigned char *bytes, size_t size) {
  if (status) {
    printf("%x status %d\n", query, status);
    return;
  }
  printf("%x", query);
  for (size_t at = 0; at < size; at += 8) {
    uint64_t number = 0;
    memcpy(&number, bytes + at, size - at < 8 ? size - at : 8);
    printf(" %llu", (unsigned long long)number);
  }
  printf("\n");
}

static void of_kernel(handle kernel, handle device, int source) {
  unsigned char out[4096];
  size_t size, widest[3] = {0, 0, 0};
  uint32_t args = 0;
  CALL(int, clGetKernelInfo, handle, uint32_t, size_t, void *, size_t *)(kernel, 0x1191, 4, &args, 0);
  printf("args %u\n", args);
  CALL(int, clGetDeviceInfo, handle, uint32_t, size_t, void *, size_t *)(device, 0x1005, sizeof widest, widest, 0);
  widest[1] = widest[2] = 1;
  for (unsigned query = 0x11B0; query <= 0x11B5; query++) {
    int status = CALL(int, clGetKernelWorkGroupInfo, handle, handle, uint32_t, size_t, void *, size_t *)(
        kernel, device, query, sizeof out, out, &size);
    answer(query, status, out, size);
  }
  unsigned queries[4] = {0x2033, 0x11B9, 0x11BA, 0x410A};
  for (int at = 0; at < 4; at++) {
    int status = CALL(int, clGetKernelSubGroupInfo, handle, handle, uint32_t, size_t, const void *, size_t, void *,
                      size_t *)(kernel, device, queries[at], at ? 0 : sizeof widest, at ? 0 : widest, sizeof out, out, &size);
    answer(queries[at], status, out, size);
  }
  for (uint32_t at = 0; source && at < args; at++) {
    char type[256] = "", name[256] = "";
    uint32_t space = 0, access = 0;
    uint64_t qualifiers = 0;
    int (*info)(handle, uint32_t, uint32_t, size_t, void *, size_t *) = dlsym(cl, "clGetKernelArgInfo");
    int status = info(kernel, at, 0x1196, 4, &space, 0) | info(kernel, at, 0x1197, 4, &access, 0) |
                 info(kernel, at, 0x1198, 255, type, 0) | info(kernel, at, 0x1199, 8, &qualifiers, 0) |
                 info(kernel, at, 0x119A, 255, name, 0);
    printf("arg %u %d %x %x %llx %s|%s\n", at, status, space, access, (unsigned long long)qualifiers, name, type);
  }
}

int main(int argc, char **argv) {
  int source = argc > 1 && !strcmp(argv[1], "source"), status = 0;
  cl = dlopen("libOpenCL.so.1", RTLD_NOW);
  handle device = cl ? first_cpu() : 0;
  if (!device)
    return fprintf(stderr, "no device\n"), 5;
  handle context = CALL(handle, clCreateContext, void *, uint32_t, handle *, void *, void *, int *)(0, 1, &device, 0, 0, &status);
  char path[4096];
  while (fgets(path, sizeof path, stdin)) {
    path[strcspn(path, "\n")] = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
      return fprintf(stderr, "%s\n", path), 3;
    static char text[64 << 20];
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = 0;
    fclose(file);
    const char *lines = text;
    handle program = source
      ? CALL(handle, clCreateProgramWithSource, handle, uint32_t, const char **, size_t *, int *)(context, 1, &lines, &size, &status)
      : CALL(handle, clCreateProgramWithIL, handle, const void *, size_t, int *)(context, text, size, &status);
    const char *options = source ? "-cl-std=CL3.0 -cl-kernel-arg-info" : "";
    status = CALL(int, clBuildProgram, handle, uint32_t, handle *, const char *, void *, void *)(program, 1, &device, options, 0, 0);
    printf("module %s %d\n", path, status);
    handle kernels[1024];
    uint32_t count = 0;
    if (!status)
      CALL(int, clCreateKernelsInProgram, handle, uint32_t, handle *, uint32_t *)(program, 1024, kernels, &count);
    for (uint32_t at = 0; at < count; at++) {
      static char name[65536];
      CALL(int, clGetKernelInfo, handle, uint32_t, size_t, void *, size_t *)(kernels[at], 0x1190, sizeof name, name, 0);
      printf("kernel %s\n", name);
      of_kernel(kernels[at], device, source);
    }
    fflush(stdout);
    CALL(int, clReleaseProgram, handle)(program);
  }
  return 0;
}
