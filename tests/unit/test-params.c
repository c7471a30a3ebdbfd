/*
 * The parameters of schemes: the range and the default of each, as docs and
 * papers name them, and what is said of others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

typedef struct {
    const char *scheme, *overrides, *name;
    uint64_t fallback, min, max;
    const char *unit;
} Param;

#define PLANES "geometry.planes_per_die=2"
#define PARITY "ftl.parity_width=4"

static const Param params[] = {
    { "deadline", "", "read_deadline_us", 500000, 0, 1000000000, "us" },
    { "deadline", "", "write_deadline_us", 5000000, 0, 1000000000, "us" },
    { "deadline", "", "writes_starved", 2, 0, 1000, "batches" },
    { "deadline", "", "fifo_batch", 16, 1, 1000, "commands" },
    { "anticipatory", "", "antic_us", 6667, 0, 1000000, "us" },
    { "anticipatory", "", "near_kib", 4096, 0, 1073741824, "KiB" },
    { "anticipatory", "", "read_expire_us", 125000, 0, 1000000000, "us" },
    { "anticipatory", "", "write_expire_us", 250000, 0, 1000000000, "us" },
    { "anticipatory", "", "read_batch_us", 500000, 0, 1000000000, "us" },
    { "anticipatory", "", "write_batch_us", 125000, 0, 1000000000, "us" },
    { "flash-aware", "", "reads_first", 16, 0, 65536, "commands" },
    { "flash-aware", "", "bundle_max", 128, 1, 65536, "commands" },
    { "flash-aware", "", "bundle_pages", 0, 0, 1048576, "pages" },
    { "hios-1", "", "deadline_us", 30000, 1, 1000000000, "us" },
    { "hios-1", "", "accumulate_us", 1000, 0, 1000000, "us" },
    { "hios-1", "", "margin_us", 1000, 0, 1000000000, "us" },
    { "hios-1", "", "serial", 0, 0, 1, "switch" },
    { "hios-1", "", "erase_last", 0, 0, 1, "switch" },
    { "hios-2", "", "deadline_us", 30000, 1, 1000000000, "us" },
    { "hios-2", "", "accumulate_us", 1000, 0, 1000000, "us" },
    { "hios-2", "", "margin_us", 1000, 0, 1000000000, "us" },
    { "hios-2", "", "serial", 0, 0, 1, "switch" },
    { "hios-2", "", "erase_last", 0, 0, 1, "switch" },
    { "hios-2", "", "aggregate", 1, 0, 1, "switch" },
    { "d-choices", "", "d", 10, 1, 1024, "blocks" },
    { "gc-vic", PLANES, "candidates", 10, 1, 64, "blocks" },
    { "pgc", "", "pgc_floor", 2, 1, 1048576, "free blocks" },
    { "gftl", "", "gftl_floor", 2, 1, 1048576, "free blocks" },
    { "ttflash", PARITY, "rotating_floor", 1, 1, 1048576, "free blocks" },
    { "gc-par", PLANES, "second_active_block", 1, 0, 1, "switch" },
    { "paragc", "", "iterations", 32, 0, 100000, "rounds" },
    { "paragc", "", "slot", 100000, 1, 1000000000, "us" },
    { "paragc", "", "width", 24412, 16, 16777216, "counters" },
    { "paragc", "", "hot", 2, 1, 65535, "reads" },
    { "paragc", "", "decay", 100000, 1, 1ull << 40, "reads" },
    { "paragc", "", "start", 0, 0, 2, "choice" },
    { "paragc", "", "ties", 0, 0, 1, "switch" },
    { "pregc", "", "t_block", 110, 1, 1000, "permille of blocks" },
    { "pregc", "", "t_page", 100, 0, 1000, "permille of a block" },
    { "pregc", "", "look_ahead", 0, 0, 1, "switch" },
    { "pregc", "", "below", 0, 0, 1, "switch" },
};

/* NULL: the drive takes them; else the message. */
static char *refused(const Param *of, const char *text)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);
    ScarpConfig config = { .description_path = path, .scheme = of->scheme,
                           .params = text, .overrides = of->overrides };
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);

    if (drive) {
        g_assert_no_error(error);
        scarp_drive_free(drive);
        return NULL;
    }
    g_assert_null(strchr(error->message, '\n'));
    return g_strdup(error->message);
}

