/*
 * Scarp flash engine: public interface
 *
 * A drive is called by one thread at a time. The drive reads no clock, takes no
 * lock and, in steady state, allocates nothing. The caller says what time it
 * is, asks when the next event is, and lets it happen.
 *
 * These rules hold for every call, unless the call says otherwise:
 *
 * Units. A name ends in its unit: _ns, _bytes, _units (of the mapping),
 * _permille, _permillion, _percent. All times are int64_t nanoseconds on the
 * caller's clock (QEMU_CLOCK_VIRTUAL in the guest's drive, the trace's own
 * clock in the replayer), from 0 to SCARP_TIME_LAST.
 *
 * Ownership. What the caller hands in stays the caller's, and may be freed when
 * the call returns; exceptions are a ScarpCmd and its data. A const pointer
 * that a call returns belongs to the engine: names last as long as the program,
 * and all else as long as the drive. A char * that is not const is the
 * caller's, to be freed with g_free().
 *
 * Errors. A call with a GError ** can fail. It then returns NULL or false, and
 * sets *error to one line, of the domain SCARP_ERROR and with a ScarpErrorCode;
 * the caller frees it with g_error_free(). A caller who does not ask for the
 * reason gives NULL as the GError **. A call without a GError ** cannot fail.
 * If it is called wrongly, such as without a drive, and notices that, it ends
 * the program.
 *
 * Threads. Calls on one drive, const ones too, come from one thread at a time;
 * which thread that is may change. Different drives share nothing, and may be
 * in different threads at once. Calls without a drive may come from any thread
 * at any time. No call blocks, except for files: scarp_drive_new(),
 * scarp_save().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_H
#define SCARP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The version of all of Scarp. Every other place takes the version from here.
 * It has three numbers, together at most seven characters long, because the log
 * page has room for so many.
 */
#define SCARP_VERSION "1.1.0"
/*
 * The version of the library's binary interface, which is the number in its
 * soname. It changes when programs have to be compiled anew; tests/e2e/abi.txt
 * lists what counts.
 */
#define SCARP_ABI 1
/*
 * Returns SCARP_VERSION of the running engine. It may differ from the header's.
 */
const char *scarp_version(void);

#define SCARP_SECTOR_BYTES 512u
#define SCARP_TIME_NEVER INT64_MAX
#define SCARP_TIME_LAST (INT64_MAX / 8) /* 36 years: no event comes later */

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
    /* Ends when every write whose data arrived before the flush is on flash. */
    SCARP_OP_FLUSH,
    SCARP_OP__COUNT
} ScarpOp;

/* The reason for a flash command, or for a need of space. */
typedef enum {
    SCARP_ORIGIN_HOST,
    SCARP_ORIGIN_GC,
    SCARP_ORIGIN_MAP,       /* translation units */
    SCARP_ORIGIN_PREMIGRATE, /* relocation ahead of GC */
    SCARP_ORIGIN_PARITY, /* parity's reads and programs, for observers */
    SCARP_ORIGIN_FOLD /* GC of a block of the SLC cache, for observers */
} ScarpOrigin;

/*
 * Causes, which divide a command's life (docs/model.md). Their times add up to
 * complete_ns - submit_ns, exactly. The records of this header have the causes
 * below SCARP_CAUSE__COUNT, into which every drive divides a life. Drives with
 * an SLC cache or a temperature divide three of these further, which
 * scarp_cmd_causes() does.
 */
typedef enum {
    SCARP_CAUSE_CONTROLLER,       /* firmware time */
    SCARP_CAUSE_LINK,             /* host link: transfer and waiting for it */
    SCARP_CAUSE_HOST_QUEUE,       /* no free slot, or others were picked */
    SCARP_CAUSE_BUFFER_FULL,      /* no room in the write buffer */
    SCARP_CAUSE_ORDER,            /* waits for data: to fill a page, to flush */
    SCARP_CAUSE_DIE_HOST_READ,    /* die busy with another command's read */
    SCARP_CAUSE_DIE_HOST_PROGRAM, /* die busy with another command's program */
    SCARP_CAUSE_DIE_GC_READ,
    SCARP_CAUSE_DIE_GC_PROGRAM,
    SCARP_CAUSE_DIE_ERASE,
    SCARP_CAUSE_DIE_GC_HELD, /* die held by a collection that waits */
    SCARP_CAUSE_NO_SPACE,    /* the plane has no free page until a GC ends */
    SCARP_CAUSE_CHANNEL,     /* waits for the flash channel */
    SCARP_CAUSE_ARRAY,       /* tR, tPROG of its own flash command */
    SCARP_CAUSE_TRANSFER,    /* its own command, address and data cycles */
    SCARP_CAUSE_RMW,         /* read before a write smaller than a unit */
    SCARP_CAUSE_MAPPING,          /* fetching a part of the mapping table */
    SCARP_CAUSE_SUSPENDED,        /* its own program stood still for a read */
    /* the die was suspending a program or erase */
    SCARP_CAUSE_DIE_SUSPEND,
    SCARP_CAUSE__COUNT,
    /* die busy with a fold's read: a part of SCARP_CAUSE_DIE_GC_READ */
    SCARP_CAUSE_DIE_FOLD_READ = SCARP_CAUSE__COUNT,
    SCARP_CAUSE_DIE_FOLD_PROGRAM, /* part of SCARP_CAUSE_DIE_GC_PROGRAM */
    SCARP_CAUSE_THROTTLED,        /* heat added it: part of SCARP_CAUSE_ARRAY */
    SCARP_CAUSE__ALL
} ScarpCause;

