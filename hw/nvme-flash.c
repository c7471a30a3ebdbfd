/*
 * Scarp: NVMe flash device
 *
 * -device nvme-flash,id=f0,description=FILE,scheme=NAME owns one flash engine;
 * -device nvme-ns,flash=f0 makes a namespace on it. All namespaces of a device
 * contend for its flash.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/module.h"
#include "qobject/qdict.h"
#include "exec/icount.h"
#include "hw/qdev-properties.h"
#include "system/block-backend.h"
#include "system/cpu-timers.h"
#include "system/runstate.h"
#include "flash-int.h"
#include "flash-rt-thread.h"

/*
 * QEMU's exit status after a broken law (an invariant). The status is even,
 * because isa-debug-exit gives odd statuses.
 */
#define EXIT_LAW_BROKEN 4

#define AGE_SEED_UNSET UINT64_MAX

static uint32_t block_bytes(const NvmeNamespace *ns)
{
    return ns->blkconf.logical_block_size ?: BDRV_SECTOR_SIZE;
}

/*
 * Refuses a namespace whose logical blocks a power cut could tear, and a
 * namespace with zones, because the flash does not keep the state of zones at
 * power cuts.
 */
static bool check_power(NvmeNamespace *ns, Error **errp)
{
    uint32_t block = block_bytes(ns);

    if (!nvme_flash_takes_block(ns->flash, block)) {
        error_setg(errp, "logical_block_size: %" PRIu32 " is larger than the "
                   "flash's mapping unit, %" PRIu32 " bytes (ftl.unit_bytes), "
                   "so that a power cut could tear a block; with "
                   "nand.power_cuts=1 allowed is a unit at most", block,
                   scarp_drive_unit_bytes(ns->flash->drive));
        return false;
    }
    if (ns->params.zoned && nvme_flash_loses_power(ns->flash)) {
        error_setg(errp, "zoned: not supported with nand.power_cuts=1, as the "
                   "flash does not keep the state of zones");
        return false;
    }
    return true;
}

bool nvme_flash_attach_ns(NvmeNamespace *ns, Error **errp)
{
    NvmeFlash *flash = ns->flash;
    uint64_t capacity, left, unit, size = ns->params.size;
    BlockBackend *blk;
    QDict *options;

    if (!flash->drive) {
        error_setg(errp, "flash: the nvme-flash device is not realized");
        return false;
    }
    if (ns->blkconf.blk) {
        error_setg(errp, "'drive' and 'flash' exclude each other: a "
                   "namespace's data is in one place");
        return false;
    }
    if (ns->params.ms || ns->params.pi) {
        error_setg(errp, "%s: not supported with 'flash' (only formats "
                   "without metadata are)", ns->params.ms ? "ms" : "pi");
        return false;
    }

    if (!check_power(ns, errp)) {
        return false;
    }

    capacity = scarp_drive_logical_bytes(flash->drive);
    unit = scarp_drive_unit_bytes(flash->drive);
    left = flash_ns_left(flash);
    if (!size) {
        size = left;
    }
    if (!left) {
        error_setg(errp, "flash: nothing is left of its %" PRIu64 " bytes",
                   capacity);
        return false;
    }
    if (size % unit && !ns->created) {
        error_setg(errp, "size: %" PRIu64 " is not a multiple of the flash's "
                   "mapping unit, %" PRIu64 " bytes", size, unit);
        return false;
    }
    if (size < block_bytes(ns)) {
        error_setg(errp, "size: %" PRIu64 " is less than a block, %" PRIu32
                   " bytes (logical_block_size)", size, block_bytes(ns));
        return false;
    }
    if (size > left) {
        error_setg(errp, "size: %" PRIu64 " is more than the %" PRIu64
                   " bytes that are left of the flash's %" PRIu64,
                   size, left, capacity);
        return false;
    }
    if (!flash_fdp_attach(ns, errp)) {
        return false;
    }

    /* hw/nvme asks this backend for geometry and accounting, never for data */
    options = qdict_new();
    qdict_put_str(options, "driver", "null-co");
    qdict_put_int(options, "size", size);
    qdict_put_bool(options, "read-zeroes", true);
    blk = blk_new_open(NULL, NULL, options, BDRV_O_RDWR, errp);
    if (!blk) {
        return false;
    }
    if (blk_attach_dev(blk, DEVICE(ns)) < 0) {
        g_assert_not_reached();
    }
    /* blk_attach_dev() takes a reference, which the property "drive" drops */
    blk_unref(blk);
    ns->blkconf.blk = blk;
    if (ns->blkconf.discard_granularity == -1) {
        ns->blkconf.discard_granularity =
            MAX(unit, ns->blkconf.logical_block_size);
    }

    ns->ops = &nvme_flash_ns_ops;
    if (!flash_ns_add(ns, ROUND_UP(size, unit))) {
        error_setg(errp, "size: %" PRIu64 " bytes of the flash are free, but "
                   "not in one piece", size);
        return false;
    }
    return true;
}

