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
 * The version of all of Scarp; every other place takes it from here. Three
 * numbers of at most seven characters together, as the log page has room for
 * those.
 */
#define SCARP_VERSION "1.1.0"
/*
 * The version of the library's binary interface, its soname's number: it
 * changes when programs have to be compiled anew. tests/e2e/abi.txt lists what
 * counts.
 */
#define SCARP_ABI 1
/*
 * Returns SCARP_VERSION of the engine that runs, which may differ from the
 * header's.
 */
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

/* The cause of a transaction, or of a need for space (design: origin). */
typedef enum {
    SCARP_ORIGIN_HOST,
    SCARP_ORIGIN_GC,
    SCARP_ORIGIN_MAP,       /* mapping pages on flash */
    SCARP_ORIGIN_PREMIGRATE, /* relocation ahead of GC */
    SCARP_ORIGIN_PARITY /* parity's reads and programs (observers) */
} ScarpOrigin;

/*
 * Causes that partition a command's life; see docs/model.md. Their times sum
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

/*
 * Returns the name of a cause below SCARP_CAUSE__COUNT, such as
 * "die_gc_program".
 */
const char *scarp_cause_name(ScarpCause cause);

typedef enum {
    SCARP_STATUS_OK,
    SCARP_STATUS_INTERNAL, /* a law was broken: data must not be trusted */
} ScarpStatus;

/* The access latency that the host asks for (NVMe's dataset management). */
typedef enum {
    SCARP_ACCESS_NONE,   /* the host says nothing */
    SCARP_ACCESS_IDLE,   /* a longer latency is acceptable */
    SCARP_ACCESS_NORMAL,
    SCARP_ACCESS_LOW,    /* as small as possible */
    SCARP_ACCESS__COUNT
} ScarpAccess;

typedef struct ScarpDrive ScarpDrive;
typedef struct ScarpCmd ScarpCmd;

/*
 * A command. The caller owns it and keeps it, and the memory at data, alive and
 * unmoved from scarp_submit() until scarp_reap() returns it. No command can be
 * cancelled: an owner that lost interest ignores the completion.
 */
struct ScarpCmd {
    /* Set by the caller. */
    ScarpOp op;
    bool fua;              /* write: complete only when on flash */
    uint16_t stream;       /* placement hint; 0 when there is none */
    uint32_t nsid;         /* for logs only */
    uint64_t offset_bytes; /* on the drive; multiple of SCARP_SECTOR_BYTES */
    uint64_t length_bytes; /* multiple of it, too; may be 0 (flush, verify) */
    int64_t deadline_ns;   /* absolute; SCARP_TIME_NEVER when none */
    /*
     * Read: the engine fills data before completion. Write: length_bytes of
     * data, which the engine copies at the end of the host DMA. NULL when the
     * data is not wanted (replay, verify): timing and mapping are the same.
     */
    void *data;
    void *opaque; /* the caller's */

    /* Set by the engine. */
    ScarpStatus status;
    int64_t submit_ns;
    int64_t complete_ns;
    int64_t cause_ns[SCARP_CAUSE__COUNT]; /* sums to the latency */

    /* Private to the engine. */
    uint64_t seq;
    uint64_t next_byte; /* of a write that waits for the buffer */
    uint64_t order;     /* flush: writes whose data arrived before it */
    uint32_t record;    /* the host-queue policy's record of it */
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
    /*
     * The scheme's name, or choices joined by '+': "baseline", "gftl+dynamic",
     * …
     */
    const char *scheme;
    /* The scheme's parameters, "key=value,…", or NULL. */
    const char *params;
    /*
     * Single keys of the description to override, "group.key=value" joined by
     * ',' ("gc.trigger_free_blocks=4,geometry.blocks_per_plane=64"), or NULL.
     */
    const char *overrides;
    uint64_t seed;
    bool store_data; /* keep what is written (false: replay) */
    /*
     * Path of an image (scarp_save()) that the drive starts from, or NULL. The
     * drive must be of the image's layout class: geometry, mapping unit,
     * reserve and bad blocks; timing, GC's keys and the scheme are free. The
     * clock begins at 0 and the statistics are zero. With the image's seed the
     * random generator goes on, with another seed it starts afresh.
     */
    const char *image_path;
} ScarpConfig;

/*
 * Makes a drive at time 0; the config may go afterwards. NULL and *error set:
 * the line names the key and what is allowed. A drive takes 2 to 3 MiB of
 * memory for each GiB of flash, and the size of the data that it stores.
 */
ScarpDrive *scarp_drive_new(const ScarpConfig *config, GError **error);
/* Frees the drive. Commands under way are forgotten, and stay their owner's. */
void scarp_drive_free(ScarpDrive *drive);

