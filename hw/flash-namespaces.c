/*
 * Scarp: the ranges of the flash that namespaces have, and Namespace Management
 *
 * A namespace has one range of whole mapping units. A host may delete and
 * create namespaces if the subsystem is one drive (nvme_flash_of_subsys()).
 * hw/nvme carries out a deletion, which empties the range as a Format does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/qdev-properties.h"
#include "flash-admin.h"

#define NO_HOLE UINT64_MAX

enum {
    /* offset in Identify Namespace of ANAGRPID, which NvmeIdNs does not name */
    ANA_GROUP_OFFSET = 92,
    NMIC_SHARED = 1 << 0,
};

static const uint32_t format_bytes[] = { 512, 4096 };

NvmeFlash *nvme_flash_of_subsys(NvmeSubsystem *subsys)
{
    NvmeFlash *flash = subsys->flash;

    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        NvmeNamespace *ns = nvme_subsys_ns(subsys, i);

        if (ns && ns->flash != flash) {
            return NULL;
        }
    }
    return flash && !flash->subsystems->next ? flash : NULL;
}

/* ---- Ranges -------------------------------------------------------------- */

/* Returns the offset of the first free range of `bytes` bytes, or NO_HOLE. */
static uint64_t hole(const NvmeFlash *flash, uint64_t bytes)
{
    uint64_t capacity = scarp_drive_logical_bytes(flash->drive), at = 0;
    const GSList *item = flash->namespaces;

    while (item) {
        const NvmeNamespace *ns = item->data;
        uint64_t end = ns->flash_offset + ns->flash_bytes;

        if (at < end && ns->flash_offset < at + bytes) {
            at = end;
            item = flash->namespaces;
        } else {
            item = item->next;
        }
    }
    return bytes <= capacity - at ? at : NO_HOLE;
}

uint64_t flash_ns_left(const NvmeFlash *flash)
{
    uint64_t left = scarp_drive_logical_bytes(flash->drive);

    for (const GSList *item = flash->namespaces; item; item = item->next) {
        left -= ((const NvmeNamespace *)item->data)->flash_bytes;
    }
    return left;
}

bool flash_ns_add(NvmeNamespace *ns, uint64_t bytes)
{
    NvmeFlash *flash = ns->flash;
    uint64_t at = hole(flash, bytes);

    if (at == NO_HOLE) {
        return false;
    }
    ns->flash_offset = at;
    ns->flash_bytes = bytes;
    flash->namespaces = g_slist_prepend(flash->namespaces, ns);
    if (!g_slist_find(flash->subsystems, ns->subsys)) {
        flash->subsystems = g_slist_append(flash->subsystems, ns->subsys);
    }
    if (!ns->subsys->flash) {
        ns->subsys->flash = flash;
    }
    return true;
}

void nvme_flash_detach_ns(NvmeNamespace *ns)
{
    ns->flash->namespaces = g_slist_remove(ns->flash->namespaces, ns);
}

/* ---- Identify ------------------------------------------------------------ */

bool flash_ns_managed(NvmeCtrl *n)
{
    NvmeFlash *flash = nvme_flash_of_subsys(n->subsys);

    /*
     * With FDP a namespace needs placement handles. On the host's clock the
     * flash's own thread serves the queues, and may not open block backends.
     */
    return flash && !n->subsys->endgrp.fdp.enabled && !nvme_flash_timed(flash);
}

void nvme_flash_say_capacity(NvmeCtrl *n)
{
    NvmeFlash *flash = n->cse.acs[NVME_ADM_CMD_NS_MANAGEMENT]
                           ? nvme_flash_of_subsys(n->subsys) : NULL;

    stq_le_p(n->id_ctrl.tnvmcap,
             flash ? scarp_drive_logical_bytes(flash->drive) : 0);
    stq_le_p(n->id_ctrl.unvmcap, flash ? flash_ns_left(flash) : 0);
}

static unsigned formats(NvmeFlash *flash)
{
    return nvme_flash_takes_block(flash, format_bytes[1]) ? 2 : 1;
}

void nvme_flash_identify_common(NvmeCtrl *n, NvmeIdNs *id)
{
    unsigned count = formats(nvme_flash_of_subsys(n->subsys));

    id->nlbaf = count - 1;
    for (unsigned i = 0; i < count; i++) {
        id->lbaf[i].ds = ctz32(format_bytes[i]);
    }
    id->nmic = NMIC_SHARED;
}