size_t nvme_flash_log_page(NvmeFlash *flash, uint8_t lid, void *buf,
                           size_t size)
{
    size_t used;

    switch (lid) {
    case NVME_FLASH_LOG_SCHEME:
        return flash_scheme_page(flash, buf, size);
    case NVME_FLASH_LOG_STATS:
        nvme_flash_lock(flash);
        used = scarp_stats_log_page(flash->drive, nvme_flash_now_ns(flash),
                                    buf, size);
        nvme_flash_unlock(flash);
        return flash->realtime ? flash_realtime_page(flash->realtime, buf,
                                                     used, size) : used;
    default:
        return 0;
    }
}

bool nvme_flash_command(NvmeFlash *flash, uint32_t command, uint32_t argument)
{
    Error *err = NULL;

    switch (command) {
    case NVME_FLASH_CONTROL_CPU_SPEED:
        /*
         * The speed may change only in the vCPU's thread, because no vCPU
         * executes then. With virtual_queues the vCPU's thread serves the
         * queues, and so also runs this line.
         */
        if (!flash->virtual_queues || !icount_enabled() ||
            !icount_set_shift((int32_t)argument, &err)) {
            error_free(err);
            return false;
        }
        return true;
    case NVME_FLASH_CONTROL_RESET_STATS:
        nvme_flash_lock(flash);
        flash_fdp_keep(flash);
        scarp_stats_reset(flash->drive);
        nvme_flash_unlock(flash);
        if (flash->realtime) {
            flash_realtime_reset_stats(flash->realtime);
        }
        return true;
    case NVME_FLASH_CONTROL_CUT_POWER:
        return flash_power_cut_in(flash, argument);
    default:
        return false;
    }
}

static const char *flash_name(NvmeFlash *flash)
{
    return DEVICE(flash)->id ?: TYPE_NVME_FLASH;
}

bool flash_time_is_over(NvmeFlash *flash)
{
    if (!flash->over && nvme_flash_now_ns(flash) >= FLASH_TIME_LAST) {
        flash->over = true;
        error_report("nvme-flash %s: the clock is past 18 years, where the "
                     "drive's time ends; each command fails from now on",
                     flash_name(flash));
    }
    return flash->over;
}

bool flash_guest_ends(const NvmeFlash *flash)
{
    return flash->stopped || qemu_shutdown_requested_get();
}

/*
 * Writes all logs to their files, even if one of the writes fails, because the
 * user needs the logs to find out why a run failed. Reports the first error,
 * and returns false, if a log is incomplete.
 */
static bool flash_write_logs(NvmeFlash *flash)
{
    Error *log_error = NULL, *late_error = NULL;

    flash_log_flush(flash->logs.log, &log_error);
    if (flash->realtime) {
        flash_realtime_flush(flash->realtime, &late_error);
    }
    error_propagate(&log_error, late_error);
    if (log_error) {
        error_reportf_err(log_error, "nvme-flash %s: ", flash_name(flash));
        return false;
    }
    return true;
}