/*
 * Returns the name of a cause below SCARP_CAUSE__ALL, such as
 * "die_gc_program".
 */
const char *scarp_cause_name(ScarpCause cause);

typedef enum {
    SCARP_STATUS_OK,
    SCARP_STATUS_INTERNAL, /* a law was broken: data must not be trusted */
} ScarpStatus;

/* The access latency that the host asks for (NVMe's Dataset Management). */
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
 * A command. The caller owns it. From scarp_submit() until scarp_reap() returns
 * it, the caller keeps it, and the memory at `data`, alive and unmoved. No
 * command can be cancelled: an owner that lost interest ignores the completion.
 */
struct ScarpCmd {
    /* Set by the caller. */
    ScarpOp op;
    bool fua;              /* write: completes when it is on flash */
    uint16_t stream;       /* placement hint; 0 when there is none */
    uint32_t nsid;         /* for logs only */
    uint64_t offset_bytes; /* on the drive; multiple of SCARP_SECTOR_BYTES */
    uint64_t length_bytes; /* a multiple, too; 0: flush, verify */
    int64_t deadline_ns;   /* deadline, absolute; SCARP_TIME_NEVER: none */
    /*
     * Read: the engine fills this memory before the completion. Write:
     * length_bytes of data, which the engine copies when the data has crossed
     * the host link. NULL: nobody wants the data (replay, verify); timing and
     * mapping are the same.
     */
    void *data;
    void *opaque; /* for the caller's use */

    /* Set by the engine. */
    ScarpStatus status;
    int64_t submit_ns;
    int64_t complete_ns;
    int64_t cause_ns[SCARP_CAUSE__COUNT]; /* add up to the latency */

    /* Private to the engine. */
    uint64_t seq;
    uint64_t next_byte; /* of a write that waits for room in the buffer */
    uint64_t order;     /* flush: writes whose data arrived before */
    uint32_t record;    /* of the host-queue policy */
    bool joined;        /* write: the next write fills the rest of its page */
    bool split;         /* it has causes from SCARP_CAUSE__COUNT on */
    uint32_t units_left;
    uint32_t passes_left; /* checked builds: hil/starves.c */
    int64_t mark_ns; /* time up to which the causes are known */
    int64_t due_ns;  /* end of its pipeline stage */
    ScarpCmd *next;
};

/*
 * Sets cause_ns to the times of all causes of a command that has completed,
 * with the three parts taken out of the causes that they belong to. So these
 * times add up to the latency, too.
 */
void scarp_cmd_causes(const ScarpCmd *cmd, int64_t cause_ns[SCARP_CAUSE__ALL]);

/* ---- The drive -------------------------------------------------------- */

typedef struct {
    /*
     * Path of a drive description (GKeyFile; see devices/ and docs/model.md).
     * Unknown groups and keys are errors. NULL is allowed with an image: the
     * drive then has the description of the saved drive.
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
     * Keys of the description to override, as "group.key=value" joined by ','
     * ("gc.trigger_free_blocks=4,geometry.blocks_per_plane=64"), or NULL.
     */
    const char *overrides;
    uint64_t seed;
    bool store_data; /* store the contents of units; false: as in a replay */
    /*
     * Path of an image (scarp_save()) from which the drive starts, or NULL. The
     * drive must have the image's geometry, mapping unit, reserve and bad
     * blocks. Timing, keys of GC and the scheme may differ. The clock begins at
     * 0, and the statistics are zero. With the image's seed the random
     * generator goes on; with another seed it begins anew.
     */
    const char *image_path;
} ScarpConfig;

