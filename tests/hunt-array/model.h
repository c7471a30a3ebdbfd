/*
 * What an array may return, while requests overlap, fail, and after its server
 * was killed or power was cut.
 *
 * A sector is an atomic register: a write takes effect at some moment between
 * its submission and its end, or, if it fails, perhaps not at all.  The model
 * keeps, for each sector, the writes that may still be what is there now, and
 * those that may come back when what no flush has covered is lost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_ARRAY_MODEL_H
#define HUNT_ARRAY_MODEL_H

#include "array.h"

#define SECTOR_BYTES 512u

typedef struct ArrayModel ArrayModel;

/* A request; first and n are sectors. */
typedef struct {
    ArrayOp op;
    bool fua;
    uint64_t first, n;
    uint8_t *data;
    uint32_t begins; /* the model's own */
    uint32_t number;
} ModelRequest;

ArrayModel *array_model_new(uint64_t sectors, uint32_t page_sectors);
void array_model_free(ArrayModel *model);

/* Before array_submit(): gives it its number, and a write its data. */
void array_model_submit(ArrayModel *model, ModelRequest *r);
/* When it came back.  NULL, or what no order permits; g_free() it. */
char *array_model_done(ArrayModel *model, const ModelRequest *r, bool failed);

/* The server is gone; what was outstanding may have happened or not. */
void array_model_killed(ArrayModel *model);
/* And all that no flush has covered may be lost. */
void array_model_lost(ArrayModel *model);
/* All acknowledged writes are known to be on the drives. */
void array_model_flushed(ArrayModel *model);
/* Another array was made of the drives: anything may be there. */
void array_model_forget(ArrayModel *model);

#endif /* HUNT_ARRAY_MODEL_H */
