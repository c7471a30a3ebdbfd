/*
 * A scenario: a drive, its age, and step by step what the host does to it.
 * Plain data, so that it can be drawn, written, read, and made smaller.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_SCENARIO_H
#define HUNT_SCENARIO_H

#include "draw.h"
#include "scarp.h"
#include "themes.h"

#define SECTOR SCARP_SECTOR_BYTES
#define MOST_SECTORS 2048u /* of a command */
#define MOST_DEPTH 512u    /* commands in flight */

/* The first ones are ScarpOp's. */
typedef enum {
    STEP_PACE = SCARP_OP__COUNT, /* depth, and when the next command comes */
    STEP_SCHEME,  /* switch to that of text */
    STEP_DRAIN,
    STEP_RELOAD,  /* drain, save, and load with what text says */
    STEP_COLLECT, /* scarp_collect_now(sectors) */
    STEP_HOLD,    /* scarp_hold_collections() until gap_ns from now */
    STEP_RESET,   /* of statistics */
    STEP_IDLE,    /* for gap_ns */
    /*
     * The power fails after so many events (sectors), and stream times more
     * before it has recovered, each after so many (sector).
     */
    STEP_POWER_CUT,
    STEP_CLOSE, /* scarp_close_units(stream) */
    STEP__COUNT
} StepKind;

typedef struct {
    uint8_t kind;
    bool fua;
    bool open;       /* STEP_PACE: gaps count from the command before */
    /*
     * A job that has one command in flight at a time: while there is one, this
     * is left out, so that who waits long does not stop who comes.  0: of none.
     */
    uint8_t lane;
    uint16_t stream;
    uint32_t sector; /* folded onto the drive when it runs; PACE: depth */
    uint32_t sectors;
    uint32_t text;   /* of SCHEME and RELOAD: which one */
    int64_t gap_ns;  /* since there was room for it, or see open */
    int64_t deadline_ns; /* from its arrival on; 0: none */
} Step;

typedef struct {
    GPtrArray *keys; /* "group.key=value", beyond scenario_base */
    char *scheme, *params; /* params: NULL, or "key=value,…" */
    uint64_t seed;
    bool store;
    bool random_age;
    uint32_t age_permille, overwrite_permille; /* the latter as in ScarpAge */
    uint64_t age_seed;
    GPtrArray *texts; /* "scheme params seed keys", words; "-" for none */
    GArray *steps;    /* Step */
    char *meta;       /* what it is compared with (meta.h), or NULL */
} Scenario;

/* What is not drawn at random. */
typedef struct {
    const char *scheme;  /* NULL: any */
    const char *mapping; /* ditto */
    const char *without; /* keys, joined by ',', that no drive has; or NULL */
    uint64_t theme;      /* its number from 1 on; 0: any */
    bool cuts;           /* the power of every drive fails */
    bool slc;            /* every drive has an SLC cache */
    bool units;          /* every drive has units of several planes */
    const char *lie;     /* and it tells this lie of lie.*; NULL: none */
} ScenarioWish;

/* Of the draws of one scenario. */
typedef struct {
    uint64_t accepted, refused;
    char last[512]; /* the last refusal */
    char odd[512]; /* a refusal that does not say which key it is about */
} ScenarioDraws;

extern const char scenario_base[]; /* a description */

Scenario *scenario_new(void);
void scenario_free(Scenario *s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scenario, scenario_free)
Scenario *scenario_copy(const Scenario *s);

/* The drive of a scenario, aged; NULL and *error if it is refused. */
ScarpDrive *scenario_drive(const Scenario *s, GError **error);
/* The same before it is aged, perhaps from an image. */
ScarpDrive *scenario_build(const Scenario *s, const char *image,
                           const char *scheme, const char *params,
                           uint64_t seed, const char *more_keys,
                           GError **error);

/* Scenario number; always one that is accepted.  NULL: the wish never is. */
Scenario *scenario_draw(uint64_t number, const ScenarioWish *wish,
                        ScenarioDraws *draws);
/* What the host does: needs the drive's size; theme: or NULL. */
void scenario_draw_steps(Scenario *s, const ScarpDrive *drive, Draw *d,
                         const Theme *theme);

char *scenario_text(const Scenario *s);
/* A line of such a text; false: it is no step. */
bool scenario_add_step(Scenario *s, const char *text);
Scenario *scenario_parse(const char *text, GError **error);
const char *scenario_key(const Scenario *s, const char *key); /* or NULL */
const char *scenario_mapping(const Scenario *s);

#endif /* HUNT_SCENARIO_H */
