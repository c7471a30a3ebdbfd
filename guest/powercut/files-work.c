/*
 * scarp-files work: makes files durable in each way that Linux has, and writes
 * down each success as a promise. What the lines promise:
 *
 *   file W/f V     file f has version V: written to another file, fsync,
 *                  rename, fsync of the folder
 *   going W/f      file f is about to be deleted
 *   gone W/f V     file f was deleted, and the folder synced; its last
 *                  version was V
 *   log W/log N    the log has N records: appended, fdatasync
 *   block W/b I V  block I of file b has version V: written in place, with
 *                  fdatasync (blocks) or O_DIRECT and O_DSYNC (direct)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE /* O_DIRECT, sync_file_range() */
#include "files.h"
#include "promise.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    unsigned worker;
    char folder[512];
    int folder_fd, log_fd, blocks_fd, direct_fd;
    uint64_t random;
    uint64_t version; /* version that was given out last */
    uint64_t file[FILES]; /* version of each file; 0: there is none */
    uint64_t gone[FILES];
    uint64_t records;
    void *bytes;
} Worker;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        fail(what);
    }
}

static unsigned draw(Worker *w, unsigned n)
{
    w->random = files_word(7, w->random, w->worker);
    return w->random % n;
}

static void write_all(int fd, const void *bytes, size_t n, const char *what)
{
    must(write(fd, bytes, n) == (ssize_t)n, what);
}

/* Returns a path in the worker's folder, valid until the next call. */
static const char *path(const Worker *w, const char *format, unsigned number)
{
    static char text[1024];
    int n = snprintf(text, sizeof(text), "%s/", w->folder);

    snprintf(text + n, sizeof(text) - n, format, number);
    return text;
}

static void replace(Worker *w)
{
    unsigned i = draw(w, FILES);
    size_t n = 8 * (1 + draw(w, FILE_BYTES / 8));
    char aside[1024];
    int fd;

    files_fill(w->bytes, n, files_tag(w->worker, 'f', i), ++w->version);
    strcpy(aside, path(w, "f%u.new", i));
    fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    must(fd >= 0, aside);
    write_all(fd, w->bytes, n, aside);
    must(!fsync(fd) && !close(fd), aside);
    must(!rename(aside, path(w, "f%u", i)), aside);
    must(!fsync(w->folder_fd), w->folder);
    w->file[i] = w->version;
    promise("file w%u/f%u %llu", w->worker, i, (unsigned long long)w->version);
}

static void delete(Worker *w)
{
    unsigned i = draw(w, FILES);

    if (!w->file[i]) {
        return;
    }
    promise("going w%u/f%u", w->worker, i);
    must(!unlink(path(w, "f%u", i)), "unlink");
    must(!fsync(w->folder_fd), w->folder);
    promise("gone w%u/f%u %llu", w->worker, i, (unsigned long long)w->file[i]);
    w->file[i] = 0;
}

static void append(Worker *w)
{
    files_fill(w->bytes, RECORD_BYTES, files_tag(w->worker, 'l', w->records),
               1);
    write_all(w->log_fd, w->bytes, RECORD_BYTES, "log");
    must(!fdatasync(w->log_fd), "log");
    w->records++;
    promise("log w%u/log %llu", w->worker, (unsigned long long)w->records);
}

/*
 * Fills w->bytes with block i. Each sector has the version, because a power cut
 * may tear a write in place.
 */
static void fill_block(Worker *w, char kind, unsigned i)
{
    w->version++;
    for (unsigned at = 0; at < BLOCK_BYTES; at += SECTOR_BYTES) {
        files_fill((char *)w->bytes + at, SECTOR_BYTES,
                   files_tag(w->worker, kind, i * BLOCK_BYTES + at),
                   w->version);
    }
}

static void overwrite(Worker *w, const char *name, int fd, bool sync)
{
    unsigned i = draw(w, BLOCKS);

    fill_block(w, name[0], i);
    must(pwrite(fd, w->bytes, BLOCK_BYTES, (off_t)i * BLOCK_BYTES) ==
             BLOCK_BYTES, name);
    must(!sync || !fdatasync(fd), name);
    promise("block w%u/%s %u %llu", w->worker, name, i,
            (unsigned long long)w->version);
}

/* Writes a file without waiting, so that the drive's cache has data to lose. */
static void noise(Worker *w)
{
    int fd = open(path(w, "noise%u", draw(w, 4)), O_WRONLY | O_CREAT, 0666);

    must(fd >= 0, "noise");
    files_fill(w->bytes, FILE_BYTES, 0, ++w->version);
    write_all(fd, w->bytes, FILE_BYTES, "noise");
    sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    close(fd);
}

static int open_blocks(Worker *w, const char *name, int flags)
{
    int fd = open(path(w, name, 0), O_RDWR | O_CREAT, 0666);

    must(fd >= 0, name);
    for (unsigned i = 0; i < BLOCKS; i++) {
        fill_block(w, name[0], i);
        write_all(fd, w->bytes, BLOCK_BYTES, name);
    }
    must(!fsync(fd) && !close(fd), name);
    fd = open(path(w, name, 0), O_RDWR | flags);
    must(fd >= 0, name);
    return fd;
}

static void begin(Worker *w, const char *folder, unsigned number, unsigned seed)
{
    w->worker = number;
    w->random = seed;
    must(!posix_memalign(&w->bytes, BLOCK_BYTES, FILE_BYTES), "memory");
    snprintf(w->folder, sizeof(w->folder), "%s/w%u", folder, number);
    must(!mkdir(w->folder, 0777), w->folder);
    w->folder_fd = open(w->folder, O_RDONLY | O_DIRECTORY);
    must(w->folder_fd >= 0, w->folder);
    w->blocks_fd = open_blocks(w, "blocks", 0);
    w->direct_fd = open_blocks(w, "direct", O_DIRECT | O_DSYNC);
    w->log_fd = open(path(w, "log", 0), O_WRONLY | O_CREAT | O_APPEND, 0666);
    must(w->log_fd >= 0, "log");
    sync();
    promise("log w%u/log 0", number);
}

static void work(Worker *w, unsigned operations)
{
    for (unsigned i = 0; i < operations; i++) {
        switch (draw(w, 10)) {
        case 0: case 1: case 2:
            replace(w);
            break;
        case 3:
            delete(w);
            break;
        case 4: case 5:
            append(w);
            break;
        case 6:
            overwrite(w, "blocks", w->blocks_fd, true);
            break;
        case 7: case 8:
            overwrite(w, "direct", w->direct_fd, false);
            break;
        default:
            noise(w);
            break;
        }
    }
}

int files_work(const char *folder, unsigned operations, unsigned seed)
{
    int status, worst = 0;

    for (unsigned i = 0; i < WORKERS; i++) {
        pid_t pid = fork();

        must(pid >= 0, "fork");
        if (!pid) {
            Worker w = { 0 };

            begin(&w, folder, i, seed);
            work(&w, operations);
            exit(0);
        }
    }
    while (wait(&status) > 0) {
        worst |= status;
    }
    return worst ? 1 : 0;
}
