/*
 * Scarp flash engine: public interface
 *
 * A drive is called by one thread at a time.  It reads no clock, takes no
 * lock and, in steady state, allocates nothing: the caller says what time it
 * is, asks when something will happen next, and lets it happen.
 *
 * What holds for every call, unless it says otherwise:
 *
 * Units.  A name ends in its unit: _ns, _bytes, _units (of the mapping),
 * _permille, _permillion, _percent.  All times are int64_t nanoseconds on the
 * caller's clock (QEMU_CLOCK_VIRTUAL in the guest's drive, the trace's own
 * clock in the replayer), from 0 to SCARP_TIME_LAST.
 *
 * Ownership.  What is handed in stays the caller's and may go when the call
 * returns; the exceptions are a ScarpCmd and its data.  A const pointer that
 * is returned belongs to the engine: names last as long as the program, what
 * is of a drive as long as the drive.  A char * that is not const is the
 * caller's, to be freed with g_free().
 *
 * Errors.  A call with a GError ** can fail: it then returns NULL or false and
 * sets *error, of the domain SCARP_ERROR and a ScarpErrorCode, to one line; the
 * caller frees it with g_error_free().  NULL in place of it: nobody asks why.
 * A call without one cannot fail, but may be called wrongly, such as without a
 * drive: where that is noticed it ends the program.
 *
 * Threads.  Calls on one drive, const ones too, come from one thread at a
 * time; which one may change.  Different drives share nothing and may be in
 * different threads at once.  Calls without a drive may come from any thread
 * at any time.  No call blocks, but for files: scarp_drive_new(), scarp_save().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_H
#define SCARP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The version of all of Scarp, said here alone: three numbers, at most seven
 * characters, as the log page has room for those.
 */
#define SCARP_VERSION "1.0.0"
/*
 * The library's binary interface, the number in its soname: another one when a
 * program has to be compiled anew.  tests/e2e/abi.txt has what counts.
 */
#define SCARP_ABI 1
/* SCARP_VERSION of the engine that runs; the header may have been another's. */
const char *scarp_version(void);

#define SCARP_SECTOR_BYTES 512u
#define SCARP_TIME_NEVER INT64_MAX
#define SCARP_TIME_LAST (INT64_MAX / 8) /* 36 years: nothing is later */

/* ---- Errors ----------------------------------------------------------- */

#define SCARP_ERROR scarp_error_quark()
GQuark scarp_error_quark(void);

typedef enum {
    SCARP_ERROR_KEY,      /* unknown key, scheme or choice */
    SCARP_ERROR_VALUE,    /* value out of range or unparsable */
    SCARP_ERROR_GEOMETRY, /* values that cannot work together */
    SCARP_ERROR_FILE,     /* missing, unreadable, damaged or foreign file */
} ScarpErrorCode;

/* ---- Commands --------------------------------------------------------- */

typedef enum {
    SCARP_OP_READ,
    SCARP_OP_WRITE,
    SCARP_OP_WRITE_ZEROES, /* whole units are unmapped, the rest written */
    SCARP_OP_DEALLOCATE,   /* whole units are unmapped, the rest ignored */
    /* Done when every write whose data had arrived is on flash. */
    SCARP_OP_FLUSH,
    SCARP_OP__COUNT
} ScarpOp;

/* Who caused a transaction or asked for space (design: origin) */
typedef enum {
    SCARP_ORIGIN_HOST,
    SCARP_ORIGIN_GC,
    SCARP_ORIGIN_MAP,       /* mapping pages on flash */
    SCARP_ORIGIN_PREMIGRATE, /* relocation ahead of GC */
    SCARP_ORIGIN_PARITY /* told to observers: parity, and what it is made of */
} ScarpOrigin;

/*
 * Causes that partition a command's life; see docs/model.md.  The values sum
 * exactly to complete_ns - submit_ns.
 */
