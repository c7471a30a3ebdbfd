/*
 * What a disk may return while commands overlap.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "model.h"

#include <string.h>

#define NEVER UINT32_MAX
#define NONE UINT32_MAX

/* A write to a sector.  Moments are numbers of submissions and completions. */
typedef struct {
    uint32_t value;   /* the command's number; 0: zeroes */
    uint32_t begins, ends;
    uint32_t dead;    /* from this moment on a new read cannot return it */
    uint32_t next;
} Version;

struct Model {
    uint64_t sectors;
    uint32_t unit_sectors;
    bool deallocates;
    uint32_t *head;   /* of each sector: Version */
    GArray *versions;
    uint32_t spare;   /* Version */
    GHashTable *begins; /* ScarpCmd: its submission */
    GArray *reads;    /* in flight: moments of submission, ascending */
    uint32_t now;
    uint32_t commands;
};

#define VERSION(model, i) g_array_index((model)->versions, Version, i)

Model *model_new(uint64_t sectors, uint32_t unit_sectors, bool deallocates)
{
    Model *model = g_new0(Model, 1);
    Version zeroes = { .next = NONE, .dead = NEVER };

    model->sectors = sectors;
    model->unit_sectors = unit_sectors;
    model->deallocates = deallocates;
    model->head = g_new(uint32_t, sectors);
    model->versions = g_array_sized_new(false, false, sizeof(Version),
                                        sectors + 256);
    model->begins = g_hash_table_new(NULL, NULL);
    model->reads = g_array_new(false, false, sizeof(uint32_t));
    model->spare = NONE;
    for (uint32_t i = 0; i < sectors; i++) {
        model->head[i] = i;
        g_array_append_val(model->versions, zeroes);
    }
    return model;
}

Model *model_copy(const Model *model)
{
    Model *copy = g_memdup2(model, sizeof(*model));

    g_assert(!model->reads->len);
    copy->head = g_memdup2(model->head, model->sectors * sizeof(uint32_t));
    copy->versions = g_array_copy(model->versions);
    copy->begins = g_hash_table_new(NULL, NULL);
    copy->reads = g_array_new(false, false, sizeof(uint32_t));
    return copy;
}

void model_free(Model *model)
{
    g_free(model->head);
    g_array_free(model->versions, true);
    g_array_free(model->reads, true);
    g_hash_table_destroy(model->begins);
    g_free(model);
}

/* Of a deallocation the whole units; nothing for a flush or a read. */
static void range(const Model *model, const ScarpCmd *cmd, uint64_t *first,
                  uint64_t *end)
{
    uint64_t unit = model->unit_sectors;

    *first = cmd->offset_bytes / SCARP_SECTOR_BYTES;
    *end = *first + cmd->length_bytes / SCARP_SECTOR_BYTES;
    if (cmd->op == SCARP_OP_DEALLOCATE) {
        *first = (*first + unit - 1) / unit * unit;
        *end = MAX(*end / unit * unit, *first);
        *end = model->deallocates ? *end : *first;
    } else if (cmd->op == SCARP_OP_FLUSH) {
        *end = *first;
    }
}

static void add(Model *model, uint64_t sector, uint32_t value)
{
    Version version = { .value = value, .begins = model->now, .ends = NEVER,
                        .dead = NEVER };
    uint32_t i = model->spare;

    version.next = model->head[sector];
    if (i == NONE) {
        i = model->versions->len;
        g_array_append_val(model->versions, version);
    } else {
        model->spare = VERSION(model, i).next;
        VERSION(model, i) = version;
    }
    model->head[sector] = i;
}

/* Its begin and its end say which sector and which command it is of. */
static void fill(const Model *model, const ScarpCmd *cmd)
{
    uint64_t n = cmd->length_bytes / SCARP_SECTOR_BYTES;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t mark[2] = { model->commands,
                             cmd->offset_bytes / SCARP_SECTOR_BYTES + i };
        uint8_t *at = (uint8_t *)cmd->data + i * SCARP_SECTOR_BYTES;

        memcpy(at, mark, sizeof(mark));
        memcpy(at + SCARP_SECTOR_BYTES - sizeof(mark), mark, sizeof(mark));
    }
}

uint32_t model_value(const uint8_t *sector)
{
    uint32_t value;

    memcpy(&value, sector, sizeof(value));
    return value;
}

uint32_t model_submit(Model *model, ScarpCmd *cmd)
{
    uint64_t first, end;

    model->now++;
    model->commands++;
    g_hash_table_insert(model->begins, cmd, GUINT_TO_POINTER(model->now));
    if (cmd->op == SCARP_OP_READ) {
        g_array_append_val(model->reads, model->now);
        return model->commands;
    }
    range(model, cmd, &first, &end);
    for (uint64_t sector = first; sector < end; sector++) {
        add(model, sector, cmd->op == SCARP_OP_WRITE ? model->commands
                                                 : 0);
    }
    if (cmd->op == SCARP_OP_WRITE && cmd->data) {
        fill(model, cmd);
    }
    return model->commands;
}

