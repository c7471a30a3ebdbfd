/*
 * Every scheme under every condition, and what schemes refuse.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "inside.h"
#include "workload.h"

/* Small, so that checking every table after every event is cheap. */
#define SMALL "geometry.blocks_per_plane=20,geometry.pages_per_block=8," \
              "ftl.over_provisioning_permille=800,geometry.dies_per_chip=1," \
              "geometry.planes_per_die=2"

/* Stripes of four dies; on it whatever keeps pages on their die. */
#define STRIPED ",geometry.dies_per_chip=2,ftl.parity_width=4," \
                "ftl.parity_stripes=8"

/* The five of the issue: every scheme must pass the laws under each. */
static const struct {
    const char *name;
    const char *overrides;
    uint32_t age_permille;
    const char *ops;
    bool namespaces;
} conditions[] = {
    { "mix", "", 900, "RRRWWW", false },
    { "trim", "", 900, "RRWWWZDDF", false },
    { "suspend", ",nand.suspend_program=1,nand.suspend_erase=1", 900,
      "RRRRWWWW", false },
    { "full", "", 1000, "RWWWWWF", false },
    { "namespaces", "", 900, "RRWWWZDF", true },
};

/* Beside every preset and every single choice, which are looked up. */
static const char *const compositions[] = {
    "gc-vic+pgc", "gc-par+global", "pregc+gftl", "paragc+pregc",
    "gc-par+copyback", "pagc+multi-plane+cost-benefit", "dynamic+gc-vic",
    "random+pgc+background", "gc-z+gftl", "paragc+pgc+d-choices",
    "hios-2+gc-par", "hios-1+global", "hios-2+paragc", "hios-2+copyback",
    "hios-1+pregc", "hios-2+background+cost-benefit", "hios-2+gc-z",
};

/* On the drive with parity, too: "baseline on parity". */
static const char *const on_parity[] = {
    "baseline", "ideal", "pgc", "gftl", "pagc", "gc-vic+pgc", "pregc+gftl",
    "background", "rotating+pregc", "ttflash+background", "ttflash+gc-par",
    "ttflash+cost-benefit", "reconstruct+pgc", "reconstruct+gftl",
    "hios-2", "hios-2+reconstruct", "ttflash+anticipatory",
};

/* Mappings that say where pages go, and schemes that go with them. */
static const char *const mappings[] = {
    "block", "block,ftl.log_blocks=1", "fast", "fast,ftl.log_blocks=2",
    "superblock,ftl.superblock_blocks=3",
    "superblock,ftl.superblock_blocks=2,ftl.log_blocks=1",
};
static const char *const on_mappings[] = {
    "baseline", "ideal", "pgc", "gftl", "pagc+multi-plane", "copyback+pgc",
    "background+gftl", "deadline+multi-plane+pgc", "hios-1",
    "hios-2+multi-plane", "hios-2+copyback",
};

/* Every check is made after every event: `-m slow` has twice as many. */
static unsigned usual(unsigned commands)
{
    return g_test_slow() ? commands : commands / 2;
}

static bool is_striped(const char *scheme)
{
    return strstr(scheme, "ttflash") || strstr(scheme, "rotating") ||
           strstr(scheme, "reconstruct") || strstr(scheme, "striped");
}

