/*
 * A scenario as data: its text, and the drive that it describes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "scenario.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char scenario_base[] =
    "[geometry]\nchannels=1\nchips_per_channel=1\ndies_per_chip=1\n"
    "planes_per_die=1\nblocks_per_plane=16\npages_per_block=4\n"
    "page_bytes=512\n[timing]\nread_ns=75000\nprogram_ns=750000\n"
    "erase_ns=3800000\nchannel_mts=400\n[controller]\nfirmware_ns=5000\n"
    "link_mbs=3200\n[ftl]\nover_provisioning_permille=1000\n"
    "[gc]\ntrigger_free_blocks=1\n";

static const char *const step_names[STEP__COUNT] = {
    [SCARP_OP_READ] = "read", [SCARP_OP_WRITE] = "write",
    [SCARP_OP_WRITE_ZEROES] = "zeroes", [SCARP_OP_DEALLOCATE] = "deallocate",
    [SCARP_OP_FLUSH] = "flush", [STEP_PACE] = "pace",
    [STEP_SCHEME] = "scheme", [STEP_DRAIN] = "drain",
    [STEP_RELOAD] = "reload", [STEP_COLLECT] = "collect",
    [STEP_HOLD] = "hold", [STEP_RESET] = "reset", [STEP_IDLE] = "idle",
    [STEP_POWER_CUT] = "cut", [STEP_CLOSE] = "close",
};

Scenario *scenario_new(void)
{
    Scenario *s = g_new0(Scenario, 1);

    s->keys = g_ptr_array_new_with_free_func(g_free);
    s->texts = g_ptr_array_new_with_free_func(g_free);
    s->steps = g_array_new(false, true, sizeof(Step));
    s->scheme = g_strdup("baseline");
    s->store = true;
    s->seed = s->age_seed = 1;
    return s;
}

void scenario_free(Scenario *s)
{
    g_ptr_array_free(s->keys, true);
    g_ptr_array_free(s->texts, true);
    g_array_free(s->steps, true);
    g_free(s->scheme);
    g_free(s->params);
    g_free(s->meta);
    g_free(s);
}

Scenario *scenario_copy(const Scenario *s)
{
    Scenario *copy = g_memdup2(s, sizeof(*s));

    copy->keys = g_ptr_array_new_with_free_func(g_free);
    copy->texts = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < s->keys->len; i++) {
        g_ptr_array_add(copy->keys, g_strdup(s->keys->pdata[i]));
    }
    for (guint i = 0; i < s->texts->len; i++) {
        g_ptr_array_add(copy->texts, g_strdup(s->texts->pdata[i]));
    }
    copy->steps = g_array_copy(s->steps);
    copy->scheme = g_strdup(s->scheme);
    copy->params = g_strdup(s->params);
    copy->meta = g_strdup(s->meta);
    return copy;
}

const char *scenario_key(const Scenario *s, const char *key)
{
    size_t length = strlen(key);

    for (guint i = s->keys->len; i; i--) { /* the last one counts */
        const char *entry = s->keys->pdata[i - 1];

        if (!strncmp(entry, key, length) && entry[length] == '=') {
            return entry + length + 1;
        }
    }
    return NULL;
}

const char *scenario_mapping(const Scenario *s)
{
    const char *mapping = scenario_key(s, "ftl.mapping");

    return mapping ? mapping : "page";
}

/* ---- Its drive ------------------------------------------------------ */

