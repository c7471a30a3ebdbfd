/*
 * Keys and labels: what is refused, and that the line says why.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "label.h"
#include "rig.h"

static void refused(const char *keys, const char *line)
{
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayConfig config;

    array_config_init(&config);
    g_assert_false(array_config_parse(&config, keys, error));
    g_assert_cmpstr(error, ==, line);
}

static void test_parse(void)
{
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayConfig config;

    array_config_init(&config);
    g_assert_cmpuint(config.set_pages, ==, 12);
    g_assert_true(array_config_parse(&config, NULL, error));
    g_assert_true(array_config_parse(&config, "", error));
    g_assert_true(array_config_parse(&config, "set_pages=8,flusher=0", error));
    g_assert_cmpuint(config.set_pages, ==, 8);
    g_assert_cmpuint(config.flusher, ==, 0);
    refused("set_pages=65", "set_pages=65: must be set_pages=a whole number "
            "from 1 to 64");
    refused("set_pages=", "set_pages=: must be set_pages=a whole number from "
            "1 to 64");
    refused("set_pages", "set_pages: must be set_pages=a whole number from 1 "
            "to 64");
    refused("slots=-1", "slots=-1: must be slots=a whole number from 1 to "
            "4096");
    refused("slots=99999999999999999999999", "slots=99999999999999999999999: "
            "must be slots=a whole number from 1 to 4096");
    g_assert_false(array_config_parse(&config, "slot=3", error));
    g_assert_true(g_str_has_prefix(error, "slot: no such key; allowed: "
                                   "page_bytes, stripe_bytes,"));
    g_assert_true(g_str_has_suffix(error, "retries"));
    g_assert_false(array_config_parse(&config, "slots=3,=", error));
}

/* Each key reaches its own member: no two of them are the same. */
static void test_every_key(void)
{
    for (size_t i = 0; i < array_key_count; i++) {
        const ArrayKey *key = &array_keys[i];
        g_autofree char *text = g_strdup_printf("%s=%" G_GUINT64_FORMAT,
                                                key->name, key->min);
        char error[ARRAY_ERROR_BYTES] = "";
        ArrayConfig config;

        array_config_init(&config);
        *(uint64_t *)((char *)&config + key->offset) = UINT64_MAX;
        g_assert_true(array_config_parse(&config, text, error));
        g_assert_cmpuint(*(uint64_t *)((char *)&config + key->offset), ==,
                         key->min);
        g_assert_cmpuint(key->fallback, >=, key->min);
        g_assert_cmpuint(key->fallback, <=, key->max);
        for (size_t k = 0; k < i; k++) {
            g_assert_cmpuint(array_keys[k].offset, !=, key->offset);
        }
    }
}

static void together(uint32_t n, const uint64_t *sizes, const char *keys,
                     const char *line)
{
    static const ArrayOps ops = { rig_issue, rig_done };
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayConfig config;

    array_config_init(&config);
    config.n_drives = n;
    config.drive_bytes = sizes;
    g_assert_true(array_config_parse(&config, keys, error));
    g_assert_null(array_new(&config, &ops, NULL, error));
    g_assert_cmpstr(error, ==, line);
}

static void test_together(void)
{
    static const uint64_t sizes[2] = { 1 << 20, 1 << 20 };
    static const uint64_t other[2] = { 1 << 20, 2 << 20 };
    static const uint64_t odd[1] = { (1 << 20) + 4096 };

    together(0, NULL, "", "0 drives: must be from 1 to 256");
    together(257, NULL, "", "257 drives: must be from 1 to 256");
    together(2, other, "", "drive 1 has 2097152 bytes, drive 0 has 1048576: "
             "they must be equal");
    together(1, odd, "", "stripe_bytes=65536: must divide what a drive has "
             "for data, 1052672");
    together(2, sizes, "stripe_bytes=6144", "stripe_bytes=6144: must be a "
             "multiple of page_bytes, 4096");
    together(2, sizes, "page_bytes=4608", "page_bytes=4608: must be a power "
             "of 2");
    together(2, sizes, "dirty_pages=12", "dirty_pages=12: must be less than "
             "set_pages, 12");
    together(2, sizes, "stale_score=12", "stale_score=12: must be less than "
             "set_pages, 12");
    together(2, sizes, "flush_batch=13", "flush_batch=13: must be at most "
             "set_pages, 12");
    together(2, sizes, "slots=7", "reserved_slots=7: must be less than slots, "
             "7");
    together(2, sizes, "cache_bytes=4096", "cache_bytes=4096: must be at "
             "least a set's 49152");
}

