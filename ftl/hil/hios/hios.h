/*
 * The records that the source files of the policies hios-1 and hios-2 share.
 * Each waiting command that the policy sees, and each command in the device,
 * has a record.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_HIL_HIOS_H
#define SCARP_HIL_HIOS_H

#include "hil/ops.h"

/*
 * A command's record has at most this many dies. Pages on further dies count as
 * pages on the dies of the record.
 */
#define HIOS_PARTS 32

enum {
    HIOS_DEADLINE_US, HIOS_ACCUMULATE_US, HIOS_MARGIN_US, HIOS_SERIAL,
    HIOS_ERASE_LAST, HIOS_AGGREGATE
};

typedef struct {
    uint32_t die;
    uint32_t n; /* flash commands of the command at the die */
    /* Neighbours in the die's list HiosDie.flying, or SCARP_NONE. */
    uint32_t before, after;
} HiosPart;

typedef struct {
    ScarpCmd *cmd;
    uint64_t dies;       /* a bit for each die, modulo 64 */
    int64_t deadline_ns;
    int64_t own_ns;      /* time on link and flash if the command runs alone */
    int64_t link_ns;     /* the link's part of own_ns */
    int64_t flash_ns;    /* a flash command's part of own_ns, at most */
    int64_t gc_ns;       /* time of the rounds opened for the command */
    uint32_t at;         /* index in Hios.flying */
    bool flying;         /* the command is in the device */
    bool coming;         /* a write's data is on its way to the device */
    bool passed; /* passed over: the command needs a round that must wait */
    uint32_t n_parts;
    HiosPart part[HIOS_PARTS];
} HiosRecord;

typedef struct {
    int64_t coming_ns; /* time of the programs whose data is on its way */
    /*
     * Head of the list of parts at the die that belong to commands in the
     * device, or SCARP_NONE. The number of a part is the index of its record ×
     * HIOS_PARTS + the index in its record.
     */
    uint32_t flying;
    /*
     * hios_rooms() computes the members below. policy.c grants work of GC as
     * far as it fits into room_ns. `asked` is true while hios_rooms() computes
     * room_ns of this die.
     */
    bool asked;
    uint32_t plane;    /* the plane of the die's first round */
    int64_t begin_ns;  /* time of all work that the die has now */
    int64_t before_ns; /* begin_ns, plus work of the queued commands seen */
    int64_t room_ns;   /* time for GC at the die: see hios_rooms() */
} HiosDie;

typedef struct {
    bool neutral;        /* true for hios-2, false for hios-1 */
    int64_t read_ns, program_ns; /* the longest times of a flash command */
    int64_t neutral_ns;  /* a slack below this counts as neutral */
    uint32_t n_records;
    HiosRecord *record;
    /*
     * Indices of records: `waiting` for the oldest commands of the host queue,
     * in its order; `flying` for commands in the device; `spare` for unused
     * records.
     */
    uint32_t *waiting, *flying, *spare;
    uint32_t n_waiting, n_flying, n_spare;
    HiosDie *die;        /* [n_dies] */
    uint32_t at_die[64]; /* commands in the device, by their dies modulo 64 */
    uint64_t busy;       /* a bit for each element of at_die[] that is not 0 */
    /* seq of the write that waits until enough slack has accumulated */
    uint64_t accumulates_seq;
    int64_t accumulates_until_ns;
    uint64_t parked_seq;   /* seq of the write that parks() held back last */
    int64_t parked_since_ns;
    uint32_t joins;      /* record of the next write to join, or SCARP_NONE */
    uint32_t first_lpn, last_lpn; /* units that one program carries */
    uint32_t n_ahead;    /* places in ahead[] */
    uint32_t *ahead;
} Hios;

static inline Hios *hios_of(const ScarpDrive *drive)
{
    return drive->scheme.state[AXIS_HIL];
}

static inline HiosRecord *hios_waiting(const Hios *hios, uint32_t i)
{
    return &hios->record[hios->waiting[i]];
}

static inline bool hios_is_write(const HiosRecord *record)
{
    return record->cmd->op == SCARP_OP_WRITE;
}

static inline bool hios_is_set(const ScarpDrive *drive, int param)
{
    return drive->scheme.param[AXIS_HIL][param];
}

static inline uint16_t hios_stream(const ScarpDrive *drive,
                                   const ScarpCmd *cmd)
{
    return cmd->stream < drive->desc.streams ? cmd->stream : 0;
}

