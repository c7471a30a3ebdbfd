/*
 * An array on files as drives, on io_uring: what its tests share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TEST_ARRAY_URING_FILES_H
#define TEST_ARRAY_URING_FILES_H

#include "uring.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <liburing.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 3
#define DRIVE_BYTES ((1 << 20) + 128 * 65536) /* 8 MiB of data */
#define PAGE 4096u
#define KEYS "cache_bytes=1572864" /* a sixteenth of the data */

typedef struct {
    char *folder;
    char *paths[N];
    ArrayUringThreads threads;
} Files;

/* Some containers forbid it; then nothing of these tests can be known. */
static inline bool has_io_uring(void)
{
    struct io_uring ring;
    int code = io_uring_queue_init(1, &ring, 0);

    if (code) {
        g_printerr("io_uring: %s\n", strerror(-code));
        return false;
    }
    io_uring_queue_exit(&ring);
    return true;
}

static inline void files_init(Files *f)
{
    f->threads = ARRAY_URING_AUTO;
    f->folder = g_dir_make_tmp("array-XXXXXX", NULL);
    g_assert_nonnull(f->folder);
    for (int i = 0; i < N; i++) {
        g_autofree char *name = g_strdup_printf("drive%d", i);
        int fd;

        f->paths[i] = g_build_filename(f->folder, name, NULL);
        fd = g_creat(f->paths[i], 0600);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(ftruncate(fd, DRIVE_BYTES), ==, 0);
        close(fd);
    }
}

static inline void files_clear(Files *f)
{
    for (int i = 0; i < N; i++) {
        g_unlink(f->paths[i]);
        g_free(f->paths[i]);
    }
    g_rmdir(f->folder);
    g_free(f->folder);
}

static inline const char *const *paths(const Files *f)
{
    return (const char *const *)f->paths;
}

static inline void format(const Files *f)
{
    char error[ARRAY_ERROR_BYTES] = "";

    if (!array_drives_format(paths(f), N, NULL, false, error)) {
        g_error("%s", error);
    }
}

static inline ArrayUring *start_as(const Files *f, const ArrayUringOptions *how)
{
    const char *other[N] = { f->paths[2], f->paths[0], f->paths[1] };
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;
    ArrayUring *u;

    /*
     * In whatever order they are named.  On a busy host the kernel may need
     * long to take away what a killed process had.
     */
    for (int i = 0; !array_drives_open(&drives, other, N, error); i++) {
        if (i == 100 || !strstr(error, "is in use")) {
            g_error("%s", error);
        }
    }
    u = array_uring_new(&drives, how, error);
    if (!u || !array_uring_serve(u, error)) {
        g_error("%s", error);
    }
    return u;
}

static inline ArrayUring *start_with(const Files *f, const char *keep)
{
    ArrayUringOptions how = {
        .keys = KEYS, .keep = keep, .threads = f->threads,
    };

    return start_as(f, &how);
}

static inline ArrayUring *start(const Files *f)
{
    return start_with(f, NULL);
}

static inline ArrayRequest *next_end(ArrayUring *u)
{
    ArrayRequest *r;

    while (!(r = array_uring_reap(u))) {
        array_uring_wait(u);
    }
    return r;
}

static inline int one(ArrayUring *u, ArrayOp op, uint64_t offset,
                      uint64_t length, void *data)
{
    ArrayRequest r = { .op = op, .offset_bytes = offset,
                       .length_bytes = length, .data = data };

    array_uring_submit(u, &r);
    g_assert_true(next_end(u) == &r);
    return r.error;
}

/* What write number version puts on a page. */
static inline void fill(uint64_t *words, uint64_t page, uint64_t version)
{
    for (size_t i = 0; i < PAGE / 8; i += 2) {
        words[i] = page;
        words[i + 1] = version;
    }
}

static inline void assert_page(const uint64_t *words, uint64_t page,
                               uint64_t version)
{
    for (size_t i = 0; i < PAGE / 8; i += 2) {
        g_assert_cmpuint(words[i], ==, version ? page : 0);
        g_assert_cmpuint(words[i + 1], ==, version);
    }
}

/* Pages in turn, each time with the next version, for ever. */
static inline void write_in_turn(const Files *f, const char *keep,
                                 uint64_t pages, uint64_t *acknowledged)
{
    ArrayUring *u = start_with(f, keep);
    uint64_t words[PAGE / 8];

    for (uint64_t n = *acknowledged;; n++) {
        fill(words, n % pages, n / pages + 1);
        if (one(u, ARRAY_OP_WRITE, n % pages * PAGE, PAGE, words)) {
            _exit(1);
        }
        __atomic_store_n(acknowledged, n + 1, __ATOMIC_RELEASE);
    }
}

static inline void assert_contains(const char *text, const char *part)
{
    if (!text || !strstr(text, part) || strchr(text, '\n')) {
        g_error("'%s' does not say '%s'", text, part);
    }
}

/* A child that is killed with n pages acknowledged and in its cache. */
static inline void leave_behind(const Files *f, const char *keep, uint64_t n)
{
    uint64_t *acknowledged = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();

    if (!child) {
        write_in_turn(f, keep, N * 128 * 16, acknowledged);
    }
    while (__atomic_load_n(acknowledged, __ATOMIC_ACQUIRE) < n) {
        g_assert_cmpint(waitpid(child, NULL, WNOHANG), ==, 0);
        g_usleep(100);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(acknowledged, 4096);
    g_assert_true(g_file_test(keep, G_FILE_TEST_EXISTS));
}

/* NULL when it starts; else what it says. */
static inline char *start_error(const Files *f, const char *keep)
{
    ArrayUringOptions how = {
        .keys = KEYS, .keep = keep, .threads = f->threads,
    };
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;
    ArrayUring *u = NULL;

    for (int i = 0; !array_drives_open(&drives, paths(f), N, error); i++) {
        if (i == 100 || !strstr(error, "is in use")) {
            return g_strdup(error);
        }
    }
    u = array_uring_new(&drives, &how, error);
    if (!u) {
        return g_strdup(error);
    }
    g_assert_true(array_uring_serve(u, error));
    g_assert_cmpint(array_uring_flush(u), ==, 0);
    array_uring_free(u);
    return NULL;
}

static inline void assert_first_pages(ArrayUring *u, uint64_t n,
                                      uint64_t version)
{
    uint64_t words[PAGE / 8];

    for (uint64_t i = 0; i < n; i++) {
        g_assert_cmpint(one(u, ARRAY_OP_READ, i * PAGE, PAGE, words), ==, 0);
        assert_page(words, i, version);
    }
}

static inline void poke(const char *path, off_t at, uint64_t value)
{
    int fd = open(path, O_RDWR);

    g_assert_cmpint(pwrite(fd, &value, sizeof(value), at), ==, sizeof(value));
    close(fd);
}

#endif /* TEST_ARRAY_URING_FILES_H */
