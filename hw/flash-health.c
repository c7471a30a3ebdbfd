/*
 * Scarp: Identify and the health log pages of the flash
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "flash-int.h"

#define SPARE_THRESHOLD_PERCENT 10
#define USED_MAX_PERCENT 255
#define MINUTE_NS (60ull * 1000 * 1000 * 1000)

/*
 * Returns the number of logical blocks in `bytes` in the form that Identify
 * uses: 0 stands for one block.
 */
static uint16_t zeroes_based(const NvmeNamespace *ns, uint64_t bytes)
{
    uint64_t blocks = MAX(bytes / ns->lbasz, 1);

    return cpu_to_le16(MIN(blocks - 1, UINT16_MAX));
}

/* Sets the firmware revision of all controllers to the engine's version. */
static void say_firmware(NvmeSubsystem *subsys)
{
    for (int i = 0; i < NVME_MAX_CONTROLLERS; i++) {
        NvmeCtrl *ctrl = nvme_subsys_ctrl(subsys, i);

        if (ctrl) {
            strpadcpy((char *)ctrl->id_ctrl.fr, sizeof(ctrl->id_ctrl.fr),
                      scarp_version(), ' ');
        }
    }
}

void flash_health_say_firmware(NvmeFlash *flash)
{
    for (GSList *item = flash->namespaces; item; item = item->next) {
        say_firmware(((NvmeNamespace *)item->data)->subsys);
    }
}

/*
 * Tells the host that writes should be whole mapping units (NPWG), because for
 * a smaller write the drive first reads the other bytes of the unit. Without
 * NPWG the host would assume that each logical block is such a unit. A power
 * cut never leaves a mapping unit half written.
 */
void nvme_flash_identify(NvmeNamespace *ns)
{
    ScarpDrive *drive = ns->flash->drive;
    NvmeIdNs *id = &ns->id_ns;
    uint32_t unit = scarp_drive_unit_bytes(drive);
    uint64_t program = scarp_drive_program_bytes(drive);

    say_firmware(ns->subsys);

    /* a namespace on the flash has no format with metadata */
    id->mc = 0;
    id->dpc = 0;

    id->npwg = zeroes_based(ns, unit);
    id->npwa = id->npwg;
    /*
     * nows is zeroes based, and 0 tells the host nothing. It stays 0 if the
     * largest program has a single unit, is larger than the namespace, or is
     * not a whole number of units.
     */
    id->nows = program > unit && program <= ns->size && !(program % unit)
               ? zeroes_based(ns, program) : 0;

    id->nsfeat &= ~NVME_ID_NS_NSFEAT_NSABPNS;
    id->nawun = 0;
    if (id->npwg) {
        id->nsfeat |= NVME_ID_NS_NSFEAT_NSABPNS;
        id->nawun = id->npwg;
    }
    id->nawupf = id->nawun;
    /* a write is atomic only inside one unit */
    id->nabsn = id->nawun;
    id->nabspf = id->nawun;

    if (!scarp_drive_deallocates(drive)) {
        /* deallocated blocks keep their contents, as dlfeat says */
        id->dlfeat = 0;
    }
}

void nvme_flash_smart(NvmeFlash *flash, NvmeSmartLog *smart)
{
    uint64_t busy_ns = flash->busy_ns;
    uint32_t spare, used;
    bool broken;

    nvme_flash_lock(flash);
    spare = scarp_spare_percent(flash->drive);
    used = scarp_used_percent(flash->drive);
    broken = scarp_stats(flash->drive)->oob_mismatches;
    nvme_flash_unlock(flash);

    if (flash->admit.in_flight) {
        busy_ns += nvme_flash_now_ns(flash) - flash->busy_from_ns;
    }
    flash_power_smart(flash, smart);
    if (!smart->available_spare_threshold) {
        smart->available_spare_threshold = SPARE_THRESHOLD_PERCENT;
        smart->available_spare = 100;
    }
    smart->available_spare = MIN(smart->available_spare, spare);
    smart->percentage_used = MAX(smart->percentage_used,
                                 MIN(used, USED_MAX_PERCENT));
    smart->controller_busy_time[0] =
        cpu_to_le64(MAX(le64_to_cpu(smart->controller_busy_time[0]),
                        busy_ns / MINUTE_NS));
    if (spare < SPARE_THRESHOLD_PERCENT) {
        smart->critical_warning |= NVME_SMART_SPARE;
    }
    if (broken) {
        smart->critical_warning |= NVME_SMART_RELIABILITY;
    }
}

/*
 * Called after a run of the engine. When the spare is below its threshold, each
 * subsystem is warned once, as soon as one of its hosts has asked for such
 * warnings.
 */
void flash_health_look(NvmeFlash *flash)
{
    if (flash_port_spare_percent(flash->port) >= SPARE_THRESHOLD_PERCENT) {
        return;
    }
    for (GSList *item = flash->namespaces; item; item = item->next) {
        NvmeSubsystem *subsys = ((NvmeNamespace *)item->data)->subsys;

        /* a subsystem is warned once, even with two namespaces on this flash */
        if (!g_slist_find(flash->spare_warned, subsys) &&
            nvme_subsys_smart_event(subsys, NVME_SMART_SPARE)) {
            flash->spare_warned = g_slist_prepend(flash->spare_warned, subsys);
        }
    }
}
