/* How long does the obvious program take: one process, one module after the other, straight through OpenCL?
 *
 *     plain_loop LIBOPENCL OUT MODULE...
 *
 * builds each SPIR-V module for the first device of the first platform, as clCreateProgramWithIL and clBuildProgram do
 * it, and writes the binaries one after the other to OUT. What it prints on stdout is how many did build.
 */
#define CL_TARGET_OPENCL_VERSION 210
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct cl_object *cl_handle;
typedef unsigned long cl_bits;

static void *library;

static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "plain_loop: no %s\n", name);
        exit(1);
    }
    return found;
}

static void check(int error, const char *doing)
{
    if (error) {
        fprintf(stderr, "plain_loop: %s: %d\n", doing, error);
        exit(1);
    }
}

static unsigned char *slurp(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size ? *size : 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc < 4 || !(library = dlopen(argv[1], RTLD_NOW))) {
        fprintf(stderr, "usage: plain_loop LIBOPENCL OUT MODULE... (%s)\n", argc < 4 ? "" : dlerror());
        return 2;
    }
    int (*platforms)(unsigned, cl_handle *, unsigned *) = symbol("clGetPlatformIDs");
    int (*devices)(cl_handle, cl_bits, unsigned, cl_handle *, unsigned *) = symbol("clGetDeviceIDs");
    cl_handle (*context_of)(const void *, unsigned, const cl_handle *, void *, void *, int *) = symbol("clCreateContext");
    cl_handle (*program_of)(cl_handle, const void *, size_t, int *) = symbol("clCreateProgramWithIL");
    int (*build)(cl_handle, unsigned, const cl_handle *, const char *, void *, void *) = symbol("clBuildProgram");
    int (*info)(cl_handle, unsigned, size_t, void *, size_t *) = symbol("clGetProgramInfo");
    int (*release)(cl_handle) = symbol("clReleaseProgram");

    cl_handle platform, device;
    int error;
    check(platforms(1, &platform, 0), "clGetPlatformIDs");
    check(devices(platform, 0xffffffff, 1, &device, 0), "clGetDeviceIDs");
    cl_handle context = context_of(0, 1, &device, 0, 0, &error);
    check(error, "clCreateContext");
    FILE *out = fopen(argv[2], "wb");
    if (!out) {
        perror(argv[2]);
        return 1;
    }
    int built = 0;
    for (int i = 3; i < argc; i++) {
        size_t size;
        unsigned char *module = slurp(argv[i], &size);
        cl_handle program = program_of(context, module, size, &error);
        check(error, argv[i]);
        if (!build(program, 1, &device, "", 0, 0)) {
            enum { PROGRAM_BINARY_SIZES = 0x1165, PROGRAM_BINARIES = 0x1166 };
            check(info(program, PROGRAM_BINARY_SIZES, sizeof size, &size, 0), "CL_PROGRAM_BINARY_SIZES");
            unsigned char *binary = malloc(size);
            check(info(program, PROGRAM_BINARIES, sizeof binary, &binary, 0), "CL_PROGRAM_BINARIES");
            built += fwrite(binary, 1, size, out) == size;
            free(binary);
        }
        release(program);
        free(module);
    }
    fclose(out);
    printf("%d\n", built);
    fflush(stdout);
    /* The driver takes its time to tidy up, which is not what is measured. */
    _Exit(0);
}
