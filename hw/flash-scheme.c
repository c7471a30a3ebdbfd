/*
 * Scarp: another scheme on the running drive, by QMP or by a vendor command
 *
 * A scheme is named by "NAME" or "NAME:KEY=VALUE,..."; ";" may stand for ",".
 * When a scheme was refused, vendor log page 0xCB has the reason.
 *
 * A switch at an instant (the properties switch-at-ns and switch-to) is made by
 * a timer of the virtual clock: the timer costs the guest no instruction, so
 * until the instant the guest runs exactly as it would without the switch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "flash-int.h"

enum { SCHEME_PAGE_VERSION = 1 };

/* Vendor log page 0xCB, little endian. Text is padded with zeroes. */
typedef struct QEMU_PACKED {
    char magic[8];         /* "SCARPSC1" */
    uint32_t version;
    uint32_t accepted;     /* number of switches since QEMU began */
    uint32_t refused;
    uint32_t reserved;
    uint64_t switched_ns;  /* when the running scheme began, or 0 */
    char scheme[1024];     /* the running scheme, as the user named it */
    char reason[3040];     /* why the last switch was refused, or "" */
} SchemePage;

QEMU_BUILD_BUG_ON(sizeof(SchemePage) != 4096);
QEMU_BUILD_BUG_ON(NVME_FLASH_SCHEME_BYTES !=
                  sizeof(((SchemePage *)NULL)->scheme));

char *flash_scheme_text(const char *scheme, const char *params)
{
    return params ? g_strdup_printf("%s:%s", scheme, params)
                  : g_strdup(scheme);
}

/*
 * Returns the scheme's name, and sets *params to its parameters, or to NULL.
 * Name and parameters point into `text`, which is changed.
 */
static const char *split_scheme(char *text, char **params)
{
    *params = strchr(text, ':');
    if (*params) {
        *(*params)++ = '\0';
        g_strdelimit(*params, ";", ',');
    }
    return text;
}

static bool switch_scheme(NvmeFlash *flash, const char *text, GError **error)
{
    g_autofree char *copy = g_strdup(text);
    char *params;
    const char *name = split_scheme(copy, &params);
    int64_t now_ns;
    bool ok;

    nvme_flash_lock(flash);
    now_ns = nvme_flash_now_ns(flash);
    scarp_run(flash->drive, now_ns);
    ok = scarp_drive_set_scheme(flash->drive, name, params, error);
    if (ok) {
        flash_log_scheme(flash->logs.log, scarp_now_ns(flash->drive),
                         flash_port_submitted(flash->port), name, params);
    }
    nvme_flash_unlock(flash);
    if (ok) {
        g_free(flash->scheme.running);
        flash->scheme.running = flash_scheme_text(name, params);
        flash->scheme.switched_ns = now_ns;
    }
    /* the new scheme may have work before the next command */
    flash_run_soon(flash);
    return ok;
}

bool flash_scheme_switch(NvmeFlash *flash, const char *text, Error **errp)
{
    g_autoptr(GError) error = NULL;

    g_clear_pointer(&flash->scheme.refusal, g_free);
    if (flash->stopped) {
        flash->scheme.refusal = g_strdup("the drive is shut down");
    } else if (strlen(text) > NVME_FLASH_SCHEME_BYTES) {
        flash->scheme.refusal =
            g_strdup_printf("a scheme has at most %d characters",
                            NVME_FLASH_SCHEME_BYTES);
    } else if (!switch_scheme(flash, text, &error)) {
        flash->scheme.refusal = g_strdup(error->message);
    }
    if (flash->scheme.refusal) {
        flash->scheme.refused++;
        error_setg(errp, "%s", flash->scheme.refusal);
        return false;
    }
    flash->scheme.accepted++;
    return true;
}

static bool refuse(NvmeFlash *flash, const char *reason)
{
    g_free(flash->scheme.refusal);
    flash->scheme.refusal = g_strdup(reason);
    flash->scheme.refused++;
    return false;
}