static inline uint32_t hios_first_lpn(const ScarpDrive *drive,
                                      const ScarpCmd *cmd)
{
    return scarp_bytes_lpn(drive, cmd->offset_bytes);
}

static inline uint32_t hios_last_lpn(const ScarpDrive *drive,
                                     const ScarpCmd *cmd)
{
    return scarp_bytes_lpn(drive, cmd->offset_bytes + cmd->length_bytes - 1);
}

/*
 * Returns the first LPN of the page behind lpn's page. A write that crosses the
 * pages goes on there.
 */
static inline uint32_t hios_next_page(const ScarpDrive *drive, uint32_t lpn)
{
    return (lpn | (drive->geo.units_per_page - 1)) + 1;
}

/*
 * Returns the latest time at which the command can begin and still meet its
 * deadline, if it runs alone.
 */
static inline int64_t hios_latest_ns(const HiosRecord *record)
{
    return record->deadline_ns - record->own_ns;
}

static inline HiosPart *hios_part(const Hios *hios, uint32_t number)
{
    return &hios->record[number / HIOS_PARTS].part[number % HIOS_PARTS];
}

/* ---- records.c ----------------------------------------------------------- */

bool hios_init(ScarpDrive *drive, ScarpScheme *scheme, GError **error);
void hios_clear(ScarpDrive *drive, void *state);
/* Makes records of the waiting commands that the policy sees from now on. */
void hios_see(ScarpDrive *drive, Hios *hios, const ScarpCmdQueue *waiting);
/*
 * Moves the i-th waiting command from the host queue to the device, and returns
 * it.
 */
ScarpCmd *hios_dispatch(ScarpDrive *drive, Hios *hios, ScarpCmdQueue *waiting,
                        uint32_t i);
void hios_data_in(ScarpDrive *drive, const ScarpCmd *cmd);
void hios_ended(ScarpDrive *drive, const ScarpCmd *cmd);

/* ---- detect.c ------------------------------------------------------------ */

typedef struct {
    int64_t gc_ns;   /* time of the needed rounds that can begin now */
    bool successive; /* the write needs a round that waits for another round */
    bool stuck;      /* without that round the write has no room */
    int64_t retry_ns; /* if `stuck`: retry after this time; 0: never */
} HiosFound;

typedef enum {
    HIOS_FIND_WAITS, /* only find out whether a needed round has to wait */
    HIOS_FIND_COST,  /* also add up the time of the other needed rounds */
    HIOS_FIND_OPEN,  /* open the needed rounds */
} HiosFind;

HiosFound hios_find(ScarpDrive *drive, Hios *hios, const HiosRecord *record,
                    HiosFind what);

/* ---- slack.c ------------------------------------------------------------- */

/*
 * Returns the command's slack by equation 1. The time of collections that have
 * not begun is not subtracted.
 */
int64_t hios_slack_ns(const ScarpDrive *drive, const Hios *hios,
                      const HiosRecord *record);
/*
 * For the die of each round in open[], computes room_ns: how long the die may
 * do GC work before the i-th waiting command, so that no command that waits or
 * is in the device misses its deadline. slack_ns is the slack of the i-th
 * command. If the i-th command alone leaves a die room for neither a segment
 * nor an erase, the function considers no other command there, and room_ns is
 * only an upper bound. The function looks at each command once.
 */
void hios_rooms(const ScarpDrive *drive, Hios *hios, uint32_t i,
                int64_t slack_ns, const ScarpGcRound *open, uint32_t n);

/* ---- neutral.c ----------------------------------------------------------- */

/*
 * Algorithm 3 of the paper: returns the index of the waiting command that goes
 * next.
 */
uint32_t hios_empty_channel_first(const ScarpDrive *drive, const Hios *hios);
/*
 * Called when the i-th command is about to be dispatched: chooses a waiting
 * write to be programmed in the same page, if there is one. `joined`: the i-th
 * command was itself chosen to join the write before it.
 */
void hios_aggregate(ScarpDrive *drive, Hios *hios, uint32_t i, bool joined);
/*
 * Returns the index of the waiting write that hios_aggregate() chose to join
 * the page of the write dispatched last. The caller must dispatch it next.
 */
uint32_t hios_take_joined(Hios *hios);

#endif /* SCARP_HIL_HIOS_H */
