/*
 * Scarp: flexible data placement on the flash
 *
 * A reclaim unit handle of the subsystem is a stream of the flash. The
 * endurance group is the whole flash: a collection may mix the data of several
 * handles, which FDP calls "initially isolated".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/units.h"
#include "flash-int.h"

/* nvme-subsys's default of fdp.runs, by which a user may have given none */
#define DEFAULT_RUNS (96 * MiB)

static bool one_flash(NvmeNamespace *ns, Error **errp)
{
    NvmeFlash *flash = ns->flash;

    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeNamespace *other = nvme_subsys_ns(ns->subsys, i);

        if (other && ns->endgrp->fdp.enabled && other->flash != flash) {
            error_setg(errp, "'flash': namespace %d is not on it; in a "
                       "subsystem with fdp=on all namespaces are on one "
                       "flash, or none", i);
            return false;
        }
    }
    if (flash->endgrp && flash->endgrp != ns->endgrp &&
        (flash->fdp || ns->endgrp->fdp.enabled)) {
        error_setg(errp, "fdp: the flash has a namespace of another subsystem; "
                   "with fdp=on all of its namespaces are of one");
        return false;
    }
    return true;
}

/*
 * hw/nvme takes reclaim units from the flash for the handles of ns only after
 * this check.
 */
bool flash_fdp_attach(NvmeNamespace *ns, Error **errp)
{
    NvmeFlash *flash = ns->flash;
    NvmeEnduranceGroup *endgrp = ns->endgrp;
    uint32_t streams = scarp_drive_streams(flash->drive);
    uint64_t unit = scarp_drive_stream_bytes(flash->drive);

    if (!one_flash(ns, errp)) {
        return false;
    }
    flash->endgrp = endgrp;
    if (!endgrp->fdp.enabled) {
        return true;
    }
    if (endgrp->fdp.nruh > streams) {
        error_setg(errp, "fdp.nruh: %" PRIu16 " reclaim unit handles are %"
                   PRIu16 " streams of the flash, but ftl.streams is %" PRIu32
                   "; allowed are 1 to %" PRIu32, endgrp->fdp.nruh,
                   endgrp->fdp.nruh, streams, streams);
        return false;
    }
    if (endgrp->fdp.nrg != 1) {
        error_setg(errp, "fdp.nrg: %" PRIu16 " reclaim groups; with 'flash' "
                   "allowed is 1, the whole flash", endgrp->fdp.nrg);
        return false;
    }
    if (endgrp->fdp.runs != unit && endgrp->fdp.runs != DEFAULT_RUNS) {
        error_setg(errp, "fdp.runs: %" PRIu64 " bytes; with 'flash' allowed "
                   "is %" PRIu64 ", a block in each plane, which it is when "
                   "left out", endgrp->fdp.runs, unit);
        return false;
    }
    endgrp->fdp.runs = unit;
    endgrp->fdp.flash = flash;
    flash->fdp = true;
    return true;
}

/* ---- Reclaim units ------------------------------------------------------- */

bool nvme_flash_has_units(NvmeFlash *flash)
{
    return scarp_unit_stats(flash->drive);
}

bool nvme_flash_isolates(NvmeFlash *flash, uint16_t handle)
{
    return scarp_drive_isolates(flash->drive, handle);
}

uint64_t nvme_flash_unit_left(NvmeFlash *flash, uint16_t handle)
{
    uint64_t left;

    nvme_flash_lock(flash);
    left = scarp_unit_left_bytes(flash->drive, handle);
    nvme_flash_unlock(flash);
    return left;
}

bool nvme_flash_close_units(NvmeFlash *flash, uint16_t handle)
{
    bool closed;

    if (flash->stopped || flash_time_is_over(flash)) {
        return false;
    }
    nvme_flash_lock(flash);
    scarp_run(flash->drive, nvme_flash_now_ns(flash));
    closed = scarp_close_units(flash->drive, handle);
    if (closed) {
        flash_log_close_units(flash->logs.log, scarp_now_ns(flash->drive),
                              flash_port_submitted(flash->port), handle);
    }
    nvme_flash_unlock(flash);
    /* pages that waited for company are programmed now */
    flash_run_soon(flash);
    return closed;
}

uint32_t flash_fdp_open_handles(NvmeFlash *flash)
{
    uint32_t open = 0;

    if (!flash->fdp || !nvme_flash_has_units(flash)) {
        return 0;
    }
    nvme_flash_lock(flash);
    for (uint16_t i = 0; i < flash->endgrp->fdp.nruh; i++) {
        open |= (uint32_t)(scarp_unit_left_bytes(flash->drive, i) !=
                           flash->endgrp->fdp.runs) << i;
    }
    nvme_flash_unlock(flash);
    return open;
}

/* ---- Statistics ---------------------------------------------------------- */

static void count(NvmeFlash *flash, uint64_t *host, uint64_t *written,
                  uint64_t *erased)
{
    *host = flash->fdp_host + scarp_stats(flash->drive)->write_bytes;
    *written = flash->fdp_written + scarp_media_written_bytes(flash->drive);
    *erased = flash->fdp_erased + scarp_media_erased_bytes(flash->drive);
}

/*
 * Adds to FDP's sums before the statistics are reset, because FDP's numbers are
 * never reset.
 */
void flash_fdp_keep(NvmeFlash *flash)
{
    count(flash, &flash->fdp_host, &flash->fdp_written, &flash->fdp_erased);
}

void nvme_flash_fdp_stats(NvmeFlash *flash, uint64_t *host, uint64_t *written,
                          uint64_t *erased)
{
    nvme_flash_lock(flash);
    count(flash, host, written, erased);
    nvme_flash_unlock(flash);
}