typedef enum {
    SCARP_CAUSE_CONTROLLER,       /* firmware time */
    SCARP_CAUSE_LINK,             /* host link: transfer and waiting for it */
    SCARP_CAUSE_HOST_QUEUE,       /* no free device slot, or policy's choice */
    SCARP_CAUSE_BUFFER_FULL,      /* no room in the write buffer */
    SCARP_CAUSE_ORDER,            /* waits for another command's data */
    SCARP_CAUSE_DIE_HOST_READ,    /* die busy with another host read */
    SCARP_CAUSE_DIE_HOST_PROGRAM, /* die busy with another host program */
    SCARP_CAUSE_DIE_GC_READ,
    SCARP_CAUSE_DIE_GC_PROGRAM,
    SCARP_CAUSE_DIE_ERASE,
    SCARP_CAUSE_DIE_GC_HELD, /* die held by a GC that waits (channel, …) */
    SCARP_CAUSE_NO_SPACE,    /* plane has no free page until a GC ends */
    SCARP_CAUSE_CHANNEL,     /* waits for the flash channel */
    SCARP_CAUSE_ARRAY,       /* tR, tPROG of its own transaction */
    SCARP_CAUSE_TRANSFER,    /* command, address and data cycles, own */
    SCARP_CAUSE_RMW,         /* read before a write smaller than a unit */
    SCARP_CAUSE_MAPPING,          /* fetching a part of the mapping table */
    SCARP_CAUSE_SUSPENDED,        /* its own program stood still for a read */
    SCARP_CAUSE_DIE_SUSPEND,      /* die busy suspending an operation */
    SCARP_CAUSE__COUNT
} ScarpCause;

/* "die_gc_program", …; of a cause below SCARP_CAUSE__COUNT */
const char *scarp_cause_name(ScarpCause cause);

typedef enum {
    SCARP_STATUS_OK,
    SCARP_STATUS_INTERNAL, /* a law was broken: data must not be trusted */
} ScarpStatus;

/* A read's or write's access latency, as NVMe's dataset management has it. */
typedef enum {
    SCARP_ACCESS_NONE,   /* nothing is said */
    SCARP_ACCESS_IDLE,   /* longer is acceptable */
    SCARP_ACCESS_NORMAL,
    SCARP_ACCESS_LOW,    /* as small as possible */
    SCARP_ACCESS__COUNT
} ScarpAccess;

typedef struct ScarpDrive ScarpDrive;
typedef struct ScarpCmd ScarpCmd;

/*
 * A command.  The caller owns it and keeps it, and the memory at data, alive
 * and unmoved from scarp_submit() until it comes back as completed.  There is
 * no cancel: an owner that lost interest ignores the completion.
 */
struct ScarpCmd {
    /* Set by the caller */
    ScarpOp op;
    bool fua;              /* write: complete only when on flash */
    uint16_t stream;       /* placement hint; 0 when there is none */
    uint32_t nsid;         /* for logs only */
    uint64_t offset_bytes; /* on the drive; multiple of SCARP_SECTOR_BYTES */
    uint64_t length_bytes; /* ditto; may be 0 (flush, verify's metadata) */
    int64_t deadline_ns;   /* absolute; SCARP_TIME_NEVER when none */
    /*
     * Read: filled before completion.  Write: length_bytes of data, copied by
     * the engine at the end of the host DMA.  NULL when data is not wanted
     * (replay, verify): timing and mapping are the same.
     */
    void *data;
    void *opaque; /* the caller's */

    /* Set by the engine */
    ScarpStatus status;
    int64_t submit_ns;
    int64_t complete_ns;
    int64_t cause_ns[SCARP_CAUSE__COUNT]; /* sums to the latency */

    /* The engine's own */
    uint64_t seq;
    uint64_t next_byte; /* of a write that waits for the buffer */
    uint64_t order;     /* flush: writes whose data arrived before it */
    uint32_t record;    /* the host-queue policy's own of it */
    bool joined;        /* write: the next one fills the rest of its page */
    uint32_t units_left;
    uint32_t passes_left; /* checked builds: hil/starves.c */
    int64_t mark_ns; /* start of the open interval */
    int64_t due_ns;  /* end of the pipeline stage it is in */
    ScarpCmd *next;
};

