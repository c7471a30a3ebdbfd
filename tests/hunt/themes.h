/*
 * Themes: what few scenarios would have together if each part of them were
 * drawn by itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_THEMES_H
#define HUNT_THEMES_H

#include "draw.h"

typedef enum {
    HOST_ANY,
    HOST_PARTS,   /* writes of one unit, in order or backwards */
    HOST_READS,   /* half of the commands, and writes */
    HOST_UNITS,   /* ditto, of one unit, anywhere */
    HOST_FORCED,  /* FUA of pages, and deallocations of what they write */
    HOST_OVER,    /* overwrites of a tenth, much with FUA, and deallocations */
    HOST_READING, /* long reads without an end, and a write now and then */
    HOST_LATE,    /* writes, or reads and deallocations; near deadlines */
    HOST_TURNS,   /* long writes for a while, then reads of one unit */
    HOST_TRIMS,   /* deallocations of a few units anywhere, and some writes */
    /* Few jobs of a command each, and a load beside them that does not end: */
    HOST_SPLIT,   /* they have a die or a plane to themselves */
    HOST_AGAIN,   /* one unit is written, and read; the load reads others */
    HOST_ONE,     /* the load rewrites one unit, or a few; they write others */
    HOST_ENTRIES, /* one goes anywhere, the load to as many as map entries */
} ThemeHost;

/* Of texts with alternatives, joined by '|', one is drawn. */
typedef struct {
    const char *scheme, *params; /* alternatives; NULL: any */
    const char *mapping;         /* ditto */
    const char *keys;            /* joined by ',', with alternatives each */
    bool tight;                  /* with as little spare as is accepted */
    bool full;                   /* aged so that every unit is written */
    bool steady;                 /* full, and overwritten for long */
    bool rare;                   /* it takes long, and others are drawn */
    uint64_t units;              /* of a page; 0: any */
    uint64_t planes;             /* of a die, at least */
    uint64_t dies, blocks;       /* of the drive and of a plane, at least */
    uint64_t pages;              /* of a block, at least */
    uint64_t most_units;         /* of the drive; 0: any */
    uint64_t least_units;        /* ditto */
    ThemeHost host;
    unsigned depth, commands;    /* at least */
    /*
     * Stretches of commands: alternatives of steps joined by ';', as in a file,
     * or "scheme": one that is drawn.
     */
    const char *between;
} Theme;

/* One of the alternatives, g_free() it; NULL: there are none. */
char *theme_pick(Draw *draw, const char *alternatives);

/* Of a share of the scenarios; cuts: more of those with power cuts; NULL: none. */
const Theme *theme_draw(Draw *draw, bool cuts);
const Theme *theme_numbered(uint64_t number); /* from 1 on; NULL: none */

#endif /* HUNT_THEMES_H */