/* Of drives that are smaller than what lies before the data: none are left. */
static void test_no_room_for_data(void)
{
    static const uint64_t offset_bytes = 1 << 20;
    static const uint64_t sizes[] = { 1 << 16, 1 << 20 };
    uint64_t more = offset_bytes + (1 << 16);
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayConfig config;

    array_config_init(&config);
    config.n_drives = 1;
    config.data_offset_bytes = offset_bytes;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *line = g_strdup_printf(
            "drive_bytes=%" G_GUINT64_FORMAT ": must be more than the label's "
            "1048576", sizes[i]);

        config.drive_bytes = &sizes[i];
        g_assert_false(array_config_check(&config, error));
        g_assert_cmpstr(error, ==, line);
    }
    config.drive_bytes = &more;
    g_assert_true(array_config_check(&config, error));
}

static void test_default_cache(void)
{
    uint64_t sizes[18];
    ArrayConfig config;
    char error[ARRAY_ERROR_BYTES] = "";

    array_config_init(&config);
    config.n_drives = 18;
    config.drive_bytes = sizes;
    for (int i = 0; i < 18; i++) {
        sizes[i] = 1 << 30;
    }
    g_assert_true(array_config_check(&config, error));
    /* 4096 pages a drive are 6144 sets; a page for each slot, and one more. */
    g_assert_cmpuint(array_memory_bytes(&config), ==,
                     (18ull * 4096 + 18 * 32 + 1) * 4096);
}

/* ---- Labels ------------------------------------------------------------ */

static const ArrayLabel label = {
    .array = { 1, 2, 3 }, .n_drives = 3, .index = 2, .drive_bytes = 1ull << 40,
    .data_offset_bytes = 1 << 20, .page_bytes = 4096, .stripe_bytes = 65536,
};

static void test_label(void)
{
    unsigned char bytes[ARRAY_LABEL_BYTES];
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayLabel out = { 0 };

    array_label_encode(&label, bytes);
    g_assert_cmpmem(bytes, 8, "SCARPAR1", 8);
    /* Little endian on any host: 1 TiB at byte 32. */
    g_assert_cmpmem(bytes + 32, 8, "\0\0\0\0\0\1\0\0", 8);
    g_assert_cmpint(array_label_decode(bytes, &out, error), ==,
                    ARRAY_LABEL_GOOD);
    g_assert_cmpmem(out.array, 16, label.array, 16);
    g_assert_cmpuint(out.n_drives, ==, 3);
    g_assert_cmpuint(out.index, ==, 2);
    g_assert_cmpuint(out.drive_bytes, ==, label.drive_bytes);
    g_assert_cmpuint(out.data_offset_bytes, ==, label.data_offset_bytes);
    g_assert_cmpuint(out.page_bytes, ==, 4096);
    g_assert_cmpuint(out.stripe_bytes, ==, 65536);
}

static void test_label_damage(void)
{
    unsigned char bytes[ARRAY_LABEL_BYTES];
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayLabel out, bad = label;

    array_label_encode(&label, bytes);
    /* Any bit of it, the unused ones too. */
    for (uint32_t bit = 0; bit < ARRAY_LABEL_BYTES * 8; bit++) {
        bytes[bit / 8] ^= 1 << bit % 8;
        g_assert_cmpint(array_label_decode(bytes, &out, error), ==,
                        bit < 64 ? ARRAY_LABEL_NONE : ARRAY_LABEL_DAMAGED);
        bytes[bit / 8] ^= 1 << bit % 8;
    }
    bad.index = 3;
    array_label_encode(&bad, bytes);
    g_assert_cmpint(array_label_decode(bytes, &out, error), ==,
                    ARRAY_LABEL_DAMAGED);
    g_assert_cmpstr(error, ==, "its label says drive 3 of 3, data from byte "
                    "1048576, pages of 4096 and stripes of 65536 bytes");
    /* What no key may say: smaller, larger, and so large that sums overflow. */
    for (int i = 0; i < 6; i++) {
        static const uint64_t values[] = { 511, (1u << 30) + 1, 1ull << 63 };

        bad = label;
        *(i % 2 ? &bad.page_bytes : &bad.stripe_bytes) = values[i / 2];
        array_label_encode(&bad, bytes);
        g_assert_cmpint(array_label_decode(bytes, &out, error), ==,
                        ARRAY_LABEL_DAMAGED);
    }
    /* Of what others would divide by, or write over. */
    for (int i = 0; i < 3; i++) {
        bad = label;
        *(i == 0 ? &bad.page_bytes : i == 1 ? &bad.stripe_bytes :
                                              &bad.data_offset_bytes) =
            i == 2 ? array_run_offset(1) : 0;
        array_label_encode(&bad, bytes);
        g_assert_cmpint(array_label_decode(bytes, &out, error), ==,
                        ARRAY_LABEL_DAMAGED);
    }
}