/*
 * Makes a drive at time 0. The config may be freed afterwards. Returns NULL,
 * with *error set, if that fails: the error's line names the key and what is
 * allowed. A drive takes 2 to 3 MiB of memory for each GiB of flash, and the
 * size of the data that it stores.
 */
ScarpDrive *scarp_drive_new(const ScarpConfig *config, GError **error);
/* Frees the drive. Commands under way are forgotten, and stay their owners'. */
void scarp_drive_free(ScarpDrive *drive);

/* Returns the bytes that the host may address. */
uint64_t scarp_drive_logical_bytes(const ScarpDrive *drive);
uint32_t scarp_drive_unit_bytes(const ScarpDrive *drive); /* the mapping unit */
/*
 * Returns the number of the host's streams, each with blocks of its own
 * (ftl.streams).
 */
uint32_t scarp_drive_streams(const ScarpDrive *drive);
/* Returns the bytes of a stream's open blocks: one block in each plane. */
uint64_t scarp_drive_stream_bytes(const ScarpDrive *drive);
/*
 * Returns how long after its arrival a command with this access latency is due;
 * 0: it has no deadline.
 */
int64_t scarp_drive_deadline_ns(const ScarpDrive *drive, ScarpAccess access);
/*
 * Returns the bytes of the largest program command: a page, or, with
 * multi-plane commands, a page in each plane of a die.
 */
uint32_t scarp_drive_program_bytes(const ScarpDrive *drive);
/*
 * Properties of a drive whose power may fail (nand.power_cuts), for the host.
 *  - loses_power: nand.power_cuts is set.
 *  - is_volatile: a power cut loses commands that have completed and were not
 *    flushed, because there is a write buffer and no energy to save it.
 *  - deallocates: a deallocated range reads as zeroes after a cut.
 *
 * For any other drive these are false, false and true.
 */
bool scarp_drive_loses_power(const ScarpDrive *drive);
bool scarp_drive_is_volatile(const ScarpDrive *drive);
bool scarp_drive_deallocates(const ScarpDrive *drive);
/* Returns the scheme's name, valid until another scheme is set. */
const char *scarp_drive_scheme(const ScarpDrive *drive);

/*
 * Switches to another scheme from the next GC decision on. The switch happens
 * at the time of the last scarp_run(). The time of the next event may change,
 * and commands may have completed, so call scarp_reap(). If the drive has the
 * same choices with equal parameters already, its policies keep their states.
 * Returns false, with *error set, if nothing has changed.
 */
bool scarp_drive_set_scheme(ScarpDrive *drive, const char *scheme,
                            const char *params, GError **error);
/*
 * True when scarp_drive_set_scheme() would switch to the scheme. Returns false,
 * with *error set, if it would refuse. Nothing changes in either case.
 */
bool scarp_drive_may_set_scheme(ScarpDrive *drive, const char *scheme,
                                const char *params, GError **error);

/*
 * Returns a list of the schemes: the name, axis and source of each scheme, what
 * it needs of the drive, and each parameter with its default, range and unit.
 * Free it with g_free().
 */
char *scarp_schemes_text(void);

/*
 * Returns a list of the values of ftl.mapping, with the schemes for each value.
 * Free it with g_free().
 */
char *scarp_mappings_text(void);

/*
 * Returns the keys of a description in their order, each with its default (a
 * key without one must be given) and its range. Free it with g_free().
 */
char *scarp_keys_text(void);

/*
 * Tells the engine that a read or write at offset_bytes comes soon. The engine
 * prefetches entries of its tables, and changes nothing.
 */
void scarp_expect(const ScarpDrive *drive, uint64_t offset_bytes);

/*
 * Allocates memory for a unit that will be written later. A caller that has
 * time calls this ahead, so that no write waits for the host's allocator.
 * Returns false, and allocates nothing, if the stock is full (4096 units), or
 * if the drive stores no data.
 */
bool scarp_stock_memory(ScarpDrive *drive);

/*
 * Submits cmd at now_ns, which must not be before scarp_now_ns(). Events up to
 * now_ns happen first. The caller has checked that the range is on the drive
 * and has whole sectors. The engine uses cmd and its data until scarp_reap()
 * returns cmd.
 */
void scarp_submit(ScarpDrive *drive, ScarpCmd *cmd, int64_t now_ns);

/* Returns the drive's time, which is that of the last event or call. */
int64_t scarp_now_ns(const ScarpDrive *drive);

