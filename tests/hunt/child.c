/*
 * One scenario after another in processes of their own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "child.h"

#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_FRAMES 40
#define SAID_BYTES 65536
#define EXIT_FAILED 3

void *child_shared(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) {
        g_error("no shared memory");
    }
    return at;
}

/* Addresses only: the parent has the time to look them up. */
static void on_signal(int number)
{
    void *frame[MOST_FRAMES];
    int n = backtrace(frame, MOST_FRAMES);

    dprintf(STDERR_FILENO, "\nSIGNAL %d", number);
    for (int i = 0; i < n; i++) {
        dprintf(STDERR_FILENO, " %p", frame[i]);
    }
    dprintf(STDERR_FILENO, "\n");
    _exit(EXIT_FAILED);
}

/* What an assertion of the engine's laws says. */
static void on_log(const gchar *domain, GLogLevelFlags level,
                   const gchar *message, gpointer report)
{
    (void)domain;
    if (level & G_LOG_LEVEL_ERROR) {
        child_fail(report, message);
    }
}

static void catch_signals(void)
{
    static const int signals[] = {
        SIGVTALRM, SIGABRT,
#ifndef SCARP_CHECKED
        SIGSEGV, SIGBUS, SIGFPE, SIGILL,
#endif
    };
    static char stack[65536];
    stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
    void *one[1];

    backtrace(one, 1); /* it loads a library the first time */
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        struct sigaction action = { .sa_handler = on_signal,
                                    .sa_flags = SA_ONSTACK };

        sigaction(signals[i], &action, NULL);
    }
}

void child_begin(Report *report, uint64_t number, unsigned seconds)
{
    struct itimerval limit = { .it_value = { .tv_sec = seconds } };

    report->number = number;
    *report->mapping = *report->scheme = *report->message = '\0';
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

void child_fail(Report *report, const char *message)
{
    g_strlcpy(report->message, message, sizeof(report->message));
    _exit(EXIT_FAILED);
}

/* ---- What a child that died has said -------------------------------- */

/* Functions of these addresses, innermost first. */
static GPtrArray *functions_at(char **address)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autoptr(GString) command = g_string_new("addr2line -f -i -e '");
    FILE *pipe;
    char line[512];

    g_string_append_printf(command, "%s'", self);
    for (; *address; address++) {
        if (g_str_has_prefix(*address, "0x")) {
            g_string_append_printf(command, " %s", *address);
        }
    }
    pipe = popen(command->str, "r");
    while (pipe && fgets(line, sizeof(line), pipe)) {
        g_strchomp(line);
        if (*line != '?' && !strchr(line, ':') && !strchr(line, '/')) {
            g_ptr_array_add(names, g_strdup(line));
        }
    }
    if (pipe) {
        pclose(pipe);
    }
    return names;
}

static bool is_own(const char *name)
{
    static const char *const own[] = {
        "on_signal", "step", "host_run_until", "submit", "one_step",
        "host_drain", "scenario_drive", "scenario_build", "reload",
        "host_rest", "host_command", "wait_for_room", "run_scenario",
        "host_reap", "read_all", "host_check", "accepted",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(own); i++) {
        if (!strcmp(name, own[i])) {
            return true;
        }
    }
    return false;
}

/* "SIGNAL 11 0x… 0x…": what, and where. */
static void describe_signal(const char *line, const char *said, GString *text)
{
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    int number = atoi(words[1]);
    g_autoptr(GPtrArray) names = functions_at(words + 2);
    bool endless = number == SIGVTALRM;
    unsigned shown = 0;

    if (endless) {
        g_string_append(text, "an endless run in");
        for (guint i = 2; i < names->len; i++) {
            if (is_own(names->pdata[i]) && !is_own(names->pdata[i - 1])) {
                g_string_append_printf(text, " %s",
                                       (char *)names->pdata[i - 1]);
                return;
            }
        }
        return;
    }
    if (number == SIGABRT) {
        g_auto(GStrv) lines = g_strsplit(said, "\n", -1);

        for (char **at = lines; *at; at++) {
            if (strstr(*at, "ERROR")) {
                char *begin = strstr(*at, "ERROR");

                g_string_append(text, begin);
                break;
            }
        }
    } else {
        g_string_append(text, g_strsignal(number));
    }
    g_string_append(text, " in");
    for (guint i = 0; i < names->len && shown < 4; i++) {
        const char *name = names->pdata[i];

        if (strcmp(name, "on_signal") && !g_str_has_prefix(name, "_") &&
            !g_str_has_prefix(name, "g_")) {
            g_string_append_printf(text, "%s %s", shown ? " <" : "", name);
            shown++;
        }
    }
}

