/*
 * Drives, and the calls by which a server reaches them and its files.
 *
 * The linker gives this file the server's calls (--wrap); those that are not
 * for a drive go on to the library.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "world.h"
#include "wrapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

World *the_world;

static const char prefix[] = "drive:";

/* ---- Contents ---------------------------------------------------------- */

/* Bytes that are stored: the head, and the data. */
static uint64_t stored(const World *w)
{
    return HEAD_BYTES + w->disk_bytes - ARRAY_DATA_OFFSET;
}

/* Where the sector at an offset is kept; -1: nowhere, it is zeroes. */
static int64_t place_of(const World *w, uint64_t at)
{
    if (at < HEAD_BYTES) {
        return at;
    }
    if (at < ARRAY_DATA_OFFSET || at >= w->disk_bytes) {
        return -1;
    }
    return HEAD_BYTES + at - ARRAY_DATA_OFFSET;
}

static void make_disk(const World *w, Disk *d)
{
    d->bytes = w->disk_bytes;
    d->now = g_malloc0(stored(w));
    d->durable = g_malloc0(stored(w));
    d->in_cache = g_new0(bool, stored(w) / SECTOR_BYTES);
    d->fails = g_new0(uint8_t, stored(w) / SECTOR_BYTES);
    d->fd = -1;
}

Disk disk_copy(const World *w, const Disk *disk)
{
    Disk copy;

    make_disk(w, &copy);
    disk_restore(w, &copy, disk);
    return copy;
}

void disk_restore(const World *w, Disk *disk, const Disk *from)
{
    disk->bytes = from->bytes;
    memcpy(disk->now, from->now, stored(w));
    memcpy(disk->durable, from->durable, stored(w));
    memcpy(disk->in_cache, from->in_cache, stored(w) / SECTOR_BYTES);
}

void disk_free(Disk *disk)
{
    g_free(disk->now);
    g_free(disk->durable);
    g_free(disk->in_cache);
    g_free(disk->fails);
}

void world_all_written(World *w)
{
    w->unwritten = 0;
    for (unsigned i = 0; i < w->n_disks; i++) {
        memset(w->disks[i].fails, 0, stored(w) / SECTOR_BYTES);
    }
}

void world_forget_failures(World *w)
{
    world_all_written(w);
    w->flush_failed = false;
    for (unsigned i = 0; i < w->n_disks; i++) {
        w->disks[i].flush_fails = 0;
    }
}

static void put_sector(World *w, unsigned disk, uint64_t at, const void *data)
{
    Disk *d = &w->disks[disk];
    int64_t to = place_of(w, at);

    if (to >= 0) {
        if (data) {
            memcpy(d->now + to, data, SECTOR_BYTES);
        } else {
            memset(d->now + to, 0, SECTOR_BYTES);
        }
        d->in_cache[to / SECTOR_BYTES] = true;
    }
}

/* A write ended.  True: it failed, and that was its last try. */
static bool note_write(World *w, unsigned disk, uint64_t at, uint64_t n,
                       bool fails)
{
    bool last = false;

    for (uint64_t i = 0; i < n; i += SECTOR_BYTES) {
        int64_t to = place_of(w, at + i);

        if (to >= 0) {
            uint8_t *count = &w->disks[disk].fails[to / SECTOR_BYTES];

            w->unwritten -= *count > w->retries;
            *count = fails ? MIN(*count + 1, UINT8_MAX) : 0;
            w->unwritten += *count > w->retries;
            last |= *count > w->retries;
        }
    }
    return last;
}

/* A power cut leaves it now. */
static void keep_sector(Disk *d, uint64_t sector)
{
    memcpy(d->durable + sector * SECTOR_BYTES, d->now + sector * SECTOR_BYTES,
           SECTOR_BYTES);
}

/* ---- I/O --------------------------------------------------------------- */

/* Whether it happens: 0, or what it ends with. */
static int begin_io(World *w, unsigned disk, bool changes)
{
    w->ios++;
    if (w->dead) {
        return EIO;
    }
    w->writes += changes;
    if (w->dies_at && w->ios >= w->dies_at) {
        world_die(w);
        return EIO;
    }
    if (draw_below(&w->draw, 1000) < w->err[disk]) {
        return EIO;
    }
    return 0;
}

/* A torn one: some first sectors reach the drive, or some at random. */
static void tear(World *w, unsigned disk, const uint8_t *data, uint64_t at,
                 uint64_t n)
{
    uint64_t sectors = n / SECTOR_BYTES;
    uint64_t some = draw_below(&w->draw, sectors + 1);
    bool any = draw_chance(&w->draw, 30);

    for (uint64_t i = 0; i < sectors; i++) {
        if (any ? draw_chance(&w->draw, 50) : i < some) {
            put_sector(w, disk, at + i * SECTOR_BYTES, data + i * SECTOR_BYTES);
        }
    }
}

