/*
 * libFuzzer: bytes as a drive, a scheme and what the host does to it.
 *
 * Any geometry, with any of the features, under any choice of policies; then
 * commands, in the order and at the times that the bytes say.  Laws: what is
 * read is what was written, causes sum to latencies, everything that was
 * accepted ends, the tables agree (after every event: SCARP_CHECKED).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fuzz.h"
#include "scarp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECTOR 512u
#define SLOTS 24
#define MAX_SECTORS 24 /* of a command */
#define MAX_COMMANDS 250
#define MAX_EVENTS 1000000 /* 250 commands take some thousand */

static const char description[] =
    "[geometry]\nchannels=1\nchips_per_channel=1\ndies_per_chip=1\n"
    "planes_per_die=1\nblocks_per_plane=16\npages_per_block=4\n"
    "page_bytes=2048\n[timing]\nread_ns=75000\nprogram_ns=750000\n"
    "erase_ns=3800000\nchannel_mts=400\n[controller]\nfirmware_ns=5000\n"
    "link_mbs=3200\n[ftl]\nover_provisioning_permille=1000\n"
    "[gc]\ntrigger_free_blocks=1\n";

typedef struct {
    const uint8_t *at;
    size_t left;
} Bytes;

/* 0 … n - 1; zeroes when the bytes have ended. */
static uint32_t pick(Bytes *b, uint32_t n)
{
    uint32_t value = 0;

    for (uint32_t range = n; range > 1 && b->left; range >>= 8) {
        value = value << 8 | *b->at++;
        b->left--;
    }
    return value % n;
}
#define ONE_OF(b, ...) \
    ((const char *const[]) { __VA_ARGS__ })[pick(b, \
        G_N_ELEMENTS(((const char *const[]) { __VA_ARGS__ })))]

typedef struct {
    ScarpCmd cmd;
    uint8_t data[MAX_SECTORS * SECTOR];
    bool busy;
} Slot;

typedef struct {
    ScarpDrive *drive;
    Slot slot[SLOTS];
    uint8_t *model;  /* a byte for each sector; 0: zeroes */
    uint8_t *locked; /* ditto: a command is on its way there */
    bool racing;     /* commands may touch what others do: data say nothing */
    int64_t last_ns;
    unsigned events, sent, ended;
    uint8_t tag;
} Fuzz;

static GPtrArray *policies(void)
{
    static GPtrArray *names;

    if (!names) {
        g_autofree char *text = scarp_schemes_text();
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        names = g_ptr_array_new();
        for (char **line = lines; *line; line++) {
            if (**line && **line != ' ') {
                g_ptr_array_add(names, g_strndup(*line,
                                                 strcspn(*line, ":")));
            }
        }
    }
    return names;
}

static char *pick_scheme(Bytes *b)
{
    GPtrArray *names = policies();
    GString *scheme = g_string_new(names->pdata[pick(b, names->len)]);

    for (uint32_t n = pick(b, 4); n > 1; n--) {
        g_string_append_printf(scheme, "+%s",
                               (char *)names->pdata[pick(b, names->len)]);
    }
    return g_string_free(scheme, false);
}

