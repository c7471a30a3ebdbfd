/*
 * Scarp: the persistent event log (page 0Dh)
 *
 * A subsystem keeps its latest events: starts of controllers, timestamps that
 * hosts set, namespaces that hosts create and delete, Formats, Sanitizes, and
 * captured telemetry. The events are in QEMU's memory, so they survive resets
 * and power cuts. A host first establishes a context, which is a copy of the
 * log, and then reads the copy piece by piece.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "flash-admin.h"

enum {
    REVISION = 1, /* the log's revision in NVMe 1.4 */
    EVENT_REVISION = 1,
    /* Length of an event's head without its first three bytes. */
    EVENT_HEAD_LENGTH = 0x15,
    MOST_EVENTS = 100,    /* so many events take less than 64 KiB (PELS) */
    FORMAT_ERROR = 1 << 0,
    FORMAT_INCOMPLETE = 1 << 1,
};

typedef struct QEMU_PACKED {
    uint8_t type;
    uint8_t revision;
    uint8_t head_length;
    uint8_t rsvd3;
    uint16_t cntlid;
    uint64_t timestamp;
    uint8_t rsvd14[6];
    uint16_t vendor_bytes;
    uint16_t bytes;
} EventHead;

typedef struct QEMU_PACKED {
    uint8_t page;
    uint8_t rsvd1[3];
    uint32_t events;
    uint64_t bytes;
    uint8_t revision;
    uint8_t rsvd17;
    uint16_t head_length;
    uint64_t timestamp;
    uint64_t hours[2];
    uint64_t cycles;
    uint16_t vid;
    uint16_t ssvid;
    uint8_t sn[20];
    uint8_t mn[40];
    uint8_t subnqn[256];
    uint8_t rsvd372[108];
    uint8_t supported[32]; /* a bit for each type of event */
} LogHead;

QEMU_BUILD_BUG_ON(sizeof(EventHead) != 24 || sizeof(LogHead) != 512);

struct NvmeFlashEvents {
    GQueue latest; /* GByteArray, the latest first */
};

/* Returns the milliseconds since the controller got its power. */
static uint64_t powered_ms(const NvmeCtrl *n)
{
    return qemu_clock_get_ms(QEMU_CLOCK_VIRTUAL) - n->starttime_ms;
}

/* Returns the power cycles of the SMART log page, in little endian. */
static uint64_t cycles(NvmeCtrl *n)
{
    NvmeFlash *whole = nvme_flash_of_subsys(n->subsys);
    NvmeSmartLog smart = { 0 };

    if (whole) {
        flash_power_smart(whole, &smart);
    }
    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeNamespace *ns = nvme_reachable_ns(n, i);

        if (ns && ns->flash) {
            flash_power_smart(ns->flash, &smart);
        }
    }
    return smart.power_cycles[0];
}

void flash_event(NvmeCtrl *n, FlashEvent type, const void *data, uint16_t bytes)
{
    NvmeFlashEvents *events = n->subsys->events;
    GByteArray *event = g_byte_array_new();
    EventHead head = {
        .type = type,
        .revision = EVENT_REVISION,
        .head_length = EVENT_HEAD_LENGTH,
        .cntlid = cpu_to_le16(n->cntlid),
        .timestamp = nvme_get_timestamp(n),
        .bytes = cpu_to_le16(bytes),
    };

    if (!events) {
        events = n->subsys->events = g_new0(NvmeFlashEvents, 1);
    }
    g_byte_array_append(event, (const guint8 *)&head, sizeof(head));
    g_byte_array_append(event, data, bytes);
    g_queue_push_head(&events->latest, event);
    if (events->latest.length > MOST_EVENTS) {
        g_byte_array_unref(g_queue_pop_tail(&events->latest));
    }
}

void flash_event_started(NvmeCtrl *n)
{
    struct QEMU_PACKED {
        uint8_t firmware[8];
        uint16_t cntlid;
        uint8_t rsvd[14];
        uint32_t cycle;
        uint64_t powered_ms;
        uint64_t timestamp;
    } data = {
        .cntlid = cpu_to_le16(n->cntlid),
        .cycle = cpu_to_le32(le64_to_cpu(cycles(n))),
        .powered_ms = cpu_to_le64(powered_ms(n)),
        .timestamp = nvme_get_timestamp(n),
    };

    memcpy(data.firmware, n->id_ctrl.fr, sizeof(data.firmware));
    flash_event(n, EVENT_STARTED, &data, sizeof(data));
}

void flash_event_timestamp(NvmeCtrl *n, uint64_t before)
{
    int64_t ms = qemu_clock_get_ms(QEMU_CLOCK_VIRTUAL) - n->drive->started_ms;
    uint64_t data[] = { before, cpu_to_le64(ms) };

    flash_event(n, EVENT_TIMESTAMP, data, sizeof(data));
}

