/*
 * The description of a drive: the values of the keys in its .ini file, for
 * geometry, timing, controller and FTL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DESCRIPTION_H
#define SCARP_DESCRIPTION_H

#include "scarp.h"

#define SCARP_MAX_UNITS 64 /* in a page */
#define SCARP_MAX_STREAMS 8
#define SCARP_MAX_RU_STREAMS 32 /* with reclaim units of several planes */
/*
 * With ftl.mapping=demand, parts of the mapping (translation units) are
 * programmed, too. Translation units have this stream number, and blocks of
 * their own. The numbers of the host's streams are lower.
 */
#define SCARP_MAP_STREAM (SCARP_MAX_STREAMS - 1)
/* Throttling ends when the drive is so much cooler than its threshold. */
#define SCARP_HEAT_COOLER_CELSIUS 5
#define SCARP_MAP_ENTRY_BYTES 4 /* bytes of a translation unit's entry, a PPN */

enum { SCARP_LIST_VALUES = 4, SCARP_LIST_COUNT = 4, SCARP_LIST = 5 };

/*
 * ftl.recovery: what is programmed beside the data so that the mapping can be
 * found again after a power cut.
 */
enum {
    RECOVERY_NONE,
    RECOVERY_WRITES, /* spare areas store versions of units */
    RECOVERY_ALL,    /* records of deallocations are stored as well */
};

/*
 * ftl.paired_pages. A cell of n bits stores a bit of each of n pages. If power
 * fails while a later page of a cell is programmed, its earlier pages would be
 * lost. The value says what protects the earlier pages.
 */
typedef enum {
    PAIRED_NONE,   /* nothing: cells have one bit, or power never fails */
    PAIRED_PAD, /* pads fill the page's cells before its program ends */
    PAIRED_BACKUP, /* a page is copied before the next page in its cells */
    PAIRED_PLP,    /* stored energy ends the program (plp_bytes) */
    PAIRED__COUNT
} ScarpPaired;

/* slc.full: what becomes of the host's pages when the SLC cache is full. */
typedef enum {
    SLC_DIRECT, /* they go to blocks outside the cache */
    SLC_FOLD,   /* they wait until a fold has made room in the cache */
    SLC_FULL__COUNT
} ScarpSlcFull;

