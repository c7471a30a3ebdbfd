/*
 * The description of a drive: geometry, timing, controller, FTL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description_check.h"
#include "core/geometry.h"

#include <string.h>

typedef struct {
    const char *group;
    const char *name;
    size_t offset;
    uint64_t min;
    uint64_t max;
    const char *fallback; /* NULL: the key must be given */
    bool list;            /* the key has a list of values, with ';' between */
    /* names of the values min to max; NULL: numbers */
    const char *const *choices;
} Key;

#define KEY(group, name, min, max, fallback) \
    { group, #name, offsetof(ScarpDescription, name), min, max, fallback, \
      false, NULL }
#define LIST(group, name, min, max, fallback) \
    { group, #name, offsetof(ScarpDescription, name), min, max, fallback, \
      true, NULL }
/*
 * Names of members for the group slc begin with slc_; names of the keys do not.
 */
#define SLC(group, name, min, max, fallback) \
    { group, #name, offsetof(ScarpDescription, slc_##name), min, max, \
      fallback, false, NULL }
#define SLC_CHOICE(group, name, choices, fallback) \
    { group, #name, offsetof(ScarpDescription, slc_##name), 0, \
      G_N_ELEMENTS(choices) - 1, fallback, false, choices }
/*
 * Names of members for the group heat begin with heat_; names of the keys do
 * not.
 */
#define HEAT(group, name, min, max, fallback) \
    { group, #name, offsetof(ScarpDescription, heat_##name), min, max, \
      fallback, false, NULL }
#define CHOICE(group, name, choices, fallback) \
    { group, #name, offsetof(ScarpDescription, name), 0, \
      G_N_ELEMENTS(choices) - 1, fallback, false, choices }