int disk_read(World *w, unsigned disk, void *data, uint64_t at, uint64_t n)
{
    int code = begin_io(w, disk, false);

    for (uint64_t i = 0; i < n && !code; i += SECTOR_BYTES) {
        int64_t from = place_of(w, at + i);

        if (from >= 0) {
            memcpy((char *)data + i, w->disks[disk].now + from,
                   MIN(SECTOR_BYTES, n - i));
        } else {
            memset((char *)data + i, 0, MIN(SECTOR_BYTES, n - i));
        }
    }
    w->failures += code != 0;
    return code;
}

int disk_write(World *w, unsigned disk, const void *data, uint64_t at,
               uint64_t n)
{
    bool dead = w->dead;
    int code = begin_io(w, disk, true);

    if (code && !dead) {
        tear(w, disk, data, at, n); /* also where the server dies of it */
    }
    for (uint64_t i = 0; i < n && !code; i += SECTOR_BYTES) {
        put_sector(w, disk, at + i, (const char *)data + i);
    }
    /* Labels are written once. */
    if (!w->dead && (note_write(w, disk, at, n, code) || at < HEAD_BYTES)) {
        w->failures += code != 0;
    }
    return code;
}

int disk_flush(World *w, unsigned disk)
{
    Disk *d = &w->disks[disk];
    int code = begin_io(w, disk, false);

    if (code) {
        if (!w->dead && d->flush_fails++ >= w->retries) {
            w->flush_failed = true;
            w->failures++;
        }
        return code;
    }
    d->flush_fails = 0;
    for (uint64_t i = 0; i < stored(w) / SECTOR_BYTES; i++) {
        if (d->in_cache[i]) {
            keep_sector(d, i);
            d->in_cache[i] = false;
        }
    }
    return 0;
}

/* A drive heeds it or not, sector by sector, and may say that it failed. */
int disk_discard(World *w, unsigned disk, uint64_t at, uint64_t n)
{
    int code = begin_io(w, disk, true);

    for (uint64_t i = 0; i < n && !w->dead; i += SECTOR_BYTES) {
        if (draw_chance(&w->draw, code ? 30 : 70)) {
            put_sector(w, disk, at + i, NULL);
        }
    }
    if (!w->dead) {
        w->failures += code != 0;
    }
    return code;
}

unsigned disk_of(const World *w, int fd)
{
    for (unsigned i = 0; i < w->n_disks; i++) {
        if (w->disks[i].fd == fd) {
            return i;
        }
    }
    return MOST_DISKS;
}

/* ---- The end of a server, and of a machine ------------------------------ */

static char *keep_path(const World *w, unsigned keep, bool fresh)
{
    return g_strconcat(w->keep[keep], fresh ? ".new" : "", NULL);
}

static void keep_files_clear(KeepFiles *files)
{
    for (unsigned i = 0; i < KEEPS; i++) {
        g_clear_pointer(&files->bytes[i][0], g_free);
        g_clear_pointer(&files->bytes[i][1], g_free);
    }
}

void world_die(World *w)
{
    g_assert(!w->dead);
    w->dead = true;
    keep_files_clear(&w->left);
    for (unsigned i = 0; i < KEEPS; i++) {
        for (int fresh = 0; fresh < 2; fresh++) {
            g_autofree char *path = keep_path(w, i, fresh);

            g_file_get_contents(path, &w->left.bytes[i][fresh],
                                &w->left.length[i][fresh], NULL);
        }
    }
    ring_die(w);
}

void world_live(World *w)
{
    for (unsigned i = 0; i < KEEPS; i++) {
        for (int fresh = 0; fresh < 2; fresh++) {
            g_autofree char *path = keep_path(w, i, fresh);

            unlink(path);
            if (w->left.bytes[i][fresh] &&
                !g_file_set_contents_full(path, w->left.bytes[i][fresh],
                                          w->left.length[i][fresh],
                                          G_FILE_SET_CONTENTS_NONE, 0600,
                                          NULL)) {
                g_error("%s: cannot be written", path);
            }
        }
    }
    keep_files_clear(&w->left);
    w->dead = false;
    w->dies_at = 0;
}

void world_cut_power(World *w)
{
    for (unsigned i = 0; i < w->n_disks; i++) {
        Disk *d = &w->disks[i];

        for (uint64_t s = 0; s < stored(w) / SECTOR_BYTES; s++) {
            if (d->in_cache[s] && draw_chance(&w->draw, 50)) {
                keep_sector(d, s);
            }
            d->in_cache[s] = false;
        }
        memcpy(d->now, d->durable, stored(w));
    }
    for (unsigned i = 0; i < KEEPS; i++) {
        for (int fresh = 0; fresh < 2; fresh++) {
            g_autofree char *path = keep_path(w, i, fresh);

            unlink(path);
        }
    }
}

