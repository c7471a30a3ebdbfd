/*
 * Scarp: Sanitize, by block erase
 *
 * A Sanitize erases the whole drive: a flash whose namespaces are all those of
 * one subsystem. From the start of a Sanitize on, hw/nvme refuses what Sanitize
 * does not allow. First the commands under way end, and the flash comes to
 * rest. Then the engine erases each block that has pages, in the drive's time.
 * Neither a reset nor a power cut ends a Sanitize. After a power cut during the
 * erases, the engine goes on erasing. After a power cut before the first erase,
 * the flash recovers, and then the erases begin.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "flash-admin.h"

enum {
    ACTION_EXIT_FAILURE = 1,
    ACTION_BLOCK_ERASE = 2,
    NO_DEALLOCATE = 1 << 9,
    STATE_DONE = 1, /* of log page 81h: the latest Sanitize was successful */
    STATE_RUNS = 2,
    ERASED = 1 << 8, /* no write since the latest Sanitize, or ever */
    PROGRESS_DONE = 0xffff,
    EVENT_COMPLETED = 1,
    NO_ESTIMATE = -1,
    PMR_ENABLED = 0x0123, /* status: the persistent memory region is enabled */
};

#define SECOND_NS (INT64_C(1000) * 1000 * 1000)

typedef struct QEMU_PACKED {
    uint16_t progress; /* in 65536ths of the erases */
    uint16_t status;
    uint32_t cdw10;    /* of the latest Sanitize */
    /*
     * estimates for overwrite, block erase and crypto erase, and for the same
     * three without deallocation
     */
    uint32_t seconds[6];
    uint8_t rsvd[480];
} Log;

QEMU_BUILD_BUG_ON(sizeof(Log) != 512);

/* ---- The command --------------------------------------------------------- */

/* Returns the status that refuses a Sanitize now, or NVME_SUCCESS. */
static uint16_t check(NvmeSubsystem *subsys)
{
    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeNamespace *ns = nvme_subsys_ns(subsys, i);

        if (ns && ns->formatting) {
            return NVME_FORMAT_IN_PROGRESS;
        }
    }
    for (int i = 0; i < NVME_MAX_CONTROLLERS; i++) {
        NvmeCtrl *n = nvme_subsys_ctrl(subsys, i);

        if (n && n->pmr.dev && NVME_PMRCTL_EN(ldl_le_p(&n->bar.pmrctl))) {
            return PMR_ENABLED | NVME_DNR;
        }
    }
    return NVME_SUCCESS;
}

static void begin(NvmeFlash *flash, NvmeCtrl *asker, uint32_t cdw10)
{
    uint32_t event[] = { asker->id_ctrl.sanicap, cpu_to_le32(cdw10), 0 };

    flash_event(asker, EVENT_SANITIZE, event, sizeof(event));
    for (int i = 0; i < NVME_MAX_CONTROLLERS; i++) {
        NvmeCtrl *n = nvme_subsys_ctrl(asker->subsys, i);

        if (n && n->drive) {
            flash_self_test_stop(n->drive->test, NULL, SELF_TEST_SANITIZED);
        }
    }
    asker->subsys->sanitizing = true;
    flash->sanitize.runs = true;
    flash->sanitize.erases = false;
    flash->sanitize.cdw10 = cdw10;
    flash->sanitize.asker = asker->cntlid;
    flash_port_await(flash->port, FLASH_PORT_QUIESCENT);
    flash_run_soon(flash);
}

uint16_t flash_sanitize_command(NvmeCtrl *n, uint32_t cdw10)
{
    NvmeFlash *flash = nvme_flash_of_subsys(n->subsys);
    uint16_t status;

    switch (cdw10 & 7) {
    case ACTION_EXIT_FAILURE:
        /* no Sanitize of a flash fails */
        return NVME_SUCCESS;
    case ACTION_BLOCK_ERASE:
        break;
    default:
        return NVME_INVALID_FIELD | NVME_DNR;
    }
    if ((cdw10 & NO_DEALLOCATE) || !flash || flash_time_is_over(flash)) {
        return NVME_INVALID_FIELD | NVME_DNR;
    }
    status = check(n->subsys);
    if (!status) {
        begin(flash, n, cdw10);
    }
    return status;
}

/* ---- The erases ---------------------------------------------------------- */

static void erase(NvmeFlash *flash)
{
    ScarpDrive *erased;

    nvme_flash_lock(flash);
    scarp_run(flash->drive, nvme_flash_now_ns(flash));
    erased = scarp_sanitize(flash->drive, NULL);
    if (erased) {
        flash_log_sanitize(flash->logs.log, scarp_now_ns(erased),
                           flash_port_submitted(flash->port));
        flash->drive = erased;
        flash_port_replace(flash->port, erased);
        flash->sanitize.total = scarp_sanitize_left(erased);
    }
    nvme_flash_unlock(flash);
    flash->sanitize.erases = erased;
    flash_port_await(flash->port,
                     erased ? FLASH_PORT_READY : FLASH_PORT_QUIESCENT);
    flash_run_soon(flash);
}