/* ftl.mapping; map/mapping.c describes each value. */
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
     * [timing] Times of a page read (tR) and of a page program (tPROG). A list
     * has one value for all pages, or one value for each bit of a cell: LSB,
     * CSB, MSB page. read_ns[SCARP_LIST_COUNT] and program_ns[SCARP_LIST_COUNT]
     * are the numbers of values.
     */
    uint64_t read_ns[SCARP_LIST];
    uint64_t program_ns[SCARP_LIST];
    uint64_t erase_ns;     /* tBERS */
    uint64_t command_ns;   /* command and address cycles on the channel */
    uint64_t channel_mts;  /* 10^6 bytes a second on an 8-bit bus */
    /* times of a block in SLC mode; 0 without an SLC cache */
    uint64_t slc_read_ns, slc_program_ns, slc_erase_ns;
    /* [nand] Switches are 0 or 1. */
    uint64_t cell_bits;         /* bits of a cell: 1 SLC, 2 MLC, 3 TLC, 4 QLC */
    uint64_t layers; /* tR, tPROG change linearly over a block's layers */
    uint64_t layer_fastest_permille; /* factor of the first layer's times */
    uint64_t layer_slowest_permille; /* factor of the last layer's times */
    /*
     * the host's commands on several planes of a die run together, and so do
     * GC's
     */
    uint64_t multiplane;
    uint64_t cache;             /* cache read and cache program */
    /* GC moves pages inside a plane, without transfers */
    uint64_t copyback;
    uint64_t suspend_program;   /* a host read suspends a program */
    uint64_t suspend_erase;     /* a host read suspends an erase */
    uint64_t suspend_limit;     /* suspends of one program or erase, at most */
    uint64_t suspend_min_ns;    /* no suspend if less time is left */
    uint64_t suspend_ns;        /* from the suspend until a read can begin */
    uint64_t resume_ns;         /* from the resume until the array works */
    uint64_t bad_blocks_permille; /* bad from the start, drawn by the seed */
    uint64_t endurance_erases;  /* erases until a block goes bad; 0: never */
    /* the power may fail; cells then keep their states */
    uint64_t power_cuts;
    /* [controller] */
    uint64_t firmware_ns;  /* delay of each command; commands do not queue */
    uint64_t link_mbs;     /* host link, 10^6 bytes a second, each direction */
    uint64_t pcie_generation; /* gives link_mbs with pcie_lanes, if not 0 */
    uint64_t pcie_lanes;
    /*
     * Deadlines of commands with an access latency (a hint of NVMe), in us; 0:
     * none.
     */
    uint64_t deadline_idle_us, deadline_normal_us, deadline_low_us;
    /* most commands that are dispatched and have not ended */
    uint64_t slots;
    uint64_t queue;        /* host-queue commands that the policy sees */
    uint64_t buffer_bytes; /* write buffer; 0: writes end on flash */
    uint64_t plp_bytes;    /* buffered bytes that stored energy saves */
    uint64_t reads_first;  /* a die's reads go before its programs */
    uint64_t reads_first_limit; /* reads before a waiting program, at most */
    uint64_t gc_first_on_channel;
    /* [ftl] */
    uint64_t unit_bytes;   /* mapping unit; 0: a page */
    uint64_t over_provisioning_permille; /* (raw - logical) / logical */
    uint64_t streams;   /* streams of the host; each has its own blocks */
    /* planes in which a reclaim unit has a block; 1: each block is a unit */
    uint64_t reclaim_planes;
    /* the number of streams, the last ones, whose copies stay apart */
    uint64_t isolated_streams;
    uint64_t recovery;  /* RECOVERY_… */
    uint64_t paired_pages; /* ScarpPaired */
    uint64_t parity_width;   /* pages of a stripe with its parity; 0: none */
    uint64_t parity_stripes; /* stripes with parity in RAM, at most */
    uint64_t mapping;          /* ScarpMappingKind */
    uint64_t map_cache_bytes;  /* demand: RAM for entries; 0: the default */
    /* pages from one checkpoint to the next; 0: none */
    uint64_t checkpoint_pages;
    uint64_t log_blocks;       /* log blocks of a plane; 0: all spare blocks */
    uint64_t superblock_blocks; /* logical blocks in a superblock */
    char allocation[8]; /* an order of c, w, d, p; or "dynamic" */
    /* [gc] */
    /* a plane with this many free blocks, or fewer, collects */
    uint64_t trigger_free_blocks;
    uint64_t separate_active_block;
    /* how many blocks with equally few valid units are compared */
    uint64_t victim_candidates;
    /* an idle plane with fewer free blocks collects; 0: off */
    uint64_t background_free_blocks;
    uint64_t wear_spread_erases;  /* wear levelling above this spread; 0: off */
    uint64_t after_reads; /* no collection begins while a read is next */
    /*
     * [slc] The SLC cache: blocks that store one bit in a cell, and take the
     * host's writes. Without an SLC cache (scarp_has_slc() is false)
     * slc_fold_planes is 1, and the other keys are 0.
     */
    uint64_t slc_static_blocks; /* blocks of a plane that are SLC for ever */
    uint64_t slc_dynamic;     /* free blocks are opened in SLC mode, too */
    uint64_t slc_most_blocks; /* dynamic SLC blocks of a plane; 0: no limit */
    uint64_t slc_full;        /* ScarpSlcFull */
    uint64_t slc_fold_idle_us; /* idle time after which a die folds; 0: never */
    /* erases in SLC mode until a block goes bad; 0: never */
    uint64_t slc_endurance_erases;
    uint64_t slc_keep_blocks; /* blocks of a plane left unfolded when idle */
    uint64_t slc_fold_planes; /* planes of a die that fold at once */
    /*
     * [heat] The drive's temperature. Without it (heat_capacity_mj is 0) these
     * keys are 0, but heat_ambient_celsius is 25.
     */
    uint64_t heat_capacity_mj; /* energy that warms the case by 1 °C */
    /* 1 / heat_loss_ms of the energy is lost in each ms */
    uint64_t heat_loss_ms;
    uint64_t heat_ambient_celsius; /* the case never gets cooler */
    /* energy of one plane's command, in nanojoules */
    uint64_t heat_read_nj, heat_program_nj, heat_erase_nj;
    /*
     * from this temperature on, array times are longer by this share; 0 °C:
     * never
     */
    uint64_t heat_light_celsius, heat_light_permille;
    uint64_t heat_heavy_celsius, heat_heavy_permille;
    /*
     * [lie] Deliberate faults. With 1 the drive breaks a promise, so that tests
     * can show that checks after a power cut notice the fault
     * (docs/powercut.md).
     */
    uint64_t flush_ignored;       /* a flush completes at once */
    uint64_t fua_ignored;         /* a write with FUA completes when buffered */
    uint64_t flush_queued_only; /* a flush does not await running programs */
    uint64_t shorn_writes;        /* half of a unit is new after a power cut */
    uint64_t unserialised;        /* versions have 8 bits */
    /* recovery ignores records of deallocations */
    uint64_t deallocation_undone;
    /*
     * 1: recovery does not read the last checkpoint, but only the journal: the
     * pages that were programmed after that checkpoint
     */
    uint64_t no_checkpoint;
} ScarpDescription;

/*
 * Returns how many blocks of a plane are reserved for recovery after a power
 * cut: 1 if power may fail. Power may fail while GC fills the plane's last free
 * block, and recovery needs an empty block to copy to.
 */
static inline uint64_t scarp_recovery_blocks(const ScarpDescription *d)
{
    return d->power_cuts;
}

/* Returns how many streams the drive may have at most. */
static inline uint64_t scarp_most_streams(const ScarpDescription *d)
{
    return d->reclaim_planes > 1 ? SCARP_MAX_RU_STREAMS : SCARP_MAX_STREAMS;
}

/*
 * True when the stream is persistently isolated: collections mix its units with
 * those of no other stream. The last ftl.isolated_streams streams are isolated.
 */