/* ---- The drive -------------------------------------------------------- */

typedef struct {
    /*
     * Path of a drive description (GKeyFile; see devices/ and
     * docs/model.md).  Unknown groups and keys are errors.  May be NULL when
     * there is an image: the drive is then described as the saved one was.
     */
    const char *description_path;
    /* "baseline", "ideal", …; choices joined by '+' once axes combine */
    const char *scheme;
    /* The scheme's parameters, "key=value,…", or NULL */
    const char *params;
    /*
     * Overrides of single keys of the description, "group.key=value" joined
     * by ',' ("gc.trigger_free_blocks=4,geometry.blocks_per_plane=64"), or
     * NULL.
     */
    const char *overrides;
    uint64_t seed;
    bool store_data; /* keep what is written (false: replay) */
    /*
     * An image (scarp_save()) that the drive starts from, or NULL.  The drive
     * must be of the image's layout class: geometry, mapping unit, reserve
     * and bad blocks; timing, GC's keys and the scheme are free.  Its clock
     * begins at 0 and its statistics are zero.  With the image's seed its
     * generator goes on, with another one it starts afresh.
     */
    const char *image_path;
} ScarpConfig;

/*
 * A drive at time 0; the config may go.  NULL and *error set: the line names
 * the key and what is allowed.  A drive takes 2 to 3 MiB of memory for each GiB
 * of flash, and that much again as is written to it where that is stored.
 */
ScarpDrive *scarp_drive_new(const ScarpConfig *config, GError **error);
/* With commands under way, too: they are forgotten, and stay their owner's. */
void scarp_drive_free(ScarpDrive *drive);

/* Bytes that the host may address. */
uint64_t scarp_drive_logical_bytes(const ScarpDrive *drive);
uint32_t scarp_drive_unit_bytes(const ScarpDrive *drive); /* mapping unit */
/* Streams of the host, each with blocks of its own (ftl.streams). */
uint32_t scarp_drive_streams(const ScarpDrive *drive);
/* What a stream has open at once: a block in each plane. */
uint64_t scarp_drive_stream_bytes(const ScarpDrive *drive);
/* How long after its arrival a command of this class is due; 0: whenever. */
int64_t scarp_drive_deadline_ns(const ScarpDrive *drive, ScarpAccess access);
/* What one program writes at most: a page, or one in each plane of a die. */
uint32_t scarp_drive_program_bytes(const ScarpDrive *drive);
/*
 * What a host may be told of a drive whose power may fail (nand.power_cuts):
 * whether it is one; what has completed, but was not flushed, is lost then
 * (there is a write buffer, and no energy to save it); and whether what is
 * deallocated reads as zeroes.  Of any other drive: false, false, true.
 */
bool scarp_drive_loses_power(const ScarpDrive *drive);
bool scarp_drive_is_volatile(const ScarpDrive *drive);
bool scarp_drive_deallocates(const ScarpDrive *drive);
/* Until it is set anew. */
const char *scarp_drive_scheme(const ScarpDrive *drive);

/*
 * Switch to another scheme of the same layout class, from the next GC decision
 * on; a collection that runs ends under its old rules.  Happens at the time of
 * the last scarp_run(); the time of the next event may change, and commands may
 * have completed: scarp_reap().  False and *error set: nothing has changed.
 */
bool scarp_drive_set_scheme(ScarpDrive *drive, const char *scheme,
                            const char *params, GError **error);

/*
 * What schemes there are: name, axis, source, what the drive must have for it,
 * and each parameter with default, range, and unit; g_free() it.
 */
char *scarp_schemes_text(void);

/* What ftl.mapping may say, and which schemes go with it; g_free() it. */
char *scarp_mappings_text(void);

/*
 * The keys of a description in their order, each with its default (without one
 * it must be given) and what it may be; g_free() it.
 */
char *scarp_keys_text(void);

/*
 * A hint: a read or write at offset_bytes comes soon.  What it will look up is
 * fetched into the processor's caches; nothing else changes.
 */
