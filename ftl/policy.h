/*
 * Policies: the choices of a scheme, each a table of functions for one axis.
 *
 * A policy is one table in a file of ftl/. policies.h declares the table, and
 * the list in drive/scheme.c names it. The policy's state (state_size bytes,
 * zeroed) and its parameters belong to the drive, so two drives in one process
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
    AXIS_PACING,     /* when collections start, and who goes next */
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
 * scheme if the drive, or the scheme's choice on another axis, does not meet a
 * need. The error message names that need.
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
     * A unit may be in any page of its plane. Each victim policy except the
     * default has this need even without the bit.
     */
    NEEDS_ANY_PAGE = 1 << 7,
    NEEDS_EARLY = 1 << 8,     /* a write's planes are known when it arrives */
    NEEDS_NO_SLC = 1 << 9,    /* a drive without an SLC cache */
    NEEDS_NO_UNITS = 1 << 10, /* a block is its own reclaim unit */
} ScarpNeeds;

typedef struct ScarpPolicy ScarpPolicy;

struct ScarpPolicy {
    ScarpAxis axis;
    uint32_t needs; /* ScarpNeeds */
    /* The policy that this policy sets on a second axis, or NULL. */
    const ScarpPolicy *brings;
    const char *name;
    const char *help;
    const char *source; /* paper, section, algorithm */
    const ScarpParam *params;
    unsigned n_params;
    size_t state_size;
    /*
     * init() is called with a zeroed state (scheme->state[axis]) and the
     * parameters set; the drive still has its old scheme. clear() frees what
     * the state owns. Each of the two may be NULL.
     */
    bool (*init)(ScarpDrive *drive, ScarpScheme *scheme, GError **error);
    void (*clear)(ScarpDrive *drive, void *state);
    /*
     * Saves or loads (core/visit.h) the members of the state while the drive is
     * at rest. A drive that starts from an image, with the same policy and
     * parameters, then goes on as the saved drive would. With NULL the state
     * begins anew.
     */
    void (*persist)(ScarpDrive *drive, void *state, ScarpVisit *visit);
    /*
     * Called at the time that the policy has set by scarp_timer_set(). May be
     * NULL.
     */
    void (*timer)(ScarpDrive *drive);
};

/*
 * A bound on starvation: how often younger commands may go before a waiting
 * command. Counting begins at since_ns; SCARP_TIME_NEVER: there is no bound. If
 * n older commands wait at that time, at most (n + 2) * most younger commands
 * go first: `most` for each of the n, for the command itself, and for the
 * command that has already begun.
 */
typedef struct {
    int64_t since_ns;
    uint32_t most;
} ScarpHilBound;

typedef struct {
    ScarpPolicy policy;
    /*
     * Returns the bound, enforced in checked builds, on how often commands such
     * as `younger` may go before cmd. A flush that goes before cmd is not
     * counted. `bound` is NULL if the policy promises no bound.
     */
    ScarpHilBound (*bound)(const ScarpDrive *drive, const ScarpCmd *cmd,
                           const ScarpCmd *younger);
    /* Called when a command has entered the host queue. May be NULL. */
    void (*arrived)(ScarpDrive *drive, const ScarpCmd *cmd);
    /*
     * Called when a device slot is free. `waiting` has one command or more, the
     * oldest first. pick() removes one of these (scarp_cmd_take()) and returns
     * it. It returns NULL to leave the slot free; the policy is asked again
     * when a command arrives or ends, and after its timer. The policy may read
     * a command's op, address, deadline, stream and arrival. scarp_gc_cost_ns()
     * tells what a plane's next collection would cost. The policy looks at the
     * oldest controller.queue commands at most. A write that it marks as joined
     * shares its slot and its page with the command that is picked next.
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
     * plane depends on lpn alone, and plane() is called when each unit arrives.
     * Otherwise plane() is called when the page is complete, and lpn is
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
 * The answer of a pacing: whether the host's or a collection's command goes
 * next at a die. If a waiter depends on a collection, and reads have gone
 * before it as often as they may, flow takes TURN_HOST as TURN_GC
 * (flow/pick.c).
 */
typedef enum {
    TURN_HOST, /* the host's; a collection's if no other can run */
    TURN_GC,   /* a collection's; the host's if collections have none */
    /*
     * a collection's command; the host's only after the die's collections have
     * ended
     */
    TURN_HELD,
} ScarpTurn;

typedef struct {
    ScarpPolicy policy;
    bool instant; /* collections take no time */
    /*
     * Called before the die chooses its next command: starts collections that
     * are due. If a collection frees a page for a waiting program, it must run
     * to its end without waiting for a grant (the pacing's permission).
     */
    void (*check)(ScarpDrive *drive, uint32_t die);
    /*
     * Called while a collection runs at the die, or has commands there. Returns
     * whose command goes next. It must not return TURN_HOST if a program has no
     * page in a plane of the die until the collection has gone on: otherwise
     * reads, and programs of other planes, could go before that program for
     * ever. scarp_gc_is_urgent(), with a floor of 1 or more, is true of such a
     * plane.
     */
    ScarpTurn (*turn)(ScarpDrive *drive, uint32_t die);
    /*
     * Called when a collection has been chosen. This function, and each
     * function below, may be NULL.
     */
    void (*gc_start)(ScarpDrive *drive, ScarpGcJob *gc);
    /* Called when a flash command of the host has ended at the die. */
    void (*host_done)(ScarpDrive *drive, uint32_t die,
                      const ScarpFlashCmd *cmd);
    void (*gc_done)(ScarpDrive *drive, ScarpGcJob *gc);
    /*
     * Called when a page of the job begins to move, which uses one of its
     * moves_left.
     */
    void (*gc_moves)(ScarpDrive *drive, ScarpGcJob *gc);
    /* True when the die may collect ahead of time now. */
    bool (*may_collect)(const ScarpDrive *drive, uint32_t die);
} ScarpPacingOps;

typedef struct {
    ScarpPolicy policy;
    bool joins_gc; /* commands of the host may run together with GC's */
    /*
     * True when `mate` may run together with `lead`. The caller has checked
     * that `mate` is of another plane of the die, and of the same kind and page
     * offset.
     */
    bool (*may)(const ScarpDrive *drive, const ScarpFlashCmd *lead,
                const ScarpFlashCmd *mate);
    /*
     * True when `lead`, a program that is about to start, must go to its
     * plane's aligned block, because a mate can run together with it there.
     * aligned is NULL if planes have no aligned blocks.
     */
    bool (*aligned)(const ScarpDrive *drive, const ScarpFlashCmd *lead);
} ScarpMultiplaneOps;

typedef struct {
    ScarpPolicy policy;
    /* How many of a victim's pages may be between read and program at once. */
    uint32_t window;
    bool copyback; /* a page whose units are all valid is not transferred */
    /*
     * Returns the plane for a relocated unit. plane is NULL if units stay in
     * their planes.
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
     * Called before a read of one unit for the host is queued at its die.
     * Returns true if the policy serves the read. serve and gc_start may be
     * NULL.
     */
    bool (*serve)(ScarpDrive *drive, ScarpFlashCmd *cmd);
    void (*gc_start)(ScarpDrive *drive, ScarpGcJob *gc); /* gc was chosen */
} ScarpRedundancyOps;

struct ScarpScheme {
    char *name; /* as the user asked for it */
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
    uint32_t given[AXIS__COUNT];  /* bits: the parameters that the user gave */
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