/* Returns the bytes that the host may address. */
uint64_t scarp_drive_logical_bytes(const ScarpDrive *drive);
uint32_t scarp_drive_unit_bytes(const ScarpDrive *drive); /* the mapping unit */
/*
 * Returns the number of the host's streams, each with blocks of its own
 * (ftl.streams).
 */
uint32_t scarp_drive_streams(const ScarpDrive *drive);
/* Returns the bytes that a stream has open at once: a block in each plane. */
uint64_t scarp_drive_stream_bytes(const ScarpDrive *drive);
/*
 * Returns how long after its arrival a command of this class is due; 0: no
 * deadline.
 */
int64_t scarp_drive_deadline_ns(const ScarpDrive *drive, ScarpAccess access);
/*
 * Returns the bytes of the largest program: a page, or one in each plane of a
 * die.
 */
uint32_t scarp_drive_program_bytes(const ScarpDrive *drive);
/*
 * Properties of a drive whose power may fail (nand.power_cuts), for the host.
 * loses_power: nand.power_cuts is set. is_volatile: a power cut loses commands
 * that completed but were not flushed, as there is a write buffer, and no
 * energy to save it. deallocates: a deallocated range reads as zeroes after a
 * cut. Any other drive: false, false, true.
 */
bool scarp_drive_loses_power(const ScarpDrive *drive);
bool scarp_drive_is_volatile(const ScarpDrive *drive);
bool scarp_drive_deallocates(const ScarpDrive *drive);
/* Returns the scheme's name, valid until another scheme is set. */
const char *scarp_drive_scheme(const ScarpDrive *drive);

/*
 * Switches to another scheme of the same layout class, from the next GC
 * decision on. The switch happens at the time of the last scarp_run(); the time
 * of the next event may change, and commands may have completed: call
 * scarp_reap(). False and *error set: nothing has changed.
 */
bool scarp_drive_set_scheme(ScarpDrive *drive, const char *scheme,
                            const char *params, GError **error);

/*
 * Returns a list of the schemes: name, axis, source, what each needs of the
 * drive, and each parameter with default, range, and unit. Free it with
 * g_free().
 */
char *scarp_schemes_text(void);

/*
 * Returns a list of ftl.mapping's values, and the schemes that go with each.
 * Free it with g_free().
 */
char *scarp_mappings_text(void);

/*
 * Returns the keys of a description in their order, each with its default (a
 * key without one must be given) and its range. Free it with g_free().
 */
char *scarp_keys_text(void);

/*
 * Hints that a read or write at offset_bytes comes soon: the engine fetches the
 * tables' lines into the processor's caches. Nothing else changes.
 */
void scarp_expect(const ScarpDrive *drive, uint64_t offset_bytes);

/*
 * Allocates memory for one more unit that will be written. A caller that has
 * the time does so ahead, so that no write waits for the host's allocator.
 * False, and nothing done: the stock is full (4096 units), or the drive stores
 * no data.
 */
bool scarp_stock_memory(ScarpDrive *drive);

/*
 * Accepts cmd at now_ns, which must not be before scarp_now_ns(); events up to
 * then happen first. The caller has checked that the range is on the drive, in
 * whole sectors. From here to scarp_reap() the engine holds cmd and its data.
 */
void scarp_submit(ScarpDrive *drive, ScarpCmd *cmd, int64_t now_ns);

/* Returns the time of the last processed event or call. */
int64_t scarp_now_ns(const ScarpDrive *drive);

/* Returns the time of the next event, SCARP_TIME_NEVER when there is none. */
int64_t scarp_next_event_ns(const ScarpDrive *drive);

/*
 * Collections by request, for host software that knows when it can bear them,
 * or that makes several drives take turns. Both calls act at the time of the
 * last scarp_run(); the time of the next event may change.
 *
 * scarp_collect_now(): each plane that has fewer than free_blocks free blocks,
 * and a victim worth collecting, begins one collection, which the scheme's
 * pacing then carries on. A plane is left out while its victim's last page is
 * being programmed, and, where collections take no time, while its die runs a
 * command. Returns the number of planes that began.
 *
 * scarp_hold_collections(): until until_ns no collection begins by itself,
 * except in a plane that is down to its last free block. Running collections go
 * on, and scarp_collect_now() is obeyed. A time in the past ends the hold.
 */
uint32_t scarp_collect_now(ScarpDrive *drive, uint32_t free_blocks);
/*
 * Returns about how many bytes the host can write, spread evenly over the
 * planes, before the first plane is so short of free blocks that it collects;
 * 0: a plane may collect at any time.
 */
