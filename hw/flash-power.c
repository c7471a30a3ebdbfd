/*
 * Scarp: the flash's power fails, and comes back at once
 *
 * A power cut (QMP, a vendor command) names a flash. The named flash loses its
 * power, and so does every controller of each subsystem that has namespaces on
 * it: a subsystem is one drive. Controllers are reset first, which cancels all
 * commands of the host. Then the engine is told, and forgets its commands. A
 * second flash of such a subsystem keeps its power.
 *
 * A cut comes by QMP or by a timer, and so never in the midst of an access to a
 * controller.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "flash-int.h"

#define READY_UNIT_NS (INT64_C(500) * SCALE_MS)
/* The longest time that a controller can announce in NVMe's CRTO. */
#define READY_MOST_NS (UINT16_MAX * READY_UNIT_NS)

bool nvme_flash_loses_power(NvmeFlash *flash)
{
    return scarp_drive_loses_power(flash->drive);
}

bool nvme_flash_is_volatile(NvmeFlash *flash)
{
    return !nvme_flash_loses_power(flash) ||
           scarp_drive_is_volatile(flash->drive);
}

bool nvme_flash_takes_block(NvmeFlash *flash, uint32_t bytes)
{
    return !nvme_flash_loses_power(flash) ||
           bytes <= scarp_drive_unit_bytes(flash->drive);
}

static void tell(NvmeFlash *flash)
{
    for (GSList *item = flash->subsystems; item; item = item->next) {
        nvme_subsys_flash_changed(item->data);
    }
}

/* ---- Ready --------------------------------------------------------------- */

bool nvme_flash_is_ready(NvmeFlash *flash)
{
    return flash->power.ready;
}

uint32_t nvme_flash_ready_units(NvmeFlash *flash)
{
    return DIV_ROUND_UP(scarp_recovery_bound_ns(flash->drive), READY_UNIT_NS);
}

bool flash_power_check(NvmeFlash *flash, Error **errp)
{
    int64_t bound_ns;

    if (!nvme_flash_loses_power(flash)) {
        return true;
    }
    bound_ns = scarp_recovery_bound_ns(flash->drive);
    if (bound_ns > READY_MOST_NS) {
        error_setg(errp, "geometry.planes_per_die, geometry.blocks_per_plane, "
                   "geometry.pages_per_block, timing: with nand.power_cuts=1 "
                   "it takes up to %" PRId64 " s until the drive is ready; "
                   "allowed are %" PRId64 " s, the most that NVMe's CRTO says",
                   bound_ns / (READY_UNIT_NS * 2),
                   READY_MOST_NS / (READY_UNIT_NS * 2));
        return false;
    }
    return true;
}

/* ---- Rest ---------------------------------------------------------------- */

/* True when a host uses the flash through a controller other than `self`. */
static bool others_run(NvmeFlash *flash, NvmeCtrl *self)
{
    for (GSList *item = flash->subsystems; item; item = item->next) {
        for (int i = 0; i < NVME_MAX_CONTROLLERS; i++) {
            NvmeCtrl *n = nvme_subsys_ctrl(item->data, i);
            uint32_t cc = n ? ldl_le_p(&n->bar.cc) : 0;

            if (n != self && NVME_CC_EN(cc) && !NVME_CC_SHN(cc)) {
                return true;
            }
        }
    }
    return false;
}

bool nvme_flash_rest(NvmeFlash *flash, NvmeCtrl *n)
{
    if (!nvme_flash_loses_power(flash) || flash->power.rests ||
        others_run(flash, n)) {
        return true;
    }
    if (!flash->power.wants_rest) {
        flash->power.wants_rest = true;
        flash_port_await(flash->port, FLASH_PORT_REST);
        flash_run_soon(flash);
    }
    return false;
}

static void rest_no_more(NvmeFlash *flash)
{
    flash->power.wants_rest = false;
    flash->power.settles = false;
    flash->power.rests = false;
    timer_del(flash->power.rest_timer);
}

void nvme_flash_wake(NvmeFlash *flash)
{
    bool waited = flash->power.wants_rest;

    rest_no_more(flash);
    /* sets the revision of controllers that were made after the namespaces */
    flash_health_say_firmware(flash);
    if (waited) {
        /* the hosts that wait for the flash's shutdown ask again */
        tell(flash);
    }
}

/*
 * Called when the flash has nothing left to do by itself: shuts the engine
 * down. The engine's last writes move its time ahead of the clock, so a timer
 * tells the host when the clock has come to that time.
 */
static void come_to_rest(NvmeFlash *flash)
{
    g_autoptr(GError) error = NULL;
    int64_t left_ns;

    nvme_flash_lock(flash);
    if (!scarp_shut_down(flash->drive, &error)) {
        error_report("nvme-flash: %s", error->message);
    }
    left_ns = scarp_now_ns(flash->drive) - nvme_flash_now_ns(flash);
    nvme_flash_unlock(flash);
    flash->power.settles = true;
    timer_mod(flash->power.rest_timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
                                       MAX(left_ns, 0));
}