/* Gives reclaim units and zones the state that they have on an erased drive. */
static void empty(NvmeSubsystem *subsys)
{
    NvmeEnduranceGroup *endgrp = &subsys->endgrp;

    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeNamespace *ns = nvme_subsys_ns(subsys, i);

        if (ns && ns->params.zoned) {
            nvme_ns_reset_zones(ns);
        }
    }
    for (int i = 0; endgrp->fdp.enabled && i < endgrp->fdp.nruh; i++) {
        for (int rg = 0; rg < endgrp->fdp.nrg; rg++) {
            endgrp->fdp.ruhs[i].rus[rg].ruamw = endgrp->fdp.ruhs[i].ruamw;
        }
    }
}

static void finish(NvmeFlash *flash)
{
    NvmeSubsystem *subsys = flash->subsystems->data;
    NvmeCtrl *asker = nvme_subsys_ctrl(subsys, flash->sanitize.asker);

    flash->sanitize.runs = false;
    flash->sanitize.erases = false;
    flash->sanitize.done = true;
    flash->sanitize.erased = true;
    subsys->sanitizing = false;
    empty(subsys);
    if (asker && asker->drive) {
        uint16_t event[] = { cpu_to_le16(PROGRESS_DONE),
                             cpu_to_le16(STATE_DONE | ERASED), 0, 0 };

        flash_event(asker, EVENT_SANITIZED, event, sizeof(event));
        nvme_enqueue_event(asker, NVME_AER_TYPE_IO_SPECIFIC, EVENT_COMPLETED,
                           FLASH_LOG_SANITIZE);
    }
}

void flash_sanitize_look(NvmeFlash *flash, unsigned reached)
{
    if (!flash->sanitize.runs || flash->stopped) {
        return;
    }
    if (flash->sanitize.erases) {
        if (reached & FLASH_PORT_READY) {
            finish(flash);
        }
    } else if (reached & FLASH_PORT_QUIESCENT) {
        if (flash->admit.in_flight || !flash->power.ready) {
            flash_port_await(flash->port, FLASH_PORT_QUIESCENT);
        } else {
            erase(flash);
        }
    }
}

void flash_sanitize_cut(NvmeFlash *flash)
{
    if (!flash->sanitize.runs) {
        return;
    }
    if (flash->sanitize.erases) {
        /* CSTS.RDY is not to wait for the erases, which take far longer */
        flash->power.ready = true;
        flash->sanitize.total = scarp_sanitize_left(flash->drive);
    } else {
        flash_port_await(flash->port, FLASH_PORT_QUIESCENT);
    }
}

/* ---- The log page, and commands that are allowed meanwhile --------------- */

bool nvme_sanitize_allows(uint8_t opcode, uint32_t cdw10)
{
    switch (opcode) {
    case NVME_ADM_CMD_DELETE_SQ:
    case NVME_ADM_CMD_CREATE_SQ:
    case NVME_ADM_CMD_DELETE_CQ:
    case NVME_ADM_CMD_CREATE_CQ:
    case NVME_ADM_CMD_IDENTIFY:
    case NVME_ADM_CMD_ABORT:
    case NVME_ADM_CMD_SET_FEATURES:
    case NVME_ADM_CMD_GET_FEATURES:
    case NVME_ADM_CMD_ASYNC_EV_REQ:
    case NVME_FLASH_ADM_CONTROL:
    case NVME_FLASH_ADM_SCHEME:
        return true;
    case NVME_ADM_CMD_GET_LOG_PAGE:
        switch (cdw10 & 0xff) {
        case NVME_LOG_ERROR_INFO:
        case NVME_LOG_SMART_INFO:
        case NVME_LOG_CHANGED_NSLIST:
        case FLASH_LOG_SANITIZE:
            return true;
        }
        return false;
    default:
        return false;
    }
}

GByteArray *flash_sanitize_log(NvmeFlash *flash)
{
    const FlashSanitize *sanitize = &flash->sanitize;
    int64_t bound_ns = scarp_sanitize_bound_ns(flash->drive);
    uint64_t left, total = sanitize->total;
    Log log = {
        .progress = cpu_to_le16(PROGRESS_DONE),
        .status = cpu_to_le16((sanitize->runs ? STATE_RUNS
                               : sanitize->done ? STATE_DONE : 0) |
                              (sanitize->erased ? ERASED : 0)),
        .cdw10 = cpu_to_le32(sanitize->cdw10),
    };

    if (sanitize->runs) {
        nvme_flash_lock(flash);
        left = scarp_sanitize_left(flash->drive);
        nvme_flash_unlock(flash);
        log.progress = !sanitize->erases || !total
                           ? 0 : cpu_to_le16((total - left) * PROGRESS_DONE /
                                             total);
    }
    for (int i = 0; i < ARRAY_SIZE(log.seconds); i++) {
        log.seconds[i] = cpu_to_le32(NO_ESTIMATE);
    }
    log.seconds[1] = cpu_to_le32(MIN(DIV_ROUND_UP(bound_ns, SECOND_NS),
                                     UINT32_MAX - 1));
    return flash_log_page(&log, sizeof(log));
}