/* As RFC 3720 defines it, a bit at a time. */
static uint32_t crc32c(const void *data, size_t n)
{
    const unsigned char *bytes = data;
    uint32_t crc = UINT32_MAX;

    while (n--) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
        }
    }
    return ~crc;
}

/*
 * Who reads a label may be another version than who wrote it.  With a wrong
 * checksum a version agrees with itself alone, and refuses all older drives.
 */
static void test_label_checksum(void)
{
    unsigned char bytes[ARRAY_LABEL_BYTES];

    g_assert_cmphex(crc32c("123456789", 9), ==, 0xe3069283);
    array_label_encode(&label, bytes);
    for (int i = 0; i < 4; i++) {
        g_assert_cmphex(bytes[ARRAY_LABEL_BYTES - 4 + i], ==,
                        crc32c(bytes, ARRAY_LABEL_BYTES - 4) >> 8 * i & 255);
    }
}

/* A torn block of a run is none; and who may be how far behind. */
static void test_runs(void)
{
    static const struct {
        uint64_t states[3], knows; /* knows: who starts, which one served */
        uint64_t number, served;
        bool good;
    } sets[] = {
        { { 0, 0, 0 }, 0, 0, 0, true }, { { 2, 0, 0 }, 0, 1, 0, true },
        { { 3, 2, 2 }, 0, 1, 1, true }, { { 3, 3, 3 }, 0, 1, 1, true },
        { { 3, 3, 0 }, 0, 0, 0, false }, { { 4, 3, 3 }, 1, 2, 1, true },
        { { 4, 2, 4 }, 1, 2, 1, true }, /* it ended while it started */
        { { 5, 3, 5 }, 1, 0, 0, false }, { { 4, 4, 1 }, 1, 0, 0, false },
        /* So did more than one, and not all heard of any of them. */
        { { 4, 2, 0 }, 0, 2, 0, true }, { { 6, 0, 0 }, 0, 3, 0, true },
        { { 8, 3, 6 }, 1, 4, 1, true }, { { 8, 1, 6 }, 1, 0, 0, false },
        { { 8, 2, 7 }, 1, 0, 0, false },
    };
    unsigned char bytes[ARRAY_LABEL_BYTES];
    ArrayRun run = {
        .array = { 1, 2, 3 }, .state = 77, .served = 5, .id = 9, .served_id = 8,
        .device = 7,
    };
    ArrayRun out = { 0 };

    array_run_encode(&run, bytes);
    g_assert_cmpint(array_run_decode(bytes, &out), ==, ARRAY_LABEL_GOOD);
    g_assert_cmpmem(&out, sizeof(out), &run, sizeof(run));
    for (uint32_t bit = 0; bit < ARRAY_LABEL_BYTES * 8; bit++) {
        bytes[bit / 8] ^= 1 << bit % 8;
        g_assert_cmpint(array_run_decode(bytes, &out), ==,
                        bit < 64 ? ARRAY_LABEL_NONE : ARRAY_LABEL_DAMAGED);
        bytes[bit / 8] ^= 1 << bit % 8;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(sets); i++) {
        char error[ARRAY_ERROR_BYTES] = "";
        ArrayRun runs[3];
        ArrayRuns last;

        for (int k = 0; k < 3; k++) {
            runs[k] = (ArrayRun) { .state = sets[i].states[k],
                                   .served = sets[i].knows };
        }
        g_assert_cmpint(array_run_set(runs, 3, &last, error), ==,
                        sets[i].good);
        if (sets[i].good) {
            g_assert_cmpuint(last.heard, ==, sets[i].number);
            g_assert_cmpuint(last.served, ==, sets[i].served);
        }
        g_assert_true(sets[i].good || strstr(error, "it holds old contents"));
    }
}