uint64_t scarp_bytes_until_collection(const ScarpDrive *drive);
void scarp_hold_collections(ScarpDrive *drive, int64_t until_ns);

/*
 * Processes every event up to and including now_ns, in (time, seq) order. A
 * now_ns before scarp_now_ns() changes nothing.
 */
void scarp_run(ScarpDrive *drive, int64_t now_ns);

/*
 * Processes events as scarp_run() does, but stops at the time at which a
 * command has completed: true when one has, false when no event is left up to
 * limit_ns. The time is then that of the last event.
 */
bool scarp_run_until_done(ScarpDrive *drive, int64_t limit_ns);

/*
 * Returns the next completed command, in completion order, or NULL. scarp_run()
 * and scarp_submit() complete commands. The caller owns it again, and may free
 * it or submit it anew.
 */
ScarpCmd *scarp_reap(ScarpDrive *drive);

/*
 * Brings the drive to a used state without simulating time: writes
 * utilisation_permille thousandths of the logical units sequentially, then
 * overwrites overwrite_permille thousandths of them at random (pattern
 * "random") or none ("sequential").
 * Only a drive that has processed nothing may be aged; false and *error set
 * where it has, or where a value is not allowed.
 */
typedef struct {
    uint32_t utilisation_permille;
    /*
     * Overwrites, in thousandths of the drive's size; UINT32_MAX: 2000, but a
     * mapping that merges stops after eight merges for each block.
     */
    uint32_t overwrite_permille;
    const char *pattern;
    uint64_t seed;
} ScarpAge;
bool scarp_age(ScarpDrive *drive, const ScarpAge *age, GError **error);

/*
 * True when nothing is in flight: accepted = completed, no transaction, no
 * collection. False: *error says what is outstanding.
 */
bool scarp_quiescent(const ScarpDrive *drive, GError **error);

/*
 * Brings the drive to rest: buffered data is written, running collections end,
 * and every event happens, however late; scarp_now_ns() moves on. False and
 * *error set: something never ends.
 */
bool scarp_drain(ScarpDrive *drive, GError **error);

/*
 * Writes the state of a drive at rest (scarp_drain()) to a file that another
 * drive can start from (ScarpConfig.image_path); docs/images.md has its layout.
 * The drive goes on unchanged. False: *error is set, and path is as it was.
 */
bool scarp_save(ScarpDrive *drive, const char *path, GError **error);

/*
 * Cuts the power at the time of the last scarp_run(), and restores it at once.
 * Commands under way are forgotten, and stay their owner's; completed ones must
 * be reaped before, or are forgotten, too. Returns the drive that comes up
 * again, which the caller uses from now on instead of drive, which is freed;
 * the time, the statistics, the scheme and the observer go on. The new drive
 * contains what the old one's cells, and its energy, kept (docs/powercut.md).
 *
 * Until it is ready the new drive accepts commands, but begins none. NULL and
 * *error set, and drive unchanged: the drive has no nand.power_cuts.
 */
ScarpDrive *scarp_power_cut(ScarpDrive *drive, GError **error);
/*
 * True when the drive has recovered from its last power cut, if there was one.
 */
bool scarp_is_ready(const ScarpDrive *drive);

/* How a mapping by blocks reclaims a block (docs/mappings.md). */
typedef enum {
    SCARP_MERGE_NONE, /* a collection of a victim, or nothing */
    SCARP_MERGE_SWITCH,  /* a log block becomes the data block as it is */
    SCARP_MERGE_PARTIAL, /* the rest is copied into it, and it does */
    SCARP_MERGE_FULL,    /* valid pages are copied into a free block */
    SCARP_MERGE_ERASE,   /* no page of it was valid */
    SCARP_MERGE__COUNT
} ScarpMergeKind;

/*
 * Work under way, as a power cut would meet it: tests tell moments apart by it,
 * and see that each kind was tried.
 */
typedef struct {
    uint32_t reads, erases;           /* flash commands at work, by kind … */
    uint32_t programs[SCARP_ORIGIN_PARITY + 1]; /* … and by origin */
    uint32_t suspended;
    uint32_t collections;             /* planes that collect */
    uint32_t merges[SCARP_MERGE__COUNT]; /* planes, by ScarpMergeKind */
    uint32_t buffered_units;          /* of the host, not on flash */
    uint32_t flushes;                 /* flushes that have not completed */
    uint32_t unrecorded_units;        /* deallocated; no record is on flash */
    bool recovers; /* from an earlier power cut */
} ScarpUnderWay;

void scarp_under_way(const ScarpDrive *drive, ScarpUnderWay *what);

