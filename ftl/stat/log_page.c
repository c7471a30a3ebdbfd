/*
 * The layout of the NVMe vendor log page 0xCA, which returns the drive's
 * statistics to the host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "stat/ops.h"

size_t scarp_stats_log_page(const ScarpDrive *drive, int64_t now_ns, void *buf,
                            size_t size)
{
    struct {
        char magic[8];
        uint32_t version;
        uint32_t count;
        uint64_t now_ns;
        char engine[8];
        char scheme[32];
        uint64_t value[SCARP_STAT_COUNT];
        uint64_t latency[SCARP_LATENCY_PAGE_WORDS];
    } page = {
        .magic = "SCARPST", .version = GUINT32_TO_LE(1),
        .count = GUINT32_TO_LE(SCARP_STAT_COUNT + SCARP_LATENCY_PAGE_WORDS),
        .now_ns = GUINT64_TO_LE(now_ns),
    };

    page.magic[7] = '1';
    g_strlcpy(page.engine, scarp_version(), sizeof(page.engine));
    g_strlcpy(page.scheme, drive->scheme.name, sizeof(page.scheme));
    for (unsigned i = 0; i < SCARP_STAT_COUNT; i++) {
        page.value[i] = GUINT64_TO_LE(((const uint64_t *)&drive->stats)[i]);
    }
    scarp_latency_page(drive, page.latency);
    if (size) {
        memcpy(buf, &page, MIN(size, sizeof(page)));
    }
    return sizeof(page);
}