static const Key keys[] = {
    KEY("geometry", channels, 1, 256, NULL),
    KEY("geometry", chips_per_channel, 1, 256, NULL),
    KEY("geometry", dies_per_chip, 1, 64, NULL),
    KEY("geometry", planes_per_die, 1, 16, NULL),
    KEY("geometry", blocks_per_plane, 4, 1u << 20, NULL),
    KEY("geometry", pages_per_block, 2, 4096, NULL),
    KEY("geometry", page_bytes, 512, 32768, NULL),
    LIST("timing", read_ns, 0, 1000000000, NULL),
    LIST("timing", program_ns, 0, 1000000000, NULL),
    KEY("timing", erase_ns, 0, 10000000000, NULL),
    KEY("timing", command_ns, 0, 1000000, "200"),
    KEY("timing", channel_mts, 1, 100000, NULL),
    KEY("timing", slc_read_ns, 0, 1000000000, "0"),
    KEY("timing", slc_program_ns, 0, 1000000000, "0"),
    KEY("timing", slc_erase_ns, 0, 10000000000, "0"),
    KEY("nand", cell_bits, 1, 4, "1"),
    KEY("nand", layers, 1, 4096, "1"),
    KEY("nand", layer_fastest_permille, 1, 10000, "1000"),
    KEY("nand", layer_slowest_permille, 1, 10000, "1000"),
    KEY("nand", multiplane, 0, 1, "0"),
    KEY("nand", cache, 0, 1, "0"),
    KEY("nand", copyback, 0, 1, "0"),
    KEY("nand", suspend_program, 0, 1, "0"),
    KEY("nand", suspend_erase, 0, 1, "0"),
    KEY("nand", suspend_limit, 1, 1000, "8"),
    KEY("nand", suspend_min_ns, 0, 1000000000, "100000"),
    KEY("nand", suspend_ns, 0, 10000000, "20000"),
    KEY("nand", resume_ns, 0, 10000000, "10000"),
    KEY("nand", bad_blocks_permille, 0, 500, "0"),
    KEY("nand", endurance_erases, 0, 1u << 30, "0"),
    KEY("nand", power_cuts, 0, 1, "0"),
    KEY("controller", firmware_ns, 0, 100000000, NULL),
    KEY("controller", link_mbs, 0, 1000000, "0"),
    KEY("controller", pcie_generation, 0, 5, "0"),
    KEY("controller", pcie_lanes, 0, 32, "0"),
    KEY("controller", deadline_idle_us, 0, 1000000000, "0"),
    KEY("controller", deadline_normal_us, 0, 1000000000, "0"),
    KEY("controller", deadline_low_us, 0, 1000000000, "0"),
    KEY("controller", slots, 1, 65536, "1024"),
    KEY("controller", queue, 1, 65536, "32"),
    KEY("controller", buffer_bytes, 0, 1ull << 36, "0"),
    KEY("controller", plp_bytes, 0, 1ull << 36, "0"),
    KEY("controller", reads_first, 0, 1, "1"),
    KEY("controller", reads_first_limit, 1, 1000000, "1000"),
    KEY("controller", gc_first_on_channel, 0, 1, "0"),
    KEY("ftl", unit_bytes, 0, 32768, "0"),
    KEY("ftl", over_provisioning_permille, 1, 10000, NULL),
    KEY("ftl", streams, 1, SCARP_MAX_RU_STREAMS, "1"),
    KEY("ftl", reclaim_planes, 1, 1u << 20, "1"),
    KEY("ftl", isolated_streams, 0, SCARP_MAX_RU_STREAMS, "0"),
    KEY("ftl", recovery, 0, 2, "0"),
    CHOICE("ftl", paired_pages, scarp_paired_names, "none"),
    KEY("ftl", parity_width, 0, 32, "0"),
    KEY("ftl", parity_stripes, 2, 65536, "64"),
    CHOICE("ftl", mapping, scarp_mapping_names, "page"),
    KEY("ftl", map_cache_bytes, 0, 1ull << 36, "0"),
    KEY("ftl", checkpoint_pages, 0, 1ull << 40, "0"),
    KEY("ftl", log_blocks, 0, 1u << 20, "0"),
    KEY("ftl", superblock_blocks, 0, 256, "0"),
    KEY("gc", trigger_free_blocks, 1, 1u << 20, NULL),
    KEY("gc", separate_active_block, 0, 1, "1"),
    KEY("gc", victim_candidates, 1, 64, "8"),
    KEY("gc", background_free_blocks, 0, 1u << 20, "0"),
    KEY("gc", wear_spread_erases, 0, 1u << 30, "0"),
    KEY("gc", after_reads, 0, 1, "0"),
    SLC("slc", static_blocks, 0, 1u << 20, "0"),
    SLC("slc", dynamic, 0, 1, "0"),
    SLC("slc", most_blocks, 0, 1u << 20, "0"),
    SLC_CHOICE("slc", full, scarp_slc_full_names, "direct"),
    SLC("slc", fold_idle_us, 0, 1000000000, "0"),
    SLC("slc", keep_blocks, 0, 1u << 20, "0"),
    SLC("slc", fold_planes, 1, 16, "1"),
    SLC("slc", endurance_erases, 0, 1u << 30, "0"),
    HEAT("heat", capacity_mj, 0, 1000000000, "0"),
    HEAT("heat", loss_ms, 0, 1000000000, "0"),
    HEAT("heat", ambient_celsius, 0, 100, "25"),
    HEAT("heat", read_nj, 0, 1000000000, "0"),
    HEAT("heat", program_nj, 0, 1000000000, "0"),
    HEAT("heat", erase_nj, 0, 1000000000, "0"),
    HEAT("heat", light_celsius, 0, 1000, "0"),
    HEAT("heat", light_permille, 0, 100000, "0"),
    HEAT("heat", heavy_celsius, 0, 1000, "0"),
    HEAT("heat", heavy_permille, 0, 100000, "0"),
    KEY("lie", flush_ignored, 0, 1, "0"),
    KEY("lie", fua_ignored, 0, 1, "0"),
    KEY("lie", flush_queued_only, 0, 1, "0"),
    KEY("lie", shorn_writes, 0, 1, "0"),
    KEY("lie", unserialised, 0, 1, "0"),
    KEY("lie", deallocation_undone, 0, 1, "0"),
    KEY("lie", no_checkpoint, 0, 1, "0"),
};

