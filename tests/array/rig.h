/*
 * An array on drives that do what a test says: every I/O waits until the test
 * ends it, well or badly.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TEST_ARRAY_RIG_H
#define TEST_ARRAY_RIG_H

#include "internal.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define PAGE 4096u

typedef struct {
    Array *array;
    ArrayConfig config;
    uint64_t drive_bytes;
    void *memory;
    uint64_t *marks;
    unsigned char **disks; /* what a power cut leaves, and a reader sees */
    GPtrArray *ios;        /* ArrayIo under way, in the order of issue */
    GPtrArray *done;       /* ArrayRequest, in the order of their ends */
} Rig;

static inline void rig_issue(void *opaque, ArrayIo *io)
{
    Rig *rig = opaque;

    g_ptr_array_add(rig->ios, io);
}

static inline void rig_done(void *opaque, ArrayRequest *request)
{
    Rig *rig = opaque;

    g_ptr_array_add(rig->done, request);
}

static inline void rig_check(Rig *rig)
{
    char why[ARRAY_ERROR_BYTES] = "";

    if (!array_check(rig->array, why)) {
        g_error("%s", why);
    }
}

static inline void rig_init(Rig *rig, uint32_t drives, uint64_t drive_pages,
                            const char *keys)
{
    static const ArrayOps ops = { rig_issue, rig_done };
    uint64_t sizes[ARRAY_MAX_DRIVES];
    char error[ARRAY_ERROR_BYTES] = "";

    memset(rig, 0, sizeof(*rig));
    array_config_init(&rig->config);
    g_assert_true(array_config_parse(&rig->config, "stripe_bytes=4096", error));
    if (!array_config_parse(&rig->config, keys, error)) {
        g_error("%s", error);
    }
    rig->drive_bytes = drive_pages * PAGE;
    for (uint32_t i = 0; i < drives; i++) {
        sizes[i] = rig->drive_bytes;
    }
    rig->config.n_drives = drives;
    rig->config.drive_bytes = sizes;
    g_assert_true(array_config_check(&rig->config, error));
    rig->memory = g_malloc0(array_memory_bytes(&rig->config));
    rig->config.memory = rig->memory;
    rig->marks = g_new0(uint64_t, array_buffers(&rig->config));
    rig->config.marks = rig->marks;
    rig->disks = g_new(unsigned char *, drives);
    for (uint32_t i = 0; i < drives; i++) {
        rig->disks[i] = g_malloc0(rig->drive_bytes);
    }
    rig->ios = g_ptr_array_new();
    rig->done = g_ptr_array_new();
    rig->array = array_new(&rig->config, &ops, rig, error);
    g_assert_nonnull(rig->array);
    rig_check(rig);
}

static inline void rig_clear(Rig *rig)
{
    array_free(rig->array);
    for (uint32_t i = 0; i < rig->config.n_drives; i++) {
        g_free(rig->disks[i]);
    }
    g_free(rig->disks);
    g_free(rig->memory);
    g_free(rig->marks);
    g_ptr_array_free(rig->ios, TRUE);
    g_ptr_array_free(rig->done, TRUE);
}

static inline ArrayIo *rig_io(Rig *rig, guint index)
{
    g_assert_cmpuint(index, <, rig->ios->len);
    return rig->ios->pdata[index];
}

/* It happens now; sectors below torn of a write that fails reach the disk. */
static inline void rig_end_torn(Rig *rig, ArrayIo *io, int error,
                                uint32_t torn)
{
    unsigned char *disk = rig->disks[io->drive] + io->offset_bytes;

    g_assert_true(g_ptr_array_remove(rig->ios, io));
    g_assert_cmpuint(io->offset_bytes + io->length_bytes, <=,
                     rig->drive_bytes);
    if (io->op == ARRAY_IO_WRITE) {
        memcpy(disk, io->data, error ? torn * 512 : io->length_bytes);
    } else if (io->op == ARRAY_IO_READ && !error) {
        memcpy(io->data, disk, io->length_bytes);
    } else if (io->op == ARRAY_IO_DISCARD && !error) {
        memset(disk, 0, io->length_bytes);
    }
    array_io_done(rig->array, io, error);
    rig_check(rig);
}

static inline void rig_end(Rig *rig, ArrayIo *io, int error)
{
    rig_end_torn(rig, io, error, 0);
}

/* End all I/O, those that follow too. */
static inline void rig_end_all(Rig *rig)
{
    while (rig->ios->len) {
        rig_end(rig, rig->ios->pdata[0], 0);
    }
}

/* The test owns the request and its data until rig_forget(). */
static inline ArrayRequest *rig_submit(Rig *rig, ArrayOp op, uint64_t offset,
                                       uint64_t length, int byte)
{
    ArrayRequest *r = g_new0(ArrayRequest, 1);

    r->op = op;
    r->offset_bytes = offset;
    r->length_bytes = length;
    r->data = g_malloc(MAX(length, 1));
    memset(r->data, byte, length);
    array_submit(rig->array, r);
    rig_check(rig);
    return r;
}

static inline bool rig_is_done(const Rig *rig, const ArrayRequest *r)
{
    for (guint i = 0; i < rig->done->len; i++) {
        if (rig->done->pdata[i] == r) {
            return true;
        }
    }
    return false;
}

/* It must have ended, with this error. */
static inline void rig_forget(Rig *rig, ArrayRequest *r, int error)
{
    g_assert_true(rig_is_done(rig, r));
    g_assert_cmpint(r->error, ==, error);
    g_ptr_array_remove(rig->done, r);
    g_free(r->data);
    g_free(r);
}

/* A whole page, expected to be acknowledged at once. */
static inline void rig_write(Rig *rig, uint64_t number, int byte)
{
    rig_forget(rig, rig_submit(rig, ARRAY_OP_WRITE, number * PAGE, PAGE, byte),
               0);
}

static inline void rig_hit(Rig *rig, uint64_t number)
{
    rig_forget(rig, rig_submit(rig, ARRAY_OP_READ, number * PAGE, PAGE, 0), 0);
}

static inline uint32_t rig_page(const Rig *rig, uint64_t number)
{
    uint32_t page = array_find(rig->array, array_set_of(rig->array, number),
                               number);

    g_assert_cmpuint(page, !=, NONE);
    return page;
}

/* The number of the page that the I/O is about. */
static inline uint64_t rig_number(const Rig *rig, const ArrayIo *io)
{
    uint64_t unit = io->offset_bytes / PAGE; /* one page a striping unit */

    return unit * rig->config.n_drives + io->drive;
}

static inline void rig_quiet(Rig *rig)
{
    char why[ARRAY_ERROR_BYTES] = "";

    if (!array_quiet(rig->array, why)) {
        g_error("%s", why);
    }
    g_assert_cmpuint(rig->done->len, ==, 0);
    g_assert_cmpuint(rig->ios->len, ==, 0);
}

#endif /* TEST_ARRAY_RIG_H */