static void test_drive(const char *scheme, bool striped)
{
    uint64_t reconstructed = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(conditions); i++) {
        for (int buffered = 0; buffered < 2; buffered++) {
            ScarpStats seen = { 0 };
            g_autofree char *overrides = g_strconcat(SMALL,
                conditions[i].overrides,
                buffered ? ",controller.buffer_bytes=32768" : "",
                buffered && !striped ? ",ftl.unit_bytes=1024" : "",
                striped ? STRIPED : "", NULL);

            g_test_message("%s: %s", conditions[i].name, overrides);
            random_workload(&(Workload) {
                .scheme = scheme, .overrides = overrides, .seed = i + 1,
                .commands = usual(400),
                .age_permille = conditions[i].age_permille,
                .ops = conditions[i].ops,
                .namespaces = conditions[i].namespaces }, &seen);
            g_assert_cmpuint(seen.gc_runs, >, 0);
            if (strstr(conditions[i].name, "suspend")) {
                g_assert_cmpuint(seen.suspends, >, 0);
            }
            if (strchr(conditions[i].ops, 'D')) {
                g_assert_cmpuint(seen.deallocated_units, >, 0);
            }
            g_assert_true((seen.parity_page_programs > 0) == striped);
            reconstructed += seen.reconstructed_reads;
        }
    }
    /* GFTL's and PGC's collections are seldom longer in the way than a read. */
    if (strstr(scheme, "ttflash")) {
        g_assert_cmpuint(reconstructed, >, 0);
    }
}

/* Every host queue with every pacing; hios brings its own. */
static const char *const host_queues[] = {
    "noop", "deadline", "anticipatory", "flash-aware",
};
static const char *const pacings[] = {
    "blocking", "ideal", "pgc", "gftl", "pagc", "rotating",
};

/* Few slots, and fewer commands in sight than there are: it has to choose. */
static void test_host_queue(gconstpointer data)
{
    const char *scheme = data;
    bool striped = is_striped(scheme);

    for (int buffered = 0; buffered < 2; buffered++) {
        ScarpStats seen = { 0 };
        g_autofree char *overrides = g_strconcat(
            SMALL, ",controller.slots=3,controller.queue=8",
            buffered ? ",controller.buffer_bytes=32768" : "",
            !striped ? ",ftl.unit_bytes=1024" : STRIPED, NULL);

        random_workload(&(Workload) {
            .scheme = scheme, .overrides = overrides, .seed = 3,
            .commands = usual(600), .age_permille = 900,
            .ops = "RRRWWWWZDF" }, &seen);
        g_assert_cmpuint(seen.gc_runs, >, 0);
        g_assert_true((seen.gc_segments > 0) == !!strstr(scheme, "hios"));
        /* No two of these commands are of one page at a time. */
        g_assert_cmpuint(seen.aggregated_writes, ==, 0);
    }
}

/* Pages of eight units, which writes of one or two wait for: hios-2 alone. */
static void test_aggregated(void)
{
    static const char *const schemes[] = { "hios-2", "hios-1", "noop" };

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        ScarpStats seen = { 0 };

        random_workload(&(Workload) {
            .scheme = schemes[i], .overrides = SMALL
            ",geometry.page_bytes=32768,ftl.unit_bytes=4096,"
            "controller.slots=1",
            .seed = 3, .commands = 1500, .age_permille = 600, .ops = "RWWWWW",
            .whole = true }, &seen);
        g_assert_cmpuint(seen.gc_runs, >, 0);
        g_test_message("%s: %d writes", schemes[i], (int)seen.aggregated_writes);
        g_assert_true((seen.aggregated_writes > 10) == !i);
    }
}

/* The same with merges: data is a mapping. */
static void test_hios_on_mapping(gconstpointer data)
{
    static const char *const schemes[] = { "hios-1", "hios-2" };

    for (int i = 0; i < 4; i++) {
        ScarpStats seen = { 0 };
        g_autofree char *overrides = g_strconcat(
            SMALL, ",controller.slots=3,controller.queue=8,ftl.mapping=", data,
            i / 2 ? ",controller.buffer_bytes=32768" : "", NULL);

        random_workload(&(Workload) {
            .scheme = schemes[i % 2], .overrides = overrides, .seed = 3 + i,
            .commands = 600, .age_permille = 900, .ops = "RRRWWWWZDF" },
            &seen);
        g_assert_cmpuint(seen.gc_segments, >, 0);
        g_assert_cmpuint(seen.full_merges, >, 0);
    }
}

static void test_scheme(gconstpointer data)
{
    test_drive(data, is_striped(data));
}

static void test_on_parity(gconstpointer data)
{
    test_drive(data, true);
}

