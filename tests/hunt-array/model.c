/*
 * What an array may return.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "model.h"

#include <glib.h>
#include <string.h>

#define NEVER UINT32_MAX
#define NOBODY UINT32_MAX

/* A write to a sector.  Moments are numbers of submissions and ends. */
typedef struct {
    uint32_t value;  /* the request's number; 0: zeroes */
    uint32_t begins, ends;
    uint32_t dead;   /* from this moment on a new read cannot return it */
    uint32_t over;   /* then what followed it had been acknowledged */
    bool failed;     /* nobody knows whether it happened */
    bool loose;      /* discarded: all values up to this one, now and then */
    uint32_t next;
} Version;

struct ArrayModel {
    uint64_t sectors;
    uint32_t page_sectors;
    uint32_t *head;   /* of each sector: Version */
    GArray *versions;
    uint32_t spare;   /* Version */
    GArray *reads;    /* outstanding: moments of submission, ascending */
    uint32_t now;
    uint32_t requests;
    uint32_t flushed; /* a flush that was submitted then has ended */
};

#define VERSION(model, i) (&g_array_index((model)->versions, Version, i))

static void add(ArrayModel *model, uint64_t sector, Version version)
{
    uint32_t i = model->spare;

    version.next = model->head[sector];
    if (i == NOBODY) {
        i = model->versions->len;
        g_array_append_val(model->versions, version);
    } else {
        model->spare = VERSION(model, i)->next;
        *VERSION(model, i) = version;
    }
    model->head[sector] = i;
}

static void drop(ArrayModel *model, uint32_t *at)
{
    uint32_t i = *at;

    *at = VERSION(model, i)->next;
    VERSION(model, i)->next = model->spare;
    model->spare = i;
}

ArrayModel *array_model_new(uint64_t sectors, uint32_t page_sectors)
{
    ArrayModel *model = g_new0(ArrayModel, 1);

    model->sectors = sectors;
    model->page_sectors = page_sectors;
    model->head = g_new(uint32_t, sectors);
    model->versions = g_array_new(false, false, sizeof(Version));
    model->reads = g_array_new(false, false, sizeof(uint32_t));
    model->spare = NOBODY;
    for (uint64_t i = 0; i < sectors; i++) {
        model->head[i] = NOBODY;
        add(model, i, (Version) { .dead = NEVER, .over = NEVER });
    }
    return model;
}

void array_model_free(ArrayModel *model)
{
    g_free(model->head);
    g_array_free(model->versions, true);
    g_array_free(model->reads, true);
    g_free(model);
}

/* Its begin and its end say which sector and which request it is of. */
static void fill(const ModelRequest *r)
{
    memset(r->data, (uint8_t)r->number, r->n * SECTOR_BYTES);
    for (uint64_t i = 0; i < r->n; i++) {
        uint32_t mark[2] = { r->number, r->first + i };

        memcpy(r->data + i * SECTOR_BYTES, mark, sizeof(mark));
        memcpy(r->data + (i + 1) * SECTOR_BYTES - sizeof(mark), mark,
               sizeof(mark));
    }
}

/* Of a discard the whole pages; of a flush and a read nothing. */
static void changed(const ArrayModel *model, const ModelRequest *r,
                    uint64_t *first, uint64_t *end)
{
    uint64_t page = model->page_sectors;

    *first = r->first;
    *end = r->first + r->n;
    if (r->op == ARRAY_OP_DISCARD) {
        *first = (*first + page - 1) / page * page;
        *end = MAX(*end / page * page, *first);
    } else if (r->op != ARRAY_OP_WRITE) {
        *end = *first;
    }
}

