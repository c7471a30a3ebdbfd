/*
 * Strips: the phases in which one die's cells are busy, written as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "why/strip.h"

/* Work of a die's cells. names[] has the names of the output. */
typedef enum {
    WORK_HOST_READ, WORK_HOST_PROGRAM, WORK_GC_READ, WORK_GC_PROGRAM,
    WORK_FOLD_READ, WORK_FOLD_PROGRAM, WORK_ERASE, WORK_OTHER, WORK__COUNT
} Work;

static const char *const names[WORK__COUNT] = {
    "host_read", "host_program", "gc_read", "gc_program",
    "fold_read", "fold_program", "erase", "other",
};

typedef struct {
    int64_t begin_ns, end_ns;
    Work work;
} Slice;

void why_strip_begin(WhyStrip *strip, uint32_t die, int64_t from_ns)
{
    *strip = (WhyStrip) { die, from_ns,
                          g_array_new(false, false, sizeof(Slice)) };
}

static Work work_of(const ScarpFlashOp *op)
{
    bool host = op->origin == SCARP_ORIGIN_HOST;

    if (op->kind == SCARP_FLASH_ERASE) {
        return WORK_ERASE;
    }
    if (op->origin == SCARP_ORIGIN_FOLD) {
        return op->kind == SCARP_FLASH_READ ? WORK_FOLD_READ
                                            : WORK_FOLD_PROGRAM;
    }
    if (!host && op->origin != SCARP_ORIGIN_GC &&
        op->origin != SCARP_ORIGIN_PREMIGRATE) {
        return WORK_OTHER;
    }
    if (op->kind == SCARP_FLASH_READ) {
        return host ? WORK_HOST_READ : WORK_GC_READ;
    }
    /* A copyback reads and programs; the program takes most of its time. */
    return host ? WORK_HOST_PROGRAM : WORK_GC_PROGRAM;
}

void why_strip_add(WhyStrip *strip, const ScarpFlashOp *op)
{
    Slice slice = { MAX(op->begin_ns, strip->from_ns), op->end_ns,
                    work_of(op) };

    if (strip->slices && op->die == strip->die &&
        op->phase == SCARP_PHASE_ARRAY && slice.begin_ns < slice.end_ns) {
        g_array_append_val(strip->slices, slice);
    }
}

void why_strip_tell(const WhyStrip *strip, int64_t until_ns, FILE *out)
{
    bool first = true;

    if (!strip->slices) {
        fputs("null", out);
        return;
    }
    fprintf(out, "{\"die\": %u, \"until_ns\": %" G_GINT64_FORMAT
            ", \"slices\": [", strip->die, until_ns);
    for (guint i = 0; i < strip->slices->len; i++) {
        const Slice *slice = &g_array_index(strip->slices, Slice, i);
        int64_t end_ns = MIN(slice->end_ns, until_ns);

        if (slice->begin_ns < end_ns) {
            fprintf(out, "%s[%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
                    ", \"%s\"]", first ? "" : ", ",
                    slice->begin_ns - strip->from_ns, end_ns - slice->begin_ns,
                    names[slice->work]);
            first = false;
        }
    }
    fputs("]}", out);
}

void why_strip_clear(WhyStrip *strip)
{
    g_clear_pointer(&strip->slices, g_array_unref);
}
