/*
 * Chooses the commands to explain. Commands that waited behind one chain of
 * collections form an episode.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "why/episodes.h"

enum { UNSEEN = 0x80, LEAST_WINDOW_NS = 100000000 };

static const CmdLogRow *cmd_of(const RerunRecord *record, guint row)
{
    return &rerun_row(record, row)->cmd;
}

static int64_t latency_ns(const CmdLogRow *cmd)
{
    return cmd->complete_ns - cmd->submit_ns;
}

/* ---- Commands asked for ------------------------------------------------- */

static int by_latency(gconstpointer a, gconstpointer b, gpointer record)
{
    guint x = *(const guint *)a, y = *(const guint *)b;
    int64_t first = latency_ns(cmd_of(record, x));
    int64_t second = latency_ns(cmd_of(record, y));

    if (first != second) {
        return first > second ? -1 : 1;
    }
    return (x > y) - (x < y);
}

GArray *why_slowest(const RerunRecord *record, guint n, int64_t from_ns,
                    int64_t to_ns)
{
    GArray *rows = g_array_new(false, false, sizeof(guint));

    for (guint i = 0; i < record->rows->len; i++) {
        const CmdLogRow *cmd = cmd_of(record, i);

        if (!(cmd->status & UNSEEN) && cmd->submit_ns >= from_ns &&
            cmd->submit_ns <= to_ns) {
            g_array_append_val(rows, i);
        }
    }
    g_array_sort_with_data(rows, by_latency, (gpointer)record);
    if (rows->len > n) {
        g_array_set_size(rows, n);
    }
    return rows;
}

static bool find_order(const RerunRecord *record, const char *text,
                       guint *row, GError **error)
{
    uint64_t order;
    bool number = g_ascii_string_to_unsigned(text, 10, 0, CMDLOG_ORDER_MASK,
                                             &order, NULL);

    for (*row = 0; number && *row < record->rows->len; (*row)++) {
        const CmdLogRow *cmd = cmd_of(record, *row);

        if ((cmd->order & CMDLOG_ORDER_MASK) != order) {
            continue;
        }
        if (cmd->status & UNSEEN) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "--command=%s: never ended in the guest, which was "
                        "gone by then", text);
            return false;
        }
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "--command=%s: the log has no command of this order; `scarp "
                "rows` lists them in the column 'order'", text);
    return false;
}

GArray *why_numbered(const RerunRecord *record, char **orders, GError **error)
{
    g_autoptr(GArray) rows = g_array_new(false, false, sizeof(guint));

    for (; *orders; orders++) {
        guint row;

        if (!find_order(record, *orders, &row, error)) {
            return NULL;
        }
        for (guint i = 0; i < rows->len; i++) {
            if (g_array_index(rows, guint, i) == row) {
                g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                            "--command=%s: is given twice", *orders);
                return NULL;
            }
        }
        g_array_append_val(rows, row);
    }
    return g_steal_pointer(&rows);
}

/* ---- Episodes ----------------------------------------------------------- */

static void clear_episode(gpointer episode)
{
    g_array_unref(((WhyEpisode *)episode)->asked);
}

/*
 * Returns the command's episode, which is made if there is none. Returns NULL
 * instead of a new episode if `most` episodes exist already.
 */
static WhyEpisode *episode_of(GArray *episodes, const WhyAsked *asked,
                              guint most)
{
    WhyEpisode fresh = { .chain = asked->chain, .at_ns = SCARP_TIME_NEVER };

    for (guint i = 0; asked->chain >= 0 && i < episodes->len; i++) {
        WhyEpisode *episode = &g_array_index(episodes, WhyEpisode, i);

        if (episode->chain == asked->chain) {
            return episode;
        }
    }
    if (most && episodes->len == most) {
        return NULL;
    }
    fresh.asked = g_array_new(false, false, sizeof(WhyAsked));
    g_array_append_val(episodes, fresh);
    return &g_array_index(episodes, WhyEpisode, episodes->len - 1);
}