/* Returns the time of the next event; SCARP_TIME_NEVER: there is none. */
int64_t scarp_next_event_ns(const ScarpDrive *drive);

/*
 * Reclaim units of several planes (ftl.reclaim_planes above 1), of which each
 * stream fills one in each group of planes. The functions are for such drives,
 * and for their streams (ftl.streams): others abort the program.
 *
 * scarp_drive_isolates() is true for a stream whose copies have reclaim units of
 * their own (ftl.isolated_streams).
 *
 * scarp_unit_left_bytes() returns how many bytes more the host can write with
 * the stream before all of its reclaim units are full.
 *
 * scarp_close_units() closes them at the time of the last scarp_run(): what the
 * host writes with the stream from then on goes to other units. What waits in
 * the buffer for company in a page is written without it. Pages that are left
 * stay empty until the unit's erase. The time of the next event may change.
 * Returns false if the stream's units had no page yet, so that nothing was
 * closed.
 */
bool scarp_drive_isolates(const ScarpDrive *drive, uint16_t stream);
uint64_t scarp_unit_left_bytes(const ScarpDrive *drive, uint16_t stream);
bool scarp_close_units(ScarpDrive *drive, uint16_t stream);

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
 * except in a plane with one free block left. Running collections go on, and
 * scarp_collect_now() is obeyed. A time in the past ends the hold.
 */
uint32_t scarp_collect_now(ScarpDrive *drive, uint32_t free_blocks);
/*
 * Returns about how many bytes the host can write, spread evenly over the
 * planes, before a plane has so few free blocks that it collects; 0: a plane
 * may collect at any time.
 */
uint64_t scarp_bytes_until_collection(const ScarpDrive *drive);
void scarp_hold_collections(ScarpDrive *drive, int64_t until_ns);

/*
 * Processes every event up to and including now_ns, in the order of their
 * times. Events of one time come in the order in which they were set. If now_ns
 * is before scarp_now_ns(), nothing changes.
 */
void scarp_run(ScarpDrive *drive, int64_t now_ns);

/*
 * Processes events as scarp_run() does, but stops at the time at which a
 * command completes. Returns true if a command has completed. Returns false if
 * no event is left up to limit_ns; the drive's time is then that of the last
 * event.
 */
bool scarp_run_until_done(ScarpDrive *drive, int64_t limit_ns);

/*
 * Returns the next completed command, in the order of completion, or NULL.
 * scarp_run() and scarp_submit() complete commands. The returned command is the
 * caller's again, who may free it or submit it anew.
 */
ScarpCmd *scarp_reap(ScarpDrive *drive);

/*
 * Brings the drive to a used state without simulating time. It writes
 * utilisation_permille thousandths of the logical units one after the other.
 * Then, with the pattern "random", it overwrites overwrite_permille thousandths
 * of these units at random. The pattern "sequential" has no overwrites. Only a
 * drive that has processed nothing may be aged. scarp_age() returns false, with
 * *error set, if the drive has processed something, or if a value is not
 * allowed.
 */
typedef struct {
    uint32_t utilisation_permille;
    /*
     * Overwrites, in thousandths of the drive's size. UINT32_MAX: 2000; but a
     * mapping that merges stops after eight merges for each block.
     */
    uint32_t overwrite_permille;
    const char *pattern;
    uint64_t seed;
} ScarpAge;
bool scarp_age(ScarpDrive *drive, const ScarpAge *age, GError **error);
/*
 * Fills the SLC cache of a drive after scarp_age(), without simulating time: it
 * writes the filled logical units again, in the pattern's order, until the cache
 * has no room for more. A dynamic cache has room only if enough blocks are free.
 * False, with *error set: the drive has no cache, has processed a command, or a
 * value is not allowed.
 */
bool scarp_age_slc(ScarpDrive *drive, const ScarpAge *age, GError **error);

/*
 * True when nothing is under way: every accepted command has completed, and no
 * die is busy. Otherwise *error says what is outstanding.
 */
bool scarp_quiescent(const ScarpDrive *drive, GError **error);

/*
 * Brings the drive to rest: buffered data is written, running collections end,
 * and every event happens, however late. scarp_now_ns() moves on. Returns
 * false, with *error set, if something never ends.
 */
bool scarp_drain(ScarpDrive *drive, GError **error);

/*
 * Writes the state of a drive at rest (scarp_drain()) to a file, from which
 * another drive can start (ScarpConfig.image_path). docs/images.md has the
 * layout. The drive is unchanged. Returns false, with *error set, if that
 * fails; the file at `path` is then as it was.
 */
