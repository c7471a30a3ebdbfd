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
#define MINUTE_MS (60u * 1000)

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
    for (GSList *item = flash->subsystems; item; item = item->next) {
        say_firmware(item->data);
    }
}

/*
 * Tells the host that writes should be whole mapping units (NPWG), because for
 * a smaller write the drive first reads the other bytes of the unit. Without
 * NPWG the host would assume that each logical block is such a unit.
 *
 * Also tells the host that writes of one mapping unit are atomic: a power cut
 * never leaves a mapping unit half written.
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

    stq_le_p(id->nvmcap, ns->flash_bytes);
    id->npwg = zeroes_based(ns, unit);
    id->npwa = id->npwg;
    /*
     * nows is zeroes based, and 0 tells the host nothing. nows is 0 if the
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
        /*
         * Deallocated blocks keep their contents, as this drive unmaps nothing.
         * 0 promises no contents.
         */
        id->dlfeat = 0;
    }
}

/* ---- Temperature --------------------------------------------------------- */

static uint16_t kelvin_of(uint32_t millikelvin)
{
    return MIN(millikelvin / 1000, UINT16_MAX);
}

/* Sets *heat to the present state. Returns false without the group heat. */
static bool heat_of(NvmeFlash *flash, ScarpHeat *heat)
{
    bool warms;

    nvme_flash_lock(flash);
    warms = scarp_heat(flash->drive, nvme_flash_now_ns(flash), heat);
    nvme_flash_unlock(flash);
    return warms;
}

/*
 * Returns the temperature of the controller's warmest flash, in thousandths of
 * a kelvin, as controllers were last told. Returns 0 if no flash of the
 * controller has the group heat.
 */
static uint32_t composite_millikelvin(NvmeCtrl *n)
{
    NvmeFlash *whole = nvme_flash_of_subsys(n->subsys);
    uint32_t warmest = whole ? whole->millikelvin : 0;

    for (uint32_t nsid = 1; nsid <= NVME_MAX_NAMESPACES; nsid++) {
        NvmeNamespace *ns = nvme_ns(n, nsid);

        if (ns && ns->flash) {
            warmest = MAX(warmest, ns->flash->millikelvin);
        }
    }
    return warmest;
}

/*
 * Sets the controller's temperature. If the temperature has come to a threshold
 * of the controller (Set Features, 04h), the controller's host gets an event.
 */
static void set_temperature(NvmeCtrl *n)
{
    uint32_t millikelvin = composite_millikelvin(n);
    uint16_t before = n->temperature, high = n->features.temp_thresh_hi;
    uint16_t low = n->features.temp_thresh_low;
    uint16_t kelvin = kelvin_of(millikelvin);

    if (!millikelvin) {
        return;
    }
    n->temperature = kelvin;
    if ((before < high && kelvin >= high) || (before > low && kelvin <= low)) {
        nvme_smart_event(n, NVME_SMART_TEMPERATURE);
    }
}

/* Tells all controllers of the flash's subsystems how warm the flash is. */
static void flash_is_warm(NvmeFlash *flash, uint32_t millikelvin)
{
    flash->millikelvin = millikelvin;
    for (GSList *item = flash->subsystems; item; item = item->next) {
        for (int i = 0; i < NVME_MAX_CONTROLLERS; i++) {
            NvmeCtrl *n = nvme_subsys_ctrl(item->data, i);

            if (n) {
                set_temperature(n);
            }
        }
    }
}

void nvme_flash_temperature(NvmeCtrl *n)
{
    for (uint32_t i = 0; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeFlash *flash = nvme_flash_at(n->subsys, i);
        ScarpHeat heat;

        if (flash && heat_of(flash, &heat)) {
            flash_is_warm(flash, flash_millikelvin(heat.millicelsius));
        }
    }
}

/* Returns the lower of two thresholds. 0 stands for no threshold. */
static uint64_t lower(uint64_t a, uint64_t b)
{
    return a && b ? MIN(a, b) : MAX(a, b);
}

static uint16_t threshold(uint64_t celsius)
{
    return celsius ? cpu_to_le16(kelvin_of(flash_millikelvin(celsius * 1000)))
                   : 0;
}

