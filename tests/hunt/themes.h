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
} ThemeHost;

typedef struct {
    const char *scheme, *params; /* params: NULL: any */
    const char *mapping;         /* NULL: any */
    const char *keys;            /* joined by ',', or NULL */
    uint64_t units;              /* of a page; 0: any */
    uint64_t planes;             /* of a die, at least */
    uint64_t dies, blocks;       /* of the drive and of a plane, at least */
    uint64_t most_units;         /* of the drive; 0: any */
    uint64_t least_units;        /* ditto */
    ThemeHost host;
    unsigned depth;              /* at least */
    const char *between;         /* stretches: "scheme", or a step's text */
} Theme;

/* Of a share of the scenarios; NULL: none. */
const Theme *theme_draw(Draw *draw);
const Theme *theme_numbered(uint64_t number); /* from 1 on; NULL: none */

#endif /* HUNT_THEMES_H */
