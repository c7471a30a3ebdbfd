/*
 * Runs that are recorded as the device records them, for tests of power cuts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESTS_RECORDED_H
#define TESTS_RECORDED_H

#include "cmdlog.h"
#include "../helpers.h"

#include <glib/gstdio.h>

#define SMALL "geometry.blocks_per_plane=24,gc.trigger_free_blocks=1," \
    "ftl.over_provisioning_permille=1000"
#define CUTS SMALL ",nand.power_cuts=1,ftl.recovery=2"
#define BUFFERED CUTS ",controller.buffer_bytes=65536"
#define SECTOR SCARP_SECTOR_BYTES

enum { COMMANDS = 300, IN_FLIGHT = 6, MOST_SECTORS = 40 };

/* ---- A run, as the device records it ------------------------------------ */

typedef struct {
    char *folder, *image, *log, *data;
} Recorded;

typedef struct {
    ScarpCmd cmd;
    uint32_t order;
    bool flying;
    char bytes[MOST_SECTORS * SECTOR];
} Slot;

static inline char *in(const Recorded *r, const char *name)
{
    return g_build_filename(r->folder, name, NULL);
}

static inline Recorded *recorded_new(void)
{
    Recorded *r = g_new0(Recorded, 1);
    g_autoptr(GError) error = NULL;

    r->folder = g_dir_make_tmp("scarp-cuts-XXXXXX", &error);
    g_assert_no_error(error);
    r->image = in(r, "image");
    r->log = in(r, "log");
    r->data = in(r, "data");
    return r;
}

static inline void recorded_free(Recorded *r)
{
    GDir *folder = g_dir_open(r->folder, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(folder))) {
        g_autofree char *path = in(r, name);

        g_unlink(path);
    }
    g_dir_close(folder);
    g_assert_cmpint(g_rmdir(r->folder), ==, 0);
    g_free(r->folder);
    g_free(r->image);
    g_free(r->log);
    g_free(r->data);
    g_free(r);
}

/* With contents of its own in the first pages, if so many are written. */
static inline void make_image(const Recorded *r, const char *overrides,
                              uint64_t pages)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    g_autoptr(GError) error = NULL;
    char bytes[PAGE];

    rig_age(rig, 900);
    for (uint64_t i = 0; i < pages; i++) {
        ScarpCmd cmd = write_page(i);

        /* Half of a page is zeroes. */
        memset(bytes, 0, sizeof(bytes));
        memset(bytes, 'a' + (int)i % 26, sizeof(bytes) / 2);
        cmd.data = bytes;
        rig_do(rig, &cmd);
    }
    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_true(scarp_save(rig->drive, r->image, &error));
    g_assert_no_error(error);
    rig_free(rig);
}

static inline void draw(GRand *rand, Slot *slot, uint64_t sectors)
{
    static const char ops[] = "WWWWWWRRZDF";
    bool whole = g_rand_int_range(rand, 0, 2); /* a unit; else any sectors */
    uint32_t n = whole ? PAGE / SECTOR
                       : (uint32_t)g_rand_int_range(rand, 1, MOST_SECTORS + 1);
    uint64_t first = g_rand_int_range(rand, 0, (sectors - n) / 8) * 8 +
                     (whole ? 0 : g_rand_int_range(rand, 0, 8));
    ScarpOp op = SCARP_OP_FLUSH;

    switch (ops[g_rand_int_range(rand, 0, strlen(ops))]) {
    case 'W':
        op = SCARP_OP_WRITE;
        break;
    case 'R':
        op = SCARP_OP_READ;
        break;
    case 'Z':
        op = SCARP_OP_WRITE_ZEROES;
        break;
    case 'D':
        op = SCARP_OP_DEALLOCATE;
        break;
    }
    slot->cmd = op == SCARP_OP_FLUSH ? cmd_of(op, 0, 0)
                                     : cmd_of(op, first * SECTOR, n * SECTOR);
    slot->cmd.opaque = slot;
    slot->cmd.fua = op == SCARP_OP_WRITE && !g_rand_int_range(rand, 0, 5);
    if (op == SCARP_OP_WRITE) {
        for (uint32_t i = 0; i < n * SECTOR; i++) {
            slot->bytes[i] = g_rand_int(rand);
        }
        slot->cmd.data = slot->bytes;
    }
}