void scarp_expect(const ScarpDrive *drive, uint64_t offset_bytes);

/*
 * Memory for one more unit that will be written.  Whoever has the time for it
 * calls this ahead, so that no write waits until the host has found some.
 * False, and nothing done: there is enough (16 MiB of units of 4 KiB), or the
 * drive stores no data.
 */
bool scarp_stock_memory(ScarpDrive *drive);

/*
 * Accept cmd at now_ns, which is not before scarp_now_ns(); events up to then
 * happen first.  Its range is on the drive, in whole sectors, which the caller
 * has checked.  From here to scarp_reap() the engine holds cmd and its data.
 */
void scarp_submit(ScarpDrive *drive, ScarpCmd *cmd, int64_t now_ns);

/* Time of the last processed event or call. */
int64_t scarp_now_ns(const ScarpDrive *drive);

/* Time of the next event, SCARP_TIME_NEVER when there is none. */
int64_t scarp_next_event_ns(const ScarpDrive *drive);

/*
 * Collections by request: host software that knows when it can bear them, or
 * that makes several drives take turns.  Both happen at the time of the last
 * scarp_run(); the time of the next event may change.
 *
 * scarp_collect_now(): each plane that has fewer free blocks than that, and a
 * block worth it, begins to collect one victim, as the scheme's pacing goes on
 * with it; but not while the last page of that is being programmed, nor, where
 * collections take no time, while the plane's die runs a command.  Returns how
 * many planes began.
 *
 * scarp_hold_collections(): until until_ns none begins by itself, but in a
 * plane that is down to its last free block.  Those that run go on, and
 * scarp_collect_now() is obeyed.  A time that is past: no longer.
 */
uint32_t scarp_collect_now(ScarpDrive *drive, uint32_t free_blocks);
void scarp_hold_collections(ScarpDrive *drive, int64_t until_ns);

/*
 * Process every event up to and including now_ns, in (time, seq) order.  Where
 * now_ns is past, nothing happens and the time stays.
 */
void scarp_run(ScarpDrive *drive, int64_t now_ns);

/*
 * The same, but no further than the time at which a command has completed:
 * true when one has, false when there is no event left up to limit_ns.  The
 * time is then that of the last event.
 */
bool scarp_run_until_done(ScarpDrive *drive, int64_t limit_ns);

/*
 * The next completed command, in completion order, or NULL.  Commands are
 * collected here by scarp_run() and scarp_submit().  It is the caller's again:
 * to be freed, or submitted anew.
 */
ScarpCmd *scarp_reap(ScarpDrive *drive);

/*
 * Bring the drive to steady state without simulating time: write utilisation
 * (0 … 1000, thousandths of the logical units) sequentially, then overwrite at
 * random (pattern "random") or not at all ("sequential") overwrite_permille
 * thousandths of the logical units.
 * Only on a drive that has processed nothing yet; false and *error set where it
 * has, or where a value is not allowed.
 */
typedef struct {
    uint32_t utilisation_permille;
    uint32_t overwrite_permille; /* UINT32_MAX: until steady */
    const char *pattern;
    uint64_t seed;
} ScarpAge;
bool scarp_age(ScarpDrive *drive, const ScarpAge *age, GError **error);

/*
 * True when nothing is in flight: accepted = completed, no transaction, no
 * GC.  On false *error says what is outstanding.
 */
bool scarp_quiescent(const ScarpDrive *drive, GError **error);

/*
 * Bring the drive to rest: what is buffered is written, collections that have
 * begun end, and every event happens, however late: scarp_now_ns() moves on.
 * False and *error set when something never ends.
 */
bool scarp_drain(ScarpDrive *drive, GError **error);

/*
 * Write the state of a drive at rest (scarp_drain()) to a file that a drive
 * can start from (ScarpConfig.image_path); docs/images.md has its layout.  The
 * drive goes on unchanged.  On false *error is set, and what was at path is as
 * it was.
 */
bool scarp_save(ScarpDrive *drive, const char *path, GError **error);