/* data: "SCHEME MAPPING" */
static void test_mapping(gconstpointer data)
{
    g_auto(GStrv) words = g_strsplit(data, " ", 2);

    for (size_t i = 0; i < G_N_ELEMENTS(conditions); i++) {
        for (int buffered = 0; buffered < 2; buffered++) {
            ScarpStats seen = { 0 };
            g_autofree char *overrides = g_strconcat(
                SMALL, conditions[i].overrides, ",ftl.mapping=", words[1],
                strstr(words[0], "background") ? ",gc.background_free_blocks=5"
                                               : "",
                buffered ? ",controller.buffer_bytes=32768,nand.cache=1" : "",
                /* The mapping is found from the flash alone, too. */
                ",ftl.recovery=2", NULL);

            g_test_message("%s: %s", conditions[i].name, overrides);
            random_workload(&(Workload) {
                .scheme = words[0], .overrides = overrides, .seed = i + 1,
                .commands = usual(300),
                .age_permille = conditions[i].age_permille,
                .ops = conditions[i].ops,
                .namespaces = conditions[i].namespaces }, &seen);
            g_assert_cmpuint(seen.switch_merges + seen.partial_merges +
                             seen.full_merges, >, 0);
            g_assert_cmpuint(seen.gc_runs, >=, seen.full_merges);
        }
    }
}

/* At its floor of free blocks, and not above, PGC stops yielding. */
static void test_pgc_floor(void)
{
    ScarpDrive *drive = drive_new("pgc", SMALL);
    g_autoptr(GError) error = NULL;
    int64_t waited[2];

    g_assert_true(scarp_drive_set_scheme(drive, "pgc", "pgc_floor=4", &error));
    inside_set_collects(drive, 1, true);
    inside_set_free_blocks(drive, 0, 1); /* it collects nothing: no matter */
    for (uint32_t n = 1; n <= 8; n++) {
        inside_set_free_blocks(drive, 1, n);
        g_assert_true(inside_gc_turn(drive, 0) == (n <= 4));
    }
    scarp_drive_free(drive);
    for (int i = 0; i < 2; i++) {
        ScarpStats seen = { 0 };

        random_workload(&(Workload) {
            .scheme = "pgc", .params = i ? "pgc_floor=1000" : "pgc_floor=1",
            .overrides = SMALL, .seed = 1, .commands = 2000,
            .age_permille = 900, .ops = "RRRRRRWW" }, &seen);
        waited[i] = seen.cause_ns[SCARP_CAUSE_DIE_GC_READ] +
                    seen.cause_ns[SCARP_CAUSE_DIE_GC_PROGRAM] +
                    seen.cause_ns[SCARP_CAUSE_DIE_ERASE];
    }
    g_test_message("waited for GC: %" G_GINT64_FORMAT " ns yielding, %"
                   G_GINT64_FORMAT " ns not", waited[0], waited[1]);
    g_assert_cmpint(waited[0] * 5, <, waited[1] * 4);
}

/*
 * Collections in steps fill their pages as others do: were each step's last
 * page closed, a collection could take as many pages as it frees, for ever.
 */
static void test_gftl_packs(void)
{
    static const char *const schemes[] = { "baseline", "gftl" };
    double units[2];

    for (int i = 0; i < 2; i++) {
        ScarpStats seen = { 0 };

        random_workload(&(Workload) {
            .scheme = schemes[i], .seed = 1, .commands = 1500,
            .overrides = SMALL ",geometry.page_bytes=16384,"
                         "ftl.unit_bytes=4096,timing.erase_ns=10000",
            .age_permille = 900, .ops = "RWW" }, &seen);
        g_assert_cmpuint(seen.gc_page_programs, >, 0);
        units[i] = (double)seen.gc_moved_units / seen.gc_page_programs;
        g_test_message("%s: %.2f units a page", schemes[i], units[i]);
    }
    g_assert_cmpfloat(units[1], >, 0.95 * units[0]);
}

