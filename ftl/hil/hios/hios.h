/*
 * Records that the sources of hios-1 and hios-2 share: of the commands that
 * wait, as many as the policy sees, and of those in the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_HIL_HIOS_H
#define SCARP_HIL_HIOS_H

#include "hil/ops.h"

/*
 * Dies of one command that are recorded; further pages are counted on these
 * dies.
 */
#define HIOS_PARTS 32

enum {
    HIOS_DEADLINE_US, HIOS_ACCUMULATE_US, HIOS_MARGIN_US, HIOS_SERIAL,
    HIOS_ERASE_LAST, HIOS_AGGREGATE
};

typedef struct {
    uint32_t die;
    uint32_t n; /* flash commands there */
} HiosPart;

typedef struct {
    ScarpCmd *cmd;
    uint64_t dies;       /* a bit for each die, modulo 64 */
    int64_t deadline_ns;
    int64_t own_ns;      /* link and flash, if nothing is in the way */
    int64_t link_ns;     /* the link's part of own_ns */
    int64_t flash_ns;    /* a flash command's part of own_ns, at most */
    int64_t gc_ns;       /* cost of the rounds opened for it */
    uint32_t at;         /* index in flying */
    bool flying;         /* it is in the device */
    bool coming;         /* its data is on its way to the device */
    bool passed;         /* it has been passed over for a round */
    uint32_t n_parts;
    HiosPart part[HIOS_PARTS];
} HiosRecord;

typedef struct {
    int64_t coming_ns; /* programs whose data is on its way */
    /* Answers of hios_rooms(). */
    bool asked;
    uint32_t plane;    /* plane of its first round */
    int64_t begin_ns;  /* time of what the die has to do now */
    int64_t before_ns; /* and of commands before the one looked at */
    int64_t room_ns;
} HiosDie;

typedef struct {
    bool neutral;        /* hios-2 */
    int64_t read_ns, program_ns; /* of a flash command, at most */
    int64_t neutral_ns;  /* slack below this is little */
    uint32_t n_records;
    HiosRecord *record;
    /*
     * Indices of records: the oldest commands of the host queue in its order,
     * commands in the device, and unused records.
     */
    uint32_t *waiting, *flying, *spare;
    uint32_t n_waiting, n_flying, n_spare;
    HiosDie *die;        /* [n_dies] */
    uint32_t at_die[64]; /* commands in the device, by die modulo 64 */
    uint64_t busy;       /* a bit for each die that has some */
    uint64_t accumulates_seq; /* the write that waits for others' slack */
    int64_t accumulates_until_ns;
    uint64_t parked_seq;   /* the write that was parked last */
    int64_t parked_since_ns;
    uint32_t joins;      /* the record that joins the last, or SCARP_NONE */
    uint32_t first_lpn, last_lpn; /* units that are programmed together */
    uint32_t n_ahead;    /* room for pages on their way to a plane */
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

/* Returns the first unit of the page behind lpn's, where the write goes on. */
static inline uint32_t hios_next_page(const ScarpDrive *drive, uint32_t lpn)
{
    return (lpn | (drive->geo.units_per_page - 1)) + 1;
}

/*
 * The latest time at which the command can begin and end in time, if nothing is
 * in the way.
 */
static inline int64_t hios_latest_ns(const HiosRecord *record)
{
    return record->deadline_ns - record->own_ns;
}

/* ---- records.c ----------------------------------------------------------- */

bool hios_init(ScarpDrive *drive, ScarpScheme *scheme, GError **error);
void hios_clear(ScarpDrive *drive, void *state);
/* Makes records of commands that have come within sight. */
void hios_see(ScarpDrive *drive, Hios *hios, const ScarpCmdQueue *waiting);
/* Moves the i-th command from the host queue to the device. */
ScarpCmd *hios_dispatch(ScarpDrive *drive, Hios *hios, ScarpCmdQueue *waiting,
                        uint32_t i);
void hios_data_in(ScarpDrive *drive, const ScarpCmd *cmd);
void hios_ended(ScarpDrive *drive, const ScarpCmd *cmd);

/* ---- detect.c ------------------------------------------------------------ */

typedef struct {
    int64_t gc_ns;   /* cost of the rounds that it could begin */
    bool successive; /* it needs a round that has to wait */
    bool stuck;      /* without that round it has no room */
    int64_t retry_ns; /* if stuck: retry after this; 0: never */
} HiosFound;

typedef enum {
    HIOS_FIND_WAITS, /* finds whether a needed round has to wait */
    HIOS_FIND_COST,  /* and adds the cost of the other rounds */
    HIOS_FIND_OPEN,  /* opens the needed rounds */
} HiosFind;

HiosFound hios_find(ScarpDrive *drive, Hios *hios, const HiosRecord *record,
                    HiosFind what);

/* ---- slack.c ------------------------------------------------------------- */

/* Slack by equation 1, without collections that are still to begin. */
int64_t hios_slack_ns(const ScarpDrive *drive, const Hios *hios,
                      const HiosRecord *record);
/*
 * Computes room_ns of each die of these rounds: how long it may do something
 * else before the i-th command, which has slack_ns, without making late any
 * command that waits or is in the device. A room_ns below a segment and an
 * erase is only an upper bound. One pass over these commands.
 */
void hios_rooms(const ScarpDrive *drive, Hios *hios, uint32_t i,
                int64_t slack_ns, const ScarpGcRound *open, uint32_t n);

/* ---- neutral.c ----------------------------------------------------------- */

/* Algorithm 3: returns the index of the next waiting command. */
uint32_t hios_empty_channel_first(const ScarpDrive *drive, const Hios *hios);
/*
 * The i-th command is about to be dispatched, joined or not: chooses a write to
 * join its page, if there is one.
 */
void hios_aggregate(ScarpDrive *drive, Hios *hios, uint32_t i, bool joined);
/* Returns the index of the write that joins, which must be dispatched next. */
uint32_t hios_take_joined(Hios *hios);

#endif /* SCARP_HIL_HIOS_H */