/*
 * ftl.allocation is a word ("cwdp", "dynamic"), and keys[] has only keys with
 * numbers. So the default of ftl.allocation is here.
 */
static const char allocation_fallback[] = "cwdp";

static bool parse_number(const Key *key, const char *text, uint64_t *value,
                         GError **error)
{
    g_autofree char *stripped = g_strstrip(g_strdup(text));
    guint64 number;

    if (!g_ascii_string_to_unsigned(stripped, 10, key->min, key->max, &number,
                                    NULL)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "%s.%s=%s: must be a whole number from %" G_GUINT64_FORMAT
                    " to %" G_GUINT64_FORMAT,
                    key->group, key->name, stripped, key->min, key->max);
        return false;
    }
    *value = number;
    return true;
}

static bool parse_choice(const Key *key, const char *text, uint64_t *value,
                         GError **error)
{
    g_autofree char *name = g_strstrip(g_strdup(text));
    g_autoptr(GString) allowed = g_string_new(NULL);

    for (uint64_t i = key->min; i <= key->max; i++) {
        if (!strcmp(name, key->choices[i])) {
            *value = i;
            return true;
        }
        g_string_append_printf(allowed, " %s", key->choices[i]);
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "%s.%s=%s: allowed are%s", key->group, key->name, name,
                allowed->str);
    return false;
}

static bool parse_list(const Key *key, const char *text, uint64_t *values,
                       GError **error)
{
    g_auto(GStrv) items = g_strsplit(text, ";", -1);
    guint n = g_strv_length(items);

    /* GKeyFile allows a separator at the end of a list. */
    if (n > 1 && !*g_strstrip(items[n - 1])) {
        n--;
    }
    if (n < 1 || n > SCARP_LIST_VALUES) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "%s.%s=%s: must be one value, or nand.cell_bits values "
                    "separated by ';'", key->group, key->name, text);
        return false;
    }
    for (guint i = 0; i < n; i++) {
        if (!parse_number(key, items[i], &values[i], error)) {
            return false;
        }
    }
    values[SCARP_LIST_COUNT] = n;
    return true;
}

static bool parse_allocation(ScarpDescription *desc, const char *text,
                             GError **error)
{
    g_autofree char *order = g_strstrip(g_strdup(text));

    if (!strcmp(order, "dynamic")) {
        g_strlcpy(desc->allocation, order, sizeof(desc->allocation));
        return true;
    }
    if (strlen(order) == 4 && strchr(order, 'c') && strchr(order, 'w') &&
        strchr(order, 'd') && strchr(order, 'p')) {
        g_strlcpy(desc->allocation, order, sizeof(desc->allocation));
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "ftl.allocation=%s: must be an order of the letters c, w, d, p "
                "(channel, way, die, plane), such as cwdp, or dynamic", order);
    return false;
}

static const Key *find_key(const char *group, const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (!strcmp(keys[i].group, group) && !strcmp(keys[i].name, name)) {
            return &keys[i];
        }
    }
    return NULL;
}

static bool unknown_key(const char *where, const char *group, const char *name,
                        GError **error)
{
    g_autoptr(GString) allowed = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (!strcmp(keys[i].group, group)) {
            g_string_append_printf(allowed, " %s.%s", group, keys[i].name);
        }
    }
    if (!strcmp(group, "ftl")) {
        g_string_append(allowed, " ftl.allocation");
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                "%s: unknown key %s.%s; allowed are%s", where, group, name,
                allowed->len ? allowed->str
                             : " the groups geometry timing nand controller "
                               "ftl gc slc heat lie");
    return false;
}

