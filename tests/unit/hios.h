/*
 * What the tests of HIOS share: commands that all wait when the policy looks,
 * and who was granted what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HIOS_H
#define HIOS_H

#include "helpers.h"

#define ONE_SLOT ",controller.slots=1"
#define EXACT "margin_us=0,accumulate_us=0"

enum {
    OWN = LINK + PROGRAM_NS,        /* a write of a page */
    SEGMENT = READ_NS + PROGRAM_NS, /* a page of a victim */
    BUSY = FW + READ_NS + LINK,     /* a read that keeps a slot */
};

/*
 * A read of that page keeps the only slot.  All that comes now waits, and the
 * policy sees all of it when the read ends, at the time that is returned.
 */
static inline int64_t begin_busy(Rig *rig, ScarpCmd *read, unsigned page)
{
    rig_drain(rig);
    *read = read_page(page);
    scarp_submit(rig->drive, read, scarp_now_ns(rig->drive) + 1);
    return scarp_now_ns(rig->drive) + BUSY;
}

static inline void submit(Rig *rig, ScarpCmd *cmds, unsigned n)
{
    g_autoptr(GError) error = NULL;

    for (unsigned i = 0; i < n; i++) {
        scarp_submit(rig->drive, &cmds[i], scarp_now_ns(rig->drive));
    }
    rig_drain(rig);
    for (unsigned i = 0; i < n; i++) {
        latency(&cmds[i]);
    }
    g_assert_true(scarp_check(rig->drive, &error));
}

static inline unsigned gc_programs(const Rig *rig, int64_t until_ns)
{
    unsigned n = 0;

    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        n += op->kind == SCARP_FLASH_PROGRAM && op->phase == SCARP_PHASE_ARRAY &&
             op->origin == SCARP_ORIGIN_GC && op->end_ns <= until_ns;
    }
    return n;
}

static inline void expect_grant(const Rig *rig, unsigned i,
                                const ScarpCmd *carrier, int64_t time_ns,
                                unsigned plane, unsigned segments)
{
    const ScarpGcGrant *grant = &rig->grant[i];

    g_assert_cmpuint(i, <, rig->n_grants);
    g_assert_cmpuint(grant->cmd_seq, ==, carrier->seq);
    g_assert_cmpint(grant->time_ns, ==, time_ns);
    g_assert_cmpuint(grant->plane, ==, plane);
    g_assert_cmpuint(grant->segments, ==, segments);
    g_assert_cmpuint(grant->erases, ==, 0);
}

#endif /* HIOS_H */
