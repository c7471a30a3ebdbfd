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

Model *model_new(uint64_t sectors, uint32_t unit_sectors);
/* Only while nothing is in flight. */
Model *model_copy(const Model *model);
void model_free(Model *model);

/* Before scarp_submit(): gives the command its number, and a write its data. */
void model_submit(Model *model, ScarpCmd *cmd);
/* When it came back.  False: a read returned what no order permits. */
bool model_done(Model *model, ScarpCmd *cmd, GError **error);

/* Which write to its sector these bytes are; 0: none. */
uint32_t model_value(const uint8_t *sector);

#endif /* HUNT_MODEL_H */