/*
 * The power fails, at the time of the last scarp_run(), and comes back at once.
 * Commands under way are forgotten, and stay their owner's; those that have
 * completed are reaped before, or forgotten, too.  Returns the drive that comes
 * up again, in whose place the caller has it from now on: drive is gone, and
 * the time, the statistics, the scheme and the observer go on.  What it
 * contains is what its cells, and the energy it has, kept (docs/powercut.md).
 *
 * Until it is ready it takes commands, but begins none.  NULL and *error set,
 * and drive as it was: it has no nand.power_cuts.
 */
ScarpDrive *scarp_power_cut(ScarpDrive *drive, GError **error);
/* It has recovered from its last power cut, if there was one. */
bool scarp_is_ready(const ScarpDrive *drive);

/* How a mapping that maps blocks reclaims one (docs/model.md). */
typedef enum {
    SCARP_MERGE_NONE,    /* a collection of a victim, as page mapping has it */
    SCARP_MERGE_SWITCH,  /* a log block becomes the data block as it is */
    SCARP_MERGE_PARTIAL, /* it does when the rest has been copied into it */
    SCARP_MERGE_FULL,    /* what is valid is copied into a free block */
    SCARP_MERGE_ERASE,   /* nothing of it was valid */
    SCARP_MERGE__COUNT
} ScarpMergeKind;

/*
 * What a power cut would meet now: to tell moments apart, and to see that each
 * kind of them was tried.
 */
typedef struct {
    uint32_t reads, erases;           /* flash commands at work, by kind … */
    uint32_t programs[SCARP_ORIGIN_PARITY + 1]; /* … and by origin */
    uint32_t suspended;
    uint32_t collections;             /* planes that collect */
    uint32_t merges[SCARP_MERGE__COUNT]; /* ditto, by ScarpMergeKind */
    uint32_t buffered_units;          /* of the host, not on flash */
    uint32_t flushes;                 /* under way */
    uint32_t unrecorded_units;        /* deallocated; no record is on flash */
    bool recovers;                    /* from the power cut before */
} ScarpUnderWay;

void scarp_under_way(const ScarpDrive *drive, ScarpUnderWay *what);

/*
 * The host is about to take the power away: the drive comes to rest as by
 * scarp_drain(), and writes its tables.  Until something is written again, it
 * needs these alone to get ready after a power cut.  False and *error set when
 * something never ends.
 */
bool scarp_shut_down(ScarpDrive *drive, GError **error);
/*
 * How long it takes at most to get ready after a power cut at any moment;
 * SCARP_TIME_LAST: that long, or longer.
 */
int64_t scarp_recovery_bound_ns(const ScarpDrive *drive);

/*
 * What a read of the range would return now, without time: of sectors, into
 * out.  The drive is ready, and stores data.
 */
void scarp_peek(const ScarpDrive *drive, uint64_t offset_bytes,
                uint64_t length_bytes, void *out);

/*
 * Check every invariant of the tables (linear in the drive's size): valid +
 * invalid + free = all, forward and reverse map agree, buckets hold their
 * blocks.  Checked builds (SCARP_CHECKED) do it after every event, and after one
 * in seven of a drive of which 2^28 units were checked already.  False and
 * *error set: a fault of the engine, and the line names the table.
 */
bool scarp_check(const ScarpDrive *drive, GError **error);

/* True when every unit that the range touches is mapped or being written. */
bool scarp_is_mapped(const ScarpDrive *drive, uint64_t offset_bytes,
                     uint64_t length_bytes);

/* ---- Statistics ------------------------------------------------------- */

/*
 * Counted once, here.  Every field is a uint64_t: the table of
 * scarp_stat_field() describes them in order, and the log page, JSON and QMP
 * are generated from it.  New fields go to the end (log page version).
 */