void array_model_submit(ArrayModel *model, ModelRequest *r)
{
    uint64_t first, end;

    r->begins = ++model->now;
    r->number = ++model->requests;
    if (r->op == ARRAY_OP_READ) {
        g_array_append_val(model->reads, r->begins);
    }
    changed(model, r, &first, &end);
    for (uint64_t sector = first; sector < end; sector++) {
        bool loose = r->op == ARRAY_OP_DISCARD;

        /* It may happen after all that comes while it is outstanding. */
        add(model, sector, (Version) {
            .value = loose ? UINT32_MAX : r->number, .begins = r->begins,
            .ends = NEVER, .dead = NEVER, .over = NEVER, .loose = loose,
        });
    }
    if (r->op == ARRAY_OP_WRITE) {
        fill(r);
    }
}

/* What came before it is over, and no later read can return it. */
static void acknowledged(ArrayModel *model, uint64_t sector, uint32_t begins)
{
    for (uint32_t i = model->head[sector]; i != NOBODY;) {
        Version *v = VERSION(model, i);

        if (v->begins == begins) {
            v->ends = model->now;
        } else if (v->ends < begins) {
            v->dead = MIN(v->dead, model->now);
            v->over = MIN(v->over, model->now);
        }
        i = v->next;
    }
}

/* What was over when the flush began cannot come back. */
static void flushed(ArrayModel *model, uint32_t begins)
{
    uint32_t oldest = model->reads->len
                          ? g_array_index(model->reads, uint32_t, 0) : NEVER;

    model->flushed = MAX(model->flushed, begins);
    for (uint64_t sector = 0; sector < model->sectors; sector++) {
        for (uint32_t *at = &model->head[sector]; *at != NOBODY;) {
            Version *v = VERSION(model, *at);

            if (v->over <= model->flushed && v->dead <= oldest) {
                drop(model, at);
            } else {
                at = &v->next;
            }
        }
    }
}

/* A write that waited for its flush has covered itself, too. */
static void written_through(ArrayModel *model, const ModelRequest *r)
{
    for (uint64_t s = r->first; s < r->first + r->n; s++) {
        for (uint32_t i = model->head[s]; i != NOBODY;) {
            Version *v = VERSION(model, i);

            if (v->ends < r->begins) {
                v->over = MIN(v->over, r->begins);
            }
            i = v->next;
        }
    }
}

static char *permitted(ArrayModel *model, uint64_t sector, uint32_t begins)
{
    GString *text = g_string_new(NULL);

    for (uint32_t i = model->head[sector]; i != NOBODY;) {
        const Version *v = VERSION(model, i);

        if (v->dead > begins) {
            g_string_append_printf(text, v->loose ? " up to %u" : " %u",
                                   v->value);
        }
        i = v->next;
    }
    return g_string_free(text, false);
}

/* What is not there, and was over when the read began, is no more. */
static void learned(ArrayModel *model, uint64_t sector, const Version *there,
                    uint32_t begins)
{
    bool firm = there->ends != NEVER && !there->failed;
    uint32_t since = there->ends;

    for (uint32_t i = model->head[sector]; i != NOBODY;) {
        Version *v = VERSION(model, i);

        if (v != there && v->ends < begins && !v->loose) {
            v->dead = MIN(v->dead, model->now);
            if (firm) {
                v->over = MIN(v->over, since);
            }
        }
        i = v->next;
    }
}

static char *check_sector(ArrayModel *model, uint64_t sector,
                          const uint8_t *at, uint32_t begins)
{
    uint32_t mark[2], tail[2];
    const Version *there = NULL;
    bool loose = false;

    memcpy(mark, at, sizeof(mark));
    memcpy(tail, at + SECTOR_BYTES - sizeof(tail), sizeof(tail));
    if (memcmp(mark, tail, sizeof(mark)) ||
        mark[1] != (mark[0] ? sector : 0)) {
        return g_strdup_printf("contents: sector %" G_GUINT64_FORMAT " has "
                               "request %u of sector %u, and at its end %u of "
                               "%u", sector, mark[0], mark[1], tail[0],
                               tail[1]);
    }
    for (uint32_t i = model->head[sector]; i != NOBODY;) {
        const Version *v = VERSION(model, i);

        if (v->dead > begins && !v->loose && v->value == mark[0]) {
            there = v;
        }
        loose |= v->dead > begins && v->loose && mark[0] <= v->value;
        i = v->next;
    }
    if (!there && !loose) {
        g_autofree char *may = permitted(model, sector, begins);

        return g_strdup_printf("contents: sector %" G_GUINT64_FORMAT " has "
                               "request %u; permitted:%s", sector, mark[0],
                               may);
    }
    if (!loose) {
        learned(model, sector, there, begins);
    }
    return NULL;
}