static int by_instant(gconstpointer a, gconstpointer b)
{
    const WhyEpisode *x = a, *y = b;

    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/*
 * Sets the episode's instant, if the user gave none, and the end of its window.
 * The window is twice as long as the episode and at least 100 ms, so that it
 * shows the collections that a branch only delayed. A window that would be
 * longer than the run ends with the run.
 */
static void set_times(WhyEpisode *episode, const WhySurvey *survey,
                      const RerunRecord *record)
{
    int64_t begin_ns = SCARP_TIME_NEVER, end_ns = 0;

    for (guint i = 0; i < episode->asked->len; i++) {
        guint row = g_array_index(episode->asked, WhyAsked, i).row;

        begin_ns = MIN(begin_ns, cmd_of(record, row)->submit_ns);
        end_ns = MAX(end_ns, cmd_of(record, row)->complete_ns);
    }
    if (episode->chain >= 0) {
        const WhyChain *chain = &g_array_index(survey->chains, WhyChain,
                                               episode->chain);

        begin_ns = chain->begin_ns;
        end_ns = MAX(end_ns, chain->end_ns);
    }
    if (episode->at_ns == SCARP_TIME_NEVER) {
        episode->at_ns = MAX(begin_ns - 1, 0);
    }
    episode->until_ns = episode->at_ns +
                        MAX(2 * (end_ns - episode->at_ns), LEAST_WINDOW_NS);
    episode->until_ns = MIN(episode->until_ns, MAX(survey->end_ns, end_ns));
}

GArray *why_episodes(const WhySurvey *survey, const RerunRecord *record,
                     int64_t at_ns, guint most, GError **error)
{
    GArray *episodes = g_array_new(false, false, sizeof(WhyEpisode));

    g_array_set_clear_func(episodes, clear_episode);
    for (guint i = 0; i < survey->asked->len; i++) {
        const WhyAsked *asked = &g_array_index(survey->asked, WhyAsked, i);
        const CmdLogRow *cmd = cmd_of(record, asked->row);
        WhyEpisode *episode;

        if (at_ns != SCARP_TIME_NEVER && at_ns >= cmd->complete_ns) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "--at=%" G_GINT64_FORMAT "ns: the command of order %u "
                        "had ended at %" G_GINT64_FORMAT " ns; an earlier "
                        "instant can change it", at_ns,
                        cmd->order & CMDLOG_ORDER_MASK, cmd->complete_ns);
            g_array_unref(episodes);
            return NULL;
        }
        episode = episode_of(episodes, asked, most);
        if (episode) {
            g_array_append_vals(episode->asked, asked, 1);
        }
    }
    for (guint i = 0; i < episodes->len; i++) {
        WhyEpisode *episode = &g_array_index(episodes, WhyEpisode, i);

        episode->at_ns = at_ns;
        set_times(episode, survey, record);
    }
    g_array_sort(episodes, by_instant);
    for (guint i = 0; i < episodes->len; i++) {
        g_array_index(episodes, WhyEpisode, i).number = i + 1;
    }
    return episodes;
}

/* ---- The line of output ------------------------------------------------- */

void why_tell_episode(const WhyEpisode *episode, const WhySurvey *survey,
                      const RerunRecord *record, FILE *out)
{
    static const char *const ops[SCARP_OP__COUNT] = {
        "read", "write", "write_zeroes", "deallocate", "flush",
    };

    fprintf(out, "{\"episode\": %u, \"at_ns\": %" G_GINT64_FORMAT
            ", \"until_ns\": %" G_GINT64_FORMAT ", \"chain\": ",
            episode->number, episode->at_ns, episode->until_ns);
    if (episode->chain >= 0) {
        const WhyChain *chain = &g_array_index(survey->chains, WhyChain,
                                               episode->chain);

        fprintf(out, "{\"die\": %u, \"collections\": %u, \"begin_ns\": %"
                G_GINT64_FORMAT ", \"end_ns\": %" G_GINT64_FORMAT
                ", \"moved_units\": %u}", chain->die, chain->n_runs,
                chain->begin_ns, chain->end_ns, chain->moved_units);
    } else {
        fputs("null", out);
    }
    fputs(", \"commands\": [", out);
    for (guint i = 0; i < episode->asked->len; i++) {
        const WhyAsked *asked = &g_array_index(episode->asked, WhyAsked, i);
        const CmdLogRow *cmd = cmd_of(record, asked->row);

        fprintf(out, "%s{\"order\": %u, \"op\": \"%s\", \"offset_bytes\": %"
                G_GUINT64_FORMAT ", \"length_bytes\": %u, \"submit_ns\": %"
                G_GINT64_FORMAT ", \"complete_ns\": %" G_GINT64_FORMAT "}",
                i ? ", " : "", cmd->order & CMDLOG_ORDER_MASK, ops[cmd->op],
                cmd->offset_bytes, cmd->length_bytes, cmd->submit_ns,
                cmd->complete_ns);
    }
    fputs("]}\n", out);
}
