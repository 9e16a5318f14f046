// Lets one call that changes a file below FAULT_UNDER fail: the one of number FAULT_AT of its process.
// FAULT_ERRNO is the error; with FAULT_TORN, a write puts half of its bytes into the file first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
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

static int is_due(int descriptor) {
  const char *at = getenv("FAULT_AT"), *mark = getenv("FAULT_MARK");
  char path[MOST];
  if (!at || !mark || !is_below(descriptor, path)) return 0;
  if (__sync_add_and_fetch(&calls, 1) != atol(at)) return 0;
  // Only the first process that comes so far; whoever starts in its place goes on.
  int made = open(mark, O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (made < 0) return 0;
  dprintf(made, "%s", path);
  close(made);
  return 1;
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