/* A file of the base description, for as long as the process lives. */
static const char *base_path(void)
{
    static char path[64];

    if (!*path) {
        int fd = memfd_create("base", 0);

        if (fd < 0 || write(fd, scenario_base, strlen(scenario_base)) !=
                          (ssize_t)strlen(scenario_base)) {
            g_error("no memory for a description");
        }
        g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    return path;
}

ScarpDrive *scenario_build(const Scenario *s, const char *image,
                           const char *scheme, const char *params,
                           uint64_t seed, const char *more_keys,
                           GError **error)
{
    g_autoptr(GString) keys = g_string_new(NULL);

    for (guint i = 0; i < s->keys->len; i++) {
        g_string_append_printf(keys, "%s%s", keys->len ? "," : "",
                               (char *)s->keys->pdata[i]);
    }
    if (more_keys) {
        g_string_append_printf(keys, "%s%s", keys->len ? "," : "", more_keys);
    }
    return scarp_drive_new(&(ScarpConfig) {
        .description_path = base_path(), .scheme = scheme, .params = params,
        .overrides = keys->str, .seed = seed, .store_data = s->store,
        .image_path = image }, error);
}

ScarpDrive *scenario_drive(const Scenario *s, GError **error)
{
    ScarpDrive *drive = scenario_build(s, NULL, s->scheme, s->params, s->seed,
                                       NULL, error);
    ScarpAge age = { .utilisation_permille = s->age_permille,
                     .overwrite_permille = s->overwrite_permille,
                     .pattern = s->random_age ? "random" : "sequential",
                     .seed = s->age_seed };

    if (drive && !scarp_age(drive, &age, error)) {
        scarp_drive_free(drive);
        return NULL;
    }
    return drive;
}

/* ---- Its text ------------------------------------------------------- */

static void step_text(GString *text, const Scenario *s, const Step *step)
{
    g_string_append(text, step_names[step->kind]);
    switch (step->kind) {
    case STEP_PACE:
        g_string_append_printf(text, " %u %s", step->sector,
                               step->open ? "open" : "closed");
        break;
    case STEP_SCHEME:
    case STEP_RELOAD:
        g_string_append_printf(text, " %s",
                               (char *)s->texts->pdata[step->text]);
        break;
    case STEP_COLLECT:
        g_string_append_printf(text, " %u", step->sectors);
        break;
    case STEP_HOLD:
    case STEP_IDLE:
        g_string_append_printf(text, " %" G_GINT64_FORMAT, step->gap_ns);
        break;
    case STEP_POWER_CUT:
        g_string_append_printf(text, " %u %u %u", step->sectors, step->sector,
                               step->stream);
        break;
    case STEP_CLOSE:
        g_string_append_printf(text, " %u", step->stream);
        break;
    case STEP_DRAIN:
    case STEP_RESET:
        break;
    default:
        if (step->kind != (StepKind)SCARP_OP_FLUSH) {
            g_string_append_printf(text, " %u %u", step->sector,
                                   step->sectors);
        }
        if (step->fua) {
            g_string_append(text, " fua");
        }
        if (step->stream) {
            g_string_append_printf(text, " stream=%u", step->stream);
        }
        if (step->lane) {
            g_string_append_printf(text, " lane=%u", step->lane);
        }
        if (step->gap_ns) {
            g_string_append_printf(text, " gap=%" G_GINT64_FORMAT,
                                   step->gap_ns);
        }
        if (step->deadline_ns) {
            g_string_append_printf(text, " deadline=%" G_GINT64_FORMAT,
                                   step->deadline_ns);
        }
        break;
    }
    g_string_append_c(text, '\n');
}

char *scenario_text(const Scenario *s)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < s->keys->len; i++) {
        g_string_append_printf(text, "key %s\n", (char *)s->keys->pdata[i]);
    }
    g_string_append_printf(text, "with %s %s %" G_GUINT64_FORMAT "%s\n",
                           s->scheme, s->params ? s->params : "-", s->seed,
                           s->store ? "" : " nodata");
    g_string_append_printf(text, "age %u %u %s %" G_GUINT64_FORMAT "\n",
                           s->age_permille, s->overwrite_permille,
                           s->random_age ? "random" : "sequential",
                           s->age_seed);
    if (s->meta) {
        g_string_append_printf(text, "meta %s\n", s->meta);
    }
    for (guint i = 0; i < s->steps->len; i++) {
        step_text(text, s, &g_array_index(s->steps, Step, i));
    }
    return g_string_free(text, false);
}