/*
 * Lets commands in flight end, writes the logs and checks the drive. Returns
 * false if a command was lost, if data came from the wrong place, or if a log
 * is incomplete. Such a run must not end as a success.
 */
static bool flash_check_laws(NvmeFlash *flash)
{
    const ScarpStats *stats = scarp_stats(flash->drive);
    bool rests = nvme_flash_drain(flash);
    bool written = flash_write_logs(flash);
    g_autoptr(GError) error = NULL;

    if (!rests) {
        error_report("nvme-flash %s: the drive does not come to rest",
                     flash_name(flash));
    } else if (stats->cmds_accepted != stats->cmds_completed ||
               flash->admit.in_flight) {
        error_report("nvme-flash %s: %" PRIu64 " commands accepted, %" PRIu64
                     " completed, %" PRIu64 " never returned",
                     flash_name(flash), stats->cmds_accepted,
                     stats->cmds_completed, flash->admit.in_flight);
    } else if (!scarp_quiescent(flash->drive, &error)) {
        error_report("nvme-flash %s: %s", flash_name(flash), error->message);
    } else if (stats->oob_mismatches) {
        error_report("nvme-flash %s: %" PRIu64 " reads found another unit's "
                     "data (oob_mismatches)", flash_name(flash),
                     stats->oob_mismatches);
    } else {
        return written;
    }
    return false;
}

static void flash_shutdown(Notifier *notifier, void *data)
{
    NvmeFlash *flash = container_of(notifier, NvmeFlash, shutdown);
    ShutdownCause *cause = data;

    if (flash->stopped) {
        return;
    }
    flash->stopped = true;
    flash_power_stop(flash);
    flash_scheme_stop(flash);
    if (flash->realtime) {
        flash_realtime_pause(flash->realtime);
    } else {
        timer_del(flash->timer);
    }
    /*
     * The progress file is not written from here on, so it keeps the time of
     * the last event. Without running vCPUs, the virtual clock has skipped idle
     * time and is now at some far deadline.
     */
    flash_log_stop(flash->logs.log);
    if (!flash_check_laws(flash)) {
        qemu_system_shutdown_request_with_code(*cause, EXIT_LAW_BROKEN);
    }
}

/*
 * Called when the machine runs again after the guest's end. With -no-shutdown
 * QEMU outlives the guest, and after a reset of the machine another guest may
 * run. The engine may be ahead of the clock, because it has ended all commands
 * of the last guest.
 */
static void flash_go_on(void *opaque, bool running, RunState state)
{
    NvmeFlash *flash = opaque;

    if (running && flash->stopped) {
        flash->stopped = false;
        flash_log_go_on(flash->logs.log);
        flash_run_soon(flash);
    }
}

static bool flash_age(NvmeFlash *flash, Error **errp)
{
    g_autoptr(GError) error = NULL;
    ScarpAge age = {
        .utilisation_permille = flash->age,
        .overwrite_permille = flash->age_overwrite,
        .pattern = flash->age_pattern ?: "random",
        .seed = flash->age_seed == AGE_SEED_UNSET ? 1 : flash->age_seed,
    };

    if (!flash->age) {
        if (flash->age_overwrite != UINT32_MAX || flash->age_pattern ||
            flash->age_seed != AGE_SEED_UNSET) {
            error_setg(errp, "age-overwrite, age-pattern, age-seed: need "
                       "'age', the permille of the drive that is written");
            return false;
        }
        return true;
    }
    if (flash->age > 1000) {
        error_setg(errp, "age: %" PRIu32 " is out of range; allowed are 0 to "
                   "1000 permille of the logical units", flash->age);
        return false;
    }
    if (!scarp_age(flash->drive, &age, &error)) {
        error_setg(errp, "age: %s", error->message);
        return false;
    }
    return true;
}

