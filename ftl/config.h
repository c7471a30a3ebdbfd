/*
 * A drive's description: geometry, timing, controller, FTL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CONFIG_H
#define SCARP_CONFIG_H

#include "scarp.h"

typedef struct {
    /* [geometry] */
    uint64_t channels;
    uint64_t chips_per_channel;
    uint64_t dies_per_chip;
    uint64_t planes_per_die;
    uint64_t blocks_per_plane;
    uint64_t pages_per_block;
    uint64_t page_bytes;
    /* [timing] */
    uint64_t read_ns;      /* tR */
    uint64_t program_ns;   /* tPROG */
    uint64_t erase_ns;     /* tBERS */
    uint64_t command_ns;   /* command and address cycles on the channel */
    uint64_t channel_mts;  /* 8-bit bus: mega-transfers = 10^6 bytes a second */
    /* [controller] */
    uint64_t firmware_ns;  /* per command, pipelined */
    uint64_t link_mbs;     /* host link, 10^6 bytes a second, each direction */
    uint64_t slots;        /* commands in the device at once */
    /* [ftl] */
    uint64_t over_provisioning_permille; /* (raw - logical) / logical */
    char allocation[8];                  /* "cwdp" */
    /* [gc] */
    uint64_t trigger_free_blocks; /* per plane: collect at or below it */
    uint64_t separate_active_block;
    uint64_t victim_candidates;   /* exact ties shown to the victim policy */
} ScarpDescription;

/*
 * Read path, then apply overrides ("group.key=value,…" or NULL), then check
 * that the values can work together.
 */
bool scarp_description_load(ScarpDescription *desc, const char *path,
                            const char *overrides, GError **error);

#endif /* SCARP_CONFIG_H */