typedef struct {
    uint64_t cmds_accepted;
    uint64_t cmds_completed;
    uint64_t reads;
    uint64_t writes;
    uint64_t write_zeroes;
    uint64_t deallocates;
    uint64_t flushes;
    uint64_t read_bytes;
    uint64_t write_bytes;
    uint64_t unmapped_read_units;   /* never written, or trimmed */
    uint64_t deallocated_units;     /* mapped units that became unmapped */
    uint64_t rmw_reads;             /* flash reads forced by partial writes */
    uint64_t host_written_units;    /* units written by the host */
    uint64_t host_page_reads;       /* transactions, by origin and kind */
    uint64_t host_page_programs;
    uint64_t gc_page_reads;
    uint64_t gc_page_programs;
    uint64_t erases;
    uint64_t gc_runs;               /* victims collected */
    uint64_t gc_moved_units;        /* valid units relocated */
    uint64_t gc_busy_ns;            /* planes, first command to last */
    uint64_t padded_units;          /* units programmed without data */
    uint64_t read_latency_sum_ns;
    uint64_t write_latency_sum_ns;
    uint64_t read_latency_max_ns;
    uint64_t write_latency_max_ns;
    uint64_t oob_checks;            /* reads whose stored LPN was compared */
    uint64_t oob_mismatches;        /* must be 0 */
    uint64_t cause_ns[SCARP_CAUSE__COUNT]; /* all commands */
    uint64_t buffer_read_units;     /* units read from the write buffer */
    uint64_t buffer_coalesced_units; /* overwritten in the buffer */
    uint64_t multiplane_groups;     /* flash commands of more than one plane */
    uint64_t suspends;              /* programs and erases suspended */
    uint64_t copybacks;             /* pages moved inside their plane */
    uint64_t premigrated_units;     /* relocated ahead of a collection */
    uint64_t wear_runs;             /* victims taken to level wear */
    uint64_t bad_blocks;            /* set aside, now */
    uint64_t gc_window_ns;          /* plane time of dies that collect */
    uint64_t gc_shared_ns;          /* of it, host commands on other planes */
    uint64_t gc_fallback_units;     /* not placed where the scheme wanted */
    uint64_t parity_page_programs;
    uint64_t parity_page_reads;     /* to make parity of */
    uint64_t reconstructed_reads;   /* served by the rest of their stripe */
    uint64_t reconstruction_page_reads; /* the pages read for them */
    uint64_t reconstruction_refusals; /* met a collection and waited */
    uint64_t gc_forced_runs;        /* victims collected out of turn */
    uint64_t record_writes;         /* records of deallocations, changed */
    uint64_t switch_merges;         /* of ftl.mapping=block, superblock, fast */
    uint64_t partial_merges;
    uint64_t full_merges;
    uint64_t map_hits;              /* units whose entry was in RAM */
    uint64_t map_misses;
    uint64_t map_evictions;         /* entries that made room for others */
    uint64_t map_page_reads;        /* translation units read */
    uint64_t map_page_programs;     /* pages of translation units */
    uint64_t map_written_units;     /* translation units in them */
    uint64_t map_ram_bytes;         /* that the mapping needs, modelled */
    uint64_t missed_reads;          /* completed after their deadlines */
    uint64_t missed_writes;
    uint64_t missed_others;
    uint64_t unmeetable_deadlines;  /* shorter than a segment and an erase */
    uint64_t positive_activities;   /* hios-1, hios-2: by slack, dispatched */
    uint64_t neutral_activities;
    uint64_t negative_activities;
    uint64_t gc_segments;           /* pages moved inside others' slack */
    uint64_t gc_redistributed_ns;   /* time of segments, and of their erases */
    uint64_t passed_to_next_round;  /* commands */
    uint64_t aggregated_writes;     /* that joined the page of another */
    uint64_t power_cuts;            /* nand.power_cuts */
    uint64_t cut_cmds;              /* under way then, and forgotten */
    uint64_t torn_pages;            /* that could not be read afterwards */
    uint64_t saved_units;           /* of the buffer, by controller.plp_bytes */
    uint64_t recovery_ns;           /* until the drive was ready again */
    uint64_t recovery_page_reads;
    uint64_t recovery_page_programs;
    uint64_t backup_page_programs;  /* ftl.paired_pages=backup */
    uint64_t pair_pad_pages;        /* ftl.paired_pages=pad: without data */
    uint64_t checkpoints;           /* ftl.checkpoint_pages: that are whole */
} ScarpStats;