static inline bool scarp_is_isolated(const ScarpDescription *d,
                                     uint64_t stream)
{
    return stream + d->isolated_streams >= d->streams;
}

/*
 * Returns how many open blocks of a plane GC has for its copies: one for each
 * stream that is isolated, and one for all other streams.
 */
static inline uint64_t scarp_copy_blocks(const ScarpDescription *d)
{
    return d->isolated_streams + (d->isolated_streams < d->streams);
}

/*
 * Returns how many blocks of a plane must remain beside its data:
 * gc.trigger_free_blocks, the open blocks of the streams and of GC, an aligned
 * block (WRITE_ALIGNED), and recovery's block.
 */
static inline uint64_t scarp_reserved_blocks(const ScarpDescription *d)
{
    return d->trigger_free_blocks + 1 + d->streams + scarp_copy_blocks(d) +
           scarp_recovery_blocks(d);
}

/* True for a drive with an SLC cache (group slc). */
static inline bool scarp_has_slc(const ScarpDescription *d)
{
    return d->slc_static_blocks || d->slc_dynamic;
}

/*
 * Returns how many dynamic SLC blocks of a plane can be neither free nor worth
 * a collection. These are the open blocks, one for each stream.
 */
static inline uint64_t scarp_slc_open_blocks(const ScarpDescription *d)
{
    return d->slc_dynamic ? d->streams : 0;
}

/*
 * Returns how many blocks a plane with an SLC cache must have to spare, beside
 * scarp_reserved_blocks() and its static blocks. core/spare.c says why.
 */
static inline uint64_t scarp_slc_spare_blocks(const ScarpDescription *d)
{
    return scarp_has_slc(d) ? scarp_slc_open_blocks(d) + 1 : 0;
}

/* True for a drive whose reclaim units are of several blocks. */
static inline bool scarp_has_units(const ScarpDescription *d)
{
    return d->reclaim_planes > 1;
}

/*
 * Returns how many invalid pages a block must have to be worth a collection.
 * With ftl.paired_pages=pad GC may have to fill the cells of its last copy with
 * up to cell_bits - 1 pad pages, so a victim needs cell_bits invalid pages.
 * Otherwise one invalid page is enough.
 */
static inline uint64_t scarp_gain_pages(const ScarpDescription *d)
{
    return d->paired_pages == PAIRED_PAD ? d->cell_bits : 1;
}

/*
 * Returns how many invalid mapping units a victim must have to be worth a
 * collection. Each of the jobs that collect a reclaim unit may fill the last
 * page of its copies only in part, and a page must be gained nevertheless.
 */
static inline uint64_t scarp_gain_units(const ScarpDescription *d)
{
    uint64_t units = d->unit_bytes ? d->page_bytes / d->unit_bytes : 1;

    return scarp_has_units(d) ? d->reclaim_planes * (units - 1) + 1
                              : scarp_gain_pages(d) * units;
}

/*
 * Returns the order of ftl.allocation, such as "cwdp". For "dynamic" it returns
 * "cwdp", too.
 */
const char *scarp_order_letters(const ScarpDescription *d);
/* Returns the i-th plane in the order of ftl.allocation. */
uint32_t scarp_plane_in_order(const ScarpDescription *d, uint32_t i);
/*
 * Returns how many pages more than its share of the data a plane may get, on a
 * drive whose planes form several groups (core/spare.c).
 */
uint64_t scarp_uneven_pages(const ScarpDescription *d);
/*
 * Returns how many blocks of a plane are for translation units (parts of the
 * mapping) alone; 0 without ftl.mapping=demand. core/spare.c explains this
 * function and the next four.
 */
uint64_t scarp_translation_blocks(const ScarpDescription *d);
/*
 * Returns how many pages of data a plane has when the host has filled the
 * drive.
 */
uint64_t scarp_plane_pages(const ScarpDescription *d);
/* Returns the blocks of a plane that are bad from the start. */
uint64_t scarp_bad_blocks(const ScarpDescription *d);
/*
 * Returns how many blocks of a plane may be empty or partly written while a
 * host write waits for GC. GC cannot choose such blocks as victims.
 */
uint64_t scarp_blocks_not_full(const ScarpDescription *d);
/*
 * Returns how many good blocks a plane needs so that GC always finds a victim,
 * even when the host has filled the drive.
 */
uint64_t scarp_needed_blocks(const ScarpDescription *d);

/*
 * Reads the .ini file `path`, replaces values by `overrides`
 * ("group.key=value,…", or NULL), and checks that the values can work together.
 * Returns false, with *error set, if a value is wrong. The message names the
 * key.
 */
bool scarp_description_load(ScarpDescription *desc, const char *path,
                            const char *overrides, GError **error);
/*
 * Works like scarp_description_load(), but on text that is in memory. Error
 * messages use `name` as the file's name.
 */
bool scarp_description_parse(ScarpDescription *desc, const char *text,
                             const char *name, const char *overrides,
                             GError **error);
/*
 * Returns the description as text, with every key. The caller frees it with
 * g_free().
 */
char *scarp_description_text(const ScarpDescription *desc);

#endif /* SCARP_DESCRIPTION_H */
