/*
 * Host queue policy: flash-aware (hios-isca14 §6.1; Kim, Oh, Kim, Choi, Lee and
 * Noh, "Disk schedulers for solid state drives", EMSOFT 2009).
 *
 * Reads go one by one, in the order of arrival. Writes go in bundles, so that
 * the writes of one logical block come in a row. A bundle has the waiting
 * writes that begin in one stretch of addresses: a logical block, or a
 * superblock, where the mapping has such blocks. Under page mapping the stretch
 * is as large as one block in each plane. So the data of a bundle fills the
 * same blocks, and if the host later overwrites it as a whole, these blocks
 * become invalid as a whole.
 *
 * A read waits for one bundle at most, and for the reads before it. A write
 * waits for at most one bundle, and reads_first reads, per write before it. A
 * bundle takes its writes by ascending address, but if it has bundle_max
 * writes, the last is the oldest write that still waits in the stretch. So new
 * writes to lower addresses cannot starve a write.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/ops.h"

enum { READS_FIRST, BUNDLE_MAX, BUNDLE_PAGES };

typedef struct {
    uint64_t bundle;  /* number of the open bundle's stretch of addresses */
    uint64_t left; /* writes that the bundle may still get; 0: no bundle */
    uint64_t reads;   /* reads that went before a write since the last bundle */
    uint64_t stretch_bytes;
} FlashAware;

static uint64_t stretch_pages(const ScarpDrive *drive,
                              const ScarpScheme *scheme)
{
    if (scheme->param[AXIS_HIL][BUNDLE_PAGES]) {
        return scheme->param[AXIS_HIL][BUNDLE_PAGES];
    }
    return scarp_map_group_blocks(drive) * drive->desc.pages_per_block;
}

static bool init(ScarpDrive *drive, ScarpScheme *scheme,
                 GError **error G_GNUC_UNUSED)
{
    FlashAware *state = scheme->state[AXIS_HIL];

    state->stretch_bytes = stretch_pages(drive, scheme) *
                           drive->desc.page_bytes;
    return true;
}

typedef struct {
    ScarpCmd *read, *write; /* the oldest read and the oldest write */
    ScarpCmd *oldest, *lowest; /* writes of the open bundle */
} Seen;

static ScarpCmd *look(const ScarpDrive *drive, const FlashAware *state,
                      const ScarpCmdQueue *waiting, Seen *seen)
{
    uint64_t n = drive->desc.queue;

    for (ScarpCmd *cmd = scarp_cmd_first(waiting); cmd && n--;
         cmd = cmd->next) {
        if (cmd->op == SCARP_OP_FLUSH) {
            return cmd;
        }
        if (cmd->op == SCARP_OP_READ) {
            seen->read = seen->read ? seen->read : cmd;
            continue;
        }
        seen->write = seen->write ? seen->write : cmd;
        if (cmd->offset_bytes / state->stretch_bytes == state->bundle) {
            seen->oldest = seen->oldest ? seen->oldest : cmd;
            if (!seen->lowest ||
                cmd->offset_bytes < seen->lowest->offset_bytes) {
                seen->lowest = cmd;
            }
        }
    }
    return NULL;
}

/*
 * True when a read is next. With reads_first=0, the older of the first waiting
 * read and the first waiting write is next.
 */
static bool read_first(const ScarpDrive *drive, const FlashAware *state,
                       const Seen *seen)
{
    uint64_t first = drive->scheme.param[AXIS_HIL][READS_FIRST];

    if (!seen->read || !seen->write) {
        return seen->read;
    }
    return first ? state->reads < first : seen->read->seq < seen->write->seq;
}

static ScarpCmd *pick(ScarpDrive *drive, ScarpCmdQueue *waiting)
{
    FlashAware *state = drive->scheme.state[AXIS_HIL];
    Seen seen = { NULL, NULL, NULL, NULL };
    ScarpCmd *cmd = look(drive, state, waiting, &seen);

    if (cmd) {
        return scarp_cmd_take(waiting, cmd);
    }
    scarp_mark_if(drive, bundle_ended_with_oldest,
                  state->left == 1 && seen.lowest &&
                  seen.oldest != seen.lowest);
    scarp_mark_if(drive, bundle_ran_out, state->left && !seen.lowest);
    if (state->left && seen.lowest) {
        cmd = --state->left ? seen.lowest : seen.oldest;
        return scarp_cmd_take(waiting, cmd);
    }
    state->left = 0;
    if (read_first(drive, state, &seen)) {
        scarp_mark_if(drive, read_passed_writes, seen.write &&
                      seen.write->seq < seen.read->seq);
        state->reads += seen.write != NULL;
        return scarp_cmd_take(waiting, seen.read);
    }
    state->reads = 0;
    state->bundle = seen.write->offset_bytes / state->stretch_bytes;
    state->left = drive->scheme.param[AXIS_HIL][BUNDLE_MAX];
    seen = (Seen) { NULL, NULL, NULL, NULL };
    look(drive, state, waiting, &seen);
    cmd = --state->left ? seen.lowest : seen.oldest;
    return scarp_cmd_take(waiting, cmd);
}

/*
 * Each bundle that goes before a write ends with an older write, and
 * reads_first reads may go between two bundles.
 */
static ScarpHilBound bound(const ScarpDrive *drive,
                           const ScarpCmd *cmd G_GNUC_UNUSED,
                           const ScarpCmd *younger G_GNUC_UNUSED)
{
    const uint64_t *param = drive->scheme.param[AXIS_HIL];

    return (ScarpHilBound) { 0, param[BUNDLE_MAX] + param[READS_FIRST] };
}

static void persist(ScarpDrive *drive G_GNUC_UNUSED, void *private,
                    ScarpVisit *visit)
{
    FlashAware *state = private;

    scarp_visit_u64(visit, "bundle", &state->bundle, 0, UINT64_MAX);
    scarp_visit_u64(visit, "left", &state->left, 0, 65536);
    scarp_visit_u64(visit, "reads", &state->reads, 0, UINT64_MAX);
}

static const ScarpParam params[] = {
    [READS_FIRST] = { "reads_first", "commands",
                      "reads that may pass writes in a row; 0: by arrival", 0,
                      65536, 16 },
    [BUNDLE_MAX] = { "bundle_max", "commands", "in a bundle", 1, 65536, 128 },
    [BUNDLE_PAGES] = { "bundle_pages", "pages",
                       "of addresses in a bundle; 0: by the mapping", 0,
                       1u << 20, 0 },
};

const ScarpHilOps scarp_hil_flash_aware = {
    .policy = {
        .axis = AXIS_HIL,
        .name = "flash-aware",
        .help = "reads one by one, writes in bundles of a logical block",
        .source = "hios-isca14 section 6.1; Kim, Oh et al., EMSOFT 2009",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
        .state_size = sizeof(FlashAware),
        .init = init,
        .persist = persist,
    },
    .bound = bound,
    .pick = pick,
};
