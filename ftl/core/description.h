/*
 * A drive's description: geometry, timing, controller, FTL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DESCRIPTION_H
#define SCARP_DESCRIPTION_H

#include "scarp.h"

#define SCARP_MAX_UNITS 64 /* in a page */
#define SCARP_MAX_STREAMS 8
/*
 * The stream of translation units (ftl.mapping=demand); the host has fewer
 * streams.
 */
#define SCARP_MAP_STREAM (SCARP_MAX_STREAMS - 1)
#define SCARP_MAP_ENTRY_BYTES 4 /* of a translation unit: a PPN */

enum { SCARP_LIST_VALUES = 4, SCARP_LIST_COUNT = 4, SCARP_LIST = 5 };

/* ftl.recovery: what the flash itself says of the mapping. */
enum {
    RECOVERY_NONE,
    RECOVERY_WRITES, /* spare areas have a version of each unit */
    RECOVERY_ALL,    /* records tell of deallocations, too */
};

/* ftl.paired_pages: what protects a page from a later program of its cells. */
typedef enum {
    PAIRED_NONE,   /* none needed: cells of one bit */
    PAIRED_PAD, /* cells are filled before their pages count */
    PAIRED_BACKUP, /* a page is copied before the next one is programmed */
    PAIRED_PLP,    /* energy ends the program (controller.plp_bytes) */
    PAIRED__COUNT
} ScarpPaired;

/* ftl.mapping; map/mapping.c describes each. */
typedef enum {
    MAPPING_PAGE,
    MAPPING_DEMAND,
    MAPPING_BLOCK,
    MAPPING_SUPERBLOCK,
    MAPPING_FAST,
    MAPPING__COUNT
} ScarpMappingKind;

typedef struct {
    /* [geometry] */
    uint64_t channels;
    uint64_t chips_per_channel;
    uint64_t dies_per_chip;
    uint64_t planes_per_die;
    uint64_t blocks_per_plane;
    uint64_t pages_per_block;
    uint64_t page_bytes;
    /*
     * [timing]  tR and tPROG have one value, or one per page type (LSB; CSB;
     * MSB; …), nand.cell_bits of them; SCARP_LIST_COUNT names how many.
     */
    uint64_t read_ns[SCARP_LIST];
    uint64_t program_ns[SCARP_LIST];
    uint64_t erase_ns;     /* tBERS */
    uint64_t command_ns;   /* command and address cycles on the channel */
    uint64_t channel_mts;  /* 8-bit bus: mega-transfers = 10^6 bytes a second */
    /* [nand] Switches are 0 or 1. */
    uint64_t cell_bits;         /* page types: 1 SLC, 2 MLC, 3 TLC, 4 QLC */
    uint64_t layers;            /* of a block; speed changes linearly */
    uint64_t layer_fastest_permille; /* of tR and tPROG, first layer */
    uint64_t layer_slowest_permille; /* ditto, of the last layer */
    uint64_t multiplane;        /* host commands of a die run together */
    uint64_t cache;             /* cache read and cache program */
    uint64_t copyback;          /* GC inside a plane moves no data out */
    uint64_t suspend_program;   /* a host read suspends a program */
    uint64_t suspend_erase;     /* ditto an erase */
    uint64_t suspend_limit;     /* times that one operation is suspended */
    uint64_t suspend_min_ns;    /* an operation with less left goes on */
    uint64_t suspend_ns;        /* from the command to a usable array */
    uint64_t resume_ns;         /* from the command to progress again */
    uint64_t bad_blocks_permille; /* set aside from the start, by the seed */
    uint64_t endurance_erases;  /* a block goes bad after so many; 0: never */
    uint64_t power_cuts;        /* cells keep what a power cut leaves */
    /* [controller] */
    uint64_t firmware_ns;  /* per command, pipelined */
    uint64_t link_mbs;     /* host link, 10^6 bytes a second, each direction */
    uint64_t pcie_generation; /* link_mbs follows from these, where given */
    uint64_t pcie_lanes;
    /*
     * Deadlines of commands with an access latency (NVMe's hint), in us; 0:
     * none.
     */
    uint64_t deadline_idle_us, deadline_normal_us, deadline_low_us;
    uint64_t slots;        /* commands in the device at once */
    uint64_t queue;        /* commands waiting for one that a policy sees */
    uint64_t buffer_bytes; /* write buffer; 0: writes end when programmed */
    uint64_t plp_bytes;    /* buffered bytes that stored energy can save */
    uint64_t reads_first;  /* a die serves waiting host reads first */
    uint64_t reads_first_limit; /* reads that may pass a program in a row */
    uint64_t gc_first_on_channel;
    /* [ftl] */
    uint64_t unit_bytes;   /* mapping unit; 0: a page */
    uint64_t over_provisioning_permille; /* (raw - logical) / logical */
    uint64_t streams;   /* host streams, each with blocks of its own */
    uint64_t recovery;  /* RECOVERY_… */
    uint64_t paired_pages; /* ScarpPaired */
    uint64_t parity_width;   /* pages of a stripe, parity included; 0: none */
    uint64_t parity_stripes; /* stripes whose parity is in RAM, at most */
    uint64_t mapping;          /* ScarpMappingKind */
    uint64_t map_cache_bytes;  /* demand: RAM for entries; 0: see below */
    uint64_t checkpoint_pages; /* pages between two checkpoints; 0: none */
    uint64_t log_blocks;       /* log blocks of a plane; 0: all spare ones */
    uint64_t superblock_blocks; /* logical blocks in a superblock */
    char allocation[8]; /* an order of c, w, d, p; or "dynamic" */
    /* [gc] */
    uint64_t trigger_free_blocks; /* per plane: collect at or below it */
    uint64_t separate_active_block;
    uint64_t victim_candidates;   /* exact ties shown to the victim policy */
    uint64_t background_free_blocks; /* collect when idle below it; 0: off */
    uint64_t wear_spread_erases;  /* static levelling above it; 0: off */
    uint64_t after_reads; /* no collection starts where a read is next */
    /*
     * [lie] Promises that the drive breaks, for tests of what should notice
     * that after a power cut (docs/powercut.md).
     */
    uint64_t flush_ignored;       /* a flush completes at once */
    uint64_t fua_ignored;         /* a write with FUA completes in the buffer */
    uint64_t flush_queued_only; /* programs under way are not awaited */
    uint64_t shorn_writes;        /* half of a torn unit is there */
    uint64_t unserialised;        /* versions have 8 bits */
    uint64_t deallocation_undone; /* records of deallocations are not read */
    uint64_t no_checkpoint;       /* only pages after the checkpoint are read */
} ScarpDescription;