/*
 * Announces that the host is about to take the power away: the drive comes to
 * rest as by scarp_drain(), and writes its tables. Until the next write these
 * tables are all that recovery reads. False and *error set: something never
 * ends.
 */
bool scarp_shut_down(ScarpDrive *drive, GError **error);
/*
 * Returns an upper bound of the recovery time after a power cut at any moment;
 * SCARP_TIME_LAST: that long, or longer.
 */
int64_t scarp_recovery_bound_ns(const ScarpDrive *drive);

/*
 * Copies what a read of the range would return now into out, without taking
 * time. offset_bytes and length_bytes are multiples of a sector; the drive is
 * ready, and stores data.
 */
void scarp_peek(const ScarpDrive *drive, uint64_t offset_bytes,
                uint64_t length_bytes, void *out);

/*
 * Checks every invariant of the tables (linear in the drive's size): valid +
 * invalid + free = all, forward and reverse map agree, buckets hold their
 * blocks. Checked builds (SCARP_CHECKED) do it after every event, and after one
 * in seven once 2^28 units have been checked. False and *error set: a fault of
 * the engine, and the line names the table.
 */
bool scarp_check(const ScarpDrive *drive, GError **error);

/* True when every unit that the range touches is mapped or being written. */
bool scarp_is_mapped(const ScarpDrive *drive, uint64_t offset_bytes,
                     uint64_t length_bytes);

/* ---- Statistics ------------------------------------------------------- */

/*
 * Statistics, each counted in one place. Every field is a uint64_t:
 * scarp_stat_field() describes them in order, and the log page, JSON and QMP
 * are generated from that table. New fields go to the end (log page version).
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
    uint64_t unmapped_read_units;   /* never written, or deallocated */
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
    uint64_t parity_page_reads; /* pages read to make parity */
    uint64_t reconstructed_reads;   /* served by the rest of their stripe */
    uint64_t reconstruction_page_reads; /* the pages read for them */
    uint64_t reconstruction_refusals; /* reads that waited instead */
    uint64_t gc_forced_runs;        /* victims collected out of turn */
    uint64_t record_writes;         /* records of deallocations, changed */
    uint64_t switch_merges;         /* of ftl.mapping=block, superblock, fast */
    uint64_t partial_merges;
    uint64_t full_merges;
    uint64_t map_hits;              /* units whose entry was cached */
    uint64_t map_misses;
    uint64_t map_evictions;         /* entries that made room for others */
    uint64_t map_page_reads;        /* translation units read */
    uint64_t map_page_programs;     /* pages of translation units */
    uint64_t map_written_units;     /* translation units in them */
    uint64_t map_ram_bytes; /* of the modelled controller */
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
    uint64_t cut_cmds;              /* commands forgotten by power cuts */
    uint64_t torn_pages; /* unreadable after power cuts */
    uint64_t saved_units;           /* of the buffer, by controller.plp_bytes */
    uint64_t recovery_ns;           /* until the drive was ready again */
    uint64_t recovery_page_reads;
    uint64_t recovery_page_programs;
    uint64_t backup_page_programs;  /* copies for ftl.paired_pages=backup */
    uint64_t pair_pad_pages; /* without data: paired_pages=pad */
    uint64_t checkpoints; /* whole ones: ftl.checkpoint_pages */
} ScarpStats;

typedef struct {
    const char *name; /* as in JSON */
    const char *unit; /* "commands", "bytes", "units", "pages", "ns", … */
    const char *help;
} ScarpStatField;

#define SCARP_STAT_COUNT (sizeof(ScarpStats) / sizeof(uint64_t))
const ScarpStatField *scarp_stat_field(unsigned index); /* < SCARP_STAT_COUNT */
/*
 * Returns the drive's counters, which count on while the drive runs; a copy of
 * them stays as it is.
 */
const ScarpStats *scarp_stats(const ScarpDrive *drive);
/*
 * Returns the bytes of whole pages programmed, or erased, for whatever reason.
 */
uint64_t scarp_media_written_bytes(const ScarpDrive *drive);
uint64_t scarp_media_erased_bytes(const ScarpDrive *drive);
/*
 * Health. Spare: blocks that can still be set aside, in percent of those at
 * first, in the plane that has the fewest. Used: mean erases of a block, in
 * percent of nand.endurance_erases; 0 if that key is 0. Each call looks at all
 * planes or blocks: call it rarely.
 */
uint32_t scarp_spare_percent(const ScarpDrive *drive);
uint32_t scarp_used_percent(const ScarpDrive *drive);
/*
 * Sets the statistics to zero. Commands in flight stay counted as accepted;
 * their latencies and causes will not count. A collection or recovery under way
 * counts its time from now on.
 */