void world_init(World *w, uint64_t seed, unsigned n_disks, uint64_t bytes)
{
    const char *folder = g_file_test("/dev/shm", G_FILE_TEST_IS_DIR)
                             ? "/dev/shm" : g_get_tmp_dir();

    memset(w, 0, sizeof(*w));
    w->draw.state = seed;
    w->n_disks = n_disks;
    w->disk_bytes = bytes;
    for (unsigned i = 0; i < n_disks; i++) {
        make_disk(w, &w->disks[i]);
    }
    for (unsigned i = 0; i < KEEPS; i++) {
        w->keep[i] = g_strdup_printf("%s/scarp-hunt-%d-%u", folder, getpid(),
                                     i);
    }
    the_world = w;
    world_live(w); /* no files are there yet */
}

void world_clear(World *w)
{
    keep_files_clear(&w->left);
    world_live(w);
    for (unsigned i = 0; i < w->n_disks; i++) {
        disk_free(&w->disks[i]);
    }
    for (unsigned i = 0; i < KEEPS; i++) {
        g_free(w->keep[i]);
    }
    the_world = NULL;
}

const char *world_path(unsigned disk)
{
    static const char *const paths[MOST_DISKS] = {
        "drive:0", "drive:1", "drive:2", "drive:3", "drive:4", "drive:5",
        "drive:6", "drive:7",
    };

    return paths[disk];
}

/* ---- The server's calls ------------------------------------------------ */

/* A file as large as the drive stands for it: only that is asked of it. */
static int open_drive(World *w, unsigned disk)
{
    Disk *d = &w->disks[disk];

    if (d->fd >= 0) {
        errno = EBUSY;
        return -1;
    }
    d->fd = memfd_create("drive", MFD_CLOEXEC);
    if (d->fd < 0 || ftruncate(d->fd, d->bytes)) {
        g_error("memory for a drive: %s", strerror(errno));
    }
    return d->fd;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    int mode;

    va_start(list, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
    va_end(list);
    if (the_world && !strncmp(path, prefix, strlen(prefix))) {
        return open_drive(the_world, path[strlen(prefix)] - '0');
    }
    return __real_open(path, flags, mode);
}

int __wrap_close(int fd)
{
    unsigned disk = the_world ? disk_of(the_world, fd) : MOST_DISKS;

    if (disk < MOST_DISKS) {
        the_world->disks[disk].fd = -1;
    }
    return __real_close(fd);
}

static ssize_t ended(int code, size_t n)
{
    errno = code;
    return code ? -1 : (ssize_t)n;
}

ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at)
{
    unsigned disk = the_world ? disk_of(the_world, fd) : MOST_DISKS;
    uint64_t bytes;

    if (disk == MOST_DISKS) {
        return __real_pread(fd, data, n, at);
    }
    bytes = the_world->disks[disk].bytes;
    n = (uint64_t)at >= bytes ? 0 : MIN(n, bytes - at);
    return ended(disk_read(the_world, disk, data, at, n), n);
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at)
{
    unsigned disk = the_world ? disk_of(the_world, fd) : MOST_DISKS;

    if (disk == MOST_DISKS) {
        return __real_pwrite(fd, data, n, at);
    }
    return ended(disk_write(the_world, disk, data, at, n), n);
}

int __wrap_fsync(int fd)
{
    unsigned disk = the_world ? disk_of(the_world, fd) : MOST_DISKS;
    int code;

    if (disk == MOST_DISKS) {
        return __real_fsync(fd);
    }
    code = disk_flush(the_world, disk);
    the_world->failures += code != 0; /* this one is not tried again */
    return ended(code, 0);
}

int __wrap_posix_fallocate(int fd, off_t at, off_t n)
{
    if (the_world && the_world->no_room) {
        the_world->failures++;
        return ENOSPC;
    }
    return __real_posix_fallocate(fd, at, n);
}

/* Nothing that is waited for here comes later. */
int __wrap_usleep(useconds_t us)
{
    (void)us;
    return 0;
}

/* So that its laws can be looked at. */
Array *__wrap_array_new(const ArrayConfig *config, const ArrayOps *ops,
                        void *opaque, char *error)
{
    Array *array = __real_array_new(config, ops, opaque, error);

    if (the_world) {
        the_world->array = array;
    }
    return array;
}

void __wrap_array_free(Array *array)
{
    if (the_world) {
        the_world->array = NULL;
    }
    __real_array_free(array);
}
