/*
 * Reads that avoid a collection (TTFlash, FAST 2017, GC-tolerant read). While a
 * page's die collects, a read of the page can be rebuilt from the other pages
 * of its stripe, which are on other dies.
 *
 * A rebuild is considered once for each read: when the read comes while the die
 * collects, or when a collection begins while the read waits. The read is
 * rebuilt if the reads of the other pages would wait for no collection, and
 * would all end before this collection. If the host changes the stripe
 * meanwhile, the rebuild is given up, and the read is served as if it had never
 * been considered. The exclusive or takes no time, as it overlaps with
 * transfers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "parity/internal.h"

/* ---- Worth of a rebuild ------------------------------------------------- */

/* Returns how long a read would take if it were queued at the die now. */
static int64_t read_ns(const ScarpDrive *drive, uint32_t die)
{
    int64_t one = (int64_t)drive->desc.command_ns +
                  scarp_nand_read_ns(drive, 0) +
                  scarp_nand_page_transfer_ns(drive);

    return scarp_nand_busy_ns(drive, die, one) +
           (scarp_nand_queued(drive, die, QUEUE_READS) + 1) * one;
}

static bool worth_it(ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    uint32_t lpn = scarp_flash_lpn(cmd);
    uint32_t place, index = scarp_stripe_of(drive, lpn, &place);
    const void *data;
    int64_t limit_ns;

    if (scarp_stripe_known(drive, lpn, &data)) {
        /*
         * The host has written or deallocated the page since, so the stripe's
         * parity does not match the wanted data.
         */
        scarp_mark(drive, rebuild_overtaken);
        return false;
    }
    if (scarp_stripe_open(drive, index)) {
        scarp_mark(drive, rebuild_met_open_stripe);
        return false; /* an open stripe's parity on flash is out of date */
    }
    limit_ns = scarp_gc_remaining_ns(
        drive, scarp_plane_die(drive, scarp_flash_plane(cmd)));
    for (uint32_t i = 0; i < drive->parity.width; i++) {
        uint32_t other = scarp_stripe_lpn(drive, index, i), die;

        if (i == place || scarp_stripe_known(drive, other, &data)) {
            continue;
        }
        die = scarp_plane_die(
            drive, scarp_ppn_plane(drive, scarp_map_lookup(drive, other)));
        if (scarp_gc_delays(drive, die) || read_ns(drive, die) >= limit_ns) {
            scarp_mark(drive, rebuild_not_sooner);
            return false;
        }
    }
    return true;
}

/* ---- The rebuild -------------------------------------------------------- */

/* True when two pages are equal. NULL is a page of zeroes. */
static bool same(const ScarpDrive *drive, const char *a, const char *b)
{
    uint32_t bytes = drive->geo.unit_bytes;
    const char *one = a ? a : b;

    if (a && b) {
        return !memcmp(a, b, bytes);
    }
    return !one || (!one[0] && !memcmp(one, one + 1, bytes - 1));
}

static void finish(ScarpDrive *drive, ScarpStripe *rebuild)
{
    ScarpParity *parity = &drive->parity;
    ScarpFlashCmd *cmd = rebuild->parent;

    scarp_stripe_list_remove(&parity->rebuilds, rebuild);
    scarp_mark_if(drive, rebuild_spoiled, rebuild->spoiled);
    if (rebuild->spoiled) {
        scarp_flash_set_direct(cmd);
        scarp_flash_push(&parity->spoiled, cmd);
        scarp_stripe_free(drive, rebuild);
        return;
    }
    if (drive->store_data) {
        uint32_t ppn = scarp_map_lookup(drive, scarp_flash_lpn(cmd));

        /* the host must get the same data as from the wanted page itself */
        if (!same(drive, rebuild->sum, scarp_contents_get(drive, ppn))) {
            scarp_law_broken(drive);
        }
    }
    scarp_mark(drive, read_rebuilt);
    drive->stats.reconstructed_reads++;
    scarp_flash_set_data(cmd, g_steal_pointer(&rebuild->sum));
    scarp_flash_push(&parity->served, cmd);
    scarp_stripe_free(drive, rebuild);
}

