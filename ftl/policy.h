/*
 * Policies: what a scheme may choose, one table of functions per axis.
 *
 * A policy is one file with one table, named in drive/scheme.c's list.  Its state
 * (state_size bytes, zeroed) and its parameters belong to the drive; it keeps
 * nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_POLICY_H
#define SCARP_POLICY_H

#include "forward.h"
#include "scarp.h"

typedef struct ScarpScheme ScarpScheme;
typedef struct ScarpVisit ScarpVisit;

typedef enum {
    AXIS_HIL,        /* host queue */
    AXIS_ALLOCATION, /* where host data goes */
    AXIS_VICTIM,
    AXIS_PACING,     /* when collections start, and whose turn it is */
    AXIS_MULTIPLANE, /* which commands share a multi-plane command */
    AXIS_PLACEMENT,  /* where relocated units go */
    AXIS_AHEAD,      /* work before a collection is due */
    AXIS_REDUNDANCY, /* what parity is used for */
    AXIS__COUNT
} ScarpAxis;

typedef struct {
    const char *name;
    const char *unit;
    const char *help;
    uint64_t min, max, fallback;
} ScarpParam;

/*
 * What a policy cannot do without, bits of ScarpPolicy.needs: drive/scheme.c
 * refuses a choice whose needs the drive, or the choices on the other axes, do
 * not meet, and says why.
 */
typedef enum {
    NEEDS_PLANES = 1 << 0,   /* dies of two or more planes */
    NEEDS_CHANNELS = 1 << 1, /* two or more channels */
    NEEDS_ORDER = 1 << 2,    /* an order of resources in ftl.allocation */
    NEEDS_TIME = 1 << 3,     /* collections that take time */
    NEEDS_JOINED = 1 << 4,   /* merging of host commands with GC's */
    NEEDS_PARITY = 1 << 5,   /* a drive with ftl.parity_width */
    NEEDS_NO_PARITY = 1 << 6, /* and one without: pages change their dies */
    NEEDS_ANY_PAGE = 1 << 7,  /* a unit may lie in any page of its plane */
    NEEDS_EARLY = 1 << 8,     /* a write's planes are known as it arrives */
} ScarpNeeds;

typedef struct ScarpPolicy ScarpPolicy;

struct ScarpPolicy {
    ScarpAxis axis;
    uint32_t needs; /* ScarpNeeds */
    /* A choice of another axis that comes with it, or NULL. */
    const ScarpPolicy *brings;
    const char *name;
    const char *help;
    const char *source; /* paper, section, algorithm */
    const ScarpParam *params;
    unsigned n_params;
    size_t state_size;
    /*
     * Both may be NULL.  init sees its state (scheme->state[axis]) zeroed and
     * its parameters set; the scheme is not yet the drive's.
     */
    bool (*init)(ScarpDrive *drive, ScarpScheme *scheme, GError **error);
    void (*clear)(ScarpDrive *drive, void *state);
    /*
     * Visits (core/visit.h) what the state holds while the drive is at rest,
     * so that a drive that starts from an image, with the same policy and
     * parameters, goes on as the saved one would.  NULL: it starts afresh.
     */
    void (*persist)(ScarpDrive *drive, void *state, ScarpVisit *visit);
    /* The time that it set for its axis by scarp_timer_set().  May be NULL. */
    void (*timer)(ScarpDrive *drive);
};

/*
 * How often a command that waits may be passed over by younger ones.  It counts
 * from since_ns on; SCARP_TIME_NEVER: never.  If n older commands wait then, at
 * most (n + 2) * most younger ones go first: most for each of the n, for the
 * command itself, and for what has begun already.
 */
typedef struct {
    int64_t since_ns;
    uint32_t most;
} ScarpHilBound;

