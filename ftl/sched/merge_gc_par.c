/*
 * GC-PAR (hpdc18 §4.1, Algorithm 2; §4.2): a GC read takes along a host read
 * of the same page offset, a GC program a host program, from the planes of the
 * die that do not collect.
 *
 * Algorithm 2 as printed never resets "moved"; here every page starts anew, as
 * each is a flash command of its own.
 *
 * The second active block (§4.2): when a collection begins and the write
 * points differ, the collecting plane and its siblings each open a block; the
 * old ones are filled later by the host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static bool may(const ScarpDrive *drive G_GNUC_UNUSED,
                const ScarpTx *lead G_GNUC_UNUSED,
                const ScarpTx *mate G_GNUC_UNUSED)
{
    return true; /* kind and page offset have been compared */
}

static void gc_start(ScarpDrive *drive, const ScarpGc *gc)
{
    uint32_t n = drive->d.planes_per_die;
    uint32_t first = gc->plane / n * n;
    uint32_t offset = scarp_alloc_offset(drive, gc->plane, SCARP_ORIGIN_GC,
                                         0);
    bool aligned = true;

    if (!drive->scheme.param[AXIS_MERGE][0]) {
        return;
    }
    for (uint32_t p = first; p < first + n; p++) {
        aligned &= p == gc->plane ||
                   scarp_alloc_offset(drive, p, SCARP_ORIGIN_HOST, 0) ==
                       offset;
    }
    if (aligned ||
        (offset &&
         !scarp_active_set_aside(drive, gc->plane, SCARP_ORIGIN_GC))) {
        return;
    }
    for (uint32_t p = first; p < first + n; p++) {
        if (p != gc->plane) {
            scarp_active_set_aside(drive, p, SCARP_ORIGIN_HOST);
        }
    }
}

static const ScarpParam params[] = {
    { "second_active_block", "switch",
      "open blocks that align the write points (hpdc18 §4.2)", 0, 1, 1 },
};

const ScarpMergeOps scarp_merge_gc_par = {
    .policy = {
        .axis = AXIS_MERGE,
        .name = "gc-par",
        .needs = NEEDS_PLANES | NEEDS_TIME,
        .help = "host commands join GC's in multi-plane commands",
        .source = "hpdc18 §4.1, Algorithm 2; §4.2",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
    },
    .joins_gc = true,
    .may = may,
    .gc_start = gc_start,
};
