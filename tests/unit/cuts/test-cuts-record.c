/*
 * What of a recorded run is refused, the processes that cut it, and their
 * words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/one.h"
#include "rerun/pool.h"
#include "rerun/text.h"
#include "recorded.h"

#include <signal.h>
#include <unistd.h>

/* One command of a log; the drive has 6 MiB at most, and a single stream. */
static void test_fits(void)
{
    static const struct {
        uint64_t offset, length;
        uint16_t stream;
        bool ok;
    } rows[] = {
        { 0, 512, 0, true },
        { 100, 512, 0, false },
        { 512, 100, 0, false },
        { 0, 1u << 30, 0, false },
        { 1ull << 40, 512, 0, false },
        { 0, 512, 1, false },
    };
    Recorded *r = recorded_new();

    make_image(r, CUTS, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, rows[i].offset, rows[i].length);
        ScarpConfig config = { .scheme = "baseline", .image_path = r->image,
                               .seed = 1, .store_data = true };
        g_autoptr(GError) error = NULL;
        FILE *log = fopen(r->log, "wb");
        RerunRecord *record;
        CutsDrive drive;
        bool ok;

        cmd.stream = rows[i].stream;
        cmdlog_write_header(log, SCARP_CAUSE__COUNT);
        cmdlog_write(log, &cmd, 0, SCARP_CAUSE__COUNT);
        fclose(log);
        record = rerun_record_open(r->log, NULL, NULL, &error);
        g_assert_no_error(error);
        ok = cuts_drive_begin(&drive, record, &config, false, &error);
        g_assert_true(ok == rows[i].ok);
        if (ok) {
            cuts_drive_end(&drive);
        } else {
            g_assert_nonnull(strstr(error->message, ": this drive has "));
        }
        rerun_record_free(record);
    }
    recorded_free(r);
}

/* A data log is that of its command log, and rows come in their order. */
static void test_record(void)
{
    static const struct {
        const char *bytes;
        gssize n;
        const char *says;
    } data[] = {
        { "SCARPDT1", 8, ": no data log (SCARPDT1)" },
        { "SCARPDT2        ", 16, ": no data log (SCARPDT1)" },
        { "SCARPDT1        ", 16, ": has 0 bytes of writes" },
    };
    Recorded *r = recorded_new();
    ScarpCmd second = cmd_of(SCARP_OP_WRITE, 512, 512);
    ScarpCmd first = cmd_of(SCARP_OP_WRITE, 0, 1024);
    g_autofree char *all = g_strnfill(16 + 3 * 512, 'x');
    g_autoptr(GError) error = NULL;
    RerunRecord *record;
    char sector[SECTOR];
    FILE *log = fopen(r->log, "wb");

    cmdlog_write_header(log, SCARP_CAUSE__COUNT);
    fclose(log);
    g_assert_null(rerun_record_open(r->log, NULL, NULL, &error));
    g_assert_nonnull(strstr(error->message, ": no command was recorded"));
    g_clear_error(&error);
    g_assert_null(rerun_record_open(r->data, NULL, NULL, &error)); /* not there */
    g_assert_nonnull(strstr(error->message, r->data));

    /* Of one time: the one that was submitted later has ended first. */
    log = fopen(r->log, "wb");
    cmdlog_write_header(log, SCARP_CAUSE__COUNT);
    cmdlog_write(log, &second, 1, SCARP_CAUSE__COUNT);
    cmdlog_write(log, &first, 0, SCARP_CAUSE__COUNT);
    fclose(log);
    for (size_t i = 0; i < G_N_ELEMENTS(data); i++) {
        g_clear_error(&error);
        g_assert_true(g_file_set_contents(r->data, data[i].bytes, data[i].n,
                                          NULL));
        g_assert_null(rerun_record_open(r->log, r->data, NULL, &error));
        g_assert_nonnull(strstr(error->message, data[i].says));
    }
    g_unlink(r->data);
    g_clear_error(&error);
    g_assert_null(rerun_record_open(r->log, r->data, NULL, &error));
    g_assert_nonnull(strstr(error->message, "data"));
    g_clear_error(&error);

    memcpy(all, "SCARPDT1        ", 16);
    memset(all + 16, '2', 512);
    memset(all + 16 + 512, '0', 512);
    memset(all + 16 + 1024, '1', 512);
    g_assert_true(g_file_set_contents(r->data, all, 16 + 3 * 512, NULL));
    record = rerun_record_open(r->log, r->data, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(record->rows->len, ==, 2);
    g_assert_cmpuint(rerun_row(record, 0)->cmd.length_bytes, ==, 1024);
    for (uint64_t i = 0; i < 2; i++) {
        rerun_record_sector(record, 0, i, sector);
        g_assert_cmpint(sector[0], ==, i ? '1' : '0');
        g_assert_cmpint(sector[SECTOR - 1], ==, i ? '1' : '0');
    }
    rerun_record_sector(record, 1, 1, sector);
    g_assert_cmpint(sector[0], ==, '2');
    rerun_record_free(record);
    recorded_free(r);
}

/* ---- Processes and words ------------------------------------------------ */

/* Lines come in the order of the cuts, whoever is ready first, or dies. */
static void test_pool(void)
{
    FILE *out = tmpfile();
    RerunPool *pool = rerun_pool_new(3, out, "cut");
    g_auto(GStrv) lines = NULL;

    for (uint64_t cut = 1; cut <= 7; cut++) {
        g_autoptr(GError) error = NULL;
        FILE *to;

        g_assert_true(rerun_pool_fork(pool, cut, &to, &error));
        if (!to) {
            continue;
        }
        if (cut == 1) {
            g_usleep(100000);
        }
        fprintf(to, "line %d\n", (int)cut);
        fflush(to);
        if (cut == 3) {
            raise(SIGKILL);
        }
        if (cut == 5) {
            _exit(4);
        }
        rerun_pool_child_end(to);
    }
    rerun_pool_wait(pool);
    rerun_pool_free(pool);
    lines = lines_of(out);
    g_assert_cmpuint(g_strv_length(lines), ==, 9);
    for (int cut = 1, i = 0; cut <= 7; cut++) {
        g_autofree char *line = g_strdup_printf("line %d", cut);

        g_assert_cmpstr(lines[i++], ==, line);
        if (cut == 3) {
            g_assert_cmpstr(lines[i++], ==, "{\"cut\": 3, \"fault\": \"the "
                            "engine died: signal 9\", \"error\": null}");
        }
        if (cut == 5) {
            g_assert_cmpstr(lines[i++], ==, "{\"cut\": 5, \"fault\": \"the "
                            "engine died: status 4\", \"error\": null}");
        }
    }
}

static void test_text(void)
{
    static const char *const rows[][2] = {
        { NULL, "null" }, { "", "\"\"" }, { "a b", "\"a b\"" },
        { "a\"b\\", "\"a\\\"b\\\\\"" }, { "\n\x1f", "\"\\u000a\\u001f\"" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        rerun_text(out, rows[i][0]);
        fclose(out);
        g_assert_cmpstr(text, ==, rows[i][1]);
        free(text);
    }
}
int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cuts-record/fits", test_fits);
    g_test_add_func("/cuts-record/record", test_record);
    g_test_add_func("/cuts-record/pool", test_pool);
    g_test_add_func("/cuts-record/text", test_text);
    return g_test_run();
}
