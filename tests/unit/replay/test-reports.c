/*
 * Files of the replayer that must be apart, and its report of a drive that comes
 * up after a power cut.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../power.h"
#include "options.h"
#include "ready.h"

#include <glib/gstdio.h>
#include <unistd.h>

static char *folder;

static char *in_folder(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static bool are_apart(const char *one, bool one_written, const char *two,
                      bool two_written)
{
    const OptionFile files[] = {
        { "--json", one, one_written }, { "--save", two, two_written },
    };
    g_autoptr(GError) error = NULL;
    bool apart = options_apart(files, G_N_ELEMENTS(files), &error);

    g_assert_true(apart == !error);
    if (error) {
        g_assert_nonnull(strstr(error->message, "; must be another file"));
    }
    return apart;
}

static void test_apart(void)
{
    g_autofree char *one = in_folder("one"), *two = in_folder("two");
    g_autofree char *linked = in_folder("linked");
    g_autofree char *around = g_strconcat(folder, "/./one", NULL);
    g_autofree char *new = in_folder("new");
    g_autofree char *new_around = g_strconcat(folder, "/./new", NULL);

    g_assert_true(g_file_set_contents(one, "1", -1, NULL));
    g_assert_true(g_file_set_contents(two, "2", -1, NULL));
    g_assert_cmpint(link(one, linked), ==, 0);
    g_assert_true(are_apart(one, true, two, true));
    /* by the same name, another, and a second name of the file */
    g_assert_false(are_apart(one, true, one, true));
    g_assert_false(are_apart(one, true, around, false));
    g_assert_false(are_apart(one, false, linked, true));
    /* who only reads may read what others read */
    g_assert_true(are_apart(one, false, linked, false));
    /* neither is there yet, or one is */
    g_assert_false(are_apart(new, true, new_around, true));
    g_assert_true(are_apart(new, true, one, true));
    /* no file at all, and what is no regular one */
    g_assert_true(are_apart(NULL, true, one, true));
    g_assert_true(are_apart(one, true, NULL, false));
    g_assert_true(are_apart("-", true, "-", true));
    g_assert_true(are_apart(one, true, "-", true));
    g_assert_true(are_apart("/dev/null", true, "/dev/null", true));
}

/* The report of a drive of 40 written pages; NULL and *error: there is none. */
static char *report_of(const char *keys, bool is_clean, const char *name,
                       GError **error)
{
    Rig *rig = rig_new("baseline", NULL, keys);
    g_autofree char *path = in_folder(name);
    char *said = NULL;

    for (unsigned page = 0; page < 40; page++) {
        power_write(rig, page, page + 1);
    }
    if (ready_report(&rig->drive, is_clean, path, error)) {
        g_assert_true(scarp_is_ready(rig->drive));
        g_assert_true(g_file_get_contents(path, &said, NULL, NULL));
    }
    rig_free(rig);
    return said;
}

static int64_t value(const char *report, const char *name)
{
    const char *at = strstr(report, name);

    g_assert_nonnull(at);
    return g_ascii_strtoll(at + strlen(name) + 3, NULL, 10);
}

/* A drive that was shut down reads its tables; one that was not, its pages. */
static void test_ready(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *cut = report_of(CUTS, false, "cut", &error);
    g_autofree char *clean = report_of(CUTS, true, "clean", &error);

    g_assert_no_error(error);
    g_assert_nonnull(strstr(cut, "{\"shut_down\": false, "));
    g_assert_nonnull(strstr(clean, "{\"shut_down\": true, "));
    g_assert_cmpint(value(cut, "\"ready_ns"), >, value(clean, "\"ready_ns"));
    g_assert_cmpint(value(cut, "\"ready_ns"), <=, value(cut, "\"bound_ns"));
    /* each page that was written is read */
    g_assert_cmpint(value(cut, "\"page_reads"), >=, 40);
    g_assert_cmpint(value(cut, "\"page_reads"), >,
                    value(clean, "\"page_reads"));
}

static void test_not_ready(void)
{
    g_autoptr(GError) refused = NULL, unwritten = NULL;

    g_assert_null(report_of(NULL, false, "none", &refused));
    g_assert_nonnull(refused);
    g_assert_null(report_of(CUTS, false, "no/folder", &unwritten));
    g_assert_nonnull(strstr(unwritten->message, "--power-cut="));
}

static void remove_folder(void)
{
    static const char *const names[] = { "one", "two", "linked", "cut",
                                         "clean" };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = in_folder(names[i]);

        g_unlink(path);
    }
    g_rmdir(folder);
    g_free(folder);
}

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("scarp-XXXXXX", NULL);
    g_test_add_func("/replay/reports/apart", test_apart);
    g_test_add_func("/replay/reports/ready", test_ready);
    g_test_add_func("/replay/reports/not-ready", test_not_ready);
    status = g_test_run();
    remove_folder();
    return status;
}
