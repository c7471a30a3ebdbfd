/*
 * A power cut, from the failure of power to the line of output about it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/one.h"
#include "cuts/class.h"
#include "cuts/look.h"
#include "rerun/text.h"
#include "random.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    uint64_t cut, again;  /* again is 0: power failed only once */
    int64_t failed_ns, at_ns; /* when power failed first, and last */
    CutsClass class;      /* the class of the last failure */
    uint64_t torn, cmds;  /* torn pages; commands that the cut ended */
} Cut;

static uint64_t sum(const CutsWalk *walk, size_t field)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < walk->n_drives; i++) {
        const ScarpStats *stats = scarp_stats(walk->drives[i].run.drive);

        all += *(const uint64_t *)((const char *)stats + field);
    }
    return all;
}

#define SUM(walk, field) sum(walk, offsetof(ScarpStats, field))

static void fail_power(CutsWalk *walk, Cut *cut)
{
    cut->class = cuts_class(walk);
    cut->torn -= SUM(walk, torn_pages);
    cut->cmds -= SUM(walk, cut_cmds);
    cuts_walk_cut(walk);
    cut->torn += SUM(walk, torn_pages);
    cut->cmds += SUM(walk, cut_cmds);
    cut->at_ns = walk->now_ns;
    if (!cut->again) {
        cut->failed_ns = walk->now_ns;
    }
}

/*
 * Lets the drives recover until moment number `moments`, or until all drives
 * are ready. Returns a text about a fault, or NULL if there is none.
 */
static char *recover(CutsWalk *walk, uint64_t moments)
{
    while (!cuts_walk_is_ready(walk) && walk->moment < moments) {
        if (cuts_walk_next_ns(walk) == SCARP_TIME_NEVER) {
            return g_strdup("the drive is stuck: it does not get ready");
        }
        if (!cuts_walk_step(walk, NULL)) {
            return g_strdup("a command ended that power had cut off");
        }
    }
    return NULL;
}

/*
 * Returns a text about a fault that no drive may show, whatever the contract
 * permits. NULL: there is none.
 */
static char *fault_of(const CutsWalk *walk, int64_t ready_ns)
{
    int64_t bound_ns = 0;

    for (uint32_t i = 0; i < walk->n_drives; i++) {
        const ScarpDrive *drive = walk->drives[i].run.drive;
        g_autoptr(GError) error = NULL;

        if (!scarp_check(drive, &error)) {
            return g_strdup_printf("the drive's tables: %s", error->message);
        }
        if (scarp_stats(drive)->oob_mismatches) {
            return g_strdup("a read found another unit's data");
        }
        bound_ns = MAX(bound_ns, scarp_recovery_bound_ns(drive));
    }
    return ready_ns <= bound_ns
               ? NULL
               : g_strdup_printf("it was ready after %" G_GINT64_FORMAT
                                 " ns, and says that %" G_GINT64_FORMAT
                                 " ns are enough", ready_ns, bound_ns);
}

/* ---- The line of output ------------------------------------------------- */

static void tell_cut(const CutsWalk *walk, const Cut *cut, FILE *out)
{
    g_autofree char *met = cuts_class_text(cut->class);

    fprintf(out, "{\"cut\": %" G_GUINT64_FORMAT ", \"again\": ", cut->cut);
    if (cut->again) {
        fprintf(out, "%" G_GUINT64_FORMAT, cut->again);
    } else {
        fputs("null", out);
    }
    fprintf(out, ", \"failed_ns\": %" G_GINT64_FORMAT ", \"at_ns\": %"
            G_GINT64_FORMAT ", \"met\": ", cut->failed_ns, cut->at_ns);
    rerun_text(out, met);
    fprintf(out, ", \"torn_pages\": %" G_GUINT64_FORMAT ", \"cut_commands\": %"
            G_GUINT64_FORMAT ", \"ready_ns\": %" G_GINT64_FORMAT
            ", \"recovery_moments\": %" G_GUINT64_FORMAT, cut->torn, cut->cmds,
            walk->now_ns - cut->at_ns, walk->moment);
}

static void tell_looks(const CutsLook *looks, uint32_t n, FILE *out)
{
    uint64_t lost = 0;

    fputs(", \"contents\": [", out);
    for (uint32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", out);
        rerun_text(out, looks[i].name);
        lost += looks[i].lost;
    }
    fprintf(out, "], \"lost_sectors\": %" G_GUINT64_FORMAT ", \"stories\": [",
            lost);
    for (uint32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", out);
        rerun_text(out, looks[i].story);
    }
    fputs("]", out);
}

