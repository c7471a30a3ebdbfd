/*
 * Policies: what a scheme may choose, one table of functions per axis.
 *
 * A policy is one file with one table, named in drive/scheme.c's list. Its
 * state (state_size bytes, zeroed) and its parameters belong to the drive: two
 * drives in one process share nothing.
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
 * Needs of a policy, bits of ScarpPolicy.needs: drive/scheme.c refuses a scheme
 * whose needs the drive, or its choices on the other axes, do not meet, and
 * names the unmet one.
 */
typedef enum {
    NEEDS_PLANES = 1 << 0,   /* dies of two or more planes */
    NEEDS_CHANNELS = 1 << 1, /* two or more channels */
    NEEDS_ORDER = 1 << 2,    /* an order of resources in ftl.allocation */
    NEEDS_TIME = 1 << 3,     /* collections that take time */
    NEEDS_JOINED = 1 << 4,   /* merging of host commands with GC's */
    NEEDS_PARITY = 1 << 5,   /* a drive with ftl.parity_width */
    NEEDS_NO_PARITY = 1 << 6, /* units change their dies */
    /*
     * A unit may lie in any page of its plane; each victim policy but the
     * default needs this without saying so.
     */
    NEEDS_ANY_PAGE = 1 << 7,
    NEEDS_EARLY = 1 << 8,     /* a write's planes are known as it arrives */
} ScarpNeeds;

typedef struct ScarpPolicy ScarpPolicy;

struct ScarpPolicy {
    ScarpAxis axis;
    uint32_t needs; /* ScarpNeeds */
    /* The policy that this one forces on another axis, or NULL. */
    const ScarpPolicy *brings;
    const char *name;
    const char *help;
    const char *source; /* paper, section, algorithm */
    const ScarpParam *params;
    unsigned n_params;
    size_t state_size;
    /*
     * init finds its state (scheme->state[axis]) zeroed and its parameters set;
     * the drive still has its old scheme. clear frees what the state owns. Each
     * may be NULL.
     */
    bool (*init)(ScarpDrive *drive, ScarpScheme *scheme, GError **error);
    void (*clear)(ScarpDrive *drive, void *state);
    /*
     * Visits (core/visit.h) the state's members while the drive is at rest, so
     * that a drive which starts from an image, with the same policy and
     * parameters, goes on as the saved one would. NULL: the state starts
     * afresh.
     */
    void (*persist)(ScarpDrive *drive, void *state, ScarpVisit *visit);
    /*
     * Called at the time that the policy set by scarp_timer_set(). May be NULL.
     */
    void (*timer)(ScarpDrive *drive);
};

/*
 * A bound on starvation: how often younger commands may pass one that waits.
 * Counting begins at since_ns; SCARP_TIME_NEVER: there is no bound. If n older
 * commands wait then, at most (n + 2) * most younger ones go first: most for
 * each of the n, for the command itself, and for the command already begun.
 */
typedef struct {
    int64_t since_ns;
    uint32_t most;
} ScarpHilBound;

typedef struct {
    ScarpPolicy policy;
    /*
     * The bound that checked builds enforce on how often commands like younger
     * may pass cmd. A flush that passes others is not counted. NULL: the policy
     * promises none.
     */
    ScarpHilBound (*bound)(const ScarpDrive *drive, const ScarpCmd *cmd,
                           const ScarpCmd *younger);
    /* Called when a command has come into the host queue. May be NULL. */
    void (*arrived)(ScarpDrive *drive, const ScarpCmd *cmd);
    /*
     * Called when a device slot is free. Removes a command from waiting
     * (scarp_cmd_take()), which has at least one and is sorted oldest first,
     * and returns it; or returns NULL to leave the slot free, and is called
     * again when a command arrives or ends, and after its timer. The policy may
     * read op, address, deadline, stream and arrival of a command;
     * scarp_gc_cost_ns() tells what a plane's next collection would cost. It
     * looks at the oldest controller.queue commands at most. A write that it
     * marks as joined shares slot and page with the one that it picks next.
     */
    ScarpCmd *(*pick)(ScarpDrive *drive, ScarpCmdQueue *waiting);
    /*
     * Called when the data of a write that was picked is in the device. May be
     * NULL.
     */
    void (*data_in)(ScarpDrive *drive, const ScarpCmd *cmd);
    /* Called when a command that was picked has completed. May be NULL. */
    void (*ended)(ScarpDrive *drive, const ScarpCmd *cmd);
} ScarpHilOps;