/* Drives of two histories, whose runs have the same numbers. */
static void test_run_identities(void)
{
    static const struct {
        ArrayRun runs[2];
        bool good;
    } sets[] = {
        { { { .state = 7, .id = 8 }, { .state = 7, .id = 8 } }, true },
        { { { .state = 7, .id = 8 }, { .state = 7, .id = 9 } }, false },
        /* One was told that run 3 serves, the other that it starts. */
        { { { .state = 7, .id = 8 },
            { .state = 6, .id = 8, .served = 2, .served_id = 5 } }, true },
        { { { .state = 7, .id = 8 },
            { .state = 6, .id = 9, .served = 2, .served_id = 5 } }, false },
        /* It starts after another run 3, or after none. */
        { { { .state = 7, .id = 8 },
            { .state = 8, .id = 9, .served = 3, .served_id = 8 } }, true },
        { { { .state = 7, .id = 8 },
            { .state = 8, .id = 9, .served = 3, .served_id = 7 } }, false },
        { { { .state = 7, .id = 8 },
            { .state = 8, .id = 8, .served = 2, .served_id = 8 } }, false },
        /* Starts that came to nothing are of no history. */
        { { { .state = 8, .id = 1, .served = 3, .served_id = 8 },
            { .state = 8, .id = 2, .served = 3, .served_id = 8 } }, true },
    };

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(sets); i++) {
        const ArrayRun *runs = sets[i / 2].runs;
        ArrayRun given[2] = { runs[i % 2], runs[!(i % 2)] };
        char error[ARRAY_ERROR_BYTES] = "";
        ArrayRuns last;

        g_assert_cmpint(array_run_set(given, 2, &last, error), ==,
                        sets[i / 2].good);
        g_assert_cmpuint(last.served, ==, 3);
        if (sets[i / 2].good) {
            g_assert_cmpuint(last.served_id, ==, 8);
        } else {
            g_assert_nonnull(strstr(error, "was there in another run 3 of"));
        }
    }
}

static void test_label_set(void)
{
    static const uint32_t given[3] = { 2, 0, 1 };
    char error[ARRAY_ERROR_BYTES] = "";
    uint64_t sizes[3];
    uint32_t order[3];
    ArrayLabel labels[3];

    for (int i = 0; i < 3; i++) {
        labels[i] = label;
        labels[i].index = given[i];
        sizes[i] = label.drive_bytes;
    }
    g_assert_true(array_label_set(labels, sizes, 3, order, error));
    g_assert_cmpuint(order[0], ==, 1);
    g_assert_cmpuint(order[1], ==, 2);
    g_assert_cmpuint(order[2], ==, 0);
    g_assert_false(array_label_set(labels, sizes, 2, order, error));
    g_assert_cmpstr(error, ==, "2 drives given, but the array has 3");
    labels[1].index = 2;
    g_assert_false(array_label_set(labels, sizes, 3, order, error));
    g_assert_cmpstr(error, ==, "drive 1 of those given is number 2 of the "
                    "array, as another is");
    labels[1].index = 0;
    labels[1].array[15] = 1;
    g_assert_false(array_label_set(labels, sizes, 3, order, error));
    g_assert_cmpstr(error, ==, "drive 1 of those given belongs to another "
                    "array than the first");
    labels[1].array[15] = 0;
    labels[2].stripe_bytes = 4096;
    g_assert_false(array_label_set(labels, sizes, 3, order, error));
    g_assert_cmpstr(error, ==, "drive 2 of those given is laid out otherwise "
                    "than the first");
    labels[2].stripe_bytes = 65536;
    sizes[2]--;
    g_assert_false(array_label_set(labels, sizes, 3, order, error));
    g_assert_cmpstr(error, ==, "drive 2 of those given has 1099511627775 "
                    "bytes, its label says 1099511627776");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/array/keys/parse", test_parse);
    g_test_add_func("/array/keys/every", test_every_key);
    g_test_add_func("/array/keys/together", test_together);
    g_test_add_func("/array/keys/no-room-for-data", test_no_room_for_data);
    g_test_add_func("/array/keys/default-cache", test_default_cache);
    g_test_add_func("/array/label/encode", test_label);
    g_test_add_func("/array/label/damage", test_label_damage);
    g_test_add_func("/array/label/checksum", test_label_checksum);
    g_test_add_func("/array/label/runs", test_runs);
    g_test_add_func("/array/label/run-identities", test_run_identities);
    g_test_add_func("/array/label/set", test_label_set);
    return g_test_run();
}
