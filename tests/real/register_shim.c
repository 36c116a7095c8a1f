/* Which device code does a loaded library hand to the SYCL runtime?
 *
 * Preloaded in front of libsycl, this sees every descriptor that a library's constructor registers, notes its
 * address and the file it lies in, and passes it on. A script in the same process reads the notes through the
 * three functions at the end and walks the structures where they lie in memory, relocated by the dynamic linker.
 *
 * With REGISTER_SHIM_DUMP_ROOT set, the current folder is one of its own (ROOT/0, ROOT/1, ...) during each call,
 * so that what the runtime dumps (SYCL_DUMP_IMAGES) can be told apart by registration; and every file opened
 * meanwhile gets a number in front of its name, since the runtime gives all compressed images the same one.
 *
 *     gcc -shared -fPIC -o register_shim.so register_shim.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_REGISTRATIONS = 4096 };

struct registration {
    void *descriptor;
    char *file;
};

static struct registration registrations[MAX_REGISTRATIONS];
static unsigned count;
static __thread unsigned dumped;
static __thread int dumping;

static void die(const char *what)
{
    perror(what);
    abort();
}

/* Enters ROOT/<number of this registration>; gives the folder to return to, or -1 where nothing is asked. */
static int enter_dump_folder(unsigned number)
{
    const char *root = getenv("REGISTER_SHIM_DUMP_ROOT");
    if (!root)
        return -1;
    char path[4096];
    snprintf(path, sizeof path, "%s/%u", root, number);
    int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (back < 0 || mkdir(path, 0777) || chdir(path))
        die(path);
    return back;
}

void __sycl_register_lib(void *descriptor)
{
    static void (*real)(void *);
    if (!real)
        real = (void (*)(void *))dlsym(RTLD_NEXT, "__sycl_register_lib");
    if (!real || count == MAX_REGISTRATIONS)
        die("register_shim");
    Dl_info info = {0};
    dladdr(descriptor, &info);
    unsigned number = count++;
    registrations[number].descriptor = descriptor;
    registrations[number].file = strdup(info.dli_fname ? info.dli_fname : "");
    int back = enter_dump_folder(number);
    dumping = back >= 0;
    real(descriptor);
    dumping = 0;
    if (back >= 0) {
        if (fchdir(back))
            die("register_shim: return");
        close(back);
    }
}

/* What std::ofstream opens files with. */
FILE *fopen64(const char *path, const char *mode)
{
    static FILE *(*real)(const char *, const char *);
    if (!real)
        real = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen64");
    if (!real)
        die("register_shim: fopen64");
    if (!dumping || mode[0] != 'w' || strchr(path, '/'))
        return real(path, mode);
    char numbered[4096];
    snprintf(numbered, sizeof numbered, "%u-%s", dumped++, path);
    return real(numbered, mode);
}

unsigned register_shim_count(void)
{
    return count;
}

void *register_shim_descriptor(unsigned number)
{
    return number < count ? registrations[number].descriptor : 0;
}

const char *register_shim_file(unsigned number)
{
    return number < count ? registrations[number].file : 0;
}