static char *read_done(ArrayModel *model, const ModelRequest *r, bool failed)
{
    char *wrong = NULL;

    for (guint i = 0; i < model->reads->len; i++) {
        if (g_array_index(model->reads, uint32_t, i) == r->begins) {
            g_array_remove_index(model->reads, i);
            break;
        }
    }
    for (uint64_t i = 0; i < r->n && !failed && !wrong; i++) {
        wrong = check_sector(model, r->first + i, r->data + i * SECTOR_BYTES,
                             r->begins);
    }
    return wrong;
}

static void unknown(ArrayModel *model, uint64_t sector, uint32_t begins)
{
    for (uint32_t i = model->head[sector]; i != NOBODY;) {
        Version *v = VERSION(model, i);

        if (v->begins == begins) {
            v->ends = model->now;
            v->failed = true;
        }
        i = v->next;
    }
}

/* A discard says nothing of what was there before: that may be there, too. */
static void discarded(ArrayModel *model, uint64_t sector, uint32_t begins)
{
    for (uint32_t i = model->head[sector]; i != NOBODY;) {
        Version *v = VERSION(model, i);

        if (v->begins == begins) {
            v->ends = model->now;
            v->value = model->requests;
        }
        i = v->next;
    }
}

char *array_model_done(ArrayModel *model, const ModelRequest *r, bool failed)
{
    uint64_t first, end;

    model->now++;
    if (r->op == ARRAY_OP_READ) {
        return read_done(model, r, failed);
    }
    changed(model, r, &first, &end);
    for (uint64_t sector = first; sector < end; sector++) {
        if (r->op == ARRAY_OP_DISCARD) {
            discarded(model, sector, r->begins);
        } else if (failed) {
            unknown(model, sector, r->begins);
        } else {
            acknowledged(model, sector, r->begins);
        }
    }
    if (!failed && r->op == ARRAY_OP_WRITE && r->fua) {
        written_through(model, r);
    }
    if (!failed && (r->op == ARRAY_OP_FLUSH || r->fua)) {
        flushed(model, r->begins);
    }
    return NULL;
}

void array_model_flushed(ArrayModel *model)
{
    flushed(model, ++model->now);
}

void array_model_killed(ArrayModel *model)
{
    model->now++;
    g_array_set_size(model->reads, 0);
    for (uint64_t sector = 0; sector < model->sectors; sector++) {
        for (uint32_t i = model->head[sector]; i != NOBODY;) {
            Version *v = VERSION(model, i);

            if (v->ends == NEVER) {
                v->ends = model->now;
                v->failed = !v->loose;
                v->value = v->loose ? model->requests : v->value;
            }
            i = v->next;
        }
    }
}

void array_model_lost(ArrayModel *model)
{
    array_model_killed(model);
    flushed(model, 0);
    for (uint64_t sector = 0; sector < model->sectors; sector++) {
        for (uint32_t i = model->head[sector]; i != NOBODY;) {
            Version *v = VERSION(model, i);

            /* One of them is there, and will not go by itself. */
            v->begins = 0;
            v->ends = model->now;
            v->dead = v->over = NEVER;
            v->failed = false;
            i = v->next;
        }
    }
}

void array_model_forget(ArrayModel *model)
{
    array_model_killed(model);
    for (uint64_t sector = 0; sector < model->sectors; sector++) {
        while (model->head[sector] != NOBODY) {
            drop(model, &model->head[sector]);
        }
        add(model, sector, (Version) {
            .value = model->requests, .ends = model->now, .dead = NEVER,
            .over = NEVER, .loose = true,
        });
    }
}