static char *keep(CutsWalk *walk, const CutsHow *how, const CutsLook *looks)
{
    g_autoptr(GError) error = NULL;
    bool ok = true;

    for (uint32_t i = 0; how->contents && i < walk->n_drives && ok; i++) {
        ok = cuts_look_keep(&walk->drives[i], &looks[i], how->contents, &error);
    }
    if (how->image && ok) {
        ok = scarp_drain(walk->drives[0].run.drive, &error) &&
             scarp_save(walk->drives[0].run.drive, how->image, &error);
    }
    return ok ? NULL : g_strdup(error->message);
}

/*
 * Writes the line about the cut. `fault` is NULL if the drives have recovered,
 * otherwise it says what went wrong.
 */
static void tell(CutsWalk *walk, const CutsHow *how, const Cut *cut,
                 char *fault, FILE *out)
{
    g_autofree CutsLook *looks = g_new0(CutsLook, walk->n_drives);
    g_autofree char *error = NULL;

    tell_cut(walk, cut, out);
    if (!fault) {
        fault = fault_of(walk, walk->now_ns - cut->at_ns);
        for (uint32_t i = 0; i < walk->n_drives; i++) {
            cuts_look(&walk->drives[i], &looks[i]);
        }
        tell_looks(looks, walk->n_drives, out);
        error = keep(walk, how, looks);
    }
    fputs(", \"fault\": ", out);
    rerun_text(out, fault);
    fputs(", \"error\": ", out);
    rerun_text(out, error);
    fputs("}\n", out);
    for (uint32_t i = 0; i < walk->n_drives; i++) {
        cuts_look_clear(&looks[i]);
    }
    g_free(fault);
}

/* ---- A second failure --------------------------------------------------- */

static void cut_again(CutsWalk *walk, const CutsHow *how, Cut *cut,
                      uint64_t again, FILE *out)
{
    char *fault = recover(walk, again);

    if (!fault && cuts_walk_is_ready(walk)) {
        fprintf(out, "{\"cut\": %" G_GUINT64_FORMAT ", \"error\": \"+%"
                G_GUINT64_FORMAT ": its recovery has %" G_GUINT64_FORMAT
                " moments, and the drive is ready at the last one\"}\n",
                cut->cut, again, walk->moment);
        return;
    }
    cut->again = again;
    if (!fault) {
        fail_power(walk, cut);
        fault = recover(walk, UINT64_MAX);
    }
    tell(walk, how, cut, fault, out);
}

/*
 * Forks a process that makes power fail again during the recovery. The process
 * waits until the parent writes the number of the moment to *tell_fd. If the
 * number is 0, power does not fail again.
 */
static pid_t fork_again(CutsWalk *walk, const CutsHow *how, Cut *cut,
                        int *tell_fd, FILE *out)
{
    uint64_t again = 0;
    int fds[2];
    pid_t pid;

    if (pipe(fds)) {
        return -1;
    }
    fflush(out);
    pid = fork();
    if (pid) {
        close(fds[0]);
        *tell_fd = fds[1];
        return pid;
    }
    close(fds[1]);
    if (read(fds[0], &again, sizeof(again)) == sizeof(again) && again) {
        cut_again(walk, how, cut, again, out);
    }
    fflush(out);
    _exit(0);
}

void cuts_one(CutsWalk *walk, const CutsHow *how, FILE *out)
{
    Cut cut = { .cut = walk->moment };
    uint64_t random = scarp_random_state(how->seed + walk->moment);
    uint64_t again = 0;
    pid_t pid = -1;
    int fd = -1;
    char *fault;

    fail_power(walk, &cut);
    if (how->again) {
        cut_again(walk, how, &cut, how->again, out);
        return;
    }
    if (how->twice) {
        pid = fork_again(walk, how, &cut, &fd, out);
    }
    fault = recover(walk, UINT64_MAX);
    /*
     * At the last moment the drives are ready, so power fails again at an
     * earlier moment.
     */
    if (!fault && walk->moment > 1) {
        again = 1 + scarp_random_below(&random, walk->moment - 1);
    }
    tell(walk, how, &cut, fault, out);
    fflush(out);
    if (pid > 0) {
        if (write(fd, &again, sizeof(again)) != sizeof(again)) {
            again = 0;
        }
        close(fd);
        waitpid(pid, NULL, 0);
    }
}
