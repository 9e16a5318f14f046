// Lets one call on a file below FAULT_UNDER fail: the one of number FAULT_AT of its process. FAULT_CALLS says which:
// "change" are writes, syncs and truncations, "open" are opens. FAULT_ERRNO is the error; with FAULT_TORN, a write puts
// half of its bytes into the file first. FAULT_CLOCK lets the time of day jump to and fro by so many seconds, every
// hundredth look at it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define MOST 4096
static long calls;

static int is_below(int descriptor, char *path) {
  const char *under = getenv("FAULT_UNDER");
  char link[64];
  if (!under) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, MOST - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return strncmp(path, under, strlen(under)) == 0;
}

static int is_due_at(const char *path, const char *kind) {
  const char *at = getenv("FAULT_AT"), *mark = getenv("FAULT_MARK"), *wanted = getenv("FAULT_CALLS");
  if (!at || !mark || !wanted || strcmp(wanted, kind) != 0) return 0;
  if (__sync_add_and_fetch(&calls, 1) != atol(at)) return 0;
  // Only the first process that comes so far; whoever starts in its place goes on.
  int made = ((typeof(&open))dlsym(RTLD_NEXT, "open"))(mark, O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (made < 0) return 0;
  dprintf(made, "%s", path);
  close(made);
  return 1;
}

static int is_due(int descriptor) {
  char path[MOST];
  return getenv("FAULT_AT") && is_below(descriptor, path) && is_due_at(path, "change");
}

static int failed(void) {
  errno = atoi(getenv("FAULT_ERRNO"));
  return -1;
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
  if (!is_due(fd)) return REAL(write)(fd, data, size);
  if (getenv("FAULT_TORN") && size > 1) return REAL(write)(fd, data, size / 2);
  return failed();
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  if (!is_due(fd)) return REAL(pwrite)(fd, data, size, at);
  if (getenv("FAULT_TORN") && size > 1) REAL(pwrite)(fd, data, size / 2, at);
  return failed();
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  if (!is_due(fd)) return REAL(pwrite64)(fd, data, size, at);
  if (getenv("FAULT_TORN") && size > 1) REAL(pwrite64)(fd, data, size / 2, at);
  return failed();
}

int fsync(int fd) { return is_due(fd) ? failed() : REAL(fsync)(fd); }

int fdatasync(int fd) { return is_due(fd) ? failed() : REAL(fdatasync)(fd); }

int ftruncate(int fd, off_t size) { return is_due(fd) ? failed() : REAL(ftruncate)(fd, size); }

int ftruncate64(int fd, off64_t size) { return is_due(fd) ? failed() : REAL(ftruncate64)(fd, size); }

static int is_due_to_open(const char *path) {
  const char *under = getenv("FAULT_UNDER");
  return under && path && strncmp(path, under, strlen(under)) == 0 && is_due_at(path, "open");
}

#define OPEN(name, before, path, ...)                 \
  int name before {                                   \
    mode_t mode = 0;                                  \
    if (flags & (O_CREAT | __O_TMPFILE)) {            \
      va_list rest;                                   \
      va_start(rest, flags);                          \
      mode = va_arg(rest, mode_t);                    \
      va_end(rest);                                   \
    }                                                 \
    if (is_due_to_open(path)) return failed();        \
    return REAL(name)(__VA_ARGS__, flags, mode);      \
  }

OPEN(open, (const char *path, int flags, ...), path, path)
OPEN(open64, (const char *path, int flags, ...), path, path)
OPEN(openat, (int folder, const char *path, int flags, ...), path, folder, path)
OPEN(openat64, (int folder, const char *path, int flags, ...), path, folder, path)

int clock_gettime(clockid_t clock, struct timespec *at) {
  static long looks;
  const char *jump = getenv("FAULT_CLOCK");
  int made = REAL(clock_gettime)(clock, at);
  if (made == 0 && jump && clock == CLOCK_REALTIME && __sync_add_and_fetch(&looks, 1) / 100 % 2) at->tv_sec += atol(jump);
  return made;
}