void flash_event_ns(NvmeCtrl *n, uint8_t select, NvmeNamespace *ns)
{
    struct QEMU_PACKED {
        uint32_t cdw10;
        uint8_t rsvd4[4];
        uint64_t nsze;
        uint8_t rsvd16[8];
        uint64_t ncap;
        uint8_t flbas;
        uint8_t dps;
        uint8_t nmic;
        uint8_t rsvd35;
        uint32_t ana_group;
        uint16_t nvm_set;
        uint8_t rsvd42[2];
        uint32_t nsid;
    } data = {
        .cdw10 = cpu_to_le32(select),
        .nsid = cpu_to_le32(ns->params.nsid),
    };

    QEMU_BUILD_BUG_ON(sizeof(data) != 48);
    if (select == NVME_NS_MANAGEMENT_CREATE) {
        data.nsze = ns->id_ns.nsze;
        data.ncap = ns->id_ns.ncap;
        data.flbas = ns->id_ns.flbas;
        data.nmic = ns->id_ns.nmic;
    }
    flash_event(n, EVENT_NAMESPACE, &data, sizeof(data));
}

void flash_event_formats(NvmeCtrl *n, NvmeNamespace *ns, uint32_t cdw10)
{
    struct QEMU_PACKED {
        uint32_t nsid;
        uint8_t fna;
        uint8_t rsvd[3];
        uint32_t cdw10;
    } data = {
        .nsid = cpu_to_le32(ns->params.nsid),
        .fna = n->id_ctrl.fna,
        .cdw10 = cpu_to_le32(cdw10),
    };

    flash_event(n, EVENT_FORMAT, &data, sizeof(data));
}

void flash_event_formatted(NvmeCtrl *n, NvmeNamespace *ns, uint16_t status)
{
    struct QEMU_PACKED {
        uint32_t nsid;
        uint8_t progress; /* 0: the namespace tells no progress */
        uint8_t status;
        uint16_t information;
        uint32_t completion; /* status of the command */
    } data = {
        .nsid = cpu_to_le32(ns->params.nsid),
        .status = status ? FORMAT_ERROR | FORMAT_INCOMPLETE : 0,
        .completion = cpu_to_le32(status),
    };

    flash_event(n, EVENT_FORMATTED, &data, sizeof(data));
}

static GByteArray *copy_log(NvmeCtrl *n)
{
    static const FlashEvent types[] = {
        EVENT_TIMESTAMP, EVENT_STARTED, EVENT_NAMESPACE, EVENT_FORMAT,
        EVENT_FORMATTED, EVENT_SANITIZE, EVENT_SANITIZED, EVENT_TELEMETRY,
    };
    const NvmeFlashEvents *events = n->subsys->events;
    GByteArray *log = g_byte_array_new();
    LogHead head = {
        .page = FLASH_LOG_EVENTS,
        .events = cpu_to_le32(events ? events->latest.length : 0),
        .revision = REVISION,
        .head_length = cpu_to_le16(sizeof(head) - 20),
        .timestamp = nvme_get_timestamp(n),
        .hours = { cpu_to_le64(powered_ms(n) / 1000 / 60 / 60) },
        .cycles = cycles(n),
        .vid = n->id_ctrl.vid,
        .ssvid = n->id_ctrl.ssvid,
    };

    memcpy(head.sn, n->id_ctrl.sn, sizeof(head.sn));
    memcpy(head.mn, n->id_ctrl.mn, sizeof(head.mn));
    memcpy(head.subnqn, n->id_ctrl.subnqn, sizeof(head.subnqn));
    for (int i = 0; i < ARRAY_SIZE(types); i++) {
        head.supported[types[i] / 8] |= 1 << types[i] % 8;
    }
    g_byte_array_append(log, (const guint8 *)&head, sizeof(head));
    for (GList *item = events ? events->latest.head : NULL; item;
         item = item->next) {
        const GByteArray *event = item->data;

        g_byte_array_append(log, event->data, event->len);
    }
    stq_le_p(log->data + offsetof(LogHead, bytes), log->len);
    return log;
}

uint16_t flash_events_log(NvmeCtrl *n, uint8_t action, GByteArray **log)
{
    GByteArray **context = &n->drive->context;

    switch (action) {
    case FLASH_EVENTS_READ:
        if (!*context) {
            return NVME_CMD_SEQ_ERROR | NVME_DNR;
        }
        break;
    case FLASH_EVENTS_ESTABLISH:
        if (*context) {
            return NVME_CMD_SEQ_ERROR | NVME_DNR;
        }
        *context = copy_log(n);
        break;
    case FLASH_EVENTS_RELEASE:
        flash_events_release(n);
        return NVME_SUCCESS;
    default:
        return NVME_INVALID_FIELD | NVME_DNR;
    }
    *log = g_byte_array_ref(*context);
    return NVME_SUCCESS;
}

void flash_events_release(NvmeCtrl *n)
{
    g_clear_pointer(&n->drive->context, g_byte_array_unref);
}
