/*
 * What the unit tests share: a drive, a workload with a model of the contents,
 * and the law of the causes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TEST_WORKLOAD_H
#define TEST_WORKLOAD_H

#include "inside.h"
#include "scarp.h"

#include <string.h>

#define PAGE 4096u

static inline ScarpDrive *drive_new(const char *scheme, const char *overrides)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = scheme, .overrides = overrides, .seed = 1,
        .store_data = true,
    };
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);

    g_assert_no_error(error);
    return drive;
}

static inline void law_sum(const ScarpCmd *cmd)
{
    int64_t cause_ns[SCARP_CAUSE__ALL], sum = 0;

    scarp_cmd_causes(cmd, cause_ns);
    for (int i = 0; i < SCARP_CAUSE__ALL; i++) {
        g_assert_cmpint(cause_ns[i], >=, 0);
        sum += cause_ns[i];
    }
    g_assert_cmpint(sum, ==, cmd->complete_ns - cmd->submit_ns);
}

typedef struct {
    const char *scheme, *params, *overrides; /* params may be NULL */
    guint32 seed;
    unsigned commands;
    uint32_t age_permille; /* written before */
    const char *ops; /* drawn from: Read Write write-Zeroes Deallocate Flush */
    bool namespaces; /* two, half of the drive each */
    bool whole;      /* of PAGE bytes: one or two of them, begun at one */
    const char *const *switches; /* one after the other, to a NULL; or NULL */
} Workload;

typedef struct {
    ScarpCmd cmd;
    unsigned char data[4 * PAGE];
    bool busy;
} Slot;

/* Whole sectors of noise: g_rand_int() for each byte took a third of a test. */
static inline void fill(unsigned char *data, uint64_t length, uint64_t noise)
{
    for (uint64_t i = 0; i < length; i += sizeof(noise)) {
        noise = noise * 6364136223846793005ull + 1442695040888963407ull;
        memcpy(data + i, &noise, sizeof(noise));
    }
}

/* A command on sectors that no other command touches; false: they are taken. */
static inline bool random_command(const Workload *w, GRand *rand, Slot *slot,
                                  uint64_t pages, const bool *locked)
{
    uint64_t base = 0, at, length = g_rand_int_range(rand, 1, 17) * 512;
    bool hot = !g_rand_int_range(rand, 0, 4);
    ScarpCmd *cmd = &slot->cmd;

    memset(slot, 0, sizeof(*slot));
    if (w->namespaces) {
        pages /= 2;
        cmd->nsid = g_rand_int_range(rand, 1, 3);
        base = (cmd->nsid - 1) * pages * PAGE;
    }
    at = g_rand_int_range(rand, 0, hot ? 64 : (pages - 4) * 8) * 512ull;
    switch (w->ops[g_rand_int_range(rand, 0, strlen(w->ops))]) {
    case 'R':
        cmd->op = SCARP_OP_READ;
        break;
    case 'W':
        cmd->op = SCARP_OP_WRITE;
        break;
    case 'Z':
        cmd->op = SCARP_OP_WRITE_ZEROES;
        break;
    case 'D':
        cmd->op = SCARP_OP_DEALLOCATE;
        at -= at % PAGE;
        length = g_rand_int_range(rand, 1, 4) * PAGE;
        break;
    default:
        cmd->op = SCARP_OP_FLUSH;
        break;
    }
    if (w->whole) {
        at -= at % PAGE;
        length = MAX(length / PAGE, 1) * PAGE;
    }
    at += base;
    for (uint64_t p = at / PAGE; p * PAGE < at + length; p++) {
        if (locked[p]) {
            return false;
        }
    }
    cmd->offset_bytes = at;
    cmd->length_bytes = length;
    cmd->deadline_ns = SCARP_TIME_NEVER;
    cmd->data = slot->data;
    cmd->fua = g_rand_int_range(rand, 0, 4) == 0;
    cmd->stream = g_rand_int_range(rand, 0, 9);
    cmd->opaque = slot;
    fill(slot->data, length, g_rand_int(rand));
    return true;
}

/* What came back against the model; the sectors are free again. */
static inline void check_done(const ScarpCmd *done, unsigned char *model,
                              bool *locked)
{
    unsigned char *was = model + done->offset_bytes;

    law_sum(done);
    g_assert_cmpint(done->status, ==, SCARP_STATUS_OK);
    if (done->op == SCARP_OP_READ) {
        g_assert_cmpmem(done->data, done->length_bytes, was,
                        done->length_bytes);
    } else if (done->op == SCARP_OP_WRITE) {
        memcpy(was, done->data, done->length_bytes);
    } else if (done->op != SCARP_OP_FLUSH) {
        memset(was, 0, done->length_bytes);
    }
    for (uint64_t p = done->offset_bytes / PAGE;
         p * PAGE < done->offset_bytes + done->length_bytes; p++) {
        locked[p] &= done->op == SCARP_OP_FLUSH;
    }
}