bool scarp_save(ScarpDrive *drive, const char *path, GError **error);

/*
 * Cuts the power at the time of the last scarp_run(), and restores it at once.
 * Commands under way are forgotten: they never complete, and their owners may
 * free them. Completed commands must be reaped before, or are forgotten, too.
 * Returns the drive that comes up, which the caller uses from now on; `drive`
 * is freed. Time, statistics, scheme and observer go on. The new drive contains
 * what the cells of the old drive, and its stored energy, have kept
 * (docs/powercut.md).
 *
 * Until it is ready the new drive accepts commands, but begins none of them.
 * Returns NULL, with *error set, if the drive has no nand.power_cuts, or memory
 * is short; the drive is then unchanged.
 */
ScarpDrive *scarp_power_cut(ScarpDrive *drive, GError **error);
/*
 * True when the drive has recovered from its last power cut, or has had none.
 */
bool scarp_is_ready(const ScarpDrive *drive);

/*
 * Sanitizes a drive that has nothing under way (scarp_quiescent()), and no
 * completed command that scarp_reap() has not returned: every block that has
 * pages is erased, each plane one block after the other. What is in the write
 * buffer is dropped, and so is what was planned for a later time, such as an
 * idle fold. Afterwards nothing is mapped, and all blocks are free, but for bad
 * ones; wear, time, statistics, scheme and observer go on. Returns the drive
 * that the caller uses from now on; `drive` is freed. Until it is ready
 * (scarp_is_ready()) the new drive accepts commands, but begins none. Returns
 * NULL, with *error set, if it cannot be done now, or memory is short; nothing
 * has changed then.
 *
 * After a power cut in between, the drive that comes up goes on erasing.
 */
ScarpDrive *scarp_sanitize(ScarpDrive *drive, GError **error);
/* Returns how many blocks are still to be erased by scarp_sanitize(). */
uint32_t scarp_sanitize_left(const ScarpDrive *drive);
/* Returns the longest time of scarp_sanitize(), with pages in every block. */
int64_t scarp_sanitize_bound_ns(const ScarpDrive *drive);

/* How a mapping by blocks reclaims a block (docs/mappings.md). */
typedef enum {
    SCARP_MERGE_NONE, /* no merge: a collection of a victim, or nothing */
    SCARP_MERGE_SWITCH,  /* a log block becomes the data block as it is */
    SCARP_MERGE_PARTIAL, /* as SWITCH, after copies of the missing pages */
    SCARP_MERGE_FULL,    /* valid pages are copied into a free block */
    SCARP_MERGE_ERASE,   /* the block has no valid page */
    SCARP_MERGE__COUNT
} ScarpMergeKind;

/*
 * Work under way at this moment, as a power cut would meet it. Tests of power
 * cuts compare moments by this record, to see that they have tried each kind of
 * moment.
 */
typedef struct {
    /* flash commands whose array works, by kind */
    uint32_t reads, erases;
    /* programs whose array works, by origin */
    uint32_t programs[SCARP_ORIGIN_PARITY + 1];
    uint32_t suspended;
    uint32_t collections;             /* planes that collect */
    uint32_t merges[SCARP_MERGE__COUNT]; /* planes, by ScarpMergeKind */
    /* units of the host that are not on flash */
    uint32_t buffered_units;
    uint32_t flushes;                 /* flushes that have not completed */
    /* deallocated units without a record on flash */
    uint32_t unrecorded_units;
    bool recovers; /* the drive recovers from an earlier power cut */
} ScarpUnderWay;

void scarp_under_way(const ScarpDrive *drive, ScarpUnderWay *what);

/*
 * Called when the host is about to take the power away: the drive comes to rest
 * as by scarp_drain(), and writes its tables. Until the next write, recovery
 * reads only these tables. Returns false, with *error set, if something never
 * ends.
 */
bool scarp_shut_down(ScarpDrive *drive, GError **error);
/*
 * Returns the longest time that a recovery can take after a power cut at any
 * moment. SCARP_TIME_LAST: so long, or longer.
 */
int64_t scarp_recovery_bound_ns(const ScarpDrive *drive);

/*
 * Copies the bytes that a read of the range would return now to `out`, without
 * taking time. offset_bytes and length_bytes are multiples of a sector. The
 * drive must be ready, and store data.
 */
void scarp_peek(const ScarpDrive *drive, uint64_t offset_bytes,
                uint64_t length_bytes, void *out);

