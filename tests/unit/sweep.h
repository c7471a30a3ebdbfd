/*
 * Power cuts at every event of what a few commands bring about, and half-way to
 * the next one: what is there is what NVMe permits, the laws hold, and the drive
 * works on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "contract.h"
#include "power.h"

enum {
    SWEEP_CMDS = 160,  /* at most; a write's bytes are its number */
    SWEEP_FIRST = 161, /* and from here on those that are there before */
};

typedef struct {
    const char *scheme, *overrides;
    void (*prepare)(Rig *rig); /* power_write() of tags from SWEEP_FIRST on */
    const ScarpCmd *cmd;       /* submitted at once, when all has come to rest */
    unsigned n_cmds;
    bool is_durable;           /* what has completed is */
    bool keeps_deallocated;    /* deallocations change nothing */
    bool twice;                /* power fails in recovery, and after it, too */
    unsigned step;             /* events between cuts with -m slow; 0: one */
    /* Called before the cut, to see that what is looked for was met. */
    void (*look)(Rig *rig, void *opaque);
    void *opaque;
} Sweep;

typedef struct {
    Rig *rig;
    ScarpContract *contract;
    ScarpCmd cmd[SWEEP_CMDS];
    uint8_t *found; /* of each sector */
    uint64_t sectors;
} Swept;

static inline bool sweep_holds(void *opaque, uint64_t sector, uint32_t id)
{
    return ((const uint8_t *)opaque)[sector] == id;
}

/* The byte that all of a sector has. */
static inline void sweep_find(Swept *s)
{
    g_autofree uint8_t *data = g_malloc(s->sectors * SCARP_SECTOR_BYTES);

    scarp_peek(s->rig->drive, 0, s->sectors * SCARP_SECTOR_BYTES, data);
    for (uint64_t i = 0; i < s->sectors; i++) {
        const uint8_t *at = data + i * SCARP_SECTOR_BYTES;

        s->found[i] = at[0];
        g_assert_true(!memcmp(at, at + 1, SCARP_SECTOR_BYTES - 1));
    }
}

static inline void sweep_judge(Swept *s)
{
    g_autofree char *story = NULL;

    sweep_find(s);
    story = scarp_contract_judge(s->contract, sweep_holds, s->found);
    g_assert_cmpstr(story, ==, NULL);
}

/* What is there now is durable. */
static inline void sweep_know(Swept *s)
{
    g_autofree uint32_t *ids = g_new(uint32_t, s->sectors);

    sweep_find(s);
    for (uint64_t i = 0; i < s->sectors; i++) {
        ids[i] = s->found[i];
    }
    scarp_contract_begin(s->contract, ids);
}

static inline void sweep_reap(Swept *s)
{
    const ScarpCmd *cmd;

    while ((cmd = scarp_reap(s->rig->drive))) {
        scarp_contract_complete(s->contract, 1 + (cmd - s->cmd),
                                cmd->complete_ns);
    }
}

static inline void sweep_begin(Swept *s, const Sweep *sweep)
{
    int64_t now_ns;

    s->rig = rig_new(sweep->scheme, NULL, sweep->overrides);
    s->sectors = scarp_drive_logical_bytes(s->rig->drive) / SCARP_SECTOR_BYTES;
    s->found = g_malloc(s->sectors);
    s->contract = scarp_contract_new(&(ScarpTerms) {
        .sectors = s->sectors,
        .unit_sectors = scarp_drive_unit_bytes(s->rig->drive) /
                        SCARP_SECTOR_BYTES,
        .is_volatile = !sweep->is_durable,
        .deallocates = !sweep->keeps_deallocated });
    if (sweep->prepare) {
        sweep->prepare(s->rig);
    }
    g_assert_true(scarp_drain(s->rig->drive, NULL));
    sweep_know(s);
    now_ns = scarp_now_ns(s->rig->drive);
    for (unsigned i = 0; i < sweep->n_cmds; i++) {
        s->cmd[i] = sweep->cmd[i];
        s->cmd[i].submit_ns = now_ns;
        s->cmd[i].data = bytes_of(1 + i);
        scarp_contract_submit(s->contract, &s->cmd[i], 1 + i);
        scarp_submit(s->rig->drive, &s->cmd[i], now_ns);
        sweep_reap(s);
    }
}

/* So many events, and half of the time to the next one; false: all is over. */
static inline bool sweep_run(Swept *s, unsigned events, bool half)
{
    int64_t now_ns = scarp_now_ns(s->rig->drive), next_ns;

    for (unsigned i = 0; i < events; i++) {
        next_ns = scarp_next_event_ns(s->rig->drive);
        if (next_ns == SCARP_TIME_NEVER) {
            return false;
        }
        scarp_run(s->rig->drive, now_ns = next_ns);
        sweep_reap(s);
    }
    next_ns = scarp_next_event_ns(s->rig->drive);
    if (half && next_ns != SCARP_TIME_NEVER) {
        scarp_run(s->rig->drive, now_ns + (next_ns - now_ns) / 2);
    }
    return true;
}

/* Everything is written anew, in an order of its own, and read back. */
static inline void sweep_works(Swept *s, unsigned salt)
{
    uint64_t pages = s->sectors * SCARP_SECTOR_BYTES / PAGE;

    for (uint64_t i = 0; i < pages; i++) {
        uint64_t page = (i * 7 + salt) % pages;

        power_write(s->rig, page, 1 + page % 250);
    }
    g_assert_true(scarp_drain(s->rig->drive, NULL));
    power_check(s->rig);
    sweep_find(s);
    for (uint64_t i = 0; i < pages; i++) {
        if (pages % 7) {
            g_assert_cmpuint(s->found[i * PAGE / SCARP_SECTOR_BYTES], ==,
                             1 + i % 250);
        }
    }
}

static inline void sweep_end(Swept *s)
{
    scarp_contract_free(s->contract);
    g_free(s->found);
    rig_free(s->rig);
    g_free(s);
}

static inline bool sweep_once(const Sweep *sweep, unsigned events, bool half)
{
    Swept *s = g_new0(Swept, 1);
    bool more;

    sweep_begin(s, sweep);
    more = sweep_run(s, events, half);
    if (sweep->look) {
        sweep->look(s->rig, sweep->opaque);
    }
    power_off(s->rig);
    if (sweep->twice) {
        /* Near its end there is more that it does than reads. */
        sweep_run(s, events * 13 % 150, !half);
        power_off(s->rig);
        power_on(s->rig);
        power_off(s->rig);
    }
    power_on(s->rig);
    sweep_judge(s);
    sweep_works(s, events);
    sweep_end(s);
    return more;
}

/* How many events there are; `-m slow` cuts at three times as many of them. */
static inline unsigned sweep(const Sweep *sweep)
{
    unsigned step = MAX(sweep->step, 1);
    unsigned skipped = g_test_slow() ? 0 : 2 * step;
    unsigned events = 0;

    for (;;) {
        bool more = sweep_once(sweep, events, false);

        sweep_once(sweep, events + skipped / 2, true);
        if (!more) {
            return events;
        }
        events += step + skipped;
    }
}

#endif /* SWEEP_H */