static uint64_t number_of(const char *text)
{
    return text ? strtoull(text, NULL, 10) : 0;
}

static bool parse_step(Scenario *s, char **word, guint n)
{
    Step step = { 0 };
    const char *one = n > 1 ? word[1] : NULL, *two = n > 2 ? word[2] : NULL;

    while (step.kind < STEP__COUNT && strcmp(word[0], step_names[step.kind])) {
        step.kind++;
    }
    switch (step.kind) {
    case STEP__COUNT:
        return false;
    case STEP_PACE:
        step.sector = number_of(one);
        step.open = !g_strcmp0(two, "open");
        break;
    case STEP_SCHEME:
    case STEP_RELOAD:
        step.text = s->texts->len;
        g_ptr_array_add(s->texts, g_strjoinv(" ", word + 1));
        break;
    case STEP_COLLECT:
        step.sectors = number_of(one);
        break;
    case STEP_HOLD:
    case STEP_IDLE:
        step.gap_ns = number_of(one);
        break;
    case STEP_POWER_CUT:
        step.sectors = number_of(one);
        step.sector = number_of(two);
        step.stream = number_of(n > 3 ? word[3] : NULL);
        break;
    case STEP_CLOSE:
        step.stream = number_of(one);
        break;
    default:
        if (step.kind < (StepKind)SCARP_OP_FLUSH) {
            step.sector = number_of(one);
            step.sectors = number_of(two);
        }
        for (guint i = 1; i < n; i++) {
            const char *equals = strchr(word[i], '=');

            step.fua |= !strcmp(word[i], "fua");
            if (g_str_has_prefix(word[i], "stream=")) {
                step.stream = number_of(equals + 1);
            } else if (g_str_has_prefix(word[i], "lane=")) {
                step.lane = number_of(equals + 1);
            } else if (g_str_has_prefix(word[i], "gap=")) {
                step.gap_ns = number_of(equals + 1);
            } else if (g_str_has_prefix(word[i], "deadline=")) {
                step.deadline_ns = number_of(equals + 1);
            }
        }
        break;
    }
    g_array_append_val(s->steps, step);
    return true;
}

bool scenario_add_step(Scenario *s, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);

    return parse_step(s, words, g_strv_length(words));
}

static bool parse_line(Scenario *s, char **word, guint n)
{
    if (!strcmp(word[0], "key") && n == 2 && strchr(word[1], '=')) {
        g_ptr_array_add(s->keys, g_strdup(word[1]));
    } else if (!strcmp(word[0], "with") && n >= 4) {
        g_free(s->scheme);
        g_free(s->params);
        s->scheme = g_strdup(word[1]);
        s->params = strcmp(word[2], "-") ? g_strdup(word[2]) : NULL;
        s->seed = number_of(word[3]);
        s->store = n == 4;
    } else if (!strcmp(word[0], "age") && n == 5) {
        s->age_permille = number_of(word[1]);
        s->overwrite_permille = number_of(word[2]);
        s->random_age = !strcmp(word[3], "random");
        s->age_seed = number_of(word[4]);
    } else if (!strcmp(word[0], "meta")) {
        g_free(s->meta);
        s->meta = g_strjoinv(" ", word + 1);
    } else {
        return parse_step(s, word, n);
    }
    return true;
}

Scenario *scenario_parse(const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(Scenario) s = scenario_new();

    for (char **line = lines; *line; line++) {
        g_auto(GStrv) words = NULL;

        g_strstrip(*line);
        if (!**line || **line == '#') {
            continue;
        }
        words = g_strsplit(*line, " ", -1);
        if (!parse_line(s, words, g_strv_length(words))) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "line %d: '%s' "
                        "is no step of a scenario", (int)(line - lines) + 1,
                        *line);
            return NULL;
        }
    }
    return g_steal_pointer(&s);
}