typedef struct {
    ScarpPolicy policy;
    /*
     * A law, which checked builds count: what bounds cmd against commands like
     * younger.  A flush that passes others is not counted.  NULL: no bound.
     */
    ScarpHilBound (*bound)(const ScarpDrive *drive, const ScarpCmd *cmd,
                           const ScarpCmd *younger);
    /* A command has come into the host queue.  May be NULL. */
    void (*arrived)(ScarpDrive *drive, const ScarpCmd *cmd);
    /*
     * A device slot is free: removes one of waiting, which has at least one,
     * oldest first (scarp_cmd_take()), or returns NULL and declines: it is
     * asked again when a command arrives or ends, and after its timer.  Op,
     * address, deadline, stream and arrival are the command's;
     * scarp_gc_cost_ns() says what a plane's next collection would cost.  It
     * looks at the oldest controller.queue of waiting at most.  A write that it
     * marks as joined shares slot and page with the one that it picks next.
     */
    ScarpCmd *(*pick)(ScarpDrive *drive, ScarpCmdQueue *waiting);
    /* The data of a write that was picked is in the device.  May be NULL. */
    void (*data_in)(ScarpDrive *drive, const ScarpCmd *cmd);
    /* A command that was picked has completed.  May be NULL. */
    void (*ended)(ScarpDrive *drive, const ScarpCmd *cmd);
} ScarpHilOps;

typedef struct {
    ScarpPolicy policy;
    /*
     * The plane of a page of host data.  early: asked with each unit's LPN as
     * it arrives, and the answer depends on it alone; else asked when a page
     * is ready to go, with SCARP_NONE.
     */
    bool early;
    uint32_t (*plane)(ScarpDrive *drive, uint32_t lpn, uint16_t stream);
} ScarpAllocOps;

typedef struct {
    ScarpPolicy policy;
    /* A full block of the plane that is worth collecting, or SCARP_NONE. */
    uint32_t (*choose)(ScarpDrive *drive, uint32_t plane);
} ScarpVictimOps;

typedef enum {
    TURN_HOST, /* GC only when no host command can run */
    TURN_GC,   /* the host only when no GC command can run */
    TURN_HELD, /* the host waits until the collections of this die end */
} ScarpTurn;

typedef struct {
    ScarpPolicy policy;
    bool instant; /* its collections take no time */
    /* The die is about to choose: start what is due. */
    void (*check)(ScarpDrive *drive, uint32_t die);
    /* Asked while a collection of this die runs. */
    ScarpTurn (*turn)(ScarpDrive *drive, uint32_t die);
    /* The rest may be NULL: a collection has been chosen. */
    void (*gc_start)(ScarpDrive *drive, ScarpGcJob *gc);
    /* A host command of the die has ended. */
    void (*host_done)(ScarpDrive *drive, uint32_t die,
                      const ScarpFlashCmd *cmd);
    void (*gc_done)(ScarpDrive *drive, ScarpGcJob *gc);
    /* Whether the die may collect ahead of time, now. */
    bool (*may_collect)(const ScarpDrive *drive, uint32_t die);
} ScarpPacingOps;

typedef struct {
    ScarpPolicy policy;
    bool joins_gc; /* a host command and one of GC's may run together */
    /*
     * May mate, of another plane of the die and with the same page offset and
     * kind, run together with lead?
     */
    bool (*may)(const ScarpDrive *drive, const ScarpFlashCmd *lead,
                const ScarpFlashCmd *mate);
    /*
     * May be NULL: whether lead, a program that is about to start, goes to its
     * plane's aligned block, as a mate will.
     */
    bool (*aligned)(const ScarpDrive *drive, const ScarpFlashCmd *lead);
} ScarpMultiplaneOps;

typedef struct {
    ScarpPolicy policy;
    /* Pages of a victim on their way at once. */
    uint32_t window;
    bool copyback; /* a page whose units are all valid crosses no channel */
    /* The plane that a relocated unit goes to; NULL: stays in its plane. */
    uint32_t (*plane)(ScarpDrive *drive, const ScarpGcJob *gc, uint32_t lpn);
    void (*host_write)(ScarpDrive *drive, uint32_t lpn); /* may be NULL */
    void (*gc_start)(ScarpDrive *drive, ScarpGcJob *gc);    /* may be NULL */
    void (*flash_done)(ScarpDrive *drive, const ScarpFlashCmd *cmd); /* ditto */
} ScarpPlaceOps;