typedef struct {
    ScarpPolicy policy;
    /*
     * Returns the plane for a page of host data. early: the answer depends on
     * lpn alone, and is asked for each unit as it arrives. Otherwise the plane
     * is asked for when a page is ready to go, with lpn = SCARP_NONE.
     */
    bool early;
    uint32_t (*plane)(ScarpDrive *drive, uint32_t lpn, uint16_t stream);
} ScarpAllocOps;

typedef struct {
    ScarpPolicy policy;
    /*
     * Returns a full block of the plane that is worth collecting, or
     * SCARP_NONE.
     */
    uint32_t (*choose)(ScarpDrive *drive, uint32_t plane);
} ScarpVictimOps;

/*
 * A pacing's answer: whose command goes next at a die. flow takes TURN_HOST for
 * TURN_GC while a waiter that depends on a collection is owed the turn
 * (flow/pick.c).
 */
typedef enum {
    TURN_HOST, /* the host's; GC's if none of the host's can run */
    TURN_GC,   /* GC's; the host's if none of GC's can run */
    TURN_HELD, /* GC's; none of the host's until the die's collections end */
} ScarpTurn;

typedef struct {
    ScarpPolicy policy;
    bool instant; /* collections take no time */
    /*
     * Called before the die chooses its next command: starts collections that
     * are due. A collection that makes a page for a waiting program must run to
     * its end without waiting for a grant.
     */
    void (*check)(ScarpDrive *drive, uint32_t die);
    /*
     * Called while a collection runs at the die, or has commands there: returns
     * whose command goes next. Must not return TURN_HOST if a program has no
     * page in a plane of the die until the collection has gone on: reads, and
     * programs of other planes, could pass that program for ever.
     * scarp_gc_is_urgent(), with a floor of 1 or more, is true of such a plane.
     */
    ScarpTurn (*turn)(ScarpDrive *drive, uint32_t die);
    /* A collection has been chosen. May be NULL, as all below may. */
    void (*gc_start)(ScarpDrive *drive, ScarpGcJob *gc);
    /* A host command of the die has ended. */
    void (*host_done)(ScarpDrive *drive, uint32_t die,
                      const ScarpFlashCmd *cmd);
    void (*gc_done)(ScarpDrive *drive, ScarpGcJob *gc);
    /* Tells whether the die may collect ahead of time, now. */
    bool (*may_collect)(const ScarpDrive *drive, uint32_t die);
} ScarpPacingOps;

typedef struct {
    ScarpPolicy policy;
    bool joins_gc; /* a host command may run with one of GC's */
    /*
     * Tells whether mate may run together with lead. The caller has checked
     * that mate is of another plane of the die, and of the same page offset and
     * kind.
     */
    bool (*may)(const ScarpDrive *drive, const ScarpFlashCmd *lead,
                const ScarpFlashCmd *mate);
    /*
     * Tells whether lead, a program about to start, goes to its plane's aligned
     * block, as a mate will. May be NULL: there is no aligned block.
     */
    bool (*aligned)(const ScarpDrive *drive, const ScarpFlashCmd *lead);
} ScarpMultiplaneOps;

typedef struct {
    ScarpPolicy policy;
    /* The number of a victim's pages that are on their way at once. */
    uint32_t window;
    bool copyback; /* a page that is wholly valid crosses no channel */
    /*
     * Returns the plane for a relocated unit. NULL: the unit stays in its
     * plane.
     */
    uint32_t (*plane)(ScarpDrive *drive, const ScarpGcJob *gc, uint32_t lpn);
    void (*host_write)(ScarpDrive *drive, uint32_t lpn); /* may be NULL */
    void (*gc_start)(ScarpDrive *drive, ScarpGcJob *gc);    /* may be NULL */
    /* may be NULL */
    void (*flash_done)(ScarpDrive *drive, const ScarpFlashCmd *cmd);
} ScarpPlaceOps;

typedef struct {
    ScarpPolicy policy;
    /* Called when the die has nothing to do and collects nothing. */
    void (*idle)(ScarpDrive *drive, uint32_t die);
    void (*host_cmd)(ScarpDrive *drive, const ScarpCmd *cmd); /* may be NULL */
} ScarpAheadOps;

typedef struct {
    ScarpPolicy policy;
    /*
     * Called when a read of the host, of one unit, is about to wait for its
     * die: true when the read is served otherwise. May be NULL, as gc_start
     * may.
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
    uint32_t given[AXIS__COUNT];  /* bits of those that the user gave */
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

/* Functions of drive/scheme.c. */
bool scarp_scheme_init(ScarpScheme *scheme, ScarpDrive *drive,
                       const char *name, const char *params, GError **error);
void scarp_scheme_clear(ScarpScheme *scheme, ScarpDrive *drive);

/* Writes the choice on each axis to policy[AXIS__COUNT]. */
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
