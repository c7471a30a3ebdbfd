/*
 * What the sources of hios-1 and hios-2 share: records of the commands that
 * wait, as many as the policy sees, and of those in the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_HIL_HIOS_H
#define SCARP_HIL_HIOS_H

#include "hil/ops.h"

/*
 * Dies of one command that are looked at; more pages than those of so many
 * dies are counted on the dies that there are.
 */
#define HIOS_PARTS 32

enum {
    HIOS_DEADLINE_US, HIOS_ACCUMULATE_US, HIOS_MARGIN_US, HIOS_SERIAL,
    HIOS_ERASE_LAST, HIOS_AGGREGATE
};

typedef struct {
    uint32_t die;
    uint32_t n; /* of its flash commands */
} HiosPart;

typedef struct {
    ScarpCmd *cmd;
    uint64_t dies;       /* a bit for each, modulo 64 */
    int64_t deadline_ns;
    int64_t own_ns;      /* link and flash, if nothing is in the way */
    int64_t link_ns;     /* of it */
    int64_t flash_ns;    /* of it, a flash command, at most */
    int64_t gc_ns;       /* what the rounds cost that were opened for it */
    uint32_t at;         /* where in flying */
    bool flying;         /* it is in the device */
    bool coming;         /* and its data is on its way */
    bool passed;         /* it has waited for a round */
    uint32_t n_parts;
    HiosPart part[HIOS_PARTS];
} HiosRecord;

typedef struct {
    int64_t coming_ns; /* programs whose data is on its way */
    /* Of hios_rooms(): */
    bool asked;
    uint32_t plane;    /* of its first round */
    int64_t begin_ns;  /* what it has to do now */
    int64_t before_ns; /* and for those before the one that is looked at */
    int64_t room_ns;
} HiosDie;

typedef struct {
    bool neutral;        /* hios-2 */
    int64_t read_ns, program_ns; /* a flash command, at most */
    int64_t neutral_ns;  /* less slack than this is little */
    uint32_t n_records;
    HiosRecord *record;
    /*
     * Numbers of records: the oldest commands of the host queue in its order,
     * those in the device, and what is free.
     */
    uint32_t *waiting, *flying, *spare;
    uint32_t n_waiting, n_flying, n_spare;
    HiosDie *die;        /* [n_dies] */
    uint32_t at_die[64]; /* commands in the device, by die modulo 64 */
    uint64_t busy;       /* a bit for each that has some */
    uint64_t accumulates_seq; /* the write that waits for others' slack */
    int64_t accumulates_until_ns;
    uint64_t held_seq;   /* the write that was held last, and since when */
    int64_t held_since_ns;
    uint32_t joins;      /* the record that goes with the last one, if any */
    uint32_t first_lpn, last_lpn; /* of those that go together */
    uint32_t n_ahead;    /* room for pages that are on their way to a plane */
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

/* The next page of a write after that of lpn, which begins at lpn. */
static inline uint32_t hios_next_page(const ScarpDrive *drive, uint32_t lpn)
{
    return (lpn | (drive->geo.units_per_page - 1)) + 1;
}

/* The last moment at which it can begin, if nothing is in the way. */
static inline int64_t hios_latest_ns(const HiosRecord *record)
{
    return record->deadline_ns - record->own_ns;
}

/* ---- records.c ----------------------------------------------------------- */

bool hios_init(ScarpDrive *drive, ScarpScheme *scheme, GError **error);
void hios_clear(ScarpDrive *drive, void *state);
/* Records of what came, or came within sight. */
void hios_see(ScarpDrive *drive, Hios *hios, const ScarpCmdQueue *waiting);
/* The i-th leaves the host queue for the device. */
ScarpCmd *hios_dispatch(ScarpDrive *drive, Hios *hios, ScarpCmdQueue *waiting,
                        uint32_t i);
void hios_data_in(ScarpDrive *drive, const ScarpCmd *cmd);
void hios_ended(ScarpDrive *drive, const ScarpCmd *cmd);

/* ---- detect.c ------------------------------------------------------------ */

typedef struct {
    int64_t gc_ns;   /* what the rounds cost that it could begin */
    bool successive; /* it needs one that has to wait */
    bool stuck;      /* and has no room before: it would wait in the device */
    int64_t look_ns; /* if stuck: look again so much later; 0: that is no use */
} HiosFound;

typedef enum {
    HIOS_LOOK, /* whether it needs something that has to wait */
    HIOS_COST, /* and what the rest costs */
    HIOS_OPEN, /* its rounds are opened, instead */
} HiosLook;

HiosFound hios_find(ScarpDrive *drive, Hios *hios, const HiosRecord *record,
                    HiosLook look);

/* ---- slack.c ------------------------------------------------------------- */

/* Equation 1, without collections that are still to begin. */
int64_t hios_slack_ns(const ScarpDrive *drive, const Hios *hios,
                      const HiosRecord *record);
/*
 * How long the dies of these rounds may do something else before the i-th
 * command begins, which has this slack, without making any command late that
 * waits or is in the device: room_ns of each die.  Where that is less than a
 * segment and an erase need, it is only an upper bound.  One pass over these
 * commands.
 */
void hios_rooms(const ScarpDrive *drive, Hios *hios, uint32_t i,
                int64_t slack_ns, const ScarpGcRound *open, uint32_t n);

/* ---- neutral.c ----------------------------------------------------------- */

/* Algorithm 3: which of the commands that wait is next. */
uint32_t hios_empty_channel_first(const ScarpDrive *drive, const Hios *hios);
/*
 * The i-th is about to be dispatched, joined or not: if a write can join its
 * page, it will.
 */
void hios_aggregate(ScarpDrive *drive, Hios *hios, uint32_t i, bool joined);
/* Which that is; it is the next to be dispatched. */
uint32_t hios_take_joined(Hios *hios);

#endif /* SCARP_HIL_HIOS_H */
