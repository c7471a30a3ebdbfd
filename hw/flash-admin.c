/*
 * Scarp: admin commands and log pages that the drive serves itself, and what
 * Identify Controller says of them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "flash-admin.h"

enum {
    ADM_SELF_TEST = 0x14,
    ADM_SANITIZE = 0x84,
    ADM_LBA_STATUS = 0x86,
    OACS_SELF_TEST = 1 << 4,
    OACS_LBA_STATUS = 1 << 9,
    LPA_TELEMETRY = 1 << 3,
    LPA_EVENTS = 1 << 4,
    PELS_OFFSET = 352, /* in Identify Controller, in units of 64 KiB */
    GET_LOG_ACTION = 0xf,
    SANICAP_BLOCK_ERASE = 1 << 1,
    SANICAP_NO_DEALLOCATE_INHIBITED = 1 << 29,
    /* the media is not changed any more after a Sanitize (NODMMAS is 1) */
    SANICAP_UNMODIFIED_AFTER = 1 << 30,
    GET_LOG_RETAINS_EVENT = 1 << 15,
    GET_LOG_CAPTURES = 1 << 8, /* captures telemetry before the read */
};

NvmeNamespace *flash_admin_ns(NvmeCtrl *n, uint32_t nsid, uint16_t *status)
{
    NvmeNamespace *ns = nvme_ns(n, nsid);

    *status = ns ? NVME_SUCCESS
                 : (nsid && nsid <= NVME_MAX_NAMESPACES ? NVME_INVALID_FIELD
                                                        : NVME_INVALID_NSID) |
                       NVME_DNR;
    return ns;
}

static bool has_flash(NvmeCtrl *n)
{
    if (nvme_flash_of_subsys(n->subsys)) {
        return true;
    }
    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeNamespace *ns = nvme_reachable_ns(n, i);

        if (ns && ns->flash) {
            return true;
        }
    }
    return false;
}

/* ---- Identify ------------------------------------------------------------ */

/*
 * Announces an admin command, if it is served: by the bit `oacs` of OACS, and
 * by `effects` in the log of supported commands. `oacs` is 0 if the command has
 * no such bit.
 */
static void announce(NvmeCtrl *n, uint8_t opcode, uint16_t oacs,
                     uint32_t effects, bool served)
{
    uint16_t said = le16_to_cpu(n->id_ctrl.oacs) & ~oacs;

    n->id_ctrl.oacs = cpu_to_le16(served ? said | oacs : said);
    n->cse.acs[opcode] = served ? NVME_CMD_EFF_CSUPP | effects : 0;
}

void nvme_flash_ctrl_started(NvmeCtrl *n)
{
    bool served = has_flash(n), whole = nvme_flash_of_subsys(n->subsys);

    announce(n, ADM_SELF_TEST, OACS_SELF_TEST, 0, served);
    announce(n, NVME_ADM_CMD_NS_MANAGEMENT, NVME_OACS_NMS,
             NVME_CMD_EFF_NCC | NVME_CMD_EFF_NIC, flash_ns_managed(n));
    announce(n, ADM_LBA_STATUS, OACS_LBA_STATUS, 0, served);
    /* SANICAP, not OACS, announces Sanitize */
    announce(n, ADM_SANITIZE, 0, NVME_CMD_EFF_LBCC, whole);
    n->id_ctrl.sanicap = whole ? cpu_to_le32(SANICAP_BLOCK_ERASE |
                                             SANICAP_NO_DEALLOCATE_INHIBITED |
                                             SANICAP_UNMODIFIED_AFTER)
                               : 0;
    n->id_ctrl.lpa = (n->id_ctrl.lpa & ~(LPA_TELEMETRY | LPA_EVENTS)) |
                     (served ? LPA_TELEMETRY | LPA_EVENTS : 0);
    stl_le_p((uint8_t *)&n->id_ctrl + PELS_OFFSET, served);
    n->id_ctrl.edstt = served ? cpu_to_le16(flash_self_test_minutes(n)) : 0;
    if (!served) {
        return;
    }
    if (!n->drive) {
        n->drive = g_new0(NvmeFlashCtrl, 1);
        n->drive->test = flash_self_test_new(n);
    }
    n->drive->started_ms = qemu_clock_get_ms(QEMU_CLOCK_VIRTUAL);
    flash_health_ctrl_started(n);
    flash_self_test_resume(n->drive->test);
    flash_event_started(n);
}

void nvme_flash_ctrl_goes_on(NvmeCtrl *n)
{
    if (n->drive) {
        flash_self_test_resume(n->drive->test);
    }
}

void nvme_flash_ctrl_stopped(NvmeCtrl *n)
{
    if (n->drive) {
        flash_self_test_pause(n->drive->test);
        flash_events_release(n);
    }
}