static inline void reap(ScarpDrive *drive, FILE *log, FILE *data)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(drive))) {
        Slot *slot = cmd->opaque;

        cmdlog_write(log, cmd, slot->order, SCARP_CAUSE__COUNT);
        if (cmd->op == SCARP_OP_WRITE) {
            fwrite(slot->bytes, 1, cmd->length_bytes, data);
        }
        slot->flying = false;
    }
}

static inline Slot *free_slot(Slot *slots, ScarpDrive *drive, FILE *log,
                              FILE *data)
{
    for (;;) {
        for (int i = 0; i < IN_FLIGHT; i++) {
            if (!slots[i].flying) {
                return &slots[i];
            }
        }
        scarp_run_until_done(drive, SCARP_TIME_LAST);
        reap(drive, log, data);
    }
}

static inline bool overlaps(const Slot *slots, const ScarpCmd *cmd)
{
    for (int i = 0; i < IN_FLIGHT; i++) {
        const ScarpCmd *other = &slots[i].cmd;

        if (slots[i].flying &&
            cmd->offset_bytes < other->offset_bytes + other->length_bytes &&
            other->offset_bytes < cmd->offset_bytes + cmd->length_bytes) {
            return true;
        }
    }
    return false;
}

/*
 * Commands of all kinds, as many at once, and some pauses.  apart: none in
 * flight overlap, so that the last one to complete is what a sector has.
 */
static inline Recorded *record(const char *overrides, uint64_t pages,
                               bool apart)
{
    static const char header[16] = "SCARPDT1";
    Recorded *r = recorded_new();
    ScarpConfig config = { .scheme = "baseline", .image_path = r->image,
                           .seed = 1, .store_data = true };
    g_autofree Slot *slots = g_new0(Slot, IN_FLIGHT);
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    g_autoptr(GError) error = NULL;
    FILE *log = fopen(r->log, "wb"), *data = fopen(r->data, "wb");
    ScarpDrive *drive;

    make_image(r, overrides, pages);
    drive = scarp_drive_new(&config, &error);
    g_assert_no_error(error);
    cmdlog_write_header(log, SCARP_CAUSE__COUNT);
    fwrite(header, sizeof(header), 1, data);
    for (uint32_t i = 0; i < COMMANDS; i++) {
        Slot *slot = free_slot(slots, drive, log, data);

        do {
            draw(rand, slot, scarp_drive_logical_bytes(drive) / SECTOR);
        } while (apart && overlaps(slots, &slot->cmd));
        slot->order = i;
        slot->flying = true;
        if (!g_rand_int_range(rand, 0, 10)) {
            scarp_run(drive, scarp_now_ns(drive) + 1000000);
            reap(drive, log, data);
        }
        scarp_submit(drive, &slot->cmd, scarp_now_ns(drive));
    }
    g_assert_true(scarp_drain(drive, &error));
    reap(drive, log, data);
    scarp_drive_free(drive);
    fclose(log);
    fclose(data);
    return r;
}

/* ---- What was written -------------------------------------------------- */

static inline char **lines_of(FILE *out)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char bytes[4096];
    size_t n;

    rewind(out);
    while ((n = fread(bytes, 1, sizeof(bytes), out))) {
        g_string_append_len(text, bytes, n);
    }
    fclose(out);
    g_assert_true(g_str_has_suffix(text->str, "\n"));
    g_string_truncate(text, text->len - 1);
    return g_strsplit(text->str, "\n", -1);
}

#endif
