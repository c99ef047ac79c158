/* Count the system calls that touch one directory tree, and let a chosen one fail or be the process' last.
 *
 * Preloaded. A call counts when its path lies below the tree, or when it goes through a descriptor of something opened
 * there; everything else passes. The tests open and close the window in which calls are counted with the functions named
 * faults_..., which they call in the process itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* What kind of call it is; a fault only befalls the kinds that it is made for. */
enum { WRITE = 1, CREATE = 2, OPEN = 4, REMOVE = 8, ATTRIBUTE = 16, SYNC = 32, READ = 64, SIZE = 128 };
enum { COUNT, KILL, FAIL, FAIL_ON, SHORT, TEAR };
enum { GO, REFUSE, HALF };

#define DESCRIPTORS 4096
#define TRACED 65536

static char tree[4096];
static size_t tree_length;
static char ours[DESCRIPTORS];
static int is_open, action, mask, error_number;
static long at, count, fired;
static unsigned char kinds[TRACED];
static const char *names[TRACED];

void faults_tree(const char *path) {
    tree_length = strlen(strncpy(tree, path, sizeof tree - 1));
    memset(ours, 0, sizeof ours);
}
void faults_open(int what, int which, long n, int code) {
    action = what, mask = which, at = n, error_number = code, count = fired = 0, is_open = 1;
}
void faults_pause(void) { is_open = 0; }
void faults_resume(void) { is_open = 1; }
long faults_count(void) { return count; }
long faults_fired(void) { return fired; }
int faults_kind(long n) { return n < TRACED ? kinds[n] : 0; }
const char *faults_name(long n) { return n < TRACED ? names[n] : ""; }

static int below(const char *path) {
    return tree_length && !strncmp(path, tree, tree_length) && (path[tree_length] == '/' || !path[tree_length]);
}
static int known(int fd) { return fd >= 0 && fd < DESCRIPTORS && ours[fd]; }
static int concerns(int fd, const char *path) { return path[0] == '/' ? below(path) : known(fd); }
static int opened(int fd, int is_ours) {
    if (fd >= 0 && fd < DESCRIPTORS) ours[fd] = (char)is_ours;
    return fd;
}