/*
 * A drive's files: first FILES_READ files that it reads, then the files that it
 * makes.
 */
enum { FILES_READ = 2, FILES = 9 };

typedef struct {
    const char *option;
    const char *path; /* NULL: the property is not set */
} FlashFile;

static void flash_files(const NvmeFlash *flash, FlashFile file[FILES])
{
    const FlashFile files[FILES] = {
        { "description", flash->description },
        { "image", flash->image },
        { "cmd-log", flash->logs.commands },
        { "gc-log", flash->logs.collections },
        { "data-log", flash->logs.data },
        { "change-log", flash->logs.changes },
        { "progress", flash->logs.progress },
        { "trace", flash->logs.trace },
        { "lateness-log", flash->logs.lateness },
    };

    memcpy(file, files, sizeof(files));
}

/*
 * True when the paths `a` and `b` name one regular file, or are equal and name
 * no file yet. Files that are not regular, such as /dev/null, may be used
 * twice.
 */
static bool same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;

    if (stat(a, &of_a) || stat(b, &of_b)) {
        return !strcmp(a, b);
    }
    return S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

typedef struct {
    const NvmeFlash *flash;
    Error **errp;
} FlashFileCheck;

/*
 * Returns non-zero, and sets *errp, if a file that check->flash makes is also a
 * file of the drive `obj`.
 */
static int has_file_of(Object *obj, void *opaque)
{
    const FlashFileCheck *check = opaque;
    const NvmeFlash *other = (NvmeFlash *)object_dynamic_cast(obj,
                                                              TYPE_NVME_FLASH);
    FlashFile made[FILES], there[FILES];

    if (!other || (other != check->flash && !other->drive)) {
        return 0;
    }
    flash_files(check->flash, made);
    flash_files(other, there);
    for (int i = FILES_READ; i < FILES; i++) {
        for (int j = 0; j < (other == check->flash ? i : FILES); j++) {
            if (made[i].path && there[j].path &&
                same_file(made[i].path, there[j].path)) {
                error_setg(check->errp, "%s: '%s' is '%s' of %s drive, too; "
                           "what is written needs a file of its own",
                           made[i].option, made[i].path, there[j].option,
                           other == check->flash ? "this" : "another");
                return 1;
            }
        }
    }
    return 0;
}

/*
 * True when the file can be made, by the permissions. Making the file may still
 * fail.
 */
static bool can_be_made(const FlashFile *file, Error **errp)
{
    g_autofree char *parent = g_path_get_dirname(file->path);
    g_autofree char *folder = g_build_filename(parent, ".", NULL);
    bool there = !access(file->path, F_OK);

    if (access(there ? file->path : folder, W_OK)) {
        error_setg_errno(errp, errno, "%s: cannot create '%s'", file->option,
                         file->path);
        return false;
    }
    if (g_file_test(file->path, G_FILE_TEST_IS_DIR)) {
        error_setg(errp, "%s: '%s' is a folder", file->option, file->path);
        return false;
    }
    return true;
}

/*
 * Checks the properties that name files, and the properties that need them.
 * Called before any file is made, because making a file destroys its old
 * contents.
 */