static char *pick_overrides(Bytes *b)
{
    static const char shapes[][5] = {
        "1111", "1112", "2111", "2112", "1122", "2211", "1114", "2114", "3113",
        "1211",
    };
    GString *text = g_string_new(NULL);
    /* Small: every table is checked after every event. */
    unsigned shape = pick(b, G_N_ELEMENTS(shapes));
    uint32_t layout = pick(b, 4);
    bool parity = layout == 3, mapped = layout == 2;

    g_string_append_printf(text, "geometry.channels=%c,"
                           "geometry.chips_per_channel=%c,"
                           "geometry.dies_per_chip=%c,"
                           "geometry.planes_per_die=%c", shapes[shape][0],
                           shapes[shape][1], shapes[shape][2],
                           shapes[shape][3]);
    g_string_append_printf(text, ",geometry.blocks_per_plane=%u",
                           8 + pick(b, 17));
    g_string_append_printf(text, ",geometry.pages_per_block=%u",
                           2 + pick(b, 5));
    g_string_append_printf(text, ",geometry.page_bytes=%s",
                           ONE_OF(b, "2048", "1024", "512"));
    g_string_append_printf(text, ",ftl.over_provisioning_permille=%u",
                           200 + 20 * pick(b, 100));
    g_string_append_printf(text, ",gc.trigger_free_blocks=%u", 1 + pick(b, 4));
    if (parity) {
        g_string_append(text, ONE_OF(b, ",ftl.parity_width=2",
                                     ",ftl.parity_width=4",
                                     ",ftl.parity_width=3"));
        g_string_append(text, ONE_OF(b, "", ",ftl.parity_stripes=2"));
    } else if (mapped) { /* the mapping says where pages go */
        g_string_append(text, ONE_OF(b, ",ftl.mapping=block",
                                     ",ftl.mapping=fast",
                                     ",ftl.mapping=superblock",
                                     ",ftl.mapping=superblock,"
                                     "ftl.superblock_blocks=2"));
        g_string_append(text, ONE_OF(b, "", ",ftl.log_blocks=1",
                                     ",ftl.log_blocks=2", ",ftl.log_blocks=3"));
        g_string_append(text, ONE_OF(b, "", ",ftl.allocation=pdwc"));
    } else {
        g_string_append(text, ONE_OF(b, "", ",ftl.unit_bytes=512",
                                     ",ftl.unit_bytes=1024"));
        g_string_append(text, ONE_OF(b, "", ",ftl.allocation=dynamic",
                                     ",ftl.allocation=pdwc"));
    }
    g_string_append(text, ONE_OF(b, "", ",controller.buffer_bytes=8192",
                                 ",controller.buffer_bytes=65536"));
    g_string_append(text, ONE_OF(b, "", ",controller.slots=1",
                                 ",controller.slots=5"));
    g_string_append(text, ONE_OF(b, "", ",controller.reads_first=0",
                                 ",controller.reads_first_limit=1"));
    g_string_append(text, ONE_OF(b, "", ",controller.gc_first_on_channel=1"));
    g_string_append(text, ONE_OF(b, "", ",gc.after_reads=1"));
    g_string_append(text, ONE_OF(b, "", ",nand.multiplane=1"));
    g_string_append(text, ONE_OF(b, "", ",nand.cache=1"));
    g_string_append(text, ONE_OF(b, "", ",nand.copyback=1"));
    g_string_append(text, ONE_OF(b, "", ",nand.suspend_program=1"));
    g_string_append(text, ONE_OF(b, "", ",nand.suspend_erase=1"));
    g_string_append(text, ONE_OF(b, "", ",nand.suspend_min_ns=0",
                                 ",nand.suspend_limit=1",
                                 ",nand.resume_ns=0,nand.suspend_ns=0"));
    g_string_append(text, ONE_OF(b, "", ",nand.cell_bits=3,nand.layers=2,"
                                 "nand.layer_fastest_permille=500",
                                 ",timing.read_ns=0", ",timing.program_ns=0",
                                 ",timing.erase_ns=0"));
    if (!mapped) {
        g_string_append(text, ONE_OF(b, "", ",ftl.streams=2",
                                     ",ftl.streams=8"));
        g_string_append(text, ONE_OF(b, "", ",gc.wear_spread_erases=1"));
    }
    g_string_append(text, parity ? ONE_OF(b, "", ",ftl.recovery=1")
                                 : ONE_OF(b, "", ",ftl.recovery=1",
                                          ",ftl.recovery=2"));
    g_string_append(text, ONE_OF(b, "", ",gc.separate_active_block=0"));
    g_string_append(text, ONE_OF(b, "", ",gc.background_free_blocks=6"));
    g_string_append(text, ONE_OF(b, "", ",nand.bad_blocks_permille=100"));
    g_string_append(text, ONE_OF(b, "", ",nand.endurance_erases=2"));
    g_string_append(text, ONE_OF(b, "", ",controller.queue=1",
                                 ",controller.queue=4"));
    if (!parity && !mapped) {
        g_string_append(text, ONE_OF(b, "", "", ",ftl.mapping=demand",
                                     ",ftl.mapping=demand,"
                                     "ftl.map_cache_bytes=1152"));
    }
    return g_string_free(text, false);
}

/* A sector at once: each comparison of ours is one that libFuzzer records. */
static void check_read(const Fuzz *f, const ScarpCmd *cmd)
{
    const uint8_t *data = cmd->data;
    uint64_t first = cmd->offset_bytes / SECTOR;
    uint8_t wanted[SECTOR];

    for (uint64_t i = 0; i < cmd->length_bytes / SECTOR; i++) {
        memset(wanted, f->model[first + i], SECTOR);
        if (memcmp(data + i * SECTOR, wanted, SECTOR)) {
            g_error("sector %" G_GUINT64_FORMAT " has %u, written was %u",
                    first + i, data[i * SECTOR], *wanted);
        }
    }
}

