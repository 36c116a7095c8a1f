/* What compiling for Intel GPUs costs without the tool: each module by libocloc, in memory, one after the other in one
   process. plain_ocloc DEVICE,DEVICE... MODULE...; prints how many binaries came of it. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int invoke_t(unsigned, const char **, unsigned, const uint8_t **, const uint64_t *, const char **, unsigned,
                     const uint8_t **, const uint64_t *, const char **, uint32_t *, uint8_t ***, uint64_t **, char ***);
typedef int free_t(uint32_t *, uint8_t ***, uint64_t **, char ***);

int main(int argc, char **argv) {
  void *library = dlopen("libocloc.so", RTLD_NOW);
  if (!library) library = dlopen("libocloc.so.1", RTLD_NOW);
  if (!library || argc < 3) return 2;
  invoke_t *invoke = (invoke_t *)dlsym(library, "oclocInvoke");
  free_t *release = (free_t *)dlsym(library, "oclocFreeOutput");
  int built = 0;
  for (int at = 2; at < argc; ++at) {
    FILE *file = fopen(argv[at], "rb");
    if (!file) return 3;
    fseek(file, 0, SEEK_END);
    uint64_t size = (uint64_t)ftell(file);
    rewind(file);
    uint8_t *module = malloc(size);
    if (fread(module, 1, size, file) != size) return 3;
    fclose(file);
    char *devices = strdup(argv[1]);
    for (char *device = strtok(devices, ","); device; device = strtok(NULL, ",")) {
      const char *arguments[] = {"ocloc",  "compile", "-q",    "-spirv_input", "-exclude_ir", "-output_no_suffix",
                                 "-output", "binary", "-file", "m.spv",        "-device",     device};
      const uint8_t *sources[] = {module};
      const char *names[] = {"m.spv"};
      uint32_t count = 0;
      uint8_t **outputs = NULL;
      uint64_t *sizes = NULL;
      char **labels = NULL;
      built += invoke(12, arguments, 1, sources, &size, names, 0, NULL, NULL, NULL, &count, &outputs, &sizes, &labels) == 0;
      release(&count, &outputs, &sizes, &labels);
    }
    free(devices);
    free(module);
  }
  fprintf(stderr, "%d\n", built);
  return 0;
}