static void test_ranges(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(params); i++) {
        const Param *p = &params[i];
        g_autofree char *least = g_strdup_printf("%s=%" G_GUINT64_FORMAT,
                                                 p->name, p->min);
        g_autofree char *below = g_strdup_printf("%s=%" G_GINT64_FORMAT,
                                                 p->name, (int64_t)p->min - 1);
        g_autofree char *above = g_strdup_printf("%s=%" G_GUINT64_FORMAT,
                                                 p->name, p->max + 1);
        g_autofree char *says = g_strdup_printf(
            ": must be a whole number from %" G_GUINT64_FORMAT " to %"
            G_GUINT64_FORMAT " (%s)", p->min, p->max, p->unit);
        g_autofree char *none = refused(p, least);
        g_autofree char *low = refused(p, below), *high = refused(p, above);

        g_assert_cmpstr(none, ==, NULL);
        g_assert_true(g_str_has_prefix(low, "params: "));
        g_assert_true(g_str_has_suffix(low, says));
        g_assert_true(g_str_has_suffix(high, says));
    }
}

/* What a user is shown: every parameter, its default and its range. */
static void test_text(void)
{
    g_autofree char *text = scarp_schemes_text();
    unsigned lines = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(params); i++) {
        const Param *p = &params[i];
        g_autofree char *line = g_strdup_printf(
            "\n    %s=%" G_GUINT64_FORMAT " (%" G_GUINT64_FORMAT " to %"
            G_GUINT64_FORMAT " %s): ", p->name, p->fallback, p->min, p->max,
            p->unit);

        g_assert_nonnull(strstr(text, line));
    }
    for (const char *at = text; (at = strstr(at, "\n    ")); at++) {
        lines++;
    }
    g_assert_cmpuint(lines, ==, G_N_ELEMENTS(params)); /* none is left out */
}

/* And what each choice needs, and goes with. */
static void test_needs(void)
{
    static const char *const lines[] = {
        "\npagc: ", "\n  needs dies of two or more planes ",
        "\nftl.mapping=page: ", "\n  goes with every choice above\n",
        "\nftl.mapping=demand: ", "\n  goes with what does not need parity\n",
        "\nftl.mapping=fast: ", "\n  goes with what needs neither parity nor ",
    };
    g_autofree char *schemes = scarp_schemes_text();
    g_autofree char *mappings = scarp_mappings_text();
    g_autofree char *text = g_strconcat(schemes, "\n", mappings, NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(lines); i += 2) {
        const char *at = strstr(text, lines[i]);

        g_assert_nonnull(at);
        at = strchr(at + 1, '\n');
        g_assert_true(g_str_has_prefix(at, lines[i + 1]));
    }
}

static void test_refused(void)
{
    const Param deadline = { "deadline", "", NULL, 0, 0, 0, NULL };
    const Param none = { "noop", "", NULL, 0, 0, 0, NULL };
    const Param two = { "pgc+d-choices", "", NULL, 0, 0, 0, NULL };
    static const char *const says[] = {
        "the scheme deadline has no parameter 'd'; allowed are read_deadline_us"
        " write_deadline_us writes_starved fifo_batch",
        "the scheme noop has no parameter 'd'; allowed are: none",
        "params: 'fifo_batch' must be key=value",
        "params: 'd' must be key=value",
    };
    g_autofree char *unknown = refused(&deadline, "d=3");
    g_autofree char *empty = refused(&none, "d=3");
    g_autofree char *no_value = refused(&deadline, "writes_starved=2,fifo_batch");
    g_autofree char *second = refused(&two, "d=3,pgc_floor=4");
    g_autofree char *later = refused(&two, "pgc_floor=4,d");
    const char *const messages[] = { unknown, empty, no_value, later };

    for (size_t i = 0; i < G_N_ELEMENTS(says); i++) {
        g_assert_true(g_str_has_suffix(messages[i], says[i]));
    }
    g_assert_cmpstr(second, ==, NULL); /* each goes to its own policy */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/params/ranges", test_ranges);
    g_test_add_func("/params/text", test_text);
    g_test_add_func("/params/needs", test_needs);
    g_test_add_func("/params/refused", test_refused);
    return g_test_run();
}