static bool flash_check_files(NvmeFlash *flash, bool realtime, Error **errp)
{
    FlashFileCheck check = { flash, errp };
    FlashFile made[FILES];

    if (flash->logs.data && !flash->logs.commands) {
        error_setg(errp, "data-log: needs 'cmd-log', whose rows say what the "
                   "bytes are");
        return false;
    }
    if (flash->logs.data && realtime) {
        error_setg(errp, "data-log: excludes clock=realtime, on which no run "
                   "is repeated");
        return false;
    }
    if (!flash->logs.trace &&
        (flash->logs.trace_from_ns || flash->logs.trace_for_ns)) {
        error_setg(errp, "trace-from-ns, trace-for-ns: need 'trace', the "
                   "timeline's path");
        return false;
    }
    if (flash->logs.trace_from_ns > INT64_MAX / 4 ||
        flash->logs.trace_for_ns > INT64_MAX / 4) {
        error_setg(errp, "trace-from-ns, trace-for-ns: allowed are 0 to %"
                   PRId64, INT64_MAX / 4);
        return false;
    }
    flash_files(flash, made);
    for (int i = FILES_READ; i < FILES; i++) {
        if (made[i].path && !can_be_made(&made[i], errp)) {
            return false;
        }
    }
    return !object_child_foreach_recursive(object_get_root(), has_file_of,
                                           &check);
}

/*
 * Sets *ns to `otherwise` if its property was not given. Checks *ns if it was
 * given, and returns false, with *errp set, if *ns is not allowed.
 */
static bool realtime_ns(bool realtime, const char *name, uint64_t *ns,
                        uint64_t otherwise, uint64_t most, Error **errp)
{
    if (*ns == FLASH_NS_UNSET) {
        *ns = otherwise;
    } else if (!realtime) {
        error_setg(errp, "%s: needs clock=realtime", name);
        return false;
    } else if (*ns > most) {
        error_setg(errp, "%s: %" PRIu64 " is out of range; allowed are 0 to %"
                   PRIu64 "%s", name, *ns, most,
                   most < NANOSECONDS_PER_SECOND ? " with priority" : "");
        return false;
    }
    return true;
}

/*
 * Returns non-zero if `obj` is another drive whose thread has priority on
 * flash's core.
 */
static int has_core_of(Object *obj, void *opaque)
{
    const NvmeFlash *flash = opaque;
    const NvmeFlash *other = (NvmeFlash *)object_dynamic_cast(obj,
                                                              TYPE_NVME_FLASH);

    return other && other != flash && other->realtime && other->priority &&
           other->cpu == flash->cpu;
}

/*
 * Returns false, with *errp set, if the drive's thread would share its core
 * with another drive's thread, and both threads have priority. A thread with
 * priority leaves a part of its core to other threads. Two such threads would
 * leave nothing.
 */
static bool flash_check_core(NvmeFlash *flash, Error **errp)
{
    if (flash->priority && flash->cpu != -1 &&
        object_child_foreach_recursive(object_get_root(), has_core_of,
                                       flash)) {
        error_setg(errp, "cpu: %" PRId32 " has the thread of another drive "
                   "with priority; give each a core of its own, or only one "
                   "of them priority", flash->cpu);
        return false;
    }
    return true;
}

/* Checks the properties that need clock=realtime. */
static bool flash_check_realtime(NvmeFlash *flash, bool realtime, Error **errp)
{
    if (realtime && icount_enabled()) {
        error_setg(errp, "clock: 'realtime' and -icount exclude each other: "
                   "the guest would not see the host's time");
        return false;
    }
    if (!realtime && flash->logs.lateness) {
        error_setg(errp, "lateness-log: needs clock=realtime; on the virtual "
                   "clock nothing is late");
        return false;
    }
    if (flash->cpu != -1 && !realtime) {
        error_setg(errp, "cpu: needs clock=realtime; on the virtual clock the "
                   "drive has no thread");
        return false;
    }
    if (flash->cpu != -1 && !flash_thread_may_use(flash->cpu)) {
        error_setg(errp, "cpu: %" PRId32 " is not a core of the host that this "
                   "process may use; -1 is any of them", flash->cpu);
        return false;
    }
    if (flash->priority && !realtime) {
        error_setg(errp, "priority: needs clock=realtime; on the virtual "
                   "clock the drive has no thread");
        return false;
    }
    if (flash->priority > FLASH_THREAD_MAX_PRIORITY) {
        error_setg(errp, "priority: %" PRIu32 " is out of range; allowed are "
                   "0 to %d", flash->priority, FLASH_THREAD_MAX_PRIORITY);
        return false;
    }
    /*
     * spin_ns stays FLASH_NS_UNSET if it was not given: the thread has a
     * default
     */
    return flash_check_core(flash, errp) &&
           realtime_ns(realtime, "spin-ns", &flash->spin_ns, FLASH_NS_UNSET,
                       flash->priority ? FLASH_THREAD_PRIORITY_SPIN_NS
                                       : NANOSECONDS_PER_SECOND, errp) &&
           realtime_ns(realtime, "lateness-bound-ns",
                       &flash->lateness_bound_ns, 20 * SCALE_US,
                       NANOSECONDS_PER_SECOND, errp);
}

