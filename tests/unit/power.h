/*
 * What the tests of power cuts share: cuts and recoveries of a rig's drive,
 * writes that are told apart by their bytes, and what is there afterwards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef POWER_H
#define POWER_H

#include "helpers.h"
#include "inside.h"

#define CUTS "nand.power_cuts=1,ftl.recovery=2"
/* One die of one plane: what is written lies page by page in its blocks. */
#define ONE "geometry.channels=1,geometry.dies_per_chip=1"

enum {
    BLOCK = 16, /* pages of tiny.ini */
    TO_ARRAY_NS = FW + LINK + CMD + BUS, /* of a write of one page */
};

/* Four pages of a byte, as long as the program runs. */
static inline void *bytes_of(uint8_t tag)
{
    static uint8_t data[256][4 * PAGE];

    memset(data[tag], tag, sizeof(data[tag]));
    return data[tag];
}

/* n pages from page on, all bytes tag. */
static inline ScarpCmd write_tag(uint64_t page, uint64_t n, uint8_t tag)
{
    ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, page * PAGE, n * PAGE);

    cmd.data = bytes_of(tag);
    return cmd;
}

static inline ScarpCmd trim_pages(uint64_t page, uint64_t n)
{
    return cmd_of(SCARP_OP_DEALLOCATE, page * PAGE, n * PAGE);
}

/* Alone on the drive, until it has completed; other work may go on then. */
static inline void power_do(Rig *rig, ScarpCmd *cmd)
{
    scarp_submit(rig->drive, cmd, scarp_now_ns(rig->drive));
    while (scarp_reap(rig->drive) != cmd) {
        g_assert_true(scarp_run_until_done(rig->drive, SCARP_TIME_LAST));
    }
    latency(cmd);
}

static inline void power_write(Rig *rig, uint64_t page, uint8_t tag)
{
    ScarpCmd cmd = write_tag(page, 1, tag);

    power_do(rig, &cmd);
}

static inline void power_flush(Rig *rig)
{
    ScarpCmd cmd = cmd_of(SCARP_OP_FLUSH, 0, 0);

    power_do(rig, &cmd);
}

/* How long it takes. */
static inline int64_t power_trim(Rig *rig, uint64_t page, uint64_t n)
{
    ScarpCmd cmd = trim_pages(page, n);

    power_do(rig, &cmd);
    return latency(&cmd);
}

/* What a page has in each of its bytes; -1: different ones. */
static inline int power_tag(const Rig *rig, uint64_t page)
{
    uint8_t data[PAGE];

    scarp_peek(rig->drive, page * PAGE, PAGE, data);
    for (unsigned i = 1; i < PAGE; i++) {
        if (data[i] != data[0]) {
            return -1;
        }
    }
    return data[0];
}

static inline void power_check(const Rig *rig)
{
    g_autoptr(GError) error = NULL;

    scarp_check(rig->drive, &error);
    g_assert_no_error(error);
}

/* At the time of the last event.  What was under way is the caller's again. */
static inline void power_off(Rig *rig)
{
    g_autoptr(GError) error = NULL;
    uint64_t cuts = rig_stats(rig)->power_cuts;
    ScarpDrive *next = scarp_power_cut(rig->drive, &error);

    g_assert_no_error(error);
    rig->drive = next;
    g_assert_cmpuint(rig_stats(rig)->power_cuts, ==, cuts + 1);
    power_check(rig);
}

/* Until it is ready: how long that takes, which is at most what it says. */
static inline int64_t power_on(Rig *rig)
{
    int64_t from_ns = scarp_now_ns(rig->drive);
    uint64_t counted_ns = rig_stats(rig)->recovery_ns;
    bool waited = !scarp_is_ready(rig->drive);

    while (!scarp_is_ready(rig->drive)) {
        g_assert_cmpint(scarp_next_event_ns(rig->drive), !=, SCARP_TIME_NEVER);
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    power_check(rig);
    g_assert_cmpint(scarp_now_ns(rig->drive) - from_ns, <=,
                    scarp_recovery_bound_ns(rig->drive));
    if (waited) {
        g_assert_cmpuint(rig_stats(rig)->recovery_ns - counted_ns, ==,
                         scarp_now_ns(rig->drive) - from_ns);
    }
    return scarp_now_ns(rig->drive) - from_ns;
}

static inline int64_t power_cycle(Rig *rig)
{
    power_off(rig);
    return power_on(rig);
}

/* Events up to that time happen, then power fails. */
static inline void power_off_at(Rig *rig, int64_t time_ns)
{
    scarp_run(rig->drive, time_ns);
    g_assert_cmpint(scarp_now_ns(rig->drive), ==, time_ns);
    power_off(rig);
}

static inline void power_cells(const Rig *rig, uint32_t block,
                               const char *should)
{
    g_autofree char *is = inside_cells(rig->drive, block);
    size_t n = strlen(should);

    is[n] = 0;
    g_assert_cmpstr(is, ==, should);
}

/* One page of a block. */
static inline char power_cell(const Rig *rig, uint32_t block, uint32_t page)
{
    g_autofree char *cells = inside_cells(rig->drive, block);

    return cells[page];
}

static inline ScarpUnderWay power_under_way(const Rig *rig)
{
    ScarpUnderWay what;

    scarp_under_way(rig->drive, &what);
    return what;
}

/* Events until the channel takes a flash command of that kind; its IN phase. */
static inline const ScarpFlashOp *power_until(Rig *rig, ScarpFlashKind kind,
                                              ScarpOrigin origin)
{
    unsigned n = rig->n_ops;

    for (;;) {
        for (; n < rig->n_ops; n++) {
            const ScarpFlashOp *op = &rig->op[n].f;

            if (op->kind == kind && op->origin == origin &&
                op->phase == SCARP_PHASE_IN) {
                return op;
            }
        }
        g_assert_cmpint(scarp_next_event_ns(rig->drive), !=, SCARP_TIME_NEVER);
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
}

/* The same of the n-th one that there was, from 0 on. */
static inline const ScarpFlashOp *power_until_nth(Rig *rig, ScarpFlashKind kind,
                                                  ScarpOrigin origin,
                                                  unsigned n)
{
    for (unsigned i = 0;; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        while (i == rig->n_ops) {
            scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        }
        if (op->kind == kind && op->origin == origin &&
            op->phase == SCARP_PHASE_IN && !n--) {
            return op;
        }
    }
}

#endif /* POWER_H */
