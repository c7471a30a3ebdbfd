/*
 * HIOS: detection (hios-isca14 section 5.1) of the collections or merges that a
 * write needs. Detection happens before the write's data moves. It uses the
 * write's address and length, the state of each plane that the write goes to,
 * and the pages on their way to these planes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/hios/hios.h"

/*
 * Returns a plane whose round must end before a round of `plane` can begin, or
 * SCARP_NONE. A round is the work that is left of one collection or merge
 * (gc/ops.h). With `serial` the drive runs one round at a time, otherwise each
 * die does.
 */
static uint32_t must_wait(ScarpDrive *drive, uint32_t plane)
{
    uint32_t first = scarp_die_plane(drive, scarp_plane_die(drive, plane));

    if (hios_is_set(drive, HIOS_SERIAL)) {
        uint32_t round = scarp_gc_round(drive);

        return round == plane ? SCARP_NONE : round;
    }
    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        if (p != plane && scarp_gc_has_round(drive, p)) {
            return p;
        }
    }
    return SCARP_NONE;
}

/* ---- Pages that are on their way to a plane ------------------------------ */

/*
 * Adds a page that is on its way to a plane to hios->ahead[]. Returns false if
 * the list is full.
 */
static bool add(Hios *hios, uint32_t *n, uint32_t lpn)
{
    if (*n == hios->n_ahead) {
        return false;
    }
    hios->ahead[(*n)++] = lpn;
    return true;
}

/*
 * Adds the pages of a write whose data is on its way to the device, as far as
 * they go to the same plane as LPN `of`. A unit is a page here, and the pages
 * of a plane are n_planes apart.
 */
static void add_coming(const ScarpDrive *drive, Hios *hios, uint32_t *n,
                       const HiosRecord *record, uint32_t of)
{
    uint32_t planes = drive->geo.n_planes;
    uint32_t first = hios_first_lpn(drive, record->cmd);
    uint32_t last = hios_last_lpn(drive, record->cmd);

    first += (of % planes + planes - first % planes) % planes;
    while (first <= last && add(hios, n, first)) {
        first += planes;
    }
}

/*
 * Fills hios->ahead[] with the pages that are on their way to the plane, and
 * returns their number.
 */
static uint32_t ahead_of(ScarpDrive *drive, Hios *hios, uint32_t plane,
                         uint32_t lpn)
{
    ScarpFlashQueue *queue = scarp_nand_queue(drive, plane, QUEUE_PROGRAMS);
    uint32_t n = 0;

    /*
     * The queue may be far longer than the list hios->ahead[], which then has
     * the queue's oldest programs.
     */
    for (ScarpFlashCmd **link = scarp_nand_first_link(queue);
         *link && add(hios, &n, scarp_unit_lpn(scarp_flash_units(*link)));
         link = scarp_flash_next_link(*link)) {
        continue;
    }
    for (uint32_t i = 0; i < hios->n_flying; i++) {
        const HiosRecord *record = &hios->record[hios->flying[i]];

        if (record->coming && record->cmd->length_bytes) {
            add_coming(drive, hios, &n, record, lpn);
        }
    }
    return n;
}

/* ---- Needs of a write ---------------------------------------------------- */

/*
 * Called when the write has no room in the plane. Returns the time until the
 * work that is granted to collections on the plane's die is done. Without
 * granted work it returns the time of a segment if programs on their way may
 * make room, otherwise 0: waiting brings no room.
 */
static int64_t retry_ns(ScarpDrive *drive, const Hios *hios, uint32_t plane)
{
    uint32_t die = scarp_plane_die(drive, plane);
    int64_t ns = scarp_gc_granted_ns(drive, die);

    if (ns) {
        /* A running command may take far longer than the grants behind it. */
        return MAX(ns, scarp_nand_busy_ns(drive, die, hios->program_ns));
    }
    /* Programs on their way may have to end before a merge can begin. */
    return scarp_gc_runs(drive, plane) || !hios->n_flying
               ? 0 : scarp_gc_segment_ns(drive);
}

static void find_in_plane(ScarpDrive *drive, const Hios *hios,
                          const ScarpGcWrite *write, HiosFind what,
                          HiosFound *found)
{
    ScarpReclaim reclaim = scarp_gc_reclaim(drive, write);
    uint32_t other = SCARP_NONE;
    int64_t ns;

    if (reclaim == RECLAIM_NOTHING) {
        return;
    }
    if (reclaim != RECLAIM_WAITS) {
        other = must_wait(drive, write->plane);
    }
    if (reclaim == RECLAIM_WAITS || other != SCARP_NONE) {
        scarp_mark_if(drive, sibling_has_round, other != SCARP_NONE);
        found->successive = true;
        if (reclaim != RECLAIM_DUE) {
            found->stuck = true;
            found->retry_ns =
                MIN(found->retry_ns,
                    retry_ns(drive, hios,
                             other == SCARP_NONE ? write->plane : other));
        }
        return;
    }
    if (what == HIOS_FIND_WAITS) {
        return;
    }
    if (what == HIOS_FIND_OPEN) {
        scarp_gc_open_round(drive, write);
        return;
    }
    ns = scarp_gc_reclaim_ns(drive, write);
    found->gc_ns = hios_is_set(drive, HIOS_SERIAL) ? found->gc_ns + ns
                                                   : MAX(found->gc_ns, ns);
}

/*
 * Looks for needed rounds in each plane that the write goes to. n_planes
 * consecutive pages go to different planes, so the first page of each plane is
 * among the first n_planes pages.
 */
HiosFound hios_find(ScarpDrive *drive, Hios *hios, const HiosRecord *record,
                    HiosFind what)
{
    const ScarpCmd *cmd = record->cmd;
    uint32_t last, left = drive->geo.n_planes;
    HiosFound found = { .retry_ns = INT64_MAX };

    if (!hios_is_write(record) || !cmd->length_bytes) {
        return found;
    }
    last = hios_last_lpn(drive, cmd);
    for (uint32_t lpn = hios_first_lpn(drive, cmd); lpn <= last && left--;
         lpn = hios_next_page(drive, lpn)) {
        ScarpGcWrite write = {
            .lpn = lpn,
            .n = (last - lpn) / drive->geo.n_planes + 1,
            .stream = hios_stream(drive, cmd),
            .ahead = hios->ahead,
        };

        write.plane = drive->scheme.alloc->plane(drive, lpn, write.stream);
        if (scarp_map_can(drive, MAP_PLACES_PAGES)) {
            write.n_ahead = ahead_of(drive, hios, write.plane, lpn);
        }
        find_in_plane(drive, hios, &write, what, &found);
    }
    return found;
}