static void nvme_flash_realize(DeviceState *dev, Error **errp)
{
    NvmeFlash *flash = NVME_FLASH(dev);
    g_autofree char *overrides = g_strdup(flash->overrides);
    g_autofree char *params = g_strdup(flash->scheme.params);
    g_autoptr(GError) error = NULL;
    bool realtime = false;
    ScarpConfig config = {
        .description_path = flash->description,
        .scheme = flash->scheme.name ?: "baseline",
        .seed = flash->seed,
        .store_data = true,
        .image_path = flash->image,
    };

    if (!flash->description && !flash->image) {
        error_setg(errp, "description: missing; it is the path of a drive "
                   "description");
        return;
    }
    if (flash->image && flash->age) {
        error_setg(errp, "age: excludes 'image': an image has been aged");
        return;
    }
    if (!g_strcmp0(flash->clock, "realtime")) {
        realtime = true;
    } else if (flash->clock && strcmp(flash->clock, "virtual")) {
        error_setg(errp, "clock: '%s' is not known; allowed are 'virtual' "
                   "and 'realtime'", flash->clock);
        return;
    }
    if (!flash_check_realtime(flash, realtime, errp) ||
        !flash_check_files(flash, realtime, errp)) {
        return;
    }
    if (overrides) {
        /* a ',' would end the property's value, so users write ';' */
        config.overrides = g_strdelimit(overrides, ";", ',');
    }
    if (params) {
        config.params = g_strdelimit(params, ";", ',');
    }

    flash->drive = scarp_drive_new(&config, &error);
    if (!flash->drive) {
        error_setg(errp, "%s", error->message);
        return;
    }
    if (!flash_power_check(flash, errp) || !flash_age(flash, errp) ||
        !flash_scheme_check(flash, realtime, errp)) {
        goto fail;
    }
    flash->logs.log = flash_log_open(flash->logs.commands,
                                     flash->logs.collections,
                                     flash->logs.progress,
                                     scarp_drive_causes(flash->drive), realtime,
                                     errp);
    if (!flash->logs.log) {
        goto fail;
    }
    if ((flash->logs.data &&
         !flash_log_data(flash->logs.log, flash->logs.data, errp)) ||
        (flash->logs.changes &&
         !flash_log_changes(flash->logs.log, flash->logs.changes, errp)) ||
        (flash->logs.trace &&
         !flash_log_trace(flash->logs.log, flash->drive, flash->logs.trace,
                          flash->logs.trace_from_ns,
                          flash->logs.trace_for_ns, errp))) {
        flash_log_close(flash->logs.log);
        goto fail;
    }
    flash->observer = flash_log_observer(flash->logs.log);
    scarp_set_observer(flash->drive, &flash->observer);

    for (int i = 0; i < SCARP_ACCESS__COUNT; i++) {
        flash->deadline_ns[i] = scarp_drive_deadline_ns(flash->drive, i);
    }
    flash->port = flash_port_new(flash->drive);
    flash_admit_init(flash);
    flash->sanitize.erased = !flash->age && !flash->image;
    if (realtime) {
        flash->virtual_queues = false;
        flash->realtime = flash_realtime_start(flash, errp);
        if (!flash->realtime) {
            flash_port_free(flash->port);
            flash_log_close(flash->logs.log);
            goto fail;
        }
    } else {
        flash->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, nvme_flash_timer_cb,
                                    flash);
    }
    flash_power_init(flash);
    flash_scheme_init(flash);
    flash->scheme.running = flash_scheme_text(config.scheme, config.params);
    flash->shutdown.notify = flash_shutdown;
    qemu_register_shutdown_notifier(&flash->shutdown);
    flash->state = qemu_add_vm_change_state_handler(flash_go_on, flash);
    return;