/*
 * Checks every invariant of the tables, in time linear in the drive's size:
 * valid + invalid + free = all, the forward and reverse map agree, each bucket
 * has its blocks. Checked builds (SCARP_CHECKED) call this after every event
 * until they have checked 2^24 units in total, and from then on after every
 * seventh event. Returns false if an invariant is broken; the message in *error
 * then names the table.
 */
bool scarp_check(const ScarpDrive *drive, GError **error);

/*
 * True when every unit that the range touches is mapped or buffered for
 * writing.
 */
bool scarp_is_mapped(const ScarpDrive *drive, uint64_t offset_bytes,
                     uint64_t length_bytes);
/*
 * Returns how many bytes of the range, from its beginning on, are in logical
 * blocks of block_bytes for all of which scarp_is_mapped() returns *mapped. The
 * range is a whole number of blocks, and not empty. The time is linear in the
 * number of units that the bytes are in.
 */
uint64_t scarp_mapped_run(const ScarpDrive *drive, uint64_t offset_bytes,
                          uint64_t length_bytes, uint32_t block_bytes,
                          bool *mapped);

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
    uint64_t host_page_reads;       /* flash commands, by origin and kind */
    uint64_t host_page_programs;
    uint64_t gc_page_reads;
    uint64_t gc_page_programs;
    uint64_t erases;
    uint64_t gc_runs;               /* victims collected */
    uint64_t gc_moved_units;        /* valid units relocated */
    uint64_t gc_busy_ns;            /* planes' time, first command to last */
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
    uint64_t bad_blocks;            /* bad blocks at present */
    uint64_t gc_window_ns;          /* plane time of dies that collect */
    /* part of gc_window_ns: host commands on the other planes */
    uint64_t gc_shared_ns;
    uint64_t gc_fallback_units;     /* not placed where the scheme wanted */
    uint64_t parity_page_programs;
    uint64_t parity_page_reads; /* pages read to make parity */
    uint64_t reconstructed_reads;   /* by the other pages of their stripe */
    uint64_t reconstruction_page_reads; /* pages read for these reads */
    /* reads that waited for their die instead */
    uint64_t reconstruction_refusals;
    uint64_t gc_forced_runs;        /* victims collected out of turn */
    uint64_t record_writes;         /* records of deallocations, changed */
    uint64_t switch_merges;         /* of ftl.mapping=block, superblock, fast */
    uint64_t partial_merges;
    uint64_t full_merges;
    uint64_t map_hits;              /* units whose entry was cached */
    uint64_t map_misses;
    uint64_t map_evictions;         /* entries evicted for others */
    uint64_t map_page_reads;        /* translation units read */
    uint64_t map_page_programs;     /* pages of translation units */
    uint64_t map_written_units;     /* translation units in these pages */
    uint64_t map_ram_bytes; /* RAM of the modelled controller for the mapping */
    uint64_t missed_reads;          /* completed after their deadlines */
    uint64_t missed_writes;
    uint64_t missed_others;
    uint64_t unmeetable_deadlines;  /* shorter than a segment and an erase */
    /* commands dispatched, by slack (hios-1, hios-2) */
    uint64_t positive_activities;
    uint64_t neutral_activities;
    uint64_t negative_activities;
    uint64_t gc_segments;           /* pages moved in the slack of commands */
    uint64_t gc_redistributed_ns;   /* time of segments, and of their erases */
    uint64_t passed_to_next_round;  /* commands that waited for a collection */
    uint64_t aggregated_writes;     /* that joined another write's page */
    uint64_t power_cuts;            /* nand.power_cuts */
    uint64_t cut_cmds;              /* commands forgotten by power cuts */
    uint64_t torn_pages; /* pages unreadable after power cuts */
    uint64_t saved_units;           /* units saved by controller.plp_bytes */
    uint64_t recovery_ns;           /* until the drive was ready again */
    uint64_t recovery_page_reads;
    uint64_t recovery_page_programs;
    uint64_t backup_page_programs;  /* copies for ftl.paired_pages=backup */
    uint64_t pair_pad_pages; /* pages without data: ftl.paired_pages=pad */
    uint64_t checkpoints; /* complete checkpoints: ftl.checkpoint_pages */
} ScarpStats;

typedef struct {
    const char *name; /* as in JSON */
    const char *unit; /* "commands", "bytes", "units", "pages", "ns", … */
    const char *help;
} ScarpStatField;

/*
 * Statistics of an SLC cache (group slc of the description). scarp_stats_json()
 * has them, by these names, for drives with an SLC cache only.
 */