void scarp_stats_reset(ScarpDrive *drive);
/*
 * Latencies of reads (SCARP_OP_READ) and writes (SCARP_OP_WRITE) submitted
 * since the last reset, and the causes of the slowest. Quantiles are by nearest
 * rank, rounded up within a bucket at most 1/128 wide.
 */
uint64_t scarp_latency_count(const ScarpDrive *drive, ScarpOp op);
/*
 * Returns the latency that permillion of a million commands do not exceed; 0
 * when there are none.
 */
uint64_t scarp_latency_ns(const ScarpDrive *drive, ScarpOp op,
                          uint32_t permillion);

typedef struct {
    uint64_t n;           /* commands: at least one, if there is any */
    uint64_t at_least_ns; /* their latency, to within 1/128 */
    /*
     * Sums to their latencies. The bucket (1/16 wide) that the boundary falls
     * into contributes a share of its sums.
     */
    uint64_t cause_ns[SCARP_CAUSE__COUNT];
} ScarpTail;
void scarp_latency_tail(const ScarpDrive *drive, ScarpOp op,
                        uint32_t permillion, ScarpTail *tail);

/*
 * Quantiles of each latency in the log page and JSON, in permillion from the
 * fast end.
 */
#define SCARP_LATENCY_POINTS { 500000, 900000, 950000, 990000, 999000, 999900 }
#define SCARP_LATENCY_POINT_COUNT 6
/* Tails of each latency there, in permillion from the slow end. */
#define SCARP_LATENCY_TAILS { 10000, 1000, 100 }
#define SCARP_LATENCY_TAIL_COUNT 3

/*
 * Returns one line of JSON, to be freed with g_free():
 * {"schema": "scarp-stats-1", "scarp_version": …, "scheme": …,
 *  "logical_bytes": …, "raw_bytes": …,
 *  "write_amplification_milli": …, <every field by name>,
 *  "read_latency": {"n": …, "mean_ns": …, "p50_ns": …, "p90_ns", "p95_ns",
 *   "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns",
 *   "slowest_1_percent": {"n": …, "at_least_ns": …, "cause_ns": {<name>: …}},
 *   "slowest_0_1_percent", "slowest_0_01_percent"},
 *  "write_latency": …}
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
 * Rare states (ftl/marks.h), for tests that must meet them. Checked builds
 * count how often a drive was in each since it was made; other builds have no
 * marks: the count is 0.
 */
typedef struct {
    const char *name;
    const char *help;
} ScarpMarkField;

unsigned scarp_mark_count(void);
const ScarpMarkField *scarp_mark_field(unsigned index); /* below the count */
uint64_t scarp_mark_times(const ScarpDrive *drive, unsigned index);

/* ---- Observers -------------------------------------------------------- */

/* A collected victim. Times span the collection's first command to its last. */
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

/* The phases of a flash command, in their order: what it occupies. */
typedef enum {
    SCARP_PHASE_IN,    /* the channel: command and address, data of a program */
    SCARP_PHASE_ARRAY, /* the plane's cells; once more after each suspension */
    SCARP_PHASE_OUT,   /* the channel: data of a read */
} ScarpFlashPhase;

/* A phase of a flash command on one plane, reported when it has ended. */
typedef struct {
    int64_t begin_ns;
    int64_t end_ns;    /* IN and OUT: not before now, the channel is granted */
    /*
     * ScarpCmd.seq of the host commands that it serves; valid during the call.
     */
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
 * Callbacks, each of which may be NULL. The call that makes something happen
 * calls them, in its thread; their arguments last for the call, and they may
 * ask the drive but not change it.
 */
typedef struct {
    void (*cmd_done)(void *opaque, const ScarpCmd *cmd);
    void (*gc_done)(void *opaque, const ScarpGcRun *run);
    void (*flash_phase)(void *opaque, const ScarpFlashOp *op);
    void (*gc_granted)(void *opaque, const ScarpGcGrant *grant);
    void *opaque;
} ScarpObserver;

/*
 * Sets the observer, whose struct is copied; a second one replaces the first.
 */
void scarp_set_observer(ScarpDrive *drive, const ScarpObserver *observer);
/*
 * Sets a callback for an observer that asks the drive, too: scarp_power_cut()
 * passes it the drive that comes up, before that one is observed. NULL: none.
 */
void scarp_on_power_cut(ScarpDrive *drive,
                        void (*came_up)(void *opaque, const ScarpDrive *drive),
                        void *opaque);

#endif /* SCARP_H */
