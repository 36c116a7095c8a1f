/* Which native images does Intel's GPU driver take, and which does it compile anew?
 *
 * takes opencl|level_zero LIBRARY: reads paths of images, one per line, and prints for each `native`, `jit` (taken, and made of the
 * SPIR-V inside) or `none`. LIBRARY is the OpenCL or Level Zero loader, the first GPU counts. Build: cc takes.c -o takes -ldl */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
static void *library;
static handle context, device;
#define CALL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(library, #name))

static int open_opencl(void) {
  handle platforms[16];
  uint32_t count = 0;
  CALL(int, clGetPlatformIDs, uint32_t, handle *, uint32_t *)(16, platforms, &count);
  for (uint32_t at = 0; at < count && !device; at++)
    CALL(int, clGetDeviceIDs, handle, uint64_t, uint32_t, handle *, uint32_t *)(platforms[at], 4, 1, &device, 0);
  int status = -1;
  if (device)
    context = CALL(handle, clCreateContext, const intptr_t *, uint32_t, handle *, void *, void *, int *)(
        0, 1, &device, 0, 0, &status);
  return status;
}

/* A program that was not compiled anew has the bytes that it was made of. */
static const char *by_opencl(const unsigned char *image, size_t size) {
  int status = 0, own = 0;
  handle program = CALL(handle, clCreateProgramWithBinary, handle, uint32_t, handle *, const size_t *,
                        const unsigned char **, int *, int *)(context, 1, &device, &size, &image, &own, &status);
  if (status)
    return "none";
  if (CALL(int, clBuildProgram, handle, uint32_t, handle *, const char *, void *, void *)(program, 1, &device, "", 0, 0))
    return "none";
  size_t length = 0;
  CALL(int, clGetProgramInfo, handle, uint32_t, size_t, void *, size_t *)(program, 0x1165, sizeof length, &length, 0);
  unsigned char *binary = malloc(length + 1);
  CALL(int, clGetProgramInfo, handle, uint32_t, size_t, void *, size_t *)(program, 0x1166, sizeof binary, &binary, 0);
  int same = length == size && !memcmp(binary, image, size);
  free(binary);
  CALL(int, clReleaseProgram, handle)(program);
  return same ? "native" : "jit";
}

struct context_description { uint32_t type; const void *next; uint32_t flags; };
struct module_description {
  uint32_t type; const void *next; uint32_t format; size_t size; const unsigned char *image; const char *flags; const void *constants;
};

static int open_level_zero(void) {
  handle driver = 0;
  uint32_t one = 1;
  struct context_description description = {0xd, 0, 0};
  int status = CALL(int, zeInit, uint32_t)(1);
  if (!status) status = CALL(int, zeDriverGet, uint32_t *, handle *)(&one, &driver);
  one = 1;
  if (!status) status = CALL(int, zeDeviceGet, handle, uint32_t *, handle *)(driver, &one, &device);
  if (!status) status = CALL(int, zeContextCreate, handle, const void *, handle *)(driver, &description, &context);
  return status;
}

/* The log tells of a module that was compiled anew. */
static const char *by_level_zero(const unsigned char *image, size_t size) {
  handle module = 0, log = 0;
  struct module_description description = {0x1b, 0, 1, size, image, "", 0};
  if (CALL(int, zeModuleCreate, handle, handle, const void *, handle *, handle *)(context, device, &description, &module, &log))
    return "none";
  char text[8192] = "";
  size_t length = sizeof text - 1;
  if (log) CALL(int, zeModuleBuildLogGetString, handle, size_t *, char *)(log, &length, text);
  CALL(int, zeModuleDestroy, handle)(module);
  return strstr(text, "recompiled") ? "jit" : "native";
}

int main(int count, char **words) {
  int opencl = count == 3 && !strcmp(words[1], "opencl");
  if (count != 3 || !(library = dlopen(words[2], RTLD_NOW))) {
    fprintf(stderr, "takes: %s\n", dlerror());
    return 2;
  }
  int status = opencl ? open_opencl() : open_level_zero();
  if (status) {
    fprintf(stderr, "takes: no device: %x\n", (unsigned)status);
    return 1;
  }
  char path[4096];
  while (fgets(path, sizeof path, stdin)) {
    path[strcspn(path, "\n")] = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return 2;
    fseek(file, 0, SEEK_END);
    size_t size = ftell(file);
    rewind(file);
    unsigned char *image = malloc(size + 1);
    if (fread(image, 1, size, file) != size) return 2;
    fclose(file);
    printf("%s\n", opencl ? by_opencl(image, size) : by_level_zero(image, size));
    fflush(stdout);
    free(image);
  }
  return 0;
}