fail:
    scarp_drive_free(flash->drive);
    flash->drive = NULL;
}

static void nvme_flash_unrealize(DeviceState *dev)
{
    NvmeFlash *flash = NVME_FLASH(dev);

    notifier_remove(&flash->shutdown);
    qemu_del_vm_change_state_handler(flash->state);
    flash->stopped = true;
    if (flash->realtime) {
        flash_realtime_stop(flash->realtime);
    } else {
        timer_free(flash->timer);
    }
    nvme_flash_drain(flash);
    if (flash->realtime) {
        flash_realtime_free(flash->realtime);
        flash->realtime = NULL;
    }
    flash_power_clear(flash);
    flash_scheme_clear(flash);
    nvme_flash_free_cmds(flash);
    flash_log_close(flash->logs.log);
    flash_port_free(flash->port);
    scarp_drive_free(flash->drive);
    flash->drive = NULL;
    g_clear_pointer(&flash->namespaces, g_slist_free);
    g_clear_pointer(&flash->subsystems, g_slist_free);
    g_clear_pointer(&flash->spare_warned, g_slist_free);
}

static char *nvme_flash_get_stats(Object *obj, Error **errp)
{
    NvmeFlash *flash = NVME_FLASH(obj);
    char *json;

    if (!flash->drive) {
        error_setg(errp, "stats: the device is not realized");
        return NULL;
    }
    nvme_flash_lock(flash);
    json = scarp_stats_json(flash->drive);
    nvme_flash_unlock(flash);
    return flash->realtime ? flash_realtime_json(flash->realtime, json) : json;
}

static char *nvme_flash_get_running_scheme(Object *obj, Error **errp)
{
    return g_strdup(NVME_FLASH(obj)->scheme.running ?: "");
}

/*
 * Sets the scheme for the drive's GC decisions from the next one on: "NAME" or
 * "NAME:KEY=VALUE;...".
 */
static void nvme_flash_set_running_scheme(Object *obj, const char *value,
                                          Error **errp)
{
    ERRP_GUARD();
    NvmeFlash *flash = NVME_FLASH(obj);

    if (!flash->drive) {
        error_setg(errp, "running-scheme: the device is not realized");
        return;
    }
    if (!flash_scheme_switch(flash, value, errp)) {
        error_prepend(errp, "running-scheme: ");
    }
}

static char *nvme_flash_get_power(Object *obj, Error **errp)
{
    return g_strdup(NVME_FLASH(obj)->power.ready ? "on" : "recovers");
}

static void nvme_flash_set_power(Object *obj, const char *value, Error **errp)
{
    ERRP_GUARD();
    NvmeFlash *flash = NVME_FLASH(obj);

    if (!flash->drive) {
        error_setg(errp, "power: the device is not realized");
    } else if (strcmp(value, "cut")) {
        error_setg(errp, "power: '%s' is not known; allowed is 'cut'", value);
    } else if (!flash_power_cut(flash, errp)) {
        error_prepend(errp, "power: ");
    }
}