/* From one description: the choice decides, the key is its default. */
static void test_copyback(void)
{
    static const struct {
        const char *scheme, *key;
        bool copies;
    } rows[] = {
        { "baseline", "", false }, { "copyback", "", true },
        { "baseline", ",nand.copyback=1", true },
        { "in-plane", ",nand.copyback=1", false },
        { "global", ",nand.copyback=1", false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *overrides = g_strconcat(SMALL, rows[i].key, NULL);
        ScarpStats seen = { 0 };

        random_workload(&(Workload) {
            .scheme = rows[i].scheme, .overrides = overrides, .seed = 1,
            .commands = 400, .age_permille = 900, .ops = "RWW" }, &seen);
        g_assert_cmpuint(seen.gc_moved_units, >, 0);
        g_assert_true((seen.copybacks > 0) == rows[i].copies);
        /* With a unit of a page, all of them or none. */
        g_assert_cmpuint(seen.copybacks, ==,
                         rows[i].copies ? seen.gc_page_programs : 0);
        g_assert_true((seen.gc_page_reads == 0) == rows[i].copies);
    }
}

static void test_refusals(void)
{
    static const char *const refused[][3] = {
        { "ideal+pgc", "", "'ideal' and 'pgc' are both choices of one axis" },
        { "gc-vic+greedy", "", "both choices of one axis, victim" },
        { "gc-par+single-plane", "", "both choices of one axis, merging" },
        { "pregc+background", "", "both choices of one axis, ahead of GC" },
        { "paragc+copyback", "", "one axis, relocation placement" },
        { "static+dynamic", "", "one axis, write allocation" },
        { "baseline+nonsense", "", "scheme=nonsense: unknown" },
        { "baseline+", "", "scheme=: unknown" },
        { "", "", "scheme=: unknown" },
        { "read-match", "", "'read-match' needs merging" },
        { "read-match+multi-plane", "", "'read-match' needs merging" },
        { "gc-par+ideal", "", "'gc-par' needs collections that take time" },
        { "gc-vic+ideal", "", "'gc-par' needs collections that take time" },
        { "ideal+paragc", "", "'paragc' needs collections that take time" },
        { "ideal+global", "", "'global' needs collections that take time" },
        { "ideal+copyback", "", "'copyback' needs collections that take" },
        { "ideal+pregc", "", "'pregc' needs collections that take time" },
        { "ideal+background", "", "'background' needs collections that take" },
        { "gc-par", "geometry.planes_per_die=1", "two or more planes" },
        { "gc-vic", "geometry.planes_per_die=1", "two or more planes" },
        { "multi-plane", "geometry.planes_per_die=1", "two or more planes" },
        { "pagc", "geometry.planes_per_die=1", "two or more planes" },
        { "paragc", "geometry.channels=1", "two or more channels" },
        { "gc-z", "geometry.channels=1", "two or more channels" },
        { "static", "ftl.allocation=dynamic", "an order of c, w, d, p" },
        { "hios-1+hios-2", "", "both choices of one axis, host queue" },
        { "deadline+hios-2", "", "both choices of one axis, host queue" },
        { "hios-2+pgc", "", "'redistributed' and 'pgc' are both choices of one "
          "axis, pacing" },
        { "ideal+hios-1", "", "'ideal' and 'redistributed' are both choices" },
        { "hios-1+ttflash", "ftl.parity_width=2", "one axis, pacing" },
        { "hios-1+dynamic", "", "'hios-1' needs write allocation by address" },
        { "hios-2", "ftl.allocation=dynamic", "'hios-2' needs write" },
        { "redistributed", "", "scheme=redistributed: unknown" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autofree char *overrides = g_strconcat(SMALL, *refused[i][1] ? ","
                                                                       : "",
                                                 refused[i][1], NULL);
        ScarpConfig config = {
            .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini",
                                                    NULL),
            .scheme = refused[i][0], .overrides = overrides,
        };
        g_autoptr(GError) error = NULL;
        ScarpDrive *running;

        g_test_message("%s", refused[i][0]);
        g_assert_null(scarp_drive_new(&config, &error));
        g_assert_nonnull(strstr(error->message, refused[i][2]));
        g_assert_null(strchr(error->message, '\n'));
        /* A running drive refuses the same, and goes on as it was. */
        g_clear_error(&error);
        running = drive_new("baseline", overrides);
        g_assert_false(scarp_drive_set_scheme(running, refused[i][0], NULL,
                                              &error));
        g_assert_nonnull(strstr(error->message, refused[i][2]));
        g_assert_cmpstr(scarp_drive_scheme(running), ==, "baseline");
        scarp_drive_free(running);
    }
}

/* Names at the beginning of a line: presets and single choices. */
static void add_registered(void)
{
    g_autofree char *text = scarp_schemes_text();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++) {
        char *colon = strchr(*line, ':');
        g_autofree char *path = NULL;

        if (!colon || **line == ' ') {
            continue;
        }
        *colon = '\0';
        path = g_strconcat("/schemes/laws/", *line, NULL);
        g_test_add_data_func_full(path, !strcmp(*line, "read-match")
                                            ? g_strdup("gc-par+read-match")
                                            : g_strdup(*line),
                                  test_scheme, g_free);
    }
}

