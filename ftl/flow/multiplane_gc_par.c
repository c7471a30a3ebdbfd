/*
 * GC-PAR (hpdc18 §4.1, Algorithm 2; §4.2): a read of GC takes along a host read
 * of the same page offset, and a program of GC takes along a host program. The
 * host's commands come from planes of the die that do not collect.
 *
 * Algorithm 2 as printed never resets its variable "moved", so after one match
 * no page would be read alone. Here each page starts anew, because each page is
 * a flash command of its own.
 *
 * The second active block (§4.2) keeps GC's programs aligned with the host's:
 * each plane of a die has one such block, and the write points of these blocks
 * advance together. A GC program with a mate goes to the plane's second block,
 * a GC program without a mate to the ordinary active block. In the second
 * block, a program without a mate would advance the write point of its own
 * plane only, so that later programs there would find no mate at the same
 * offset (the paper's figure 6c). Only while a plane's second block lags behind
 * another plane's does it take programs without a mate (blocks/write_points.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

static bool may(const ScarpDrive *drive G_GNUC_UNUSED,
                const ScarpFlashCmd *lead G_GNUC_UNUSED,
                const ScarpFlashCmd *mate G_GNUC_UNUSED)
{
    return true; /* the caller has compared kinds and page offsets */
}

/*
 * True when the host's program goes to a block of the real mode. The SLC cache
 * has no aligned blocks, and with slc.full=fold all of the host's pages go
 * there.
 */
static bool is_real(const ScarpDrive *drive, uint32_t p,
                    const ScarpFlashCmd *host)
{
    return !scarp_blocks_cached(drive) ||
           (drive->desc.slc_full == SLC_DIRECT &&
            !scarp_page_is_slc(drive, p, SCARP_ORIGIN_HOST,
                               scarp_flash_stream(host)));
}

static bool aligned(const ScarpDrive *drive, const ScarpFlashCmd *lead)
{
    uint32_t n = drive->desc.planes_per_die, own = scarp_flash_plane(lead);
    uint32_t first = own / n * n;
    bool host = !scarp_flash_is_gc(lead);

    if (!drive->scheme.param[AXIS_MULTIPLANE][0] ||
        !scarp_aligned_possible(drive, own) ||
        (host && !is_real(drive, own, lead))) {
        return false;
    }
    for (uint32_t p = first; p < first + n; p++) {
        const ScarpFlashCmd *mate =
            scarp_nand_head(drive, p, host ? QUEUE_GC : QUEUE_PROGRAMS);

        /* only stream 0 may use aligned blocks */
        if (p != own && mate && scarp_flash_kind(mate) == SCARP_FLASH_PROGRAM &&
            scarp_flash_stream(host ? lead : mate) == 0 &&
            (host || is_real(drive, p, mate)) &&
            scarp_aligned_possible(drive, p) &&
            scarp_aligned_offset(drive, p) ==
                scarp_aligned_offset(drive, own)) {
            return true;
        }
    }
    return false;
}

/*
 * Refuses second_active_block=1 where collections begin so late that no plane
 * ever has enough free blocks to open an aligned block.
 */
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
        .needs = NEEDS_PLANES | NEEDS_TIME | NEEDS_ANY_PAGE |
                 NEEDS_NO_UNITS,
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
