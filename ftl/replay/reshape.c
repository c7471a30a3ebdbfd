/*
 * A workload in another shape: repeated, or without some operations or long
 * gaps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reshape.h"

#include <string.h>

typedef struct {
    Workload base;
    Reshape how;
    ReshapeOpen *open;
    void *opaque;
    Workload *inner;
    char *also;             /* owned; base.also points to it */
    uint64_t pass;          /* number of this pass, from 0 on */
    uint64_t seen;          /* requests of this pass, given or left out */
    int64_t begin_ns;       /* time of the first pass's first request */
    int64_t offset_ns;      /* added to the workload's times in this pass */
    int64_t cut_ns;         /* taken off the workload's times in this pass */
    int64_t last_ns;        /* time of the last request in the workload */
    int64_t end_ns;         /* the end of the workload so far */
} Reshaped;

/* Returns ns + more_ns, or the greatest time if the sum is greater. */
static int64_t later(int64_t ns, int64_t more_ns)
{
    int64_t sum;

    return __builtin_add_overflow(ns, more_ns, &sum) ? G_MAXINT64 : sum;
}

/* Shortens a gap, or a jump back in time, that is longer than max_gap_ns. */
static void cut_gap(Reshaped *self, int64_t time_ns)
{
    int64_t gap_ns = time_ns - self->last_ns, max_ns = self->how.max_gap_ns;
    int64_t cut_ns = gap_ns > max_ns ? gap_ns - max_ns
                     : gap_ns < -max_ns ? gap_ns : 0;

    if (max_ns && cut_ns) {
        self->cut_ns += cut_ns;
        self->base.gaps_cut++;
        self->base.gaps_cut_ns = later(self->base.gaps_cut_ns, ABS(cut_ns));
    }
}

/*
 * Counts a request of this pass, whether it is given out or left out. Notes the
 * time of the first request of the pass.
 */
static void see(Reshaped *self, int64_t time_ns)
{
    if (!self->seen++) {
        self->last_ns = time_ns;
        if (!self->pass) {
            self->begin_ns = self->end_ns = time_ns;
        }
    }
}

static void give(Reshaped *self, TraceRecord *record)
{
    int64_t time_ns = record->time_ns;

    cut_gap(self, time_ns);
    self->last_ns = time_ns;
    record->time_ns = later(time_ns - self->cut_ns, self->offset_ns);
    self->end_ns = MAX(self->end_ns, record->time_ns);
}

/*
 * Leaves a request out. The gap before the request stays in the workload, up to
 * max_gap_ns.
 */
static void leave_out(Reshaped *self, int64_t time_ns)
{
    int64_t gap_ns = time_ns - self->last_ns, max_ns = self->how.max_gap_ns;

    gap_ns = max_ns ? MIN(gap_ns, max_ns) : gap_ns;
    self->end_ns = MAX(self->end_ns,
                       later(self->last_ns - self->cut_ns + gap_ns,
                             self->offset_ns));
    self->base.skipped_requests++;
}

/*
 * Copies counts of the inner workload. Counts of lines are those of the first
 * pass.
 */
static void follow(Reshaped *self)
{
    const Workload *inner = self->inner;

    self->base.permille_done =
        inner->permille_done < 0 ? -1
        : (int)((self->pass * 1000 + inner->permille_done) / self->how.repeat);
    if (!self->pass) {
        self->base.skipped_lines = inner->skipped_lines;
        self->base.empty_requests = inner->empty_requests;
        self->base.foreign_lines = inner->foreign_lines;
        self->base.broken_lines = inner->broken_lines;
        self->base.times_back = inner->times_back;
        self->base.times_ahead = inner->times_ahead;
    }
}

/* Begins the next pass, a mean gap after the last request of this pass. */
static bool again(Reshaped *self, GError **error)
{
    int64_t span_ns = self->end_ns - self->begin_ns;
    uint64_t gaps = (self->pass + 1) * self->seen - 1;
    int64_t mean_ns = gaps ? span_ns / (int64_t)gaps : 0;
    Workload *next = self->open(self->opaque, error);

    if (!next) {
        return false;
    }
    self->inner->free(self->inner);
    self->inner = next;
    self->offset_ns = later(span_ns, mean_ns);
    self->pass++;
    self->seen = 0;
    self->cut_ns = 0;
    return true;
}

static bool reshaped_next(Workload *base, TraceRecord *record, GError **error)
{
    Reshaped *self = (Reshaped *)base;

    for (;;) {
        GError *problem = NULL;

        self->inner->warn = self->pass ? NULL : base->warn;
        if (!self->inner->next(self->inner, record, &problem)) {
            follow(self);
            if (problem) {
                g_propagate_error(error, problem);
                return false;
            }
            if (self->pass + 1 >= self->how.repeat || !self->seen ||
                !again(self, error)) {
                return false;
            }
            continue;
        }
        follow(self);
        see(self, record->time_ns);
        if (!self->how.skip[record->op]) {
            give(self, record);
            return true;
        }
        leave_out(self, record->time_ns);
    }
}

static void reshaped_free(Workload *base)
{
    Reshaped *self = (Reshaped *)base;

    self->inner->free(self->inner);
    g_free(self->also);
    g_free(self);
}

bool reshape_parse_skip(Reshape *how, const char *text, GError **error)
{
    static const struct {
        const char *name;
        ScarpOp op, too;
    } words[] = {
        { "reads", SCARP_OP_READ, SCARP_OP_READ },
        { "writes", SCARP_OP_WRITE, SCARP_OP_WRITE_ZEROES },
        { "trims", SCARP_OP_DEALLOCATE, SCARP_OP_DEALLOCATE },
        { "flushes", SCARP_OP_FLUSH, SCARP_OP_FLUSH },
    };
    /*
     * g_strsplit() returns no part for an empty text. So the text "," is split
     * instead, whose empty parts are refused.
     */
    g_auto(GStrv) parts = g_strsplit(*text ? text : ",", ",", -1);

    for (char **part = parts; *part; part++) {
        size_t i = 0;

        while (i < G_N_ELEMENTS(words) && strcmp(words[i].name, *part)) {
            i++;
        }
        if (i == G_N_ELEMENTS(words)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "--skip=%s: allowed: reads, writes, trims, flushes, "
                        "joined by commas", text);
            return false;
        }
        how->skip[words[i].op] = how->skip[words[i].too] = true;
    }
    return true;
}

Workload *reshape_new(const Reshape *how, ReshapeOpen *open, void *opaque,
                      GError **error)
{
    Workload *inner = open(opaque, error);
    Reshaped *self;

    if (!inner) {
        return NULL;
    }
    self = g_new0(Reshaped, 1);
    self->base = *inner;
    self->base.next = reshaped_next;
    self->base.free = reshaped_free;
    self->base.permille_done = -1;
    /* the format's name may be freed with `inner`, so it is copied */
    self->base.also = self->also = g_strdup(inner->also);
    self->how = *how;
    self->open = open;
    self->opaque = opaque;
    self->inner = inner;
    return &self->base;
}
