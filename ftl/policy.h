/*
 * Policies: what a scheme may choose, one table of functions for each axis.
 *
 * A policy is one table in a file of ftl/. policies.h declares the table, and
 * the list of drive/scheme.c names it. The policy's state (state_size bytes,
 * zeroed) and its parameters belong to the drive: two drives in one process
 * share nothing.
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
    AXIS_HIL,        /* the next command of the host queue */
    AXIS_ALLOCATION, /* the plane for data of the host */
    AXIS_VICTIM,
    AXIS_PACING,     /* when collections start, and whose turn it is */
    AXIS_MULTIPLANE, /* which commands share a multi-plane command */
    AXIS_PLACEMENT,  /* the plane for relocated units */
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
 * Needs of a policy, as bits of ScarpPolicy.needs. drive/scheme.c refuses a
 * scheme if the drive, or the scheme's choices on the other axes, do not meet a
 * need, and names that need.
 */
typedef enum {
    NEEDS_PLANES = 1 << 0,   /* dies of two or more planes */
    NEEDS_CHANNELS = 1 << 1, /* two or more channels */
    NEEDS_ORDER = 1 << 2,    /* an order of resources in ftl.allocation */
    NEEDS_TIME = 1 << 3,     /* collections that take time */
    NEEDS_JOINED = 1 << 4,   /* host commands may join GC's (joins_gc) */
    NEEDS_PARITY = 1 << 5,   /* a drive with ftl.parity_width */
    NEEDS_NO_PARITY = 1 << 6, /* a drive without parity: units change dies */
    /*
     * A unit may be in any page of its plane. Each victim policy but the
     * default needs this without saying so.
     */
    NEEDS_ANY_PAGE = 1 << 7,
    NEEDS_EARLY = 1 << 8,     /* a write's planes are known when it arrives */
    NEEDS_NO_SLC = 1 << 9,    /* a drive without an SLC cache */
} ScarpNeeds;

typedef struct ScarpPolicy ScarpPolicy;

struct ScarpPolicy {
    ScarpAxis axis;
    uint32_t needs; /* ScarpNeeds */
    /* The policy that this one sets on another axis, or NULL. */
    const ScarpPolicy *brings;
    const char *name;
    const char *help;
    const char *source; /* paper, section, algorithm */
    const ScarpParam *params;
    unsigned n_params;
    size_t state_size;
    /*
     * init begins with a zeroed state (scheme->state[axis]) and the parameters
     * set; the drive still has its old scheme. clear frees what the state owns.
     * Each may be NULL.
     */
    bool (*init)(ScarpDrive *drive, ScarpScheme *scheme, GError **error);
    void (*clear)(ScarpDrive *drive, void *state);
    /*
     * Visits (core/visit.h) the members of the state while the drive is at
     * rest. A drive that starts from an image, with the same policy and
     * parameters, then goes on as the saved drive would. NULL: the state begins
     * anew.
     */
    void (*persist)(ScarpDrive *drive, void *state, ScarpVisit *visit);
    /*
     * Called at the time that the policy has set by scarp_timer_set(). May be
     * NULL.
     */
    void (*timer)(ScarpDrive *drive);
};

/*
 * A bound on starvation: how often younger commands may pass a command that
 * waits. Counting begins at since_ns; SCARP_TIME_NEVER: there is no bound. If n
 * older commands wait at that time, at most (n + 2) * most younger ones go
 * first: `most` for each of the n, for the command itself, and for the command
 * that has already begun.
 */
typedef struct {
    int64_t since_ns;
    uint32_t most;
} ScarpHilBound;

typedef struct {
    ScarpPolicy policy;
    /*
     * Returns the bound, enforced in checked builds, on how often commands such
     * as `younger` may pass cmd. A flush that passes others is not counted.
     * NULL: the policy promises no bound.
     */
    ScarpHilBound (*bound)(const ScarpDrive *drive, const ScarpCmd *cmd,
                           const ScarpCmd *younger);
    /* Called when a command has entered the host queue. May be NULL. */
    void (*arrived)(ScarpDrive *drive, const ScarpCmd *cmd);
    /*
     * Called when a device slot is free. `waiting` has one command or more, the
     * oldest first. Removes one of them (scarp_cmd_take()) and returns it. NULL
     * leaves the slot free; the policy is asked again when a command arrives or
     * ends, and after its timer. Of a command the policy may read op, address,
     * deadline, stream and arrival. scarp_gc_cost_ns() tells what a plane's
     * next collection would cost. The policy looks at the oldest
     * controller.queue commands at most. A write that it marks as joined shares
     * its slot and its page with the command that is picked next.
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
     * Returns the plane for a page of the host's data. If `early` is true, the
     * plane depends on lpn alone, and is asked for when each unit arrives.
     * Otherwise it is asked for when the page is complete, and lpn is
     * SCARP_NONE.
     */
    bool early;
    uint32_t (*plane)(ScarpDrive *drive, uint32_t lpn, uint16_t stream);
} ScarpAllocOps;