typedef struct {
    uint64_t slc_page_programs;    /* pages of the host, into the cache */
    uint64_t direct_page_programs; /* pages of the host, past it */
    uint64_t folded_units;         /* moved from the cache to the real cells */
    uint64_t slc_erases;           /* erases of blocks in SLC mode */
    uint64_t slc_blocks;           /* blocks in SLC mode with pages, now */
} ScarpSlcStats;
/*
 * Returns the counters of the drive's SLC cache. NULL: the drive has no SLC
 * cache.
 */
const ScarpSlcStats *scarp_slc_stats(const ScarpDrive *drive);

/*
 * Statistics of reclaim units of several planes. scarp_stats_json() has them, by
 * these names, for drives with ftl.reclaim_planes above 1 only.
 */
typedef struct {
    uint64_t closed_reclaim_units; /* closed by the host before they were full */
    uint64_t unwritten_pages;      /* of these units: empty until the erase */
} ScarpUnitStats;
/* Returns NULL on a drive without such units. */
const ScarpUnitStats *scarp_unit_stats(const ScarpDrive *drive);

/*
 * The drive's temperature (group heat of the description), and what it has done
 * since the drive was made. scarp_stats_reset() changes none of it.
 */
typedef struct {
    uint64_t millicelsius;
    uint64_t light_celsius, heavy_celsius; /* of the description; 0: none */
    /* how often throttling became light, and how often heavy */
    uint64_t light_transitions, heavy_transitions;
    uint64_t light_ms, heavy_ms; /* how long it was each of them */
    /* how long the drive was at least so warm */
    uint64_t above_light_ms, above_heavy_ms;
    uint64_t throttled_ns; /* sum of what flash commands took longer */
} ScarpHeat;
/*
 * Sets *heat to the state at at_ns, or at the drive's last flash command if
 * that was later. Changes nothing. False: the drive has no group heat.
 */
bool scarp_heat(const ScarpDrive *drive, int64_t at_ns, ScarpHeat *heat);

#define SCARP_STAT_COUNT (sizeof(ScarpStats) / sizeof(uint64_t))
const ScarpStatField *scarp_stat_field(unsigned index); /* < SCARP_STAT_COUNT */
/*
 * Returns the counters of the drive, which change while the drive runs. A copy
 * of the record does not change.
 */
const ScarpStats *scarp_stats(const ScarpDrive *drive);
/*
 * Return the bytes of all pages that were programmed, and the bytes of all
 * blocks that were erased, for any reason.
 */
uint64_t scarp_media_written_bytes(const ScarpDrive *drive);
uint64_t scarp_media_erased_bytes(const ScarpDrive *drive);
/*
 * Health. scarp_spare_percent() returns how many blocks may still go bad, in
 * percent of those that could go bad at first, in the plane with the lowest
 * percentage. scarp_used_percent() returns the mean erases of a block, in
 * percent of nand.endurance_erases, or 0 if that key is 0. Each call looks at
 * all planes or blocks, so call it rarely.
 */
uint32_t scarp_spare_percent(const ScarpDrive *drive);
uint32_t scarp_used_percent(const ScarpDrive *drive);
/*
 * Sets the statistics to zero. Commands in flight stay counted as accepted, but
 * their latencies and causes will not count. A collection or recovery under way
 * counts its time from now on.
 */
void scarp_stats_reset(ScarpDrive *drive);
/*
 * Latencies of reads (SCARP_OP_READ) and writes (SCARP_OP_WRITE) that were
 * submitted since the last reset, and the causes of the slowest commands.
 * Quantiles are by nearest rank, and rounded up within a bucket of at most
 * 1/128 of the latency.
 */
uint64_t scarp_latency_count(const ScarpDrive *drive, ScarpOp op);
/*
 * Returns the latency that `permillion` of a million commands do not exceed.
 * Returns 0 if there are no commands.
 */
uint64_t scarp_latency_ns(const ScarpDrive *drive, ScarpOp op,
                          uint32_t permillion);

typedef struct {
    uint64_t n;           /* commands: one or more, if there are any */
    uint64_t at_least_ns; /* their least latency, to within 1/128 */
    /*
     * Sums over these commands. The bucket (1/16 wide) in which the boundary
     * lies contributes only its share.
     */
    uint64_t cause_ns[SCARP_CAUSE__COUNT];
} ScarpTail;
void scarp_latency_tail(const ScarpDrive *drive, ScarpOp op,
                        uint32_t permillion, ScarpTail *tail);
/*
 * Sets cause_ns to the sums of such a tail, divided as scarp_cmd_causes()
 * does.
 */