static bool set_value(ScarpDescription *desc, const Key *key, const char *text,
                      GError **error)
{
    uint64_t *value = (uint64_t *)((char *)desc + key->offset);

    if (key->choices) {
        return parse_choice(key, text, value, error);
    }
    return key->list ? parse_list(key, text, value, error)
                     : parse_number(key, text, value, error);
}

static bool set_key(ScarpDescription *desc, const char *where,
                    const char *group, const char *name, const char *text,
                    GError **error)
{
    const Key *key = find_key(group, name);

    if (!strcmp(group, "ftl") && !strcmp(name, "allocation")) {
        return parse_allocation(desc, text, error);
    }
    return key ? set_value(desc, key, text, error)
               : unknown_key(where, group, name, error);
}

static bool load_file(ScarpDescription *desc, GKeyFile *file, const char *path,
                      GError **error)
{
    g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);

    for (char **group = groups; *group; group++) {
        g_auto(GStrv) names = g_key_file_get_keys(file, *group, NULL, NULL);

        for (char **name = names; name && *name; name++) {
            g_autofree char *text =
                g_key_file_get_value(file, *group, *name, NULL);

            if (!set_key(desc, path, *group, *name, text, error)) {
                g_prefix_error(error, "%s: ", path);
                return false;
            }
        }
        if (!names || !*names) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                        "%s: group [%s] is empty", path, *group);
            return false;
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (g_key_file_has_key(file, keys[i].group, keys[i].name, NULL)) {
            continue;
        }
        if (!keys[i].fallback) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                        "%s: key %s.%s is missing; a whole number from %"
                        G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                        " is needed", path, keys[i].group, keys[i].name,
                        keys[i].min, keys[i].max);
            return false;
        }
        set_value(desc, &keys[i], keys[i].fallback, NULL);
    }
    return true;
}

static bool apply_overrides(ScarpDescription *desc, const char *overrides,
                            GError **error)
{
    g_auto(GStrv) items = g_strsplit(overrides, ",", -1);

    for (char **item = items; *item; item++) {
        char *equals = strchr(*item, '=');
        char *dot = strchr(*item, '.');

        if (!equals || !dot || dot > equals) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                        "overrides: '%s' must be group.key=value", *item);
            return false;
        }
        *dot = *equals = '\0';
        if (!set_key(desc, "overrides", *item, dot + 1, equals + 1, error)) {
            return false;
        }
    }
    return true;
}

/*
 * Sets link_mbs, which is either given, or follows from PCIe generation and
 * lanes (PCI Express base specification: transfers of a lane, less the line
 * code).
 */
static bool set_link(ScarpDescription *d, GError **error)
{
    static const struct {
        uint64_t mts, data_bits, line_bits;
    } lane[] = {
        { 2500, 8, 10 }, { 5000, 8, 10 }, { 8000, 128, 130 },
        { 16000, 128, 130 }, { 32000, 128, 130 },
    };
    bool pcie = d->pcie_generation && d->pcie_lanes;

    if (d->link_mbs ? d->pcie_generation || d->pcie_lanes : !pcie) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "controller.link_mbs=%" G_GUINT64_FORMAT
                    ", pcie_generation=%" G_GUINT64_FORMAT ", pcie_lanes=%"
                    G_GUINT64_FORMAT ": either link_mbs, or pcie_generation "
                    "and pcie_lanes must be given, and the others be 0",
                    d->link_mbs, d->pcie_generation, d->pcie_lanes);
        return false;
    }
    if (pcie) {
        size_t i = d->pcie_generation - 1;

        d->link_mbs = d->pcie_lanes * lane[i].mts * lane[i].data_bits /
                      (lane[i].line_bits * 8);
    }
    return true;
}

/* Sets superblock_blocks to its default, 8, where the description has 0. */
static void set_superblock(ScarpDescription *d)
{
    if (d->mapping == MAPPING_SUPERBLOCK && !d->superblock_blocks) {
        d->superblock_blocks = 8;
    }
}