typedef struct {
    const char *name; /* as in JSON */
    const char *unit; /* "commands", "bytes", "units", "pages", "ns", … */
    const char *help;
} ScarpStatField;

#define SCARP_STAT_COUNT (sizeof(ScarpStats) / sizeof(uint64_t))
const ScarpStatField *scarp_stat_field(unsigned index); /* < SCARP_STAT_COUNT */
/* They count on while the drive runs; a copy stays as it is. */
const ScarpStats *scarp_stats(const ScarpDrive *drive);
/* What flash was programmed and erased, for whatever reason; whole pages. */
uint64_t scarp_media_written_bytes(const ScarpDrive *drive);
uint64_t scarp_media_erased_bytes(const ScarpDrive *drive);
/*
 * Health.  Spare: blocks that can still be set aside, in percent of those that
 * could be at first, in the plane that has the fewest.  Used: mean erases of a
 * block, in percent of nand.endurance_erases; 0 if that key is 0.  Each call
 * looks at all planes or blocks: ask now and then.
 */
uint32_t scarp_spare_percent(const ScarpDrive *drive);
uint32_t scarp_used_percent(const ScarpDrive *drive);
/*
 * Commands in flight stay counted as accepted; their latencies and causes are
 * of the time before, and not counted.  Of a collection or a recovery that is
 * under way, the time from now on counts.
 */
void scarp_stats_reset(ScarpDrive *drive);
/*
 * Latencies of reads (SCARP_OP_READ) and writes (SCARP_OP_WRITE) submitted
 * since the last reset, and what the slowest of them waited for.  Quantiles
 * are by nearest rank, rounded up within a bucket at most 1/128 wide.
 */
uint64_t scarp_latency_count(const ScarpDrive *drive, ScarpOp op);
/* Reached by permillion of a million of them; 0 when there are none. */
uint64_t scarp_latency_ns(const ScarpDrive *drive, ScarpOp op,
                          uint32_t permillion);

typedef struct {
    uint64_t n;           /* commands: at least one, if there is any */
    uint64_t at_least_ns; /* their latency, to within 1/128 */
    /*
     * Sums to their latencies.  Of the bucket (1/16 wide) that the boundary
     * falls into, its share.
     */
    uint64_t cause_ns[SCARP_CAUSE__COUNT];
} ScarpTail;
void scarp_latency_tail(const ScarpDrive *drive, ScarpOp op,
                        uint32_t permillion, ScarpTail *tail);

/* What the log page and JSON say of each: permillions from the fast end … */
#define SCARP_LATENCY_POINTS { 500000, 900000, 950000, 990000, 999000, 999900 }
#define SCARP_LATENCY_POINT_COUNT 6
/* … and from the slow one. */
#define SCARP_LATENCY_TAILS { 10000, 1000, 100 }
#define SCARP_LATENCY_TAIL_COUNT 3

/*
 * {"schema": "scarp-stats-1", "scarp_version": …, "scheme": …,
 *  "logical_bytes": …, "raw_bytes": …,
 *  "write_amplification_milli": …, <every field by name>,
 *  "read_latency": {"n": …, "mean_ns": …, "p50_ns": …, "p90_ns", "p95_ns",
 *   "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns",
 *   "slowest_1_percent": {"n": …, "at_least_ns": …, "cause_ns": {<name>: …}},
 *   "slowest_0_1_percent", "slowest_0_01_percent"},
 *  "write_latency": …}, one line.
 * Freed by the caller with g_free().
 */
char *scarp_stats_json(const ScarpDrive *drive);

/*
 * Vendor log page 0xCA, all little endian: char magic[8] "SCARPST1",
 * uint32 layout version, uint32 field count N, uint64 now_ns,
 * char engine[8] (its scarp_version(); zeroes before 1.0.0), char scheme[32],
 * then N × uint64: ScarpStats in its order; for reads, then for writes: count,
 * the latencies of SCARP_LATENCY_POINTS, and for each of SCARP_LATENCY_TAILS a
 * ScarpTail.
 * Writes at most size bytes to buf and returns the full length.
 */