static int verdict(int kind, const char *name, int is_ours) {
    if (!is_open || !is_ours) return GO;
    long n = count++;
    if (n < TRACED) kinds[n] = (unsigned char)kind, names[n] = name;
    if (action == COUNT || !(kind & mask) || (action == FAIL_ON ? n < at : n != at)) return GO;
    fired++;
    if (action == KILL) kill(getpid(), SIGKILL);
    if (action == SHORT || action == TEAR) return HALF;
    errno = error_number;
    return REFUSE;
}
static ssize_t half(ssize_t written) {
    if (action == TEAR) kill(getpid(), SIGKILL);
    return written;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define GUARD(kind, name, is_ours) if (verdict(kind, #name, is_ours) != GO) return -1
#define CALL(name, kind, is_ours, declared, given) \
    int name declared { REAL(name); GUARD(kind, name, is_ours); return real given; }

/* -- opening */

static int kind_of(int flags) { return flags & O_CREAT ? CREATE : OPEN; }
#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        GUARD(kind_of(flags), name, below(path)); \
        return opened(real(path, flags, mode), below(path)); \
    }
#define OPENS_AT(name) \
    int name(int fd, const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        GUARD(kind_of(flags), name, concerns(fd, path)); \
        return opened(real(fd, path, flags, mode), concerns(fd, path)); \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

int close(int fd) {
    REAL(close);
    if (fd >= 0 && fd < DESCRIPTORS) ours[fd] = 0;
    return real(fd);
}

long syscall(long number, ...) {
    REAL(syscall);
    long a[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(rest, long);
    va_end(rest);
#ifdef SYS_openat2
    if (number == SYS_openat2) {
        int is_ours = concerns((int)a[0], (const char *)a[1]);
        GUARD(OPEN, openat2, is_ours);
        return opened((int)real(number, a[0], a[1], a[2], a[3]), is_ours);
    }
#endif
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* -- content */

#define WRITES(name, declared, given, given_half) \
    ssize_t name declared { \
        REAL(name); \
        int found = verdict(WRITE, #name, known(fd)); \
        if (found == REFUSE) return -1; \
        return found == HALF ? half(real given_half) : real given; \
    }
WRITES(write, (int fd, const void *data, size_t size), (fd, data, size), (fd, data, size / 2))
WRITES(pwrite, (int fd, const void *data, size_t size, off_t to), (fd, data, size, to), (fd, data, size / 2, to))
WRITES(pwrite64, (int fd, const void *data, size_t size, off64_t to), (fd, data, size, to), (fd, data, size / 2, to))

#define READS(name, declared, given) ssize_t name declared { REAL(name); GUARD(READ, name, known(fd)); return real given; }
READS(read, (int fd, void *data, size_t size), (fd, data, size))
READS(pread, (int fd, void *data, size_t size, off_t from), (fd, data, size, from))
READS(pread64, (int fd, void *data, size_t size, off64_t from), (fd, data, size, from))

CALL(ftruncate, SIZE, known(fd), (int fd, off_t size), (fd, size))
CALL(ftruncate64, SIZE, known(fd), (int fd, off64_t size), (fd, size))
CALL(fallocate, SIZE, known(fd), (int fd, int mode, off_t from, off_t size), (fd, mode, from, size))
CALL(fallocate64, SIZE, known(fd), (int fd, int mode, off64_t from, off64_t size), (fd, mode, from, size))

/* The machine stays up, whatever happens to the process: so nothing has to reach the disk, which would take its time. */
#define SYNCS(name) int name(int fd) { REAL(name); GUARD(SYNC, name, known(fd)); return known(fd) ? 0 : real(fd); }
SYNCS(fsync)
SYNCS(fdatasync)

/* -- names */

CALL(rename, CREATE, below(from), (const char *from, const char *to), (from, to))
CALL(renameat, CREATE, concerns(fd, from), (int fd, const char *from, int to_fd, const char *to), (fd, from, to_fd, to))
CALL(renameat2, CREATE, concerns(fd, from), (int fd, const char *from, int to_fd, const char *to, unsigned flags),
     (fd, from, to_fd, to, flags))
CALL(link, CREATE, below(to), (const char *from, const char *to), (from, to))
CALL(linkat, CREATE, concerns(to_fd, to), (int fd, const char *from, int to_fd, const char *to, int flags),
     (fd, from, to_fd, to, flags))
CALL(symlink, CREATE, below(path), (const char *target, const char *path), (target, path))
CALL(symlinkat, CREATE, concerns(fd, path), (const char *target, int fd, const char *path), (target, fd, path))
CALL(mkdir, CREATE, below(path), (const char *path, mode_t mode), (path, mode))
CALL(mkdirat, CREATE, concerns(fd, path), (int fd, const char *path, mode_t mode), (fd, path, mode))
CALL(unlink, REMOVE, below(path), (const char *path), (path))
CALL(unlinkat, REMOVE, concerns(fd, path), (int fd, const char *path, int flags), (fd, path, flags))
CALL(rmdir, REMOVE, below(path), (const char *path), (path))

/* -- attributes */

CALL(chmod, ATTRIBUTE, below(path), (const char *path, mode_t mode), (path, mode))
CALL(fchmod, ATTRIBUTE, known(fd), (int fd, mode_t mode), (fd, mode))
CALL(fchmodat, ATTRIBUTE, concerns(fd, path), (int fd, const char *path, mode_t mode, int flags), (fd, path, mode, flags))
CALL(fchown, ATTRIBUTE, known(fd), (int fd, uid_t owner, gid_t group), (fd, owner, group))
CALL(futimens, ATTRIBUTE, known(fd), (int fd, const struct timespec times[2]), (fd, times))
CALL(utimensat, ATTRIBUTE, concerns(fd, path),
     (int fd, const char *path, const struct timespec times[2], int flags), (fd, path, times, flags))
int fsetxattr(int, const char *, const void *, size_t, int);
CALL(fsetxattr, ATTRIBUTE, known(fd), (int fd, const char *name, const void *value, size_t size, int flags),
     (fd, name, value, size, flags))
