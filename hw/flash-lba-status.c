/*
 * Scarp: Get LBA Status
 *
 * The action "allocated" lists the ranges of logical blocks that are mapped.
 * The other two actions list blocks that may be unreadable. The flash has no
 * such blocks, so these lists are empty.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "flash-admin.h"

enum {
    ACTION_ALLOCATED = 0x02,
    ACTION_SCAN = 0x10,
    ACTION_TRACKED = 0x11,
    MORE = 1,     /* completion condition: a part of the range is left over */
    COMPLETE = 2, /* completion condition: the whole range was looked at */
    STATUS_ALLOCATED = 2,
};

/*
 * Most bytes to look at under the drive's lock at a time: meanwhile the thread
 * that runs the engine waits for the lock.
 */
#define PIECE_BYTES (64 * MiB)
/* A command that has found a range looks at no more than so many bytes. */
#define MOST_BYTES (4 * GiB)

typedef struct QEMU_PACKED {
    uint64_t slba;
    uint32_t blocks;
    uint8_t rsvd12;
    uint8_t status;
    uint8_t rsvd14[2];
} Descriptor;

typedef struct QEMU_PACKED {
    uint32_t descriptors;
    uint8_t condition;
    uint8_t rsvd5[3];
} Header;

QEMU_BUILD_BUG_ON(sizeof(Descriptor) != 16 || sizeof(Header) != 8);

/*
 * Returns how many blocks from lba on, `left` at most, have the same state.
 * Sets *allocated to that state.
 */
static uint64_t run_of(NvmeNamespace *ns, uint64_t lba, uint64_t left,
                       bool *allocated)
{
    uint64_t at = lba * ns->lbasz, n = 0, found, piece;
    bool same;

    *allocated = true;
    if (!ns->flash) {
        /* a block backend that is no flash is taken to hold all blocks */
        return left;
    }
    do {
        piece = MIN((left - n) * ns->lbasz, PIECE_BYTES);
        nvme_flash_lock(ns->flash);
        found = scarp_mapped_run(ns->flash->drive, ns->flash_offset + at, piece,
                                 ns->lbasz, &same);
        nvme_flash_unlock(ns->flash);
        if (!n) {
            *allocated = same;
        } else if (same != *allocated) {
            break;
        }
        n += found / ns->lbasz;
        at += found;
    } while (found == piece && n < left);
    return n;
}

/*
 * Appends allocated ranges to `out`, which takes `most` bytes, and returns the
 * condition. The condition is MORE if `out` is full, or if MOST_BYTES were
 * looked at and `out` has a range. The host then goes on behind the last range.
 */
static uint8_t list_allocated(NvmeNamespace *ns, uint64_t lba, uint64_t blocks,
                              size_t most, GByteArray *out)
{
    uint64_t most_blocks = MIN(MOST_BYTES / ns->lbasz, UINT32_MAX), looked = 0;

    while (blocks) {
        bool allocated;
        uint64_t n = run_of(ns, lba, MIN(blocks, most_blocks), &allocated);
        Descriptor found = {
            .slba = cpu_to_le64(lba),
            .blocks = cpu_to_le32(n),
            .status = STATUS_ALLOCATED,
        };

        if (allocated && out->len + sizeof(found) > most) {
            return MORE;
        }
        if (allocated) {
            g_byte_array_append(out, (const guint8 *)&found, sizeof(found));
        }
        lba += n;
        blocks -= n;
        looked += n;
        if (blocks && looked >= most_blocks && out->len > sizeof(Header)) {
            return MORE;
        }
    }
    return COMPLETE;
}

uint16_t flash_lba_status_command(NvmeCtrl *n, NvmeRequest *req)
{
    uint64_t slba = (uint64_t)le32_to_cpu(req->cmd.cdw11) << 32 |
                    le32_to_cpu(req->cmd.cdw10);
    uint64_t len = ((uint64_t)le32_to_cpu(req->cmd.cdw12) + 1) * 4;
    uint32_t dw13 = le32_to_cpu(req->cmd.cdw13);
    uint8_t action = dw13 >> 24;
    g_autoptr(GByteArray) out = g_byte_array_new();
    Header header = { .condition = COMPLETE };
    uint64_t blocks = dw13 & 0xffff, size;
    NvmeNamespace *ns;
    uint16_t status;

    ns = flash_admin_ns(n, le32_to_cpu(req->cmd.nsid), &status);
    if (!ns) {
        return status;
    }
    if (ns->status) {
        return ns->status;
    }
    if (action != ACTION_ALLOCATED && action != ACTION_SCAN &&
        action != ACTION_TRACKED) {
        return NVME_INVALID_FIELD | NVME_DNR;
    }
    size = le64_to_cpu(ns->id_ns.nsze);
    if (slba >= size || blocks > size - slba) {
        return NVME_LBA_RANGE | NVME_DNR;
    }
    status = nvme_check_mdts(n, len);
    if (status) {
        return status;
    }
    g_byte_array_append(out, (const guint8 *)&header, sizeof(header));
    if (action == ACTION_ALLOCATED) {
        header.condition = list_allocated(ns, slba, blocks ?: size - slba, len,
                                          out);
        header.descriptors = cpu_to_le32((out->len - sizeof(header)) /
                                         sizeof(Descriptor));
        memcpy(out->data, &header, sizeof(header));
    }
    return nvme_c2h(n, out->data, MIN(out->len, len), req);
}

GByteArray *flash_lba_status_log(void)
{
    /* bytes 3:0 are the page's length; the page has a head only */
    const guint8 page[16] = { sizeof(page) };

    return flash_log_page(page, sizeof(page));
}