bool nvme_flash_set_scheme(NvmeFlash *flash, const char *data, uint64_t bytes)
{
    g_autofree char *text = NULL;

    if (!bytes || bytes > NVME_FLASH_SCHEME_BYTES) {
        return refuse(flash, "cdw10: the data's length in dwords must be from "
                      "1 to " stringify(NVME_FLASH_SCHEME_DWORDS));
    }
    text = g_strchomp(g_strndup(data, bytes));
    for (const char *c = text; *c; c++) {
        if (!g_ascii_isprint(*c)) {
            return refuse(flash, "the scheme's name must be of printable "
                          "ASCII characters");
        }
    }
    return flash_scheme_switch(flash, text, NULL);
}

size_t flash_scheme_page(NvmeFlash *flash, void *buf, size_t size)
{
    SchemePage page = {
        .version = cpu_to_le32(SCHEME_PAGE_VERSION),
        .accepted = cpu_to_le32(flash->scheme.accepted),
        .refused = cpu_to_le32(flash->scheme.refused),
        .switched_ns = cpu_to_le64(flash->scheme.switched_ns),
    };

    memcpy(page.magic, "SCARPSC1", sizeof(page.magic));
    strpadcpy(page.scheme, sizeof(page.scheme), flash->scheme.running, '\0');
    strpadcpy(page.reason, sizeof(page.reason) - 1, flash->scheme.refusal ?: "",
              '\0');
    if (size) {
        memcpy(buf, &page, MIN(size, sizeof(page)));
    }
    return sizeof(page);
}

/* ---- A switch at an instant ---------------------------------------------- */

bool flash_scheme_check(NvmeFlash *flash, bool realtime, Error **errp)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strdup(flash->scheme.switch_to);
    const char *name;
    char *params;

    if (!text && flash->scheme.switch_at_ns == FLASH_NS_UNSET) {
        return true;
    }
    if (!text || flash->scheme.switch_at_ns == FLASH_NS_UNSET) {
        error_setg(errp, "switch-at-ns, switch-to: one needs the other");
        return false;
    }
    if (realtime) {
        error_setg(errp, "switch-at-ns: excludes clock=realtime, on which no "
                   "two runs are equal until an instant");
        return false;
    }
    if (flash->scheme.switch_at_ns > FLASH_TIME_LAST) {
        error_setg(errp, "switch-at-ns: %" PRIu64 " is out of range; allowed "
                   "are 0 to %" PRId64, flash->scheme.switch_at_ns,
                   FLASH_TIME_LAST);
        return false;
    }
    name = split_scheme(text, &params);
    if (!scarp_drive_may_set_scheme(flash->drive, name, params, &error)) {
        error_setg(errp, "%s", error->message);
        return false;
    }
    return true;
}

static void switch_cb(void *opaque)
{
    NvmeFlash *flash = opaque;
    Error *err = NULL;

    if (!flash_guest_ends(flash) && !flash_time_is_over(flash) &&
        !flash_scheme_switch(flash, flash->scheme.switch_to, &err)) {
        error_reportf_err(err, "nvme-flash: switch-to: ");
    }
}

void flash_scheme_init(NvmeFlash *flash)
{
    if (flash->scheme.switch_to) {
        flash->scheme.switch_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, switch_cb,
                                                  flash);
        timer_mod(flash->scheme.switch_timer, flash->scheme.switch_at_ns);
    }
}

void flash_scheme_stop(NvmeFlash *flash)
{
    if (flash->scheme.switch_timer) {
        timer_del(flash->scheme.switch_timer);
    }
}

void flash_scheme_clear(NvmeFlash *flash)
{
    g_clear_pointer(&flash->scheme.running, g_free);
    g_clear_pointer(&flash->scheme.refusal, g_free);
    g_clear_pointer(&flash->scheme.switch_timer, timer_free);
}
