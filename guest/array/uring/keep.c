/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 4096u

/* The file begins with it; marks, then buffers, at whole pages. */
typedef struct {
    char magic[8];
    unsigned char array[sizeof(((ArrayLabel *)0)->array)];
    uint64_t buffers, page_bytes;
} Head;

static bool failed(char *error, const char *path, const char *what)
{
    snprintf(error, ARRAY_ERROR_BYTES, "%.100s: %s", path, what);
    return false;
}

static size_t marks_bytes(uint64_t buffers)
{
    return (buffers * sizeof(uint64_t) + 4095) / 4096 * 4096;
}

static bool map(Keep *k, int fd, uint64_t buffers, uint64_t page_bytes)
{
    k->buffers = buffers;
    k->page_bytes = page_bytes;
    k->bytes = HEAD_BYTES + marks_bytes(buffers) + buffers * page_bytes;
    k->base = mmap(NULL, k->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (k->base == MAP_FAILED) {
        k->base = NULL;
        return false;
    }
    k->marks = (uint64_t *)((char *)k->base + HEAD_BYTES);
    k->memory = (char *)k->base + HEAD_BYTES + marks_bytes(buffers);
    return true;
}

bool keep_make(Keep *k, const char *path, const ArrayLabel *array,
               uint64_t buffers, char *error)
{
    Head head = {
        .magic = "SCARPCCH", .buffers = buffers,
        .page_bytes = array->page_bytes,
    };
    char name[4096];
    bool good;
    int fd;

    memcpy(head.array, array->array, sizeof(head.array));
    snprintf(name, sizeof(name), "%s.new", path);
    fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return failed(error, name, strerror(errno));
    }
    /* All of it now: later the lack of room would be a signal. */
    errno = posix_fallocate(fd, 0, HEAD_BYTES + marks_bytes(buffers) +
                                   buffers * array->page_bytes);
    good = !errno && map(k, fd, buffers, array->page_bytes);
    if (good) {
        memcpy(k->base, &head, sizeof(head));
    } else {
        failed(error, name, strerror(errno));
    }
    close(fd);
    return good;
}

bool keep_open(Keep *k, const char *path, const ArrayLabel *array, char *error)
{
    Head head = { 0 };
    struct stat st;
    bool good;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    k->base = NULL;
    if (fd < 0) {
        return errno == ENOENT ? true : failed(error, path, strerror(errno));
    }
    good = !fstat(fd, &st) &&
           pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
           !memcmp(head.magic, "SCARPCCH", sizeof(head.magic)) &&
           head.page_bytes == array->page_bytes &&
           head.buffers < (uint64_t)st.st_size / head.page_bytes;
    if (!good) {
        failed(error, path, "not the cache of an array");
    } else if (memcmp(head.array, array->array, sizeof(head.array))) {
        good = failed(error, path, "the cache of another array");
    } else if (!map(k, fd, head.buffers, head.page_bytes) ||
               (uint64_t)st.st_size < k->bytes) {
        good = failed(error, path, "cannot be mapped");
        keep_close(k);
    }
    close(fd);
    return good;
}

bool keep_take_over(const char *path, char *error)
{
    char name[4096];

    snprintf(name, sizeof(name), "%s.new", path);
    return !rename(name, path) ? true : failed(error, path, strerror(errno));
}

void keep_remove(const char *path)
{
    unlink(path);
}

void keep_close(Keep *k)
{
    if (k->base) {
        munmap(k->base, k->bytes);
        k->base = NULL;
    }
}