/* ---- Commands ------------------------------------------------------------ */

/* Returns the status that refuses such a namespace, or NVME_SUCCESS. */
static uint16_t check(NvmeCtrl *n, NvmeFlash *flash, uint8_t csi,
                      const NvmeIdNs *asked)
{
    uint64_t blocks = le64_to_cpu(asked->nsze);
    uint64_t used = le64_to_cpu(asked->ncap);
    uint32_t unit = scarp_drive_unit_bytes(flash->drive);
    uint64_t bytes;

    if (csi != NVME_CSI_NVM) {
        return NVME_IOCS_NOT_SUPPORTED;
    }
    if (asked->flbas >= formats(flash) || asked->dps) {
        return NVME_INVALID_FORMAT;
    }
    if (!blocks || used > blocks || (asked->nmic & ~NMIC_SHARED) ||
        ldl_le_p((const uint8_t *)asked + ANA_GROUP_OFFSET) ||
        asked->nvmsetid || le16_to_cpu(asked->endgid) > 1) {
        return NVME_INVALID_FIELD;
    }
    if (used != blocks) {
        return NVME_NS_THIN_NOT_SUPPORTED;
    }
    bytes = format_bytes[asked->flbas];
    if (blocks > scarp_drive_logical_bytes(flash->drive) / bytes ||
        hole(flash, ROUND_UP(blocks * bytes, unit)) == NO_HOLE) {
        return NVME_NS_INSUFF_CAPACITY;
    }
    for (int i = 1; i <= NVME_MAX_NAMESPACES; i++) {
        if (!nvme_subsys_ns(n->subsys, i)) {
            return NVME_SUCCESS;
        }
    }
    return NVME_NS_ID_UNAVAILABLE;
}

static NvmeNamespace *make(NvmeCtrl *n, NvmeFlash *flash, const NvmeIdNs *asked,
                           Error **errp)
{
    uint32_t block = format_bytes[asked->flbas];
    DeviceState *dev = qdev_new(TYPE_NVME_NS);
    NvmeNamespace *ns = NVME_NS(dev);
    Object *obj = OBJECT(dev);
    bool made;

    ns->created = true;
    object_property_set_link(obj, "flash", OBJECT(flash), &error_abort);
    object_property_set_uint(obj, "size", le64_to_cpu(asked->nsze) * block,
                             &error_abort);
    object_property_set_uint(obj, "logical_block_size", block, &error_abort);
    object_property_set_uint(obj, "physical_block_size", block, &error_abort);
    object_property_set_bool(obj, "shared", asked->nmic & NMIC_SHARED,
                             &error_abort);
    object_property_set_bool(obj, "detached", true, &error_abort);
    made = qdev_realize(dev, BUS(&n->bus), errp);
    if (!made) {
        nvme_flash_detach_ns(ns);
    }
    /* a device that is realized belongs to its bus */
    object_unref(obj);
    return made ? ns : NULL;
}

uint16_t nvme_flash_create_ns(NvmeCtrl *n, uint8_t csi, const NvmeIdNs *asked,
                              uint32_t *nsid)
{
    NvmeFlash *flash = nvme_flash_of_subsys(n->subsys);
    uint16_t status = flash ? check(n, flash, csi, asked) : NVME_INVALID_FIELD;
    Error *error = NULL;
    NvmeNamespace *ns;

    if (status) {
        return status | NVME_DNR;
    }
    ns = make(n, flash, asked, &error);
    if (!ns) {
        error_report_err(error);
        return NVME_INTERNAL_DEV_ERROR | NVME_DNR;
    }
    *nsid = ns->params.nsid;
    flash_event_ns(n, NVME_NS_MANAGEMENT_CREATE, ns);
    return NVME_SUCCESS;
}

void nvme_flash_ns_leaves(NvmeNamespace *ns)
{
    for (int i = 0; i < NVME_MAX_CONTROLLERS; i++) {
        NvmeCtrl *n = nvme_subsys_ctrl(ns->subsys, i);

        if (n && n->drive) {
            flash_self_test_stop(n->drive->test, ns, SELF_TEST_NS_REMOVED);
        }
    }
}

void nvme_flash_ns_deleted(NvmeCtrl *n, NvmeNamespace *ns)
{
    flash_event_ns(n, NVME_NS_MANAGEMENT_DELETE, ns);
}