static void begin(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    uint32_t lpn = scarp_flash_lpn(cmd);
    uint32_t place, index = scarp_stripe_of(drive, lpn, &place);
    ScarpStripe *rebuild = scarp_stripe_new(drive, index);

    rebuild->parent = cmd;
    scarp_stripe_list_add(&drive->parity.rebuilds, rebuild);
    for (uint32_t i = 0; i < drive->parity.width; i++) {
        uint32_t other = scarp_stripe_lpn(drive, index, i);
        const void *data;

        if (i == place) {
            continue;
        }
        if (scarp_stripe_known(drive, other, &data)) {
            scarp_stripe_add(drive, rebuild, data);
        } else {
            rebuild->pending++;
            scarp_stripe_read(drive, rebuild, other, scarp_flash_bytes(cmd));
        }
    }
    /*
     * The wanted page is mapped, so at least the parity page of its stripe must
     * be read.
     */
    g_assert(rebuild->pending);
}

void scarp_rebuild_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    ScarpStripe *rebuild = scarp_flash_subject(cmd);

    scarp_stripe_add(drive, rebuild, scarp_flash_data(cmd));
    scarp_contents_release(drive, scarp_flash_data(cmd));
    if (!--rebuild->pending) {
        /*
         * The read that ends last decides when the host's read ends, so its
         * account explains the latency of the host's read.
         */
        scarp_account_add(scarp_flash_account(rebuild->parent),
                          scarp_flash_account(cmd),
                          drive->geo.part_causes);
        scarp_flash_free(drive, cmd);
        finish(drive, rebuild);
    } else {
        scarp_flash_free(drive, cmd);
    }
}

void scarp_rebuild_spoil(ScarpDrive *drive, uint32_t index)
{
    for (ScarpStripe *s = drive->parity.rebuilds.head; s; s = s->next) {
        s->spoiled |= s->index == index;
    }
}

ScarpFlashCmd *scarp_parity_next_served(ScarpDrive *drive)
{
    return scarp_flash_pop(&drive->parity.served);
}

ScarpFlashCmd *scarp_parity_next_spoiled(ScarpDrive *drive)
{
    return scarp_flash_pop(&drive->parity.spoiled);
}

const ScarpFlashCmd *scarp_parity_parent(const ScarpFlashCmd *cmd)
{
    return ((const ScarpStripe *)scarp_flash_subject(cmd))->parent;
}

/* ---- The choices -------------------------------------------------------- */

static bool decide(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    if (scarp_flash_direct(cmd) || scarp_flash_owner(cmd) == OWNER_STRIPE ||
        !scarp_gc_delays(drive,
                         scarp_plane_die(drive, scarp_flash_plane(cmd)))) {
        return false;
    }
    scarp_flash_set_direct(cmd);
    if (worth_it(drive, cmd)) {
        return true;
    }
    drive->stats.reconstruction_refusals++;
    return false;
}

static bool serve(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    if (!decide(drive, cmd)) {
        return false;
    }
    begin(drive, cmd);
    return true;
}

/*
 * Called when a die begins to collect. Each read that waits for the die is
 * rebuilt instead, if that is faster than waiting for the collection.
 */
static void gc_start(ScarpDrive *drive, ScarpGcJob *job)
{
    uint32_t n = drive->desc.planes_per_die;
    uint32_t first = scarp_gc_job_plane(job) / n * n;

    for (uint32_t p = first; p < first + n; p++) {
        ScarpFlashQueue *queue = scarp_nand_queue(drive, p, QUEUE_READS);
        ScarpFlashCmd **link = scarp_nand_first_link(queue);

        while (*link) {
            ScarpFlashCmd *cmd = *link;

            if (decide(drive, cmd)) {
                scarp_mark(drive, waiting_read_rebuilt);
                scarp_nand_dequeue(drive, queue, link);
                scarp_flash_waited(drive, cmd);
                begin(drive, cmd);
            } else {
                link = scarp_flash_next_link(cmd);
            }
        }
    }
}

const ScarpRedundancyOps scarp_redundancy_direct = {
    .policy = {
        .axis = AXIS_REDUNDANCY,
        .name = "direct",
        .help = "a page is read where it lies",
        .source = "common practice",
    },
};

const ScarpRedundancyOps scarp_redundancy_reconstruct = {
    .policy = {
        .axis = AXIS_REDUNDANCY,
        .name = "reconstruct",
        .needs = NEEDS_PARITY | NEEDS_TIME,
        .help = "a read of a die that collects is served by parity, if sooner",
        .source = "TTFlash (FAST 2017), GC-tolerant read",
    },
    .serve = serve,
    .gc_start = gc_start,
};