void model_reset(Model *model, const uint32_t *found)
{
    g_array_set_size(model->versions, 0);
    g_array_set_size(model->reads, 0);
    g_hash_table_remove_all(model->begins);
    model->spare = NONE;
    for (uint64_t i = 0; i < model->sectors; i++) {
        Version version = { .value = found[i], .next = NONE, .dead = NEVER };

        model->head[i] = i;
        g_array_append_val(model->versions, version);
    }
}

/* Nothing that was over when it began can be read any more. */
static void written(Model *model, uint64_t sector, uint32_t begins)
{
    uint32_t oldest = model->reads->len
                          ? g_array_index(model->reads, uint32_t, 0) : NEVER;
    uint32_t *at = &model->head[sector];

    while (*at != NONE) {
        uint32_t i = *at;
        Version *v = &VERSION(model, i);

        if (v->begins == begins) {
            v->ends = model->now;
        } else if (v->ends < begins && v->dead == NEVER) {
            v->dead = model->now;
        }
        if (v->dead <= oldest && v->dead != NEVER) {
            *at = v->next; /* nor by what is in flight */
            v->next = model->spare;
            model->spare = i;
        } else {
            at = &v->next;
        }
    }
}

static char *permitted(const Model *model, uint64_t sector, uint32_t begins)
{
    GString *text = g_string_new(NULL);

    for (uint32_t i = model->head[sector]; i != NONE;
         i = VERSION(model, i).next) {
        const Version *v = &VERSION(model, i);

        if (v->dead > begins) {
            g_string_append_printf(text, " %u", v->value);
        }
    }
    return g_string_free(text, false);
}

bool model_is_whole(const uint8_t *bytes, uint64_t sector)
{
    uint32_t mark[2], tail[2];

    memcpy(mark, bytes, sizeof(mark));
    memcpy(tail, bytes + SCARP_SECTOR_BYTES - sizeof(tail), sizeof(tail));
    return !memcmp(mark, tail, sizeof(mark)) &&
           mark[1] == (mark[0] ? sector : 0);
}

static bool check_sector(Model *model, uint64_t sector, const uint8_t *at,
                         uint32_t begins, GError **error)
{
    uint32_t mark[2], tail[2];
    bool found = false;

    memcpy(mark, at, sizeof(mark));
    memcpy(tail, at + SCARP_SECTOR_BYTES - sizeof(tail), sizeof(tail));
    if (!model_is_whole(at, sector)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "contents: sector %" G_GUINT64_FORMAT " has write %u to "
                    "sector %u, and at its end write %u to sector %u", sector,
                    mark[0], mark[1], tail[0], tail[1]);
        return false;
    }
    for (uint32_t i = model->head[sector]; i != NONE && !found;
         i = VERSION(model, i).next) {
        found = VERSION(model, i).value == mark[0] &&
                VERSION(model, i).dead > begins;
    }
    if (!found) {
        g_autofree char *may = permitted(model, sector, begins);

        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "contents: sector %" G_GUINT64_FORMAT " has write %u; "
                    "permitted:%s", sector, mark[0], may);
        return false;
    }
    /* What was over before the read began, and was not found, is no more. */
    for (uint32_t i = model->head[sector]; i != NONE;
         i = VERSION(model, i).next) {
        Version *v = &VERSION(model, i);

        if (v->value != mark[0] && v->ends < begins && v->dead == NEVER) {
            v->dead = model->now;
        }
    }
    return true;
}

bool model_done(Model *model, ScarpCmd *cmd, GError **error)
{
    uint32_t begins = GPOINTER_TO_UINT(g_hash_table_lookup(model->begins, cmd));
    uint64_t first, end;

    model->now++;
    g_hash_table_remove(model->begins, cmd);
    for (guint i = 0; cmd->op == SCARP_OP_READ; i++) {
        if (g_array_index(model->reads, uint32_t, i) == begins) {
            g_array_remove_index(model->reads, i);
            break;
        }
    }
    range(model, cmd, &first, &end);
    for (uint64_t sector = first; sector < end; sector++) {
        if (cmd->op != SCARP_OP_READ) {
            written(model, sector, begins);
        } else if (cmd->data &&
                   !check_sector(model, sector,
                                 (uint8_t *)cmd->data + (sector - first) *
                                                            SCARP_SECTOR_BYTES,
                                 begins, error)) {
            return false;
        }
    }
    return true;
}