static void check_done(Fuzz *f, ScarpCmd *cmd)
{
    uint64_t first = cmd->offset_bytes / SECTOR;
    uint64_t n = cmd->length_bytes / SECTOR;
    int64_t cause_ns[SCARP_CAUSE__ALL], sum = 0;

    scarp_cmd_causes(cmd, cause_ns);
    for (int i = 0; i < SCARP_CAUSE__ALL; i++) {
        g_assert_cmpint(cause_ns[i], >=, 0);
        sum += cause_ns[i];
    }
    g_assert_cmpint(sum, ==, cmd->complete_ns - cmd->submit_ns);
    g_assert_cmpint(cmd->complete_ns, <=, scarp_now_ns(f->drive));
    g_assert_cmpint(cmd->complete_ns, >=, f->last_ns); /* in their order */
    f->last_ns = cmd->complete_ns;
    g_assert_cmpint(cmd->status, ==, SCARP_STATUS_OK);
    if (cmd->op == SCARP_OP_READ && !f->racing) {
        check_read(f, cmd);
    } else if (cmd->op == SCARP_OP_WRITE) {
        memset(f->model + first, *(uint8_t *)cmd->data, n);
    } else if (cmd->op == SCARP_OP_WRITE_ZEROES) {
        memset(f->model + first, 0, n);
    } else if (cmd->op == SCARP_OP_DEALLOCATE) {
        /* Whole units only: the host gets back what the rest held. */
        uint64_t unit = scarp_drive_unit_bytes(f->drive) / SECTOR;
        uint64_t begin = (first + unit - 1) / unit * unit;
        uint64_t end = (first + n) / unit * unit;

        if (begin < end) {
            memset(f->model + begin, 0, end - begin);
        }
    }
    memset(f->locked + first, 0, n);
    ((Slot *)cmd->opaque)->busy = false;
    f->ended++;
}

static void reap(Fuzz *f)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(f->drive))) {
        check_done(f, cmd);
    }
}

static bool step(Fuzz *f)
{
    int64_t next = scarp_next_event_ns(f->drive);

    if (next == SCARP_TIME_NEVER) {
        return false;
    }
    if (f->events++ == MAX_EVENTS) {
        g_error("%u commands of %u ended in %u events", f->ended, f->sent,
                f->events);
    }
    scarp_run(f->drive, next);
    reap(f);
    return true;
}

static Slot *free_slot(Fuzz *f)
{
    for (;;) {
        for (int i = 0; i < SLOTS; i++) {
            if (!f->slot[i].busy) {
                return &f->slot[i];
            }
        }
        if (!step(f)) {
            g_error("%u commands wait for ever", f->sent - f->ended);
        }
    }
}

static void command(Fuzz *f, Bytes *b)
{
    static const ScarpOp ops[] = {
        SCARP_OP_WRITE, SCARP_OP_READ, SCARP_OP_WRITE, SCARP_OP_READ,
        SCARP_OP_WRITE, SCARP_OP_DEALLOCATE, SCARP_OP_WRITE_ZEROES,
        SCARP_OP_FLUSH,
    };
    uint64_t sectors = scarp_drive_logical_bytes(f->drive) / SECTOR;
    Slot *slot = free_slot(f);
    uint32_t flags = pick(b, 256);
    ScarpOp op = ops[flags % G_N_ELEMENTS(ops)];
    uint64_t first = pick(b, flags & 64 ? MIN(sectors, 16) : sectors);
    uint64_t n = 1 + pick(b, MAX_SECTORS);

    n = MIN(n, sectors - first);
    if (op == SCARP_OP_FLUSH) {
        first = n = 0;
    }
    while (!f->racing && memchr(f->locked + first, 1, n)) {
        if (!step(f)) {
            g_error("a command waits for ever");
        }
    }
    memset(&slot->cmd, 0, sizeof(slot->cmd));
    memset(f->locked + first, 1, n);
    f->tag = f->tag == 255 ? 1 : f->tag + 1;
    memset(slot->data, f->tag, sizeof(slot->data));
    slot->busy = true;
    slot->cmd.op = op;
    slot->cmd.fua = flags & 8;
    slot->cmd.stream = flags >> 4 & 3;
    slot->cmd.offset_bytes = first * SECTOR;
    slot->cmd.length_bytes = n * SECTOR;
    slot->cmd.deadline_ns = flags & 128 ? scarp_now_ns(f->drive) + 1000000
                                        : SCARP_TIME_NEVER;
    slot->cmd.data = slot->data;
    slot->cmd.opaque = slot;
    f->sent++;
    scarp_submit(f->drive, &slot->cmd, scarp_now_ns(f->drive));
    reap(f);
}