size_t scarp_stats_log_page(const ScarpDrive *drive, int64_t now_ns, void *buf,
                            size_t size);

/* ---- Marks ------------------------------------------------------------ */

/*
 * Rare states (ftl/marks.h), of which tests want to know that they met them.
 * Checked builds count how often a drive was in each since it was made; other
 * builds have no marks: 0.
 */
typedef struct {
    const char *name;
    const char *help;
} ScarpMarkField;

unsigned scarp_mark_count(void);
const ScarpMarkField *scarp_mark_field(unsigned index); /* below the count */
uint64_t scarp_mark_times(const ScarpDrive *drive, unsigned index);

/* ---- Observers -------------------------------------------------------- */

/* One collected victim.  Times span the GC's first command to its last. */
typedef struct {
    int64_t begin_ns;
    int64_t end_ns;
    uint32_t die;   /* drive-wide index */
    uint32_t plane; /* drive-wide index */
    uint32_t victim_block; /* in the plane */
    uint32_t moved_units;
    ScarpOrigin origin; /* GC, or PREMIGRATE: pages only, no erase */
    ScarpMergeKind merge;
} ScarpGcRun;

typedef enum {
    SCARP_FLASH_READ,
    SCARP_FLASH_PROGRAM,
    SCARP_FLASH_ERASE,
    SCARP_FLASH_COPYBACK,
} ScarpFlashKind;

/* What a flash command occupies, one after the other. */
typedef enum {
    SCARP_PHASE_IN,    /* the channel: command and address, data of a program */
    SCARP_PHASE_ARRAY, /* the plane's cells; once more after each suspension */
    SCARP_PHASE_OUT,   /* the channel: data of a read */
} ScarpFlashPhase;

/* One phase of a flash command on one plane, reported when it has ended. */
typedef struct {
    int64_t begin_ns;
    int64_t end_ns;    /* IN and OUT: not before now, the channel is granted */
    /* ScarpCmd.seq of the host commands it serves; valid during the call */
    const uint64_t *cmd_seqs;
    uint32_t n_cmds;   /* 0: garbage collection */
    uint32_t die;      /* drive-wide index */
    uint32_t plane;    /* drive-wide index */
    uint32_t channel;
    uint32_t block;    /* drive-wide index */
    uint32_t page;     /* in the block */
    ScarpFlashKind kind;
    ScarpFlashPhase phase;
    ScarpOrigin origin;
    bool multiplane;
} ScarpFlashOp;

/* Work of a collection or merge that a command carries (hios-1, hios-2). */
typedef struct {
    int64_t time_ns;
    uint64_t cmd_seq;  /* ScarpCmd.seq of that command */
    uint32_t plane;    /* drive-wide index */
    uint32_t segments; /* pages that are read and programmed */
    uint32_t erases;
} ScarpGcGrant;

/*
 * Each may be NULL.  Called by whichever call makes it happen, in that call's
 * thread; what is pointed to lasts for the call, and the drive may be asked but
 * not told anything.
 */
typedef struct {
    void (*cmd_done)(void *opaque, const ScarpCmd *cmd);
    void (*gc_done)(void *opaque, const ScarpGcRun *run);
    void (*flash_phase)(void *opaque, const ScarpFlashOp *op);
    void (*gc_granted)(void *opaque, const ScarpGcGrant *grant);
    void *opaque;
} ScarpObserver;

/* The struct is copied; a second observer replaces the first. */
void scarp_set_observer(ScarpDrive *drive, const ScarpObserver *observer);
/*
 * For an observer that asks the drive, too: scarp_power_cut() calls this with
 * the one that comes up, before it is observed.  NULL: nobody wants to know.
 */
void scarp_on_power_cut(ScarpDrive *drive,
                        void (*came_up)(void *opaque, const ScarpDrive *drive),
                        void *opaque);

#endif /* SCARP_H */
