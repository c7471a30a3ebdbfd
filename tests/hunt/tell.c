/*
 * What a hunt has to say of itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "tell.h"
#include "kinds.h"

#include <stdio.h>
#include <sys/resource.h>

#define CAMPAIGN 50000 /* so many checked scenarios meet every mark */

/* Of a checked build: false if a long hunt never met one of them. */
static bool print_marks(const Report *sum, bool all)
{
    unsigned n = MIN(scarp_mark_count(), MOST_MARKS), met = 0;

    for (unsigned i = 0; i < n; i++) {
        const ScarpMarkField *mark = scarp_mark_field(i);

        met += sum->marks[i] > 0;
        if (!sum->marks[i] || all) {
            printf("# mark %s (%s): %" G_GUINT64_FORMAT " in %"
                   G_GUINT64_FORMAT " scenarios\n", mark->name, mark->help,
                   sum->marks[i], sum->met[i]);
        }
    }
    if (n) {
        printf("# %u of %u marks were met\n", met, n);
    }
    return met == n || sum->done < CAMPAIGN;
}

bool tell_sums(const Report *reports, unsigned jobs, double wall_s,
               bool all_marks, bool all_kinds)
{
    Report sum = { 0 };
    uint64_t half = 0, at = 0;
    struct rusage used;
    double core_s;

    for (unsigned i = 0; i < jobs; i++) {
        const Report *report = &reports[i];

        sum.done += report->done;
        sum.accepted += report->accepted;
        sum.refused += report->refused;
        sum.commands += report->commands;
        sum.events += report->events;
        sum.collecting += report->collecting;
        sum.merging += report->merging;
        sum.phased += report->phased;
        sum.forks += report->forks;
        for (unsigned k = 0; k < MOST_MARKS; k++) {
            sum.marks[k] += report->marks[k];
            sum.met[k] += report->met[k];
        }
        for (unsigned k = 0; k < MOST_CUT_KINDS; k++) {
            if (*report->kinds[k].name) {
                kinds_count(sum.kinds, report->kinds[k].name,
                            report->kinds[k].cuts);
            }
        }
        for (int k = 0; k < COMMAND_BUCKETS; k++) {
            sum.with_commands[k] += report->with_commands[k];
        }
    }
    while (at < COMMAND_BUCKETS && 2 * half < sum.done) {
        half += sum.with_commands[at++];
    }
    printf("# %" G_GUINT64_FORMAT " scenarios, drives drawn: %"
           G_GUINT64_FORMAT " accepted, %" G_GUINT64_FORMAT " refused; median "
           "of host commands %" G_GUINT64_FORMAT "; %.0f %% collect or merge "
           "(%.0f %% merge), %.0f %% with a switch, a rest or an image\n",
           sum.done, sum.accepted, sum.refused,
           at ? (at - 1) * COMMAND_BUCKET : 0,
           sum.collecting * 100.0 / MAX(sum.done, 1),
           sum.merging * 100.0 / MAX(sum.done, 1),
           sum.phased * 100.0 / MAX(sum.done, 1));
    /* Processor time, as the machine may have other things to do. */
    getrusage(RUSAGE_CHILDREN, &used);
    core_s = used.ru_utime.tv_sec + used.ru_stime.tv_sec +
             (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("# %.0f commands and %.0f moments a scenario; %.1f scenarios a "
           "second, %.1f in a second of a core\n",
           sum.commands * 1.0 / MAX(sum.done, 1),
           sum.events * 1.0 / MAX(sum.done, 1), sum.done / wall_s,
           sum.done / MAX(core_s, 0.000001));
    if (sum.forks) {
        printf("# %" G_GUINT64_FORMAT " forks, each unchanged: every command "
               "ended at its recorded nanosecond\n", sum.forks);
    }
    kinds_tell(sum.kinds, all_kinds);
    return print_marks(&sum, all_marks);
}
