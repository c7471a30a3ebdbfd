/*
 * What the engine's unit tests share: a drive of tests/qtest/tiny.ini, commands
 * by name, and a record of what the flash did.
 *
 * tiny.ini: 2 channels of 2 dies, 4 KiB pages; firmware 5000 ns, link 1280 a
 * page, command 200, channel 10240 a page, tR 75000, tPROG 750000, tBERS
 * 3800000.  Logical pages 0, 1, 2, 3 go to dies 0, 2, 1, 3 (cwdp), page 4 to
 * die 0 again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HELPERS_H
#define HELPERS_H

#include "scarp.h"

#include <string.h>

#define PAGE 4096u

enum {
    FW = 5000, LINK = 1280, CMD = 200, BUS = 10240, TR = 75000,
    TPROG = 750000, TBERS = 3800000,
    /* Flash commands of a page and of a block, on an idle die and channel. */
    READ_NS = CMD + TR + BUS, PROGRAM_NS = CMD + BUS + TPROG,
    ERASE_NS = CMD + TBERS,
};

#define MAX_OPS 65536

typedef struct {
    ScarpFlashOp f;   /* but for cmd_seqs */
    uint64_t cmd_seq; /* the first; UINT64_MAX: none */
} RigOp;

typedef struct {
    ScarpDrive *drive;
    RigOp op[MAX_OPS]; /* phases, as reported */
    ScarpGcRun run[MAX_OPS];
    ScarpGcGrant grant[64]; /* the first ones */
    unsigned n_ops, n_runs, n_grants;
} Rig;

static inline void rig_flash_phase(void *opaque, const ScarpFlashOp *op)
{
    Rig *rig = opaque;

    if (rig->n_ops < MAX_OPS) {
        RigOp *to = &rig->op[rig->n_ops++];

        to->f = *op;
        to->cmd_seq = op->n_cmds ? op->cmd_seqs[0] : UINT64_MAX;
    }
}

static inline void rig_gc_done(void *opaque, const ScarpGcRun *run)
{
    Rig *rig = opaque;

    if (rig->n_runs < MAX_OPS) {
        rig->run[rig->n_runs++] = *run;
    }
}

static inline void rig_gc_granted(void *opaque, const ScarpGcGrant *grant)
{
    Rig *rig = opaque;

    if (rig->n_grants < G_N_ELEMENTS(rig->grant)) {
        rig->grant[rig->n_grants++] = *grant;
    }
}

static inline Rig *rig_new_seeded(const char *scheme, const char *params,
                                  const char *overrides, uint64_t seed)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);
    ScarpConfig config = { .description_path = path, .scheme = scheme,
                           .params = params, .overrides = overrides,
                           .seed = seed, .store_data = true };
    g_autoptr(GError) error = NULL;
    Rig *rig = g_new0(Rig, 1);
    ScarpObserver observer = { .flash_phase = rig_flash_phase,
                               .gc_done = rig_gc_done,
                               .gc_granted = rig_gc_granted, .opaque = rig };

    rig->drive = scarp_drive_new(&config, &error);
    g_assert_no_error(error);
    scarp_set_observer(rig->drive, &observer);
    return rig;
}

static inline Rig *rig_new(const char *scheme, const char *params,
                           const char *overrides)
{
    return rig_new_seeded(scheme, params, overrides, 1);
}

static inline void rig_free(Rig *rig)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_quiescent(rig->drive, &error));
    g_assert_true(scarp_check(rig->drive, &error));
    g_assert_cmpuint(scarp_stats(rig->drive)->oob_mismatches, ==, 0);
    scarp_drive_free(rig->drive);
    g_free(rig);
}

static inline const ScarpStats *rig_stats(const Rig *rig)
{
    return scarp_stats(rig->drive);
}

/* How often a drive of a checked build was in that state. */
static inline uint64_t mark_times(const Rig *rig, const char *name)
{
    for (unsigned i = 0; i < scarp_mark_count(); i++) {
        if (!strcmp(scarp_mark_field(i)->name, name)) {
            return scarp_mark_times(rig->drive, i);
        }
    }
    g_error("no mark '%s'", name);
}

static inline ScarpCmd cmd_of(ScarpOp op, uint64_t offset, uint64_t length)
{
    return (ScarpCmd) { .op = op, .offset_bytes = offset,
                        .length_bytes = length,
                        .deadline_ns = SCARP_TIME_NEVER };
}

static inline ScarpCmd read_page(uint64_t page)
{
    return cmd_of(SCARP_OP_READ, page * PAGE, PAGE);
}

static inline ScarpCmd write_page(uint64_t page)
{
    return cmd_of(SCARP_OP_WRITE, page * PAGE, PAGE);
}

static inline int64_t latency(const ScarpCmd *cmd)
{
    int64_t cause_ns[SCARP_CAUSE__ALL], sum = 0;

    scarp_cmd_causes(cmd, cause_ns);
    for (int i = 0; i < SCARP_CAUSE__ALL; i++) {
        g_assert_cmpint(cause_ns[i], >=, 0);
        sum += cause_ns[i];
    }
    g_assert_cmpint(sum, ==, cmd->complete_ns - cmd->submit_ns);
    g_assert_cmpint(cmd->status, ==, SCARP_STATUS_OK);
    return sum;
}

/* How long a command waited for a cause below SCARP_CAUSE__ALL. */
static inline int64_t cause_of(const ScarpCmd *cmd, ScarpCause cause)
{
    int64_t cause_ns[SCARP_CAUSE__ALL];

    scarp_cmd_causes(cmd, cause_ns);
    return cause_ns[cause];
}

/* To the end of what the drive does by itself; commands are left to reap. */
static inline void rig_drain(Rig *rig)
{
    while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    while (scarp_reap(rig->drive)) {
        continue;
    }
}

/* Alone on the drive, after all that went before. */
static inline int64_t rig_do(Rig *rig, ScarpCmd *cmd)
{
    rig_drain(rig);
    scarp_submit(rig->drive, cmd, scarp_now_ns(rig->drive) + 1);
    rig_drain(rig);
    return latency(cmd);
}

static inline int64_t rig_write(Rig *rig, uint64_t page)
{
    ScarpCmd cmd = write_page(page);

    return rig_do(rig, &cmd);
}

/* Pages first to first + n - 1, one after the other. */
static inline void rig_fill(Rig *rig, uint64_t first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        rig_write(rig, first + i);
    }
}

static inline void rig_age(Rig *rig, unsigned utilisation_permille)
{
    ScarpAge age = { .utilisation_permille = utilisation_permille,
                     .overwrite_permille = UINT32_MAX, .pattern = "random",
                     .seed = 1 };
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_age(rig->drive, &age, &error));
}

/* The n-th (from 0) array phase of a kind and origin. */
static inline const ScarpFlashOp *rig_op(const Rig *rig, ScarpFlashKind kind,
                                         ScarpOrigin origin, unsigned n)
{
    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        if (op->kind == kind && op->origin == origin &&
            op->phase == SCARP_PHASE_ARRAY && !n--) {
            return op;
        }
    }
    g_assert_not_reached();
}

#endif /* HELPERS_H */