/*
 * Blocks of a plane that only recovery from a power cut opens: without one, a
 * plane whose last free block was being filled could never empty another.
 */
static inline uint64_t scarp_recovery_blocks(const ScarpDescription *d)
{
    return d->power_cuts;
}

/*
 * Blocks of a plane that need not hold data: free ones, the open ones of GC, of
 * each stream, and of a policy that puts one aside, and recovery's.
 */
static inline uint64_t scarp_reserved_blocks(const ScarpDescription *d)
{
    return d->trigger_free_blocks + 2 + d->streams + scarp_recovery_blocks(d);
}

/*
 * Pages that a victim must yield. With ftl.paired_pages=pad a collection may
 * fill up the cells of its last copy, so a victim must yield as many as share
 * cells.
 */
static inline uint64_t scarp_gain_pages(const ScarpDescription *d)
{
    return d->paired_pages == PAIRED_PAD ? d->cell_bits : 1;
}

/*
 * Blocks of a plane that only translation units are in (ftl.mapping=demand);
 * else 0. core/spare.c explains this and the next four.
 */
uint64_t scarp_translation_blocks(const ScarpDescription *d);
/* Logical pages of a plane, without those of translation units. */
uint64_t scarp_plane_pages(const ScarpDescription *d);
/* Blocks of a plane that are bad from the start. */
uint64_t scarp_bad_blocks(const ScarpDescription *d);
/* Blocks of a plane that are not full while the host waits for a collection. */
uint64_t scarp_blocks_not_full(const ScarpDescription *d);
/*
 * Blocks of a plane that must be good, so that the plane works for ever when
 * full.
 */
uint64_t scarp_needed_blocks(const ScarpDescription *d);

/*
 * Reads path, applies overrides ("group.key=value,…" or NULL), then checks that
 * the values can work together. False and *error set: the line names the key.
 */
bool scarp_description_load(ScarpDescription *desc, const char *path,
                            const char *overrides, GError **error);
/* Parses text as scarp_description_load() does a file; errors call it name. */
bool scarp_description_parse(ScarpDescription *desc, const char *text,
                             const char *name, const char *overrides,
                             GError **error);
/* Returns every key with its value, as a description; free it with g_free(). */
char *scarp_description_text(const ScarpDescription *desc);

#endif /* SCARP_DESCRIPTION_H */
