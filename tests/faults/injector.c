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
#include <stdio.h>
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
    if (action == COUNT || !(kind & mask) || (action == FAIL_ON || action == KILL ? n < at : n != at)) return GO;
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

/* -- what is told of each change that was made, so that a cut of power can be played afterwards */

static int telling = -1;
void faults_tell(int fd) { telling = fd; }

static unsigned long inode_of(int fd, const char *path) {
    struct stat found;
    return syscall(SYS_newfstatat, fd, path, &found, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) ? 0 : (unsigned long)found.st_ino;
}
static unsigned long parent_of(int fd, const char *path) {
    char above[4096];
    const char *slash = strrchr(path, '/');
    if (!slash) return inode_of(fd, "");
    snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
    return inode_of(fd, above);
}
static const char *name_in(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
static void put(const char *data, size_t size) {
    while (size) {
        long done = syscall(SYS_write, telling, data, size);
        if (done <= 0) return;
        data += done, size -= (size_t)done;
    }
}
/* One line: what, inode, mode, size, time of change, number, directory, name, directory, name, content. */
static void tell(const char *what, int fd, const char *path, long number, int from, const char *source, int to,
                 const char *target, const void *content, size_t size) {
    static const char digits[] = "0123456789abcdef";
    char line[9000];
    struct stat found;
    int error = errno;
    if (!is_open || telling < 0) return;
    memset(&found, 0, sizeof found);
    if (path) syscall(SYS_newfstatat, fd, path, &found, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
    int length = snprintf(line, sizeof line, "%s|%lu|%u|%ld|%lld|%ld|%lu|%s|%lu|%s|", what, (unsigned long)found.st_ino,
                          (unsigned)found.st_mode, (long)found.st_size,
                          found.st_mtim.tv_sec * 1000000000LL + found.st_mtim.tv_nsec, number,
                          source ? parent_of(from, source) : 0, source ? name_in(source) : "",
                          target ? parent_of(to, target) : 0, target ? name_in(target) : "");
    put(line, (size_t)length);
    for (size_t i = 0; i < size;) {
        for (length = 0; i < size && length < 8192; i++) {
            line[length++] = digits[((const unsigned char *)content)[i] >> 4];
            line[length++] = digits[((const unsigned char *)content)[i] & 15];
        }
        put(line, (size_t)length);
    }
    put("\n", 1);
    errno = error;
}
void faults_mark(void) { tell("mark", 0, NULL, 0, 0, NULL, 0, NULL, NULL, 0); }

/* -- inodes under other numbers: a tree that is made again has others than the journal knows */

#define MAPPED 1024
static unsigned long real_inodes[MAPPED], told_inodes[MAPPED];
static int mapped;
void faults_map(unsigned long real, unsigned long told) {
    if (!real) mapped = 0;
    else if (mapped < MAPPED) real_inodes[mapped] = real, told_inodes[mapped++] = told;
}
static unsigned long told_inode(unsigned long inode) {
    for (int i = 0; i < mapped; i++)
        if (real_inodes[i] == inode) return told_inodes[i];
    return inode;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define GUARD(kind, name, is_ours) if (verdict(kind, #name, is_ours) != GO) return -1
#define CALL(name, kind, is_ours, declared, given, told) \
    int name declared { \
        REAL(name); \
        GUARD(kind, name, is_ours); \
        int concerned = is_ours, done = real given; \
        if (!done && concerned) tell told; \
        return done; \
    }
#define STATS(name, declared, given) \
    int name declared { \
        REAL(name); \
        int done = real given; \
        if (!done && mapped) found->st_ino = told_inode(found->st_ino); \
        return done; \
    }
STATS(stat64, (const char *path, struct stat64 *found), (path, found))
STATS(lstat64, (const char *path, struct stat64 *found), (path, found))
STATS(fstat64, (int fd, struct stat64 *found), (fd, found))
STATS(fstatat64, (int fd, const char *path, struct stat64 *found, int flags), (fd, path, found, flags))

/* -- opening */

static int kind_of(int flags) { return flags & O_CREAT ? CREATE : OPEN; }
#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        GUARD(kind_of(flags), name, below(path)); \
        int fd = opened(real(path, flags, mode), below(path)); \
        if (fd >= 0 && below(path) && flags & O_CREAT) tell("create", fd, "", flags & O_TRUNC, AT_FDCWD, path, 0, NULL, NULL, 0); \
        return fd; \
    }
#define OPENS_AT(name) \
    int name(int fd, const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        GUARD(kind_of(flags), name, concerns(fd, path)); \
        int is_ours = concerns(fd, path), made = opened(real(fd, path, flags, mode), is_ours); \
        if (made >= 0 && is_ours && flags & O_CREAT) tell("create", made, "", flags & O_TRUNC, fd, path, 0, NULL, NULL, 0); \
        return made; \
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

#define WRITES(name, declared, given, given_half, start) \
    ssize_t name declared { \
        REAL(name); \
        int found = verdict(WRITE, #name, known(fd)); \
        if (found == REFUSE) return -1; \
        ssize_t done = found == HALF ? half(real given_half) : real given; \
        if (done > 0 && known(fd)) tell("write", fd, "", start, 0, NULL, 0, NULL, data, (size_t)done); \
        return done; \
    }
WRITES(write, (int fd, const void *data, size_t size), (fd, data, size), (fd, data, size / 2),
       (long)lseek(fd, 0, SEEK_CUR) - done)
WRITES(pwrite, (int fd, const void *data, size_t size, off_t to), (fd, data, size, to), (fd, data, size / 2, to),
       (long)to)
WRITES(pwrite64, (int fd, const void *data, size_t size, off64_t to), (fd, data, size, to), (fd, data, size / 2, to),
       (long)to)

#define READS(name, declared, given) ssize_t name declared { REAL(name); GUARD(READ, name, known(fd)); return real given; }
READS(read, (int fd, void *data, size_t size), (fd, data, size))
READS(pread, (int fd, void *data, size_t size, off_t from), (fd, data, size, from))
READS(pread64, (int fd, void *data, size_t size, off64_t from), (fd, data, size, from))

CALL(ftruncate, SIZE, known(fd), (int fd, off_t size), (fd, size),
     ("truncate", fd, "", 0, 0, NULL, 0, NULL, NULL, 0))
CALL(ftruncate64, SIZE, known(fd), (int fd, off64_t size), (fd, size),
     ("truncate", fd, "", 0, 0, NULL, 0, NULL, NULL, 0))
CALL(fallocate, SIZE, known(fd), (int fd, int mode, off_t from, off_t size), (fd, mode, from, size),
     ("truncate", fd, "", 0, 0, NULL, 0, NULL, NULL, 0))
CALL(fallocate64, SIZE, known(fd), (int fd, int mode, off64_t from, off64_t size), (fd, mode, from, size),
     ("truncate", fd, "", 0, 0, NULL, 0, NULL, NULL, 0))

/* The machine stays up, whatever happens to the process: so nothing has to reach the disk, which would take its time. */
#define SYNCS(name) int name(int fd) { REAL(name); GUARD(SYNC, name, known(fd)); if (known(fd)) { tell("sync", fd, "", 0, 0, NULL, 0, NULL, NULL, 0); return 0; } return real(fd); }
SYNCS(fsync)
SYNCS(fdatasync)

/* -- names */

CALL(rename, CREATE, below(from), (const char *from, const char *to), (from, to),
     ("rename", AT_FDCWD, to, 0, AT_FDCWD, from, AT_FDCWD, to, NULL, 0))
CALL(renameat, CREATE, concerns(fd, from), (int fd, const char *from, int to_fd, const char *to), (fd, from, to_fd, to),
     ("rename", to_fd, to, 0, fd, from, to_fd, to, NULL, 0))
CALL(renameat2, CREATE, concerns(fd, from), (int fd, const char *from, int to_fd, const char *to, unsigned flags),
     (fd, from, to_fd, to, flags),
     ("rename", to_fd, to, (long)flags, fd, from, to_fd, to, NULL, 0))
CALL(link, CREATE, below(to), (const char *from, const char *to), (from, to),
     ("link", AT_FDCWD, to, 0, 0, NULL, AT_FDCWD, to, NULL, 0))
CALL(linkat, CREATE, concerns(to_fd, to), (int fd, const char *from, int to_fd, const char *to, int flags),
     (fd, from, to_fd, to, flags),
     ("link", to_fd, to, 0, 0, NULL, to_fd, to, NULL, 0))
CALL(symlink, CREATE, below(path), (const char *target, const char *path), (target, path),
     ("symlink", AT_FDCWD, path, 0, 0, NULL, AT_FDCWD, path, target, strlen(target)))
CALL(symlinkat, CREATE, concerns(fd, path), (const char *target, int fd, const char *path), (target, fd, path),
     ("symlink", fd, path, 0, 0, NULL, fd, path, target, strlen(target)))
CALL(mkdir, CREATE, below(path), (const char *path, mode_t mode), (path, mode),
     ("mkdir", AT_FDCWD, path, 0, 0, NULL, AT_FDCWD, path, NULL, 0))
CALL(mkdirat, CREATE, concerns(fd, path), (int fd, const char *path, mode_t mode), (fd, path, mode),
     ("mkdir", fd, path, 0, 0, NULL, fd, path, NULL, 0))
CALL(unlink, REMOVE, below(path), (const char *path), (path),
     ("unlink", 0, NULL, 0, AT_FDCWD, path, 0, NULL, NULL, 0))
CALL(unlinkat, REMOVE, concerns(fd, path), (int fd, const char *path, int flags), (fd, path, flags),
     ("unlink", 0, NULL, 0, fd, path, 0, NULL, NULL, 0))
CALL(rmdir, REMOVE, below(path), (const char *path), (path),
     ("unlink", 0, NULL, 0, AT_FDCWD, path, 0, NULL, NULL, 0))

/* -- attributes */

CALL(chmod, ATTRIBUTE, below(path), (const char *path, mode_t mode), (path, mode),
     ("attribute", AT_FDCWD, path, 0, 0, NULL, 0, NULL, NULL, 0))
CALL(fchmod, ATTRIBUTE, known(fd), (int fd, mode_t mode), (fd, mode),
     ("attribute", fd, "", 0, 0, NULL, 0, NULL, NULL, 0))
CALL(fchmodat, ATTRIBUTE, concerns(fd, path), (int fd, const char *path, mode_t mode, int flags), (fd, path, mode, flags),
     ("attribute", fd, path, 0, 0, NULL, 0, NULL, NULL, 0))
CALL(fchown, ATTRIBUTE, known(fd), (int fd, uid_t owner, gid_t group), (fd, owner, group),
     ("attribute", fd, "", 0, 0, NULL, 0, NULL, NULL, 0))
CALL(chown, ATTRIBUTE, below(path), (const char *path, uid_t owner, gid_t group), (path, owner, group),
     ("attribute", AT_FDCWD, path, 0, 0, NULL, 0, NULL, NULL, 0))
CALL(futimens, ATTRIBUTE, known(fd), (int fd, const struct timespec times[2]), (fd, times),
     ("attribute", fd, "", 0, 0, NULL, 0, NULL, NULL, 0))
CALL(utimensat, ATTRIBUTE, concerns(fd, path),
     (int fd, const char *path, const struct timespec times[2], int flags), (fd, path, times, flags),
     ("attribute", fd, path, 0, 0, NULL, 0, NULL, NULL, 0))
int fsetxattr(int, const char *, const void *, size_t, int);
CALL(fsetxattr, ATTRIBUTE, known(fd), (int fd, const char *name, const void *value, size_t size, int flags),
     (fd, name, value, size, flags),
     ("extended", fd, "", 0, 0, name, 0, NULL, value, size))
int removexattr(const char *, const char *);
CALL(removexattr, ATTRIBUTE, below(path), (const char *path, const char *name), (path, name),
     ("attribute", AT_FDCWD, path, 0, 0, NULL, 0, NULL, NULL, 0))
int lremovexattr(const char *, const char *);
CALL(lremovexattr, ATTRIBUTE, below(path), (const char *path, const char *name), (path, name),
     ("attribute", AT_FDCWD, path, 0, 0, NULL, 0, NULL, NULL, 0))
