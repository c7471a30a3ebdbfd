/*
 * What a disk may return while commands overlap.
 *
 * A sector is an atomic register: a write takes effect at some moment between
 * its submission and its completion, a read returns what is there at some
 * moment of its own.  The model keeps, for each sector, the writes that may
 * still be what is there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_MODEL_H
#define HUNT_MODEL_H

#include "scarp.h"

typedef struct Model Model;

/* deallocates: what is deallocated is zeroes; else it stays as it was. */
Model *model_new(uint64_t sectors, uint32_t unit_sectors, bool deallocates);
/* Only while nothing is in flight. */
Model *model_copy(const Model *model);
void model_free(Model *model);

/*
 * Before scarp_submit(): gives the command its number, which is returned, and a
 * write its data.
 */
uint32_t model_submit(Model *model, ScarpCmd *cmd);
/* When it came back.  False: a read returned what no order permits. */
bool model_done(Model *model, ScarpCmd *cmd, GError **error);

/* Nothing is in flight, and found[sector] is there: model_value(). */
void model_reset(Model *model, const uint32_t *found);

/* The bytes are a write to that sector, all of it, or zeroes. */
bool model_is_whole(const uint8_t *bytes, uint64_t sector);
/* Which write to its sector these bytes are; 0: none. */
uint32_t model_value(const uint8_t *sector);

#endif /* HUNT_MODEL_H */
