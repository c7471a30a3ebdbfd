/*
 * GC-VIC's choice (hpdc18 §4.3, Algorithm 3): of the blocks with exactly the
 * fewest valid units, the victim is the block with the most matches. A match is
 * a valid page of the block at whose offset a read waits at another plane of
 * the die. Several reads at one offset are one match, because the block has
 * only one page at that offset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

#define MAX_READS 64

/*
 * Fills offset[] with the page offsets of reads that wait in the die's other
 * planes, each offset once, and returns their number.
 */
static uint32_t offsets(const ScarpDrive *drive, uint32_t p, uint32_t *offset)
{
    uint32_t n = drive->desc.planes_per_die;
    uint32_t found = 0;

    for (uint32_t q = p / n * n; q < p / n * n + n; q++) {
        const ScarpFlashCmd *cmd =
            q == p ? NULL : scarp_nand_head(drive, q, QUEUE_READS);

        for (; cmd && found < MAX_READS; cmd = scarp_flash_next(cmd)) {
            uint32_t page = scarp_ppn_page(drive, scarp_flash_ppn(cmd));
            uint32_t i = 0;

            while (i < found && offset[i] != page) {
                i++;
            }
            offset[i] = page;
            found += i == found;
        }
    }
    return found;
}

static uint32_t matches(const ScarpDrive *drive, uint32_t block,
                        const uint32_t *offset, uint32_t n)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t ppn = block * drive->geo.units_per_block +
                       offset[i] * drive->geo.units_per_page;
        bool valid = false;

        for (uint32_t u = 0; u < drive->geo.units_per_page; u++) {
            valid |= scarp_unit_is_valid(drive, ppn + u);
        }
        count += valid;
    }
    return count;
}

static uint32_t choose(ScarpDrive *drive, uint32_t p)
{
    uint32_t candidates[64], offset[MAX_READS];
    uint32_t n = scarp_victim_least(drive, p, candidates,
                                    drive->scheme.param[AXIS_VICTIM][0]);
    uint32_t reads = n > 1 ? offsets(drive, p, offset) : 0;
    uint32_t best = n ? candidates[0] : SCARP_NONE;
    uint32_t most = reads ? matches(drive, best, offset, reads) : 0;

    for (uint32_t i = 1; i < n; i++) {
        uint32_t b = candidates[i];
        uint32_t count = reads ? matches(drive, b, offset, reads) : 0;

        if (count > most ||
            (count == most && scarp_media_erases(drive, b) <
                                  scarp_media_erases(drive, best))) {
            scarp_mark_if(drive, victim_matched_reads, count > most);
            best = b;
            most = count;
        }
    }
    return best;
}

static const ScarpParam params[] = {
    { "candidates", "blocks", "exact ties that are compared", 1, 64, 10 },
};

const ScarpVictimOps scarp_victim_read_match = {
    .policy = {
        .axis = AXIS_VICTIM,
        .name = "read-match",
        .needs = NEEDS_JOINED,
        .help = "of the fewest valid units, most matches with waiting reads",
        .source = "hpdc18 section 4.3, Algorithm 3",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
    },
    .choose = choose,
};
