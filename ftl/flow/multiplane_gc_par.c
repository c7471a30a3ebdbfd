/*
 * GC-PAR (hpdc18 §4.1, Algorithm 2; §4.2): a GC read takes along a host read of
 * the same page offset, a GC program a host program, from planes of the die
 * that do not collect.
 *
 * Algorithm 2 as printed never resets "moved". Here every page starts anew, as
 * each is a flash command of its own.
 *
 * The second active block (§4.2) keeps every GC program aligned with the
 * host's: the planes of a die have one block each whose write points advance
 * together. A GC program with a mate goes there, one without goes to the
 * ordinary active block. Put into the aligned block, it would be the last with
 * a mate, as the sibling's write point would stay behind for good (the paper's
 * figure 6c). Single host programs fill up write points that lag.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

static bool may(const ScarpDrive *drive G_GNUC_UNUSED,
                const ScarpFlashCmd *lead G_GNUC_UNUSED,
                const ScarpFlashCmd *mate G_GNUC_UNUSED)
{
    return true; /* kind and page offset have been compared */
}

static bool aligned(const ScarpDrive *drive, const ScarpFlashCmd *lead)
{
    uint32_t n = drive->desc.planes_per_die, own = scarp_flash_plane(lead);
    uint32_t first = own / n * n;
    bool host = !scarp_flash_is_gc(lead);

    if (!drive->scheme.param[AXIS_MULTIPLANE][0] ||
        !scarp_aligned_possible(drive, own)) {
        return false;
    }
    for (uint32_t p = first; p < first + n; p++) {
        const ScarpFlashCmd *mate =
            scarp_nand_head(drive, p, host ? QUEUE_GC : QUEUE_PROGRAMS);

        /* Other streams keep to blocks of their own. */
        if (p != own && mate && scarp_flash_kind(mate) == SCARP_FLASH_PROGRAM &&
            scarp_flash_stream(host ? lead : mate) == 0 &&
            scarp_aligned_possible(drive, p) &&
            scarp_aligned_offset(drive, p) ==
                scarp_aligned_offset(drive, own)) {
            return true;
        }
    }
    return false;
}

/* If collections leave fewer free blocks, no aligned block is ever opened. */
static bool init(ScarpDrive *drive, ScarpScheme *scheme, GError **error)
{
    if (scheme->given[AXIS_MULTIPLANE] && scheme->param[AXIS_MULTIPLANE][0] &&
        drive->desc.trigger_free_blocks < SCARP_ALIGNED_FREE) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "params: second_active_block=1: needs "
                    "gc.trigger_free_blocks=%d or more", SCARP_ALIGNED_FREE);
        return false;
    }
    return true;
}

static const ScarpParam params[] = {
    { "second_active_block", "switch",
      "a block in each plane that keeps write points aligned "
      "(hpdc18 section 4.2); none with gc.trigger_free_blocks below 3",
      0, 1, 1 },
};

const ScarpMultiplaneOps scarp_multiplane_gc_par = {
    .policy = {
        .axis = AXIS_MULTIPLANE,
        .name = "gc-par",
        .needs = NEEDS_PLANES | NEEDS_TIME | NEEDS_ANY_PAGE,
        .help = "host commands join GC's in multi-plane commands",
        .source = "hpdc18 section 4.1, Algorithm 2; section 4.2",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
        .init = init,
    },
    .joins_gc = true,
    .may = may,
    .aligned = aligned,
};