/* "==1==ERROR: AddressSanitizer: …", then "    #0 0x… in name file:line" */
static void describe_sanitizer(const char *said, GString *text)
{
    g_auto(GStrv) lines = g_strsplit(said, "\n", -1);
    unsigned shown = 0;

    for (char **line = lines; *line && shown < 4; line++) {
        const char *what = strstr(*line, "Sanitizer:");
        const char *in = strstr(*line, " in ");

        if (!what) {
            what = strstr(*line, "runtime error");
        }
        if (what && !text->len) {
            g_auto(GStrv) words = g_strsplit(what, " on ", 2);

            g_string_append(text, words[0]);
            g_string_append(text, " in");
        } else if (text->len && in && strstr(*line, "    #")) {
            g_auto(GStrv) words = g_strsplit(in + 4, " ", 2);

            if (!g_str_has_prefix(words[0], "_")) {
                g_string_append_printf(text, "%s %s", shown ? " <" : "",
                                       words[0]);
                shown++;
            }
        }
    }
}

static void describe(const char *said, int status, GString *text)
{
    const char *signal = strstr(said, "\nSIGNAL ");

    if (signal) {
        g_autofree char *line = g_strndup(signal + 1,
                                          strcspn(signal + 1, "\n"));

        describe_signal(line, said, text);
    } else {
        describe_sanitizer(said, text);
    }
    if (!text->len) {
        g_string_append_printf(text, "ended with status %d: %.200s", status,
                               said);
    }
}

static char *read_said(int fd)
{
    char *said = g_malloc0(SAID_BYTES);

    if (pread(fd, said, SAID_BYTES - 1, 0) < 0) {
        *said = '\0';
    }
    return said;
}

bool child_run(ChildWork work, void *opaque, Report *report, Failure *failure)
{
    int fd = memfd_create("said", MFD_CLOEXEC), status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid < 0) {
        g_error("no process");
    }
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fd, STDERR_FILENO);
#ifndef SCARP_CHECKED
        setrlimit(RLIMIT_AS, &(struct rlimit) { 4ull << 30, 4ull << 30 });
#endif
        setrlimit(RLIMIT_CORE, &(struct rlimit) { 0, 0 });
        catch_signals();
        g_log_set_default_handler(on_log, report);
        work(report, opaque);
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0) {
        continue;
    }
    if (status) {
        g_autoptr(GString) text = g_string_new(report->message);

        failure->number = report->number;
        g_strlcpy(failure->mapping, report->mapping, sizeof(failure->mapping));
        g_strlcpy(failure->scheme, report->scheme, sizeof(failure->scheme));
        if (!text->len) {
            g_autofree char *said = read_said(fd);

            describe(said, status, text);
        }
        g_strdelimit(text->str, "\n", ' ');
        g_strlcpy(failure->message, text->str, sizeof(failure->message));
    }
    close(fd);
    return !status;
}

char *child_signature(const Failure *failure)
{
    GString *text = g_string_new(failure->mapping);

    g_string_append(text, ": ");
    for (const char *c = failure->message; *c; c++) {
        if (!g_ascii_isdigit(*c)) {
            g_string_append_c(text, *c);
        } else if (text->str[text->len - 1] != '#') {
            g_string_append_c(text, '#');
        }
    }
    return g_string_free(text, false);
}
