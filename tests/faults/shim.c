// Lets calls on files fail. FAULT_STRIKES has a line for each failure: "CALLS AT ERROR TORN MARK UNDER". It strikes the call
// of number AT that its process makes on files whose path begins with UNDER, once, in the first process that comes so
// far, which leaves the path in the file MARK. Of CALLS, "change" are writes, syncs, truncations and renames, "open" are opens.
// ERROR is the error; if TORN is 1, a write puts half of its bytes into the file first. FAULT_CLOCK lets the time of day
// jump to and fro by so many seconds, every hundredth look at it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MOST 4096
#define MOST_STRIKES 64

struct strike {
  char kind[16], mark[MOST], under[MOST];
  long at, calls;
  int error, torn;
};
static struct strike strikes[MOST_STRIKES];
static int number;

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
  const char *line = getenv("FAULT_STRIKES");
  for (; line && *line && number < MOST_STRIKES; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    struct strike *s = &strikes[number];
    if (sscanf(line, "%15s %ld %d %d %4095s %4095s", s->kind, &s->at, &s->error, &s->torn, s->mark, s->under) == 6) number++;
  }
}

// Returns the strike that this call is due to, with errno as it shall be.
static const struct strike *due(const char *path, const char *kind) {
  const struct strike *found = NULL;
  for (int each = 0; each < number; each++) {
    struct strike *s = &strikes[each];
    if (strcmp(s->kind, kind) != 0 || strncmp(path, s->under, strlen(s->under)) != 0) continue;
    if (__sync_add_and_fetch(&s->calls, 1) != s->at || found) continue;
    // Only the first process that comes so far; whoever starts in its place goes on.
    int made = REAL(open)(s->mark, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (made < 0) continue;
    dprintf(made, "%s", path);
    close(made);
    found = s;
  }
  if (found) errno = found->error;
  return found;
}

static const struct strike *due_to_change(int descriptor) {
  char link[64], path[MOST];
  if (!number) return NULL;
  int before = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, MOST - 1);
  errno = before;
  if (length <= 0) return NULL;
  path[length] = 0;
  return due(path, "change");
}

#define FAIL_IF_DUE(fd, torn_write, call)     \
  const struct strike *s = due_to_change(fd); \
  if (!s) return call;                        \
  if (s->torn) torn_write;                    \
  errno = s->error;                           \
  return -1

ssize_t write(int fd, const void *data, size_t size) {
  FAIL_IF_DUE(fd, if (size > 1) return REAL(write)(fd, data, size / 2), REAL(write)(fd, data, size));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  FAIL_IF_DUE(fd, if (size > 1) REAL(pwrite)(fd, data, size / 2, at), REAL(pwrite)(fd, data, size, at));
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  FAIL_IF_DUE(fd, if (size > 1) REAL(pwrite64)(fd, data, size / 2, at), REAL(pwrite64)(fd, data, size, at));
}

ssize_t writev(int fd, const struct iovec *parts, int many) { FAIL_IF_DUE(fd, {}, REAL(writev)(fd, parts, many)); }

int rename(const char *from, const char *to) { return due(to, "change") ? -1 : REAL(rename)(from, to); }

int fsync(int fd) { FAIL_IF_DUE(fd, {}, REAL(fsync)(fd)); }

int fdatasync(int fd) { FAIL_IF_DUE(fd, {}, REAL(fdatasync)(fd)); }

int ftruncate(int fd, off_t size) { FAIL_IF_DUE(fd, {}, REAL(ftruncate)(fd, size)); }

int ftruncate64(int fd, off64_t size) { FAIL_IF_DUE(fd, {}, REAL(ftruncate64)(fd, size)); }

#define OPEN(name, before, path, ...)                 \
  int name before {                                   \
    mode_t mode = 0;                                  \
    if (flags & (O_CREAT | __O_TMPFILE)) {            \
      va_list rest;                                   \
      va_start(rest, flags);                          \
      mode = va_arg(rest, mode_t);                    \
      va_end(rest);                                   \
    }                                                 \
    if (path && due(path, "open")) return -1;         \
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