static void rest_cb(void *opaque)
{
    NvmeFlash *flash = opaque;

    /*
     * `settles` is false if a command has come since the engine was shut down.
     * The drive then does not rest, and a host that waits asks again.
     */
    flash->power.wants_rest = false;
    flash->power.rests = flash->power.settles;
    tell(flash);
}

void flash_power_look(NvmeFlash *flash)
{
    unsigned reached = flash_port_reached(flash->port);

    if (reached & FLASH_PORT_READY) {
        flash->power.ready = true;
        tell(flash);
    }
    flash_sanitize_look(flash, reached);
    if ((reached & FLASH_PORT_REST) && flash->power.wants_rest) {
        if (flash->admit.in_flight || flash->sanitize.runs) {
            flash_port_await(flash->port, FLASH_PORT_REST);
        } else {
            come_to_rest(flash);
        }
    }
}

/* ---- Cut ----------------------------------------------------------------- */

static void cut_engine(NvmeFlash *flash)
{
    nvme_flash_lock(flash);
    scarp_run(flash->drive, nvme_flash_now_ns(flash));
    flash_log_power_cut(flash->logs.log, scarp_now_ns(flash->drive),
                        flash_port_submitted(flash->port));
    flash->drive = scarp_power_cut(flash->drive, NULL);
    /* the callers have checked that the power may fail */
    assert(flash->drive);
    flash_port_replace(flash->port, flash->drive);
    nvme_flash_unlock(flash);
    flash_cmds_forget(flash);
}

static void cut(NvmeFlash *flash)
{
    flash->power.cycles++;
    flash->power.unsafe_shutdowns += !flash->power.rests;
    rest_no_more(flash);
    flash->power.ready = false;
    for (GSList *item = flash->subsystems; item; item = item->next) {
        nvme_subsys_units_closed(item->data, flash_fdp_open_handles(flash));
        nvme_subsys_lose_power(item->data);
    }
    cut_engine(flash);
    g_clear_pointer(&flash->spare_warned, g_slist_free);
    flash_port_await(flash->port, FLASH_PORT_READY);
    flash_sanitize_cut(flash);
    flash_run_soon(flash);
}

bool flash_power_cut(NvmeFlash *flash, Error **errp)
{
    if (flash->stopped) {
        error_setg(errp, "the drive is shut down");
        return false;
    }
    if (flash_time_is_over(flash)) {
        error_setg(errp, "the drive's time is over");
        return false;
    }
    if (!nvme_flash_loses_power(flash)) {
        error_setg(errp, "nand.power_cuts=0: the power of such a drive cannot "
                   "fail; allowed with 1");
        return false;
    }
    cut(flash);
    return true;
}

bool flash_power_cut_in(NvmeFlash *flash, uint32_t us)
{
    if (flash->stopped || flash_time_is_over(flash) ||
        !nvme_flash_loses_power(flash)) {
        return false;
    }
    timer_mod(us ? flash->power.later_timer : flash->power.cut_timer,
              qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + (int64_t)us * SCALE_US);
    return true;
}

static void cut_cb(void *opaque)
{
    NvmeFlash *flash = opaque;

    if (!flash_guest_ends(flash) && !flash_time_is_over(flash)) {
        cut(flash);
    }
}

/* ---- SMART --------------------------------------------------------------- */

void flash_power_smart(NvmeFlash *flash, NvmeSmartLog *smart)
{
    if (nvme_flash_loses_power(flash)) {
        smart->power_cycles[0] =
            cpu_to_le64(MAX(le64_to_cpu(smart->power_cycles[0]),
                            flash->power.cycles));
        smart->unsafe_shutdowns[0] =
            cpu_to_le64(MAX(le64_to_cpu(smart->unsafe_shutdowns[0]),
                            flash->power.unsafe_shutdowns));
    }
}

/* ---- Making and freeing -------------------------------------------------- */

void flash_power_init(NvmeFlash *flash)
{
    flash->power.ready = true;
    flash->power.cycles = 1;
    flash->power.rest_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, rest_cb, flash);
    flash->power.cut_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cut_cb, flash);
    flash->power.later_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cut_cb, flash);
}

void flash_power_stop(NvmeFlash *flash)
{
    timer_del(flash->power.rest_timer);
    timer_del(flash->power.cut_timer);
    timer_del(flash->power.later_timer);
}

void flash_power_clear(NvmeFlash *flash)
{
    timer_free(flash->power.rest_timer);
    timer_free(flash->power.cut_timer);
    timer_free(flash->power.later_timer);
}