/* Something else than a command. */
static void other(Fuzz *f, Bytes *b)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *scheme = NULL;

    switch (pick(b, 4)) {
    case 0:
        scheme = pick_scheme(b);
        scarp_drive_set_scheme(f->drive, scheme, NULL, &error);
        break;
    case 1:
        scarp_stats_reset(f->drive);
        break;
    case 2:
        if (!scarp_drain(f->drive, &error)) {
            g_error("%s", error->message);
        }
        reap(f);
        break;
    default: /* idle for a while */
        scarp_run(f->drive, scarp_now_ns(f->drive) + 3000000);
        break;
    }
    reap(f);
}

static void run(Fuzz *f, Bytes *b)
{
    g_autoptr(GError) error = NULL;

    while (b->left && f->sent < MAX_COMMANDS) {
        uint32_t what = pick(b, 256);

        for (uint32_t n = what % 8; n; n--) {
            step(f);
        }
        if (what >= 250) {
            other(f, b);
        } else {
            command(f, b);
        }
    }
    while (step(f)) {
        continue;
    }
    if (f->sent != f->ended || !scarp_quiescent(f->drive, &error) ||
        !scarp_drain(f->drive, &error) || !scarp_check(f->drive, &error)) {
        g_error("%u of %u commands ended; %s", f->ended, f->sent,
                error ? error->message : "");
    }
}

/* Every sector, once more. */
static void read_all(Fuzz *f)
{
    uint64_t sectors = scarp_drive_logical_bytes(f->drive) / SECTOR;

    for (uint64_t at = 0; at < sectors; at += MAX_SECTORS) {
        ScarpCmd *cmd = &f->slot[0].cmd;

        *cmd = (ScarpCmd) {
            .op = SCARP_OP_READ, .offset_bytes = at * SECTOR,
            .length_bytes = MIN(sectors - at, MAX_SECTORS) * SECTOR,
            .deadline_ns = SCARP_TIME_NEVER, .data = f->slot[0].data,
            .opaque = &f->slot[0] };
        f->sent++;
        scarp_submit(f->drive, cmd, scarp_now_ns(f->drive));
        while (step(f)) {
            continue;
        }
    }
    g_assert_cmpuint(f->sent, ==, f->ended);
    g_assert_cmpuint(scarp_stats(f->drive)->oob_mismatches, ==, 0);
}

static ScarpDrive *pick_drive(Bytes *b)
{
    g_autofree char *overrides = pick_overrides(b);
    g_autofree char *scheme = pick_scheme(b);
    ScarpAge age = { .utilisation_permille = pick(b, 5) * 250,
                     .overwrite_permille = pick(b, 3) * 400,
                     .pattern = "random", .seed = 1 };
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL;
    ScarpDrive *drive;
    int fd = memfd_create("description", MFD_CLOEXEC);

    g_assert_cmpint(write(fd, description, strlen(description)), ==,
                    strlen(description));
    path = g_strdup_printf("/proc/self/fd/%d", fd);
    drive = scarp_drive_new(&(ScarpConfig) {
        .description_path = path, .scheme = scheme, .overrides = overrides,
        .seed = pick(b, 4), .store_data = true }, &error);
    close(fd);
    g_assert_true(!drive == !!error);
    g_assert_true(!error || !strchr(error->message, '\n'));
    if (getenv("FUZZ_SAY")) {
        g_printerr("%s %s: %s\n", scheme, overrides,
                   error ? error->message : "a drive");
    }
    if (drive) {
        g_assert_true(scarp_age(drive, &age, &error));
    }
    return drive;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes b = { data, size };
    uint32_t racing = pick(&b, 4);
    Fuzz *f = g_new0(Fuzz, 1);
    uint64_t sectors;

    f->drive = pick_drive(&b);
    if (f->drive) {
        sectors = scarp_drive_logical_bytes(f->drive) / SECTOR;
        f->racing = racing == 3;
        f->model = g_malloc0(sectors);
        f->locked = g_malloc0(sectors);
        run(f, &b);
        if (!f->racing) {
            read_all(f);
        }
        g_free(f->model);
        g_free(f->locked);
        scarp_drive_free(f->drive);
    }
    g_free(f);
    return 0;
}