/*
 * At rest, the flash alone says where each unit lies, deallocations included,
 * if the drive is one that writes what is needed (ftl.recovery=2).  Of two
 * copies with one version either will do.
 */
static inline void check_rebuilt(const ScarpDrive *drive)
{
    g_autofree uint32_t *l2p = g_new(uint32_t, inside_mapped_units(drive));

    if (!inside_records(drive)) {
        return;
    }
    inside_rebuild(drive, l2p);
    for (uint32_t lpn = 0; lpn < inside_mapped_units(drive); lpn++) {
        uint32_t is = inside_l2p(drive, lpn);

        if (l2p[lpn] != is &&
            (l2p[lpn] == INSIDE_NONE || is == INSIDE_NONE ||
             !inside_same_version(drive, is, l2p[lpn]))) {
            g_error("unit %u: %u by the flash alone, %u by the map", lpn,
                    l2p[lpn], is);
        }
    }
}

/* Before any event, a command's arrival, or in the middle of a collection. */
static inline void maybe_switch(const Workload *w, GRand *rand,
                                ScarpDrive *drive, unsigned *at)
{
    g_autoptr(GError) error = NULL;

    if (!w->switches || !w->switches[*at] || g_rand_int_range(rand, 0, 20)) {
        return;
    }
    scarp_drive_set_scheme(drive, w->switches[(*at)++], NULL, &error);
    g_assert_no_error(error);
}

/*
 * Random commands against a model of the contents: sectors that one command at
 * a time touches, so that what a read must return is known.  The drive's
 * statistics are added to seen.
 */
static inline void random_workload(const Workload *w, ScarpStats *seen)
{
    ScarpDrive *drive = drive_new(w->scheme, w->overrides);
    uint64_t pages = scarp_drive_logical_bytes(drive) / PAGE;
    g_autofree unsigned char *model = g_malloc0(pages * PAGE);
    g_autofree bool *locked = g_new0(bool, pages);
    g_autofree Slot *slots = g_new0(Slot, 16);
    g_autoptr(GRand) rand = g_rand_new_with_seed(w->seed);
    g_autoptr(GError) error = NULL;
    ScarpAge age = { .utilisation_permille = w->age_permille,
                     .overwrite_permille = UINT32_MAX, .pattern = "random",
                     .seed = w->seed };
    int64_t now = 0;
    unsigned sent = 0, reads = 0, switched = 0;

    g_assert_true(!w->params || scarp_drive_set_scheme(drive, w->scheme,
                                                       w->params, &error));
    g_assert_true(scarp_age(drive, &age, &error));
    g_assert_true(scarp_check(drive, &error));
    for (;;) {
        ScarpCmd *done;
        Slot *slot = NULL;

        maybe_switch(w, rand, drive, &switched);
        for (int i = 0; i < 16 && sent < w->commands; i++) {
            slot = slots[i].busy ? slot : &slots[i];
        }
        if (slot && random_command(w, rand, slot, pages, locked)) {
            ScarpCmd *cmd = &slot->cmd;

            for (uint64_t p = cmd->offset_bytes / PAGE;
                 p * PAGE < cmd->offset_bytes + cmd->length_bytes; p++) {
                locked[p] = cmd->op != SCARP_OP_FLUSH;
            }
            slot->busy = true;
            sent++;
            if (sent % 5 == 0) { /* one of its own, far or near */
                cmd->deadline_ns = now + sent % 7 * 3000000;
            }
            scarp_submit(drive, cmd, now);
        }
        if (g_rand_int_range(rand, 0, 3) || sent == w->commands || !slot) {
            if (scarp_next_event_ns(drive) == SCARP_TIME_NEVER) {
                if (sent == w->commands) {
                    break;
                }
                /* Nothing to come and no room for more: it would hang. */
                g_assert_true(slot || scarp_quiescent(drive, &error));
            } else {
                now = scarp_next_event_ns(drive);
                scarp_run(drive, now);
            }
        }
        while ((done = scarp_reap(drive))) {
            check_done(done, model, locked);
            reads += done->op == SCARP_OP_READ;
            slot = done->opaque;
            slot->busy = false;
        }
    }
    g_assert_cmpuint(reads, >, w->commands / 12);
    g_assert_true(!w->switches || !w->switches[switched]);
    for (unsigned i = 0; i < SCARP_STAT_COUNT; i++) {
        ((uint64_t *)seen)[i] += ((const uint64_t *)scarp_stats(drive))[i];
    }
    g_assert_cmpuint(scarp_stats(drive)->oob_mismatches, ==, 0);
    g_assert_true(scarp_quiescent(drive, &error));
    g_assert_no_error(error);
    g_assert_true(scarp_check(drive, &error));
    /* What is still in RAM, parity too, finds its place. */
    scarp_drain(drive, &error);
    g_assert_no_error(error);
    g_assert_true(scarp_check(drive, &error));
    check_rebuilt(drive);
    scarp_drive_free(drive);
}

#endif /* TEST_WORKLOAD_H */
