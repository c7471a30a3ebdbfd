/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "keep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 4096u
#define FRESH ".new" /* suffix of a cache that does not serve yet */

/*
 * The head of the file. The marks, and then the buffers, begin at whole pages.
 */
typedef struct {
    char magic[8];
    unsigned char array[sizeof(((ArrayLabel *)0)->array)];
    uint64_t buffers, page_bytes;
    KeepRun run; /* zeroes: older than any run */
} Head;

static const char magic[8] = "SCARPCC2";

static bool failed(char *error, const char *path, const char *what)
{
    snprintf(error, ARRAY_ERROR_BYTES, "%.100s: %s", path, what);
    return false;
}

static size_t marks_bytes(uint64_t buffers)
{
    return (buffers * sizeof(uint64_t) + 4095) / 4096 * 4096;
}

static size_t file_bytes(uint64_t buffers, uint64_t page_bytes)
{
    return HEAD_BYTES + marks_bytes(buffers) + buffers * page_bytes;
}

static bool is_at(int fd, const char *path)
{
    struct stat file, there;

    return !fstat(fd, &file) && !stat(path, &there) &&
           file.st_dev == there.st_dev && file.st_ino == there.st_ino;
}

/*
 * Opens and locks the file. -1, and errno is set; EBUSY: another server has the
 * file, or has just renamed it.
 */
static int claim_now(const char *path, int flags)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600), code = EBUSY;

    if (fd < 0) {
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        code = errno == EWOULDBLOCK ? EBUSY : errno;
    } else if (is_at(fd, path)) {
        return fd;
    }
    close(fd);
    errno = code;
    return -1;
}

/*
 * Opens the file for exclusive use until release(). The lock belongs to the
 * file, and stays with it when the file is renamed. If the file at path is
 * renamed or removed between open() and the lock, the file that is at path then
 * is opened instead. The lock of a killed process goes when its memory is
 * freed, which may take a moment. io_uring does not delay that: a ring keeps
 * the file's pages, and not the file.
 */
static int claim(const char *path, int flags)
{
    int fd = claim_now(path, flags);

    for (int i = 0; fd < 0 && errno == EBUSY && i < 100; i++) {
        usleep(10000);
        fd = claim_now(path, flags);
    }
    return fd;
}

/*
 * Unlocks and closes the file. Closing alone would not unlock it, if a process
 * that was forked meanwhile has the file open, too.
 */
static void release(int fd)
{
    flock(fd, LOCK_UN);
    close(fd);
}

static bool not_claimed(char *error, const char *path)
{
    return failed(error, path, errno == EBUSY ? "is in use" : strerror(errno));
}

/*
 * True when the file has other hard links. Symbolic links need no check:
 * O_NOFOLLOW refuses them.
 */
static bool has_other_names(int fd)
{
    struct stat st;

    return fstat(fd, &st) || st.st_nlink > 1;
}