void scarp_latency_tail_causes(const ScarpDrive *drive, ScarpOp op,
                               uint32_t permillion,
                               uint64_t cause_ns[SCARP_CAUSE__ALL]);
/*
 * Returns how many causes the drive's commands may have: SCARP_CAUSE__ALL with
 * an SLC cache or a temperature, otherwise SCARP_CAUSE__COUNT. Command logs
 * have so many.
 */
unsigned scarp_drive_causes(const ScarpDrive *drive);

/*
 * Quantiles of each latency in the log page and in JSON, in permillion, counted
 * from the fastest command.
 */
#define SCARP_LATENCY_POINTS { 500000, 900000, 950000, 990000, 999000, 999900 }
#define SCARP_LATENCY_POINT_COUNT 6
/*
 * Tails of each latency in the log page and in JSON, in permillion, counted
 * from the slowest command.
 */
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
 * count how often a drive has been in each of these states since it was made.
 * Other builds have no marks: scarp_mark_count() is 0.
 */
typedef struct {
    const char *name;
    const char *help;
} ScarpMarkField;

unsigned scarp_mark_count(void);
const ScarpMarkField *scarp_mark_field(unsigned index); /* below the count */
uint64_t scarp_mark_times(const ScarpDrive *drive, unsigned index);

/* ---- Observers -------------------------------------------------------- */

/*
 * A collection that has ended. begin_ns is the begin of its first flash
 * command, and end_ns the end of its last.
 */
typedef struct {
    int64_t begin_ns;
    int64_t end_ns;
    uint32_t die;   /* drive-wide index */
    uint32_t plane; /* drive-wide index */
    uint32_t victim_block; /* in the plane */
    uint32_t moved_units;
    ScarpOrigin origin; /* GC, or PREMIGRATE: pages moved ahead, no erase */
    ScarpMergeKind merge;
} ScarpGcRun;

typedef enum {
    SCARP_FLASH_READ,
    SCARP_FLASH_PROGRAM,
    SCARP_FLASH_ERASE,
    SCARP_FLASH_COPYBACK,
} ScarpFlashKind;

/*
 * The phases of a flash command, in their order, with what each phase occupies.
 */
typedef enum {
    SCARP_PHASE_IN,    /* the channel: command and address, data of a program */
    SCARP_PHASE_ARRAY, /* the plane's cells; a new phase after each suspend */
    SCARP_PHASE_OUT,   /* the channel: data of a read */
} ScarpFlashPhase;

/*
 * A phase of a flash command on one plane. Observers are told when the phase
 * has ended.
 */
typedef struct {
    int64_t begin_ns;
    /* IN, OUT: already known when the channel is granted */
    int64_t end_ns;
    /*
     * ScarpCmd.seq of the host's commands that the flash command serves. The
     * array is valid during the call.
     */
    const uint64_t *cmd_seqs;
    uint32_t n_cmds;   /* 0: the flash command serves no command of the host */
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

/*
 * Work of a collection or merge that is granted in the slack of a command of
 * the host (hios-1, hios-2).
 */
typedef struct {
    int64_t time_ns;
    uint64_t cmd_seq;  /* ScarpCmd.seq of the command with the slack */
    uint32_t plane;    /* drive-wide index */
    uint32_t segments; /* pages that are read and programmed */
    uint32_t erases;
} ScarpGcGrant;

/*
 * Callbacks, each of which may be NULL. They run in the thread of the call that
 * makes something happen. Their arguments are valid during the callback. A
 * callback may ask the drive, but must not change it.
 */
typedef struct {
    void (*cmd_done)(void *opaque, const ScarpCmd *cmd);
    void (*gc_done)(void *opaque, const ScarpGcRun *run);
    void (*flash_phase)(void *opaque, const ScarpFlashOp *op);
    void (*gc_granted)(void *opaque, const ScarpGcGrant *grant);
    void *opaque;
} ScarpObserver;

/*
 * Sets the observer, whose struct is copied. A second call replaces the first
 * observer.
 */
void scarp_set_observer(ScarpDrive *drive, const ScarpObserver *observer);
/*
 * Sets a callback for an observer that also asks the drive. scarp_power_cut()
 * and scarp_sanitize() call it with the drive that comes up, before that drive
 * is observed. NULL removes the callback.
 */
void scarp_on_power_cut(ScarpDrive *drive,
                        void (*came_up)(void *opaque, const ScarpDrive *drive),
                        void *opaque);

#endif /* SCARP_H */
