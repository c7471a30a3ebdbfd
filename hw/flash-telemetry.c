/*
 * Scarp: the telemetry logs
 *
 * The host-initiated log (page 07h) has the drive's statistics, as JSON, of the
 * moment at which the host had them captured. All of the text is in data area
 * 1. The drive itself never starts a log, so page 08h has a head only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "flash-admin.h"

#define BLOCK_BYTES 512

typedef struct QEMU_PACKED {
    uint8_t page;
    uint8_t rsvd1[4];
    uint8_t ieee[3];
    uint16_t last_block[3]; /* of data areas 1 to 3 */
    uint8_t rsvd14[368];
    uint8_t available;      /* 1: the controller has started a log */
    uint8_t generation;     /* of logs that the controller has started */
    uint8_t reason[128];
} Head;

QEMU_BUILD_BUG_ON(sizeof(Head) != BLOCK_BYTES);

static GByteArray *log_of(const NvmeCtrl *n, uint8_t page, const char *text)
{
    size_t bytes = text ? strlen(text) : 0;
    size_t blocks = DIV_ROUND_UP(bytes, BLOCK_BYTES);
    GByteArray *log = g_byte_array_new();
    Head head = { .page = page };

    assert(blocks <= UINT16_MAX);
    memcpy(head.ieee, n->id_ctrl.ieee, sizeof(head.ieee));
    for (int i = 0; i < ARRAY_SIZE(head.last_block); i++) {
        head.last_block[i] = cpu_to_le16(blocks);
    }
    g_byte_array_append(log, (const guint8 *)&head, sizeof(head));
    g_byte_array_append(log, (const guint8 *)text, bytes);
    g_byte_array_set_size(log, (1 + blocks) * BLOCK_BYTES);
    memset(log->data + sizeof(head) + bytes, 0, blocks * BLOCK_BYTES - bytes);
    return log;
}

/* Returns a JSON list with the statistics of each flash of the subsystem. */
static char *statistics(NvmeCtrl *n)
{
    g_autoptr(GPtrArray) seen = g_ptr_array_new();
    GString *text = g_string_new("[");

    for (int i = 0; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeFlash *flash = nvme_flash_at(n->subsys, i);
        g_autofree char *json = NULL;

        if (!flash || g_ptr_array_find(seen, flash, NULL)) {
            continue;
        }
        nvme_flash_lock(flash);
        json = scarp_stats_json(flash->drive);
        nvme_flash_unlock(flash);
        g_string_append_printf(text, "%s%s", seen->len ? ",\n" : "",
                               g_strchomp(json));
        g_ptr_array_add(seen, flash);
    }
    g_string_append(text, "]\n");
    return g_string_free(text, false);
}

GByteArray *flash_telemetry_log(NvmeCtrl *n, bool capture, uint64_t off)
{
    g_autofree char *fresh = capture ? statistics(n) : NULL;
    GByteArray *log = log_of(n, FLASH_LOG_TELEMETRY_HOST,
                             capture ? fresh : n->drive->captured);

    if (capture && off < log->len) {
        g_free(n->drive->captured);
        n->drive->captured = g_steal_pointer(&fresh);
        flash_event(n, EVENT_TELEMETRY, log->data, BLOCK_BYTES);
    }
    return log;
}

GByteArray *flash_telemetry_of_controller(NvmeCtrl *n)
{
    return log_of(n, FLASH_LOG_TELEMETRY_CTRL, NULL);
}

bool flash_telemetry_in_blocks(uint64_t off, size_t len)
{
    return off % BLOCK_BYTES == 0 && len % BLOCK_BYTES == 0;
}