static const Property nvme_flash_props[] = {
    DEFINE_PROP_STRING("description", NvmeFlash, description),
    DEFINE_PROP_STRING("image", NvmeFlash, image),
    DEFINE_PROP_STRING("scheme", NvmeFlash, scheme.name),
    DEFINE_PROP_STRING("params", NvmeFlash, scheme.params),
    DEFINE_PROP_UINT64("switch-at-ns", NvmeFlash, scheme.switch_at_ns,
                       FLASH_NS_UNSET),
    DEFINE_PROP_STRING("switch-to", NvmeFlash, scheme.switch_to),
    DEFINE_PROP_STRING("overrides", NvmeFlash, overrides),
    DEFINE_PROP_UINT64("seed", NvmeFlash, seed, 1),
    DEFINE_PROP_STRING("clock", NvmeFlash, clock),
    DEFINE_PROP_UINT32("age", NvmeFlash, age, 0),
    DEFINE_PROP_UINT32("age-overwrite", NvmeFlash, age_overwrite, UINT32_MAX),
    DEFINE_PROP_STRING("age-pattern", NvmeFlash, age_pattern),
    DEFINE_PROP_UINT64("age-seed", NvmeFlash, age_seed, AGE_SEED_UNSET),
    DEFINE_PROP_STRING("cmd-log", NvmeFlash, logs.commands),
    DEFINE_PROP_STRING("gc-log", NvmeFlash, logs.collections),
    DEFINE_PROP_STRING("data-log", NvmeFlash, logs.data),
    DEFINE_PROP_STRING("change-log", NvmeFlash, logs.changes),
    DEFINE_PROP_STRING("progress", NvmeFlash, logs.progress),
    DEFINE_PROP_STRING("trace", NvmeFlash, logs.trace),
    DEFINE_PROP_UINT64("trace-from-ns", NvmeFlash, logs.trace_from_ns, 0),
    DEFINE_PROP_UINT64("trace-for-ns", NvmeFlash, logs.trace_for_ns, 0),
    DEFINE_PROP_STRING("lateness-log", NvmeFlash, logs.lateness),
    DEFINE_PROP_UINT64("lateness-bound-ns", NvmeFlash, lateness_bound_ns,
                       FLASH_NS_UNSET),
    DEFINE_PROP_UINT64("spin-ns", NvmeFlash, spin_ns, FLASH_NS_UNSET),
    DEFINE_PROP_INT32("cpu", NvmeFlash, cpu, -1),
    DEFINE_PROP_UINT32("priority", NvmeFlash, priority, 0),
    DEFINE_PROP_BOOL("x-virtual-queues", NvmeFlash, virtual_queues, true),
};

static void nvme_flash_class_init(ObjectClass *oc, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    set_bit(DEVICE_CATEGORY_STORAGE, dc->categories);
    dc->desc = "Simulated NAND flash for NVMe namespaces";
    dc->realize = nvme_flash_realize;
    dc->unrealize = nvme_flash_unrealize;
    dc->hotpluggable = false; /* namespaces hold no reference to the device */
    device_class_set_props(dc, nvme_flash_props);
    object_class_property_add_str(oc, "stats", nvme_flash_get_stats, NULL);
    object_class_property_set_description(oc, "stats",
                                          "statistics of the drive, as JSON");
    object_class_property_add_str(oc, "running-scheme",
                                  nvme_flash_get_running_scheme,
                                  nvme_flash_set_running_scheme);
    object_class_property_set_description(oc, "running-scheme",
                                          "GC scheme from now on: NAME or "
                                          "NAME:KEY=VALUE;...");
    object_class_property_add_str(oc, "power", nvme_flash_get_power,
                                  nvme_flash_set_power);
    object_class_property_set_description(oc, "power",
                                          "on or recovers; set to cut, it "
                                          "fails and comes back at once");
}

static const TypeInfo nvme_flash_info = {
    .name = TYPE_NVME_FLASH,
    .parent = TYPE_DEVICE,
    .class_init = nvme_flash_class_init,
    .instance_size = sizeof(NvmeFlash),
};

static void nvme_flash_register_types(void)
{
    type_register_static(&nvme_flash_info);
}

type_init(nvme_flash_register_types)