static bool map(Keep *k, int fd, uint64_t buffers, uint64_t page_bytes)
{
    k->fd = fd;
    k->buffers = buffers;
    k->page_bytes = page_bytes;
    k->bytes = file_bytes(buffers, page_bytes);
    k->base = mmap(NULL, k->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (k->base == MAP_FAILED) {
        k->base = NULL;
        return false;
    }
    k->marks = (uint64_t *)((char *)k->base + HEAD_BYTES);
    k->memory = (char *)k->base + HEAD_BYTES + marks_bytes(buffers);
    return true;
}

/*
 * Fills the file with `bytes` zeroes and allocates its space. False, and errno
 * is set.
 */
static bool empty(int fd, size_t bytes)
{
    if (ftruncate(fd, 0)) {
        return false;
    }
    errno = posix_fallocate(fd, 0, bytes);
    return !errno;
}

/*
 * True when path ends in FRESH. No cache that serves may have such a name: a
 * server whose path is the same without FRESH would make its new cache under
 * that name, and overwrite the file.
 */
static bool is_fresh(const char *path)
{
    size_t length = strlen(path), end = strlen(FRESH);

    return length >= end && !strcmp(path + length - end, FRESH);
}

bool keep_make(Keep *k, const char *path, const ArrayLabel *array,
               const KeepRun *run, uint64_t buffers, char *error)
{
    Head head = {
        .buffers = buffers, .page_bytes = array->page_bytes, .run = *run,
    };
    char name[4096];
    bool good;
    int fd;

    k->taken_over = false;
    memcpy(head.magic, magic, sizeof(head.magic));
    memcpy(head.array, array->array, sizeof(head.array));
    if (is_fresh(path)) {
        return failed(error, path, "must not end in " FRESH);
    }
    snprintf(name, sizeof(name), "%s" FRESH, path);
    fd = claim(name, O_CREAT | O_NOFOLLOW);
    if (fd < 0) {
        return not_claimed(error, name);
    }
    if (has_other_names(fd)) {
        release(fd);
        return failed(error, name, "is another file's name, too: remove it");
    }
    /*
     * Allocates the space now: without space, a later store would raise SIGBUS.
     */
    good = empty(fd, file_bytes(buffers, array->page_bytes)) &&
           map(k, fd, buffers, array->page_bytes);
    if (good) {
        memcpy(k->base, &head, sizeof(head));
    } else {
        failed(error, name, strerror(errno));
        unlink(name);
        release(fd);
    }
    return good;
}

/*
 * Checks the marks that a killed process has left: each must name a page of the
 * array, and at most one page may be named twice. A page that gets another
 * buffer has both buffers marked for a moment. Only one thread sets marks, so
 * this can be true of one page when the process is killed. Either buffer is
 * right then, as the write with the newer data was not acknowledged yet.
 */
static bool check_marks(const Keep *k, uint64_t n_pages, uint64_t *marked)
{
    unsigned char *seen = calloc(n_pages / 8 + 1, 1);
    bool good = seen, twice = false;

    *marked = 0;
    for (uint64_t i = 0; good && i < k->buffers; i++) {
        uint64_t page = k->marks[i] - 1;

        if (!k->marks[i]) {
            continue;
        }
        good = page < n_pages;
        if (good && seen[page / 8] >> page % 8 & 1) {
            good = !twice;
            twice = true;
        }
        if (good) {
            seen[page / 8] |= 1 << page % 8;
        }
        ++*marked;
    }
    free(seen);
    return good;
}

/*
 * True when the cache is of the last run that served, or of a later run that
 * took the cache over and ended before it served. All drives hear of a run
 * before that run has a cache. If no drive has heard of the cache's run, the
 * drives are older than the cache.
 */
static bool check_run(const KeepRun *run, const ArrayRuns *last,
                      const char *path, char *error)
{
    uint64_t number = run->number < last->served ? last->served : last->heard;
    const char *drives = run->number < last->served ? "newer" : "older";
    uint64_t id = run->number == last->served ? run->id : run->after_id;

    if (run->number < last->served || run->number > last->heard) {
        snprintf(error, ARRAY_ERROR_BYTES, "%.100s: has what run %" PRIu64 " of "
                 "the array left, but the last was %" PRIu64 ": the drives are "
                 "%s, remove it", path, run->number, number, drives);
        return false;
    }
    if (id != last->served_id) {
        snprintf(error, ARRAY_ERROR_BYTES, "%.100s: is of another run %" PRIu64
                 " of the array: the drives were put back to an earlier time "
                 "and have served since, remove it", path, run->number);
        return false;
    }
    return true;
}

/*
 * The process may be killed between any two of the stores. They are in this
 * order so that check_run() accepts the head after each of them.
 */
void keep_adopt(Keep *k, const KeepRun *run)
{
    KeepRun *head = &((Head *)k->base)->run;

    __atomic_store_n(&head->after_id, run->after_id, __ATOMIC_RELEASE);
    __atomic_store_n(&head->number, run->number, __ATOMIC_RELEASE);
    __atomic_store_n(&head->id, run->id, __ATOMIC_RELEASE);
}

bool keep_open(Keep *k, const char *path, const ArrayLabel *array,
               const ArrayRuns *last, uint64_t n_pages, bool recovers,
               char *error)
{
    Head head = { 0 };
    uint64_t marked;
    struct stat st;
    bool good, nothing = false;
    int fd = claim(path, 0);

    k->base = NULL;
    if (fd < 0) {
        return errno == ENOENT ? true : not_claimed(error, path);
    }
    good = !fstat(fd, &st) &&
           pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
           !memcmp(head.magic, magic, sizeof(head.magic));
    if (!good) {
        failed(error, path, "not the cache of an array");
    } else if (memcmp(head.array, array->array, sizeof(head.array)) ||
               head.page_bytes != array->page_bytes) {
        good = failed(error, path, "the cache of another array");
    } else if (head.buffers > (uint64_t)st.st_size / head.page_bytes ||
               (uint64_t)st.st_size < file_bytes(head.buffers,
                                                 head.page_bytes)) {
        good = failed(error, path, "is shorter than it says");
    } else if (!map(k, fd, head.buffers, head.page_bytes)) {
        good = failed(error, path, "cannot be mapped");
    } else if (!check_marks(k, n_pages, &marked)) {
        good = failed(error, path, "names pages that the array does not have, "
                      "or some twice");
    } else {
        good = check_run(&head.run, last, path, error);
        nothing = !good && !marked && !recovers;
    }
    if (!good && k->base) {
        keep_close(k);
    } else if (!good) {
        release(fd);
    }
    return good || nothing;
}

bool keep_take_over(Keep *k, const char *path, char *error)
{
    char name[4096];

    snprintf(name, sizeof(name), "%s" FRESH, path);
    k->taken_over = !rename(name, path);
    return k->taken_over ? true : failed(error, path, strerror(errno));
}

/*
 * The process may be killed between any two of the steps. At each moment the
 * file PATH is a cache of this run, and each other file has no data that is to
 * be written.
 */
bool keep_replace(Keep *k, Keep *left, const char *path, char *error)
{
    Head *head = left->base;

    memset(left->marks, 0, left->buffers * sizeof(*left->marks));
    if (!keep_take_over(k, path, error)) {
        return false;
    }
    /* a head of no run: nobody can recover with the file */
    head->run = (KeepRun) { 0 };
    return true;
}

void keep_end(Keep *k, const char *path, bool all_on_drives)
{
    char name[4096];

    if (!k->taken_over) {
        snprintf(name, sizeof(name), "%s" FRESH, path);
        unlink(name);
    } else if (all_on_drives) {
        unlink(path);
    }
    keep_close(k);
}

void keep_close(Keep *k)
{
    if (k->base) {
        munmap(k->base, k->bytes);
        release(k->fd);
        k->base = NULL;
    }
}