/* Refuses a drive whose spare blocks leave no unit for the host. */
static bool check_host_units(const ScarpDescription *desc, GError **error)
{
    ScarpGeometry geo = scarp_geometry(desc);

    if (geo.logical_units) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                "ftl.over_provisioning_permille=%" G_GUINT64_FORMAT ": leaves "
                "%u mapping units, of which parity and records of "
                "deallocations (ftl.parity_width, ftl.recovery=2) leave none "
                "for the host", desc->over_provisioning_permille,
                geo.first_translation_unit);
    return false;
}

static bool load(ScarpDescription *desc, GKeyFile *file, const char *name,
                 const char *overrides, GError **error)
{
    memset(desc, 0, sizeof(*desc));
    g_strlcpy(desc->allocation, allocation_fallback, sizeof(desc->allocation));
    if (!load_file(desc, file, name, error) ||
        (overrides && *overrides && !apply_overrides(desc, overrides, error)) ||
        !set_link(desc, error)) {
        return false;
    }
    set_superblock(desc);
    return scarp_description_check(desc, error) &&
           check_host_units(desc, error);
}

bool scarp_description_load(ScarpDescription *desc, const char *path,
                            const char *overrides, GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GError) cause = NULL;

    if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, &cause)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "description=%s: %s", path, cause->message);
        return false;
    }
    return load(desc, file, path, overrides, error);
}

bool scarp_description_parse(ScarpDescription *desc, const char *text,
                             const char *name, const char *overrides,
                             GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GError) cause = NULL;

    if (!g_key_file_load_from_data(file, text, strlen(text), G_KEY_FILE_NONE,
                                   &cause)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s: its description: %s", name, cause->message);
        return false;
    }
    return load(desc, file, name, overrides, error);
}

char *scarp_description_text(const ScarpDescription *desc)
{
    GString *text = g_string_new(NULL);
    ScarpDescription d = *desc;

    if (d.pcie_lanes) {
        d.link_mbs = 0; /* pcie_generation and pcie_lanes give link_mbs */
    }
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const uint64_t *value =
            (const uint64_t *)((const char *)&d + keys[i].offset);
        uint64_t n = keys[i].list ? value[SCARP_LIST_COUNT] : 1;

        if (!i || strcmp(keys[i].group, keys[i - 1].group)) {
            g_string_append_printf(text, "[%s]\n", keys[i].group);
        }
        g_string_append_printf(text, "%s=", keys[i].name);
        if (keys[i].choices) {
            g_string_append_printf(text, "%s\n", keys[i].choices[*value]);
            continue;
        }
        for (uint64_t j = 0; j < n; j++) {
            g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, j ? ";" : "",
                                   value[j]);
        }
        g_string_append_c(text, '\n');
    }
    g_string_append_printf(text, "[ftl]\nallocation=%s\n", d.allocation);
    return g_string_free(text, false);
}

static void add_choices(GString *text, const Key *key)
{
    for (uint64_t i = key->min; i <= key->max; i++) {
        g_string_append_printf(text, "%s%s", i == key->min ? "" :
                               i == key->max ? " or " : ", ", key->choices[i]);
    }
}

char *scarp_keys_text(void)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const Key *key = &keys[i];

        g_string_append_printf(text, "%s.%s%s%s (", key->group, key->name,
                               key->fallback ? "=" : "",
                               key->fallback ? key->fallback : "");
        if (key->choices) {
            add_choices(text, key);
        } else {
            g_string_append_printf(text, "%" G_GUINT64_FORMAT " to %"
                                   G_GUINT64_FORMAT, key->min, key->max);
        }
        g_string_append(text, key->list ? "; one, or nand.cell_bits of them)\n"
                                        : ")\n");
    }
    g_string_append_printf(text, "ftl.allocation=%s (an order of c, w, d, p, "
                           "or dynamic)\n", allocation_fallback);
    return g_string_free(text, false);
}