typedef struct {
    ScarpPolicy policy;
    /* The die has nothing to do and collects nothing. */
    void (*idle)(ScarpDrive *drive, uint32_t die);
    void (*host_cmd)(ScarpDrive *drive, const ScarpCmd *cmd); /* may be NULL */
} ScarpAheadOps;

typedef struct {
    ScarpPolicy policy;
    /*
     * Both may be NULL.  A read of the host, of one unit, is about to wait for
     * its die: true when it is served otherwise.
     */
    bool (*serve)(ScarpDrive *drive, ScarpFlashCmd *cmd);
    void (*gc_start)(ScarpDrive *drive, ScarpGcJob *gc); /* gc was chosen */
} ScarpRedundancyOps;

struct ScarpScheme {
    char *name; /* as asked for */
    const ScarpHilOps *hil;
    const ScarpAllocOps *alloc;
    const ScarpVictimOps *victim;
    const ScarpPacingOps *pacing;
    const ScarpMultiplaneOps *multiplane;
    const ScarpPlaceOps *place;
    const ScarpAheadOps *ahead;
    const ScarpRedundancyOps *redundancy;
    void *state[AXIS__COUNT];
    uint64_t *param[AXIS__COUNT]; /* in the order of policy.params */
};

extern const ScarpHilOps scarp_hil_noop, scarp_hil_deadline,
    scarp_hil_anticipatory, scarp_hil_flash_aware, scarp_hil_hios_1,
    scarp_hil_hios_2;
extern const ScarpAllocOps scarp_alloc_static, scarp_alloc_dynamic,
    scarp_alloc_striped;
extern const ScarpVictimOps scarp_victim_greedy, scarp_victim_fifo,
    scarp_victim_random, scarp_victim_d_choices, scarp_victim_cost_benefit,
    scarp_victim_read_match;
extern const ScarpPacingOps scarp_pacing_blocking, scarp_pacing_ideal,
    scarp_pacing_preemptive, scarp_pacing_gftl, scarp_pacing_pagc,
    scarp_pacing_rotating, scarp_pacing_redistributed;
extern const ScarpMultiplaneOps scarp_multiplane_none, scarp_multiplane_host,
    scarp_multiplane_gc_par;
extern const ScarpPlaceOps scarp_place_in_plane, scarp_place_copyback,
    scarp_place_global, scarp_place_gc_z, scarp_place_paragc;
extern const ScarpAheadOps scarp_ahead_none, scarp_ahead_background,
    scarp_ahead_pregc;
extern const ScarpRedundancyOps scarp_redundancy_direct,
    scarp_redundancy_reconstruct;

/* drive/scheme.c */
bool scarp_scheme_init(ScarpScheme *scheme, ScarpDrive *drive,
                       const char *name, const char *params, GError **error);
void scarp_scheme_clear(ScarpScheme *scheme, ScarpDrive *drive);

/* policy[AXIS__COUNT]: the choice on each axis */
static inline void scarp_scheme_policies(const ScarpScheme *scheme,
                                         const ScarpPolicy **policy)
{
    policy[AXIS_HIL] = &scheme->hil->policy;
    policy[AXIS_ALLOCATION] = &scheme->alloc->policy;
    policy[AXIS_VICTIM] = &scheme->victim->policy;
    policy[AXIS_PACING] = &scheme->pacing->policy;
    policy[AXIS_MULTIPLANE] = &scheme->multiplane->policy;
    policy[AXIS_PLACEMENT] = &scheme->place->policy;
    policy[AXIS_AHEAD] = &scheme->ahead->policy;
    policy[AXIS_REDUNDANCY] = &scheme->redundancy->policy;
}

#endif /* SCARP_POLICY_H */