typedef struct {
    ScarpPolicy policy;
    /*
     * Returns a full block of the plane that is worth a collection, or
     * SCARP_NONE.
     */
    uint32_t (*choose)(ScarpDrive *drive, uint32_t plane);
} ScarpVictimOps;

/*
 * The answer of a pacing: whose command goes next at a die. If reads have
 * passed a command that depends on a collection as often as they may, flow
 * takes TURN_HOST as TURN_GC (flow/pick.c).
 */
typedef enum {
    TURN_HOST, /* the host's; a collection's if no other can run */
    TURN_GC,   /* a collection's; the host's if no other can run */
    /*
     * a collection's command; the host's only when the die's collections have
     * ended
     */
    TURN_HELD,
} ScarpTurn;

typedef struct {
    ScarpPolicy policy;
    bool instant; /* collections take no time */
    /*
     * Called before the die chooses its next command: starts collections that
     * are due. A collection that frees a page for a waiting program must run to
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
    /*
     * Called when a collection has been chosen. May be NULL, as all below may.
     */
    void (*gc_start)(ScarpDrive *drive, ScarpGcJob *gc);
    /* Called when a command of the host has ended at the die. */
    void (*host_done)(ScarpDrive *drive, uint32_t die,
                      const ScarpFlashCmd *cmd);
    void (*gc_done)(ScarpDrive *drive, ScarpGcJob *gc);
    /*
     * Called when a page of the job begins to move: one of its moves_left is
     * used.
     */
    void (*gc_moves)(ScarpDrive *drive, ScarpGcJob *gc);
    /* True when the die may collect ahead of time now. */
    bool (*may_collect)(const ScarpDrive *drive, uint32_t die);
} ScarpPacingOps;

typedef struct {
    ScarpPolicy policy;
    bool joins_gc; /* a command of the host may run with one of GC's */
    /*
     * True when mate may run together with lead. The caller has checked that
     * mate is of another plane of the die, and of the same kind and page
     * offset.
     */
    bool (*may)(const ScarpDrive *drive, const ScarpFlashCmd *lead,
                const ScarpFlashCmd *mate);
    /*
     * True when `lead`, a program that is about to start, must go to its
     * plane's aligned block, because a mate can run together with it there.
     * NULL: planes have no aligned blocks.
     */
    bool (*aligned)(const ScarpDrive *drive, const ScarpFlashCmd *lead);
} ScarpMultiplaneOps;

typedef struct {
    ScarpPolicy policy;
    /* Number of a victim's pages that are being moved at once, at most. */
    uint32_t window;
    bool copyback; /* a page whose units are all valid is not transferred */
    /*
     * Returns the plane for a relocated unit. NULL: units stay in their planes.
     */
    uint32_t (*plane)(ScarpDrive *drive, const ScarpGcJob *gc, uint32_t lpn);
    void (*host_write)(ScarpDrive *drive, uint32_t lpn); /* may be NULL */
    void (*gc_start)(ScarpDrive *drive, ScarpGcJob *gc);    /* may be NULL */
    /* may be NULL */
    void (*flash_done)(ScarpDrive *drive, const ScarpFlashCmd *cmd);
} ScarpPlaceOps;

typedef struct {
    ScarpPolicy policy;
    /* Called when the die has nothing to do and does not collect. */
    void (*idle)(ScarpDrive *drive, uint32_t die);
    void (*host_cmd)(ScarpDrive *drive, const ScarpCmd *cmd); /* may be NULL */
} ScarpAheadOps;

typedef struct {
    ScarpPolicy policy;
    /*
     * Called before a read of the host, of one unit, is queued at its die.
     * True: the policy serves the read. May be NULL, as gc_start may.
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
    uint32_t given[AXIS__COUNT];  /* bits: parameters that the user gave */
};

/* Functions of drive/scheme.c. */
bool scarp_scheme_init(ScarpScheme *scheme, ScarpDrive *drive,
                       const char *name, const char *params, GError **error);
void scarp_scheme_clear(ScarpScheme *scheme, ScarpDrive *drive);

/* Sets policy[AXIS__COUNT] to the scheme's choice on each axis. */
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
