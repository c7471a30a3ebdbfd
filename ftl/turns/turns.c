/*
 * The limits, which say how often somebody may go before a waiter, and
 * scarp_turn_passed(), which counts against them. Counts that waiters carry
 * along (ScarpOwnCount) are in turns/ops.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "turns/ops.h"

typedef enum { PER_DIE, PER_CHANNEL, PER_DRIVE, PER_WAITER } Scope;

/*
 * The factor by which `most` is multiplied to give the limit: 1, the planes of
 * a die, the planes of the drive, or the entries of the mapping's cache.
 */
typedef enum { EACH_ONCE, EACH_DIE_PLANE, EACH_PLANE, EACH_ENTRY } Each;

typedef struct {
    const char *passer, *waiter, *owed; /* the words of docs/model.md */
    Scope scope; /* a count for each die, channel, drive or waiter */
    uint32_t most; /* 0: controller.reads_first_limit */
    Each each;
    /*
     * True: a new count covers all waiters of that moment. False: it covers
     * only the oldest waiter.
     */
    bool all;
} Row;

/*
 * docs/model.md has a line for each row, and tests/e2e/test_docs.py compares
 * the two.
 */
static const Row rows[PASS__COUNT] = {
    [PASS_READS] = {
        "reads",
        "a program, a pad, a copy of another die's collection, or what reads "
        "have suspended",
        "it goes; without a page, the die's collection goes",
        PER_DIE, 0, EACH_ONCE, false },
    [PASS_SIBLINGS] = {
        "programs of the die's other planes",
        "a program whose plane has no page",
        "if no block of its plane is worth a collection, it goes to another "
        "plane, and is queued there by its age",
        PER_DIE, 16, EACH_DIE_PLANE, false },
    [PASS_PROGRAMS] = {
        "programs",
        "a pad (`ftl.paired_pages=pad`)",
        "all pads go that waited when the count began",
        PER_DIE, 16, EACH_DIE_PLANE, true },
    [PASS_COLLECTIONS] = {
        "collections of the die",
        "commands of the host at a die",
        "until all that waited when the count began have gone, nothing comes "
        "in that makes further collections due: the die takes in no copies "
        "from other dies, and no program joins a collection's unless it is "
        "the host's oldest command",
        PER_DIE, 64, EACH_DIE_PLANE, true },
    [PASS_TRANSFERS] = {
        "transfers of collections (`controller.gc_first_on_channel`)",
        "the first of the other transfers at a channel",
        "it goes",
        PER_CHANNEL, 1000, EACH_ONCE, false },
    [PASS_USES] = {
        "uses of entries that are there",
        "a command without an entry of the mapping's cache (`demand`)",
        "uses wait, too, until an entry is free for it",
        PER_DRIVE, 4, EACH_ENTRY, false },
    [PASS_UPDATES] = {
        "collections of other planes",
        "a program without a page, whose plane's collection has no room for "
        "the entries that it changes (`demand`)",
        "no other plane's collection begins",
        PER_DRIVE, 1, EACH_PLANE, false },
    [PASS_RETRIES] = {
        "younger reads",
        "a read whose page had moved when its turn came",
        "it is queued by its age",
        PER_WAITER, 4, EACH_ONCE, false },
};

static uint64_t limit(const ScarpDrive *drive, ScarpPasser passer)
{
    const ScarpDescription *desc = &drive->desc;
    uint64_t most = rows[passer].most;

    if (!most) {
        return desc->reads_first_limit;
    }
    /* if a plane has fewer blocks, each of them may be collected once */
    if (passer == PASS_COLLECTIONS) {
        most = MIN(most, desc->blocks_per_plane);
    }
    switch (rows[passer].each) {
    case EACH_DIE_PLANE:
        return most * desc->planes_per_die;
    case EACH_PLANE:
        return most * drive->geo.n_planes;
    default:
        return most;
    }
}

bool scarp_turns_init(ScarpDrive *drive,
                      const ScarpConfig *config G_GNUC_UNUSED,
                      GError **error G_GNUC_UNUSED)
{
    const uint32_t n[] = {
        [PER_DIE] = drive->geo.n_dies, [PER_CHANNEL] = drive->desc.channels,
        [PER_DRIVE] = 1, [PER_WAITER] = 0,
    };

    drive->turns.reached = g_new0(uint8_t, drive->geo.n_dies);
    for (int passer = 0; passer < PASS__COUNT; passer++) {
        drive->turns.count[passer] = g_new0(ScarpTurnCount,
                                            n[rows[passer].scope]);
        drive->turns.limit[passer] = limit(drive, passer);
    }
    return true;
}

void scarp_turns_clear(ScarpDrive *drive)
{
    for (int passer = 0; passer < PASS__COUNT; passer++) {
        g_free(drive->turns.count[passer]);
    }
    g_free(drive->turns.reached);
}

void scarp_turns_scale(ScarpDrive *drive, ScarpPasser passer, uint64_t n)
{
    drive->turns.limit[passer] *= n;
}

void scarp_turn_passed(ScarpDrive *drive, ScarpPasser passer, uint32_t resource,
                       uint64_t waiter)
{
    ScarpTurnCount *count = &drive->turns.count[passer][resource];
    uint8_t *reached = &drive->turns.reached[resource];

    if (waiter == SCARP_NOBODY) {
        return;
    }
    if (waiter > count->last) { /* younger than the count covers */
        count->last = rows[passer].all ? scarp_seq_count(drive) - 1
                                       : waiter;
        count->passed = 0;
        *reached &= ~(1u << passer);
    }
    count->passed++;
    if (count->passed >= drive->turns.limit[passer]) {
        *reached |= 1u << passer;
    }
}