/* Entries that are on flash, and pages of theirs that must be collected. */
static void test_hios_on_demand(void)
{
    ScarpStats seen = { 0 };

    random_workload(&(Workload) {
        .scheme = "hios-2", .overrides = SMALL ",ftl.mapping=demand,"
                            "controller.slots=3,controller.queue=8",
        .seed = 3, .commands = 600, .age_permille = 900, .ops = "RRRWWWWZDF" },
        &seen);
    g_assert_cmpuint(seen.gc_segments, >, 0);
    g_assert_cmpuint(seen.map_page_programs, >, 0);
}

static void add_host_queue(char *scheme)
{
    g_autofree char *path = g_strconcat("/schemes/host-queue/", scheme, NULL);

    g_test_add_data_func_full(path, scheme, test_host_queue, g_free);
}

static void add_host_queues(void)
{
    add_host_queue(g_strdup("hios-1"));
    add_host_queue(g_strdup("hios-2"));
    add_host_queue(g_strdup("hios-2+striped"));
    for (size_t i = 0; i < G_N_ELEMENTS(host_queues); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(pacings); j++) {
            add_host_queue(g_strconcat(host_queues[i], "+", pacings[j], NULL));
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_registered();
    for (size_t i = 0; i < G_N_ELEMENTS(compositions); i++) {
        g_autofree char *path = g_strconcat("/schemes/laws/", compositions[i],
                                            NULL);

        g_test_add_data_func(path, compositions[i], test_scheme);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(on_parity); i++) {
        g_autofree char *path = g_strconcat("/schemes/parity/", on_parity[i],
                                            NULL);

        g_test_add_data_func(path, on_parity[i], test_on_parity);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(on_mappings); i++) {
        for (size_t m = 0; m < G_N_ELEMENTS(mappings); m++) {
            char *both = g_strconcat(on_mappings[i], " ", mappings[m], NULL);
            g_autofree char *path = g_strdup_printf(
                "/schemes/mapping/%s/%s", on_mappings[i], mappings[m]);

            g_test_add_data_func_full(path, both, test_mapping, g_free);
        }
    }
    add_host_queues();
    for (size_t m = 0; m < G_N_ELEMENTS(mappings); m++) {
        g_autofree char *path = g_strconcat("/schemes/hios-on/", mappings[m],
                                            NULL);

        g_test_add_data_func(path, mappings[m], test_hios_on_mapping);
    }
    g_test_add_func("/schemes/host-queue/on-demand", test_hios_on_demand);
    g_test_add_func("/schemes/host-queue/aggregated", test_aggregated);
    g_test_add_func("/schemes/pgc-floor", test_pgc_floor);
    g_test_add_func("/schemes/gftl-packs", test_gftl_packs);
    g_test_add_func("/schemes/copyback", test_copyback);
    g_test_add_func("/schemes/refusals", test_refusals);
    return g_test_run();
}