void nvme_flash_ctrl_gone(NvmeCtrl *n)
{
    if (n->drive) {
        flash_self_test_free(n->drive->test);
        g_free(n->drive->captured);
        flash_events_release(n);
        g_clear_pointer(&n->drive, g_free);
    }
}

void nvme_flash_formats(NvmeCtrl *asker, NvmeNamespace *ns, uint32_t cdw10)
{
    if (asker->drive) {
        flash_event_formats(asker, ns, cdw10);
    }
    for (int i = 0; i < NVME_MAX_CONTROLLERS; i++) {
        NvmeCtrl *n = nvme_subsys_ctrl(ns->subsys, i);

        if (n && n->drive) {
            flash_self_test_stop(n->drive->test, ns, SELF_TEST_FORMATTED);
        }
    }
}

void nvme_flash_formatted(NvmeCtrl *asker, NvmeNamespace *ns, uint16_t status)
{
    if (asker->drive) {
        flash_event_formatted(asker, ns, status);
    }
}

void nvme_flash_timestamp_set(NvmeCtrl *n, uint64_t before)
{
    if (n->drive) {
        flash_event_timestamp(n, before);
    }
}

/* ---- Commands and log pages ---------------------------------------------- */

uint16_t nvme_flash_admin(NvmeCtrl *n, NvmeRequest *req)
{
    switch (req->cmd.opcode) {
    case ADM_SELF_TEST:
        return flash_self_test_command(n->drive->test,
                                       le32_to_cpu(req->cmd.nsid),
                                       le32_to_cpu(req->cmd.cdw10) & 0xf);
    case ADM_SANITIZE:
        return flash_sanitize_command(n, le32_to_cpu(req->cmd.cdw10));
    case ADM_LBA_STATUS:
        return flash_lba_status_command(n, req);
    default:
        g_assert_not_reached();
    }
}

GByteArray *flash_log_page(const void *page, size_t bytes)
{
    return g_byte_array_append(g_byte_array_new(), page, bytes);
}

/*
 * Returns log page lid, or NULL if the drive has no such page. The host reads
 * the page from byte `off` on.
 */
static GByteArray *log_page(NvmeCtrl *n, uint8_t lid, bool captures,
                            uint64_t off)
{
    NvmeFlash *whole = nvme_flash_of_subsys(n->subsys);

    switch (lid) {
    case FLASH_LOG_SELF_TEST:
        return flash_self_test_log(n->drive->test);
    case FLASH_LOG_TELEMETRY_HOST:
        return flash_telemetry_log(n, captures, off);
    case FLASH_LOG_TELEMETRY_CTRL:
        return flash_telemetry_of_controller(n);
    case FLASH_LOG_LBA_STATUS:
        return flash_lba_status_log();
    case FLASH_LOG_SANITIZE:
        return whole ? flash_sanitize_log(whole) : NULL;
    default:
        return NULL;
    }
}

static uint16_t get_events(NvmeCtrl *n, NvmeRequest *req, uint8_t action,
                           uint64_t off, size_t len)
{
    g_autoptr(GByteArray) log = NULL;
    uint16_t status = flash_events_log(n, action, &log);

    if (status || !log) {
        return status;
    }
    status = off >= log->len ? NVME_INVALID_FIELD | NVME_DNR
                             : nvme_c2h(n, log->data + off,
                                        MIN(log->len - off, len), req);
    if (status && action == FLASH_EVENTS_ESTABLISH) {
        flash_events_release(n);
    }
    return status;
}

uint16_t nvme_flash_get_log(NvmeCtrl *n, NvmeRequest *req, uint8_t lid,
                            uint64_t off, size_t len)
{
    uint32_t dw10 = le32_to_cpu(req->cmd.cdw10);
    bool telemetry = lid == FLASH_LOG_TELEMETRY_HOST ||
                     lid == FLASH_LOG_TELEMETRY_CTRL;
    g_autoptr(GByteArray) log = NULL;

    if (!n->drive || (telemetry && !flash_telemetry_in_blocks(off, len))) {
        return NVME_INVALID_FIELD | NVME_DNR;
    }
    if (lid == FLASH_LOG_EVENTS) {
        return get_events(n, req, dw10 >> 8 & GET_LOG_ACTION, off, len);
    }
    log = log_page(n, lid, dw10 & GET_LOG_CAPTURES, off);
    if (!log || off >= log->len) {
        return NVME_INVALID_FIELD | NVME_DNR;
    }
    if (lid == FLASH_LOG_SANITIZE && !(dw10 & GET_LOG_RETAINS_EVENT)) {
        nvme_clear_events(n, NVME_AER_TYPE_IO_SPECIFIC);
    }
    return nvme_c2h(n, log->data + off, MIN(log->len - off, len), req);
}
