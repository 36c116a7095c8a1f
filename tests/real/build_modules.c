/* Which modules does the first device that takes SPIR-V build? Each is built in a process of its own, which a driver may take
 * with it. Prints `yes`, `no STATUS` or `died` and the path. Usage: build_modules LOADER MODULE... Build: cc -ldl. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *library;
#define FUNCTION(result, name, ...) \
  typedef result (*name##_t)(__VA_ARGS__); \
  name##_t name = (name##_t)dlsym(library, #name)

static int build(const char *path) {
  FUNCTION(int32_t, clGetPlatformIDs, uint32_t, void **, uint32_t *);
  FUNCTION(int32_t, clGetDeviceIDs, void *, uint64_t, uint32_t, void **, uint32_t *);
  FUNCTION(int32_t, clGetDeviceInfo, void *, uint32_t, size_t, void *, size_t *);
  FUNCTION(void *, clCreateContext, const void *, uint32_t, void *const *, void *, void *, int32_t *);
  FUNCTION(void *, clCreateProgramWithIL, void *, const void *, size_t, int32_t *);
  FUNCTION(int32_t, clBuildProgram, void *, uint32_t, void *const *, const char *, void *, void *);
  void *platforms[8], *devices[8], *chosen = 0;
  uint32_t count = 0, each = 0;
  int32_t status = clGetPlatformIDs(8, platforms, &count);
  for (uint32_t at = 0; !status && at < count && !chosen; at++) {
    each = 0;
    clGetDeviceIDs(platforms[at], 0xffffffff, 8, devices, &each);
    for (uint32_t nth = 0; nth < each && !chosen; nth++) {
      char il[256] = "";
      clGetDeviceInfo(devices[nth], 0x105B, sizeof il, il, 0);
      if (strstr(il, "SPIR-V"))
        chosen = devices[nth];
    }
  }
  if (!chosen)
    return 1;
  static char module[1 << 16];
  FILE *file = fopen(path, "rb");
  size_t length = file ? fread(module, 1, sizeof module, file) : 0;
  void *context = clCreateContext(0, 1, &chosen, 0, 0, &status);
  void *program = context ? clCreateProgramWithIL(context, module, length, &status) : 0;
  if (program && !status)
    status = clBuildProgram(program, 1, &chosen, "", 0, 0);
  printf(status ? "no %d %s\n" : "yes %d %s\n", status, path);
  fflush(stdout);
  _exit(0);
}

int main(int count, char **arguments) {
  library = dlopen(arguments[1], RTLD_NOW);
  if (!library)
    return 2;
  for (int at = 2; at < count; at++) {
    pid_t child = fork();
    if (!child)
      _exit(build(arguments[at]));
    int how = 0;
    waitpid(child, &how, 0);
    if (!WIFEXITED(how) || WEXITSTATUS(how) > 1)
      printf("died 0 %s\n", arguments[at]);
    else if (WEXITSTATUS(how))
      return 3;
    fflush(stdout);
  }
  return 0;
}