/*
 * Sets the thresholds of Identify Controller, from which SMART counts minutes:
 * WCTEMP, where the throttling of a flash becomes light, and CCTEMP, where the
 * throttling becomes heavy. 0 stands for no threshold. WCTEMP is also the
 * threshold for the host's events until the host sets a threshold.
 */
static void say_thresholds(NvmeCtrl *n)
{
    uint16_t unset = nvme_temp_thresh_default(n);
    uint64_t light = 0, heavy = 0;
    bool warms = false;
    ScarpHeat heat;

    for (uint32_t i = 0; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeNamespace *ns = nvme_reachable_ns(n, i);
        NvmeFlash *flash = i ? (ns ? ns->flash : NULL)
                             : nvme_flash_of_subsys(n->subsys);

        if (flash && heat_of(flash, &heat)) {
            warms = true;
            light = lower(light, heat.light_celsius);
            heavy = lower(heavy, heat.heavy_celsius);
        }
    }
    if (!warms) {
        return;
    }
    n->id_ctrl.wctemp = threshold(light);
    n->id_ctrl.cctemp = threshold(heavy);
    if (n->features.temp_thresh_hi == unset) {
        n->features.temp_thresh_hi = nvme_temp_thresh_default(n);
    }
}

void flash_health_ctrl_started(NvmeCtrl *n)
{
    say_thresholds(n);
    nvme_flash_temperature(n);
}

/*
 * Adds a flash's times in heat to the SMART log, and tells the controllers its
 * temperature. NvmeSmartLog.reserved2 has from byte 0 on: minutes between the
 * warning and the critical threshold, and minutes above the critical threshold.
 * From byte 24 on it has: transitions to light and to heavy throttling, seconds
 * of light and of heavy throttling.
 */
static void smart_heat(NvmeFlash *flash, NvmeSmartLog *smart,
                       const ScarpHeat *heat)
{
    const struct {
        unsigned at;
        uint64_t value;
    } of[] = {
        { 0, (heat->above_light_ms - heat->above_heavy_ms) / MINUTE_MS },
        { 4, heat->above_heavy_ms / MINUTE_MS },
        { 24, heat->light_transitions },
        { 28, heat->heavy_transitions },
        { 32, heat->light_ms / 1000 },
        { 36, heat->heavy_ms / 1000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
        uint8_t *to = smart->reserved2 + of[i].at;
        uint64_t value = MIN(of[i].value, UINT32_MAX);

        stl_le_p(to, MAX(value, ldl_le_p(to)));
    }
    flash_is_warm(flash, flash_millikelvin(heat->millicelsius));
}

void nvme_flash_smart(NvmeFlash *flash, NvmeSmartLog *smart)
{
    uint64_t busy_ns = flash->busy_ns;
    uint32_t spare, used;
    bool broken, warms;
    ScarpHeat heat;

    nvme_flash_lock(flash);
    spare = scarp_spare_percent(flash->drive);
    used = scarp_used_percent(flash->drive);
    broken = scarp_stats(flash->drive)->oob_mismatches;
    warms = scarp_heat(flash->drive, nvme_flash_now_ns(flash), &heat);
    nvme_flash_unlock(flash);

    if (warms) {
        smart_heat(flash, smart, &heat);
    }
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

/* ---- Warnings ------------------------------------------------------------ */

/*
 * Called after a run of the engine. Tells the controllers a new temperature.
 * When the spare is below its threshold, each subsystem is warned once, as soon
 * as a host of the subsystem has asked for such warnings.
 */
void flash_health_look(NvmeFlash *flash)
{
    uint32_t millikelvin = flash_port_millikelvin(flash->port);

    if (millikelvin != flash->millikelvin) {
        flash_is_warm(flash, millikelvin);
    }
    if (flash_port_spare_percent(flash->port) >= SPARE_THRESHOLD_PERCENT) {
        return;
    }
    for (GSList *item = flash->subsystems; item; item = item->next) {
        NvmeSubsystem *subsys = item->data;

        if (!g_slist_find(flash->spare_warned, subsys) &&
            nvme_subsys_smart_event(subsys, NVME_SMART_SPARE)) {
            flash->spare_warned = g_slist_prepend(flash->spare_warned, subsys);
        }
    }
}
