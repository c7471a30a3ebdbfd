/*
 * The keys of an array: names, ranges, defaults, and which values go together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY(name, min, max, fallback, help) \
    { #name, help, min, max, offsetof(ArrayConfig, name), fallback }

const ArrayKey array_keys[] = {
    KEY(page_bytes, 512, 65536, 4096, "page of the cache, a power of two"),
    KEY(stripe_bytes, 512, 1u << 30, 65536,
        "striping unit, a multiple of page_bytes"),
    KEY(cache_bytes, 0, 1ull << 40, 0, "page cache; 0: 4096 pages a drive"),
    KEY(set_pages, 1, ARRAY_MAX_SET_PAGES, 12, "pages of a set"),
    KEY(clean_first, 0, 1, 1, "evict clean pages before dirty ones"),
    KEY(flusher, 0, 1, 1, "write dirty pages back before they must leave"),
    KEY(dirty_pages, 0, ARRAY_MAX_SET_PAGES - 1, 6,
        "the flusher wakes when more pages of a set are dirty"),
    KEY(flush_batch, 1, ARRAY_MAX_SET_PAGES, 2,
        "pages of a set that it writes back at a time"),
    KEY(max_flushes, 1, 1u << 20, 2048, "flush requests pending, a drive"),
    KEY(stale_score, 0, ARRAY_MAX_SET_PAGES - 1, 6,
        "flush requests of pages with a lower score are discarded"),
    KEY(slots, 1, 4096, 32, "I/O on a drive at once"),
    KEY(reserved_slots, 0, 4095, 7, "of them, kept free of flush requests"),
    KEY(retries, 0, 100, 3, "attempts after a write that failed"),
};
const size_t array_key_count = sizeof(array_keys) / sizeof(array_keys[0]);

static uint64_t *value_of(ArrayConfig *config, const ArrayKey *key)
{
    return (uint64_t *)((char *)config + key->offset);
}

void array_config_init(ArrayConfig *config)
{
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < array_key_count; i++) {
        *value_of(config, &array_keys[i]) = array_keys[i].fallback;
    }
}

bool array_key_allows(const char *name, uint64_t value)
{
    for (size_t i = 0; i < array_key_count; i++) {
        if (!strcmp(array_keys[i].name, name)) {
            return value >= array_keys[i].min && value <= array_keys[i].max;
        }
    }
    return false;
}

static bool unknown(const char *name, int length, char *error)
{
    int used = snprintf(error, ARRAY_ERROR_BYTES,
                        "%.*s: no such key; allowed:", length, name);

    for (size_t i = 0; i < array_key_count && used < ARRAY_ERROR_BYTES; i++) {
        used += snprintf(error + used, ARRAY_ERROR_BYTES - used, "%s %s",
                         i ? "," : "", array_keys[i].name);
    }
    return false;
}

static bool set_one(ArrayConfig *config, const char *text, size_t length,
                    char *error)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length;
    const ArrayKey *key = NULL;
    uint64_t value = 0;
    bool good = equals && name + 1 < length;

    for (size_t i = 0; i < array_key_count; i++) {
        if (strlen(array_keys[i].name) == name &&
            !memcmp(array_keys[i].name, text, name)) {
            key = &array_keys[i];
        }
    }
    if (!key) {
        return unknown(text, name > 60 ? 60 : (int)name, error);
    }
    for (size_t i = name + 1; good && i < length; i++) {
        good = text[i] >= '0' && text[i] <= '9' && value <= key->max;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (!good || value < key->min || value > key->max) {
        snprintf(error, ARRAY_ERROR_BYTES,
                 "%.*s: must be %s=a whole number from %" PRIu64 " to %" PRIu64,
                 length > 60 ? 60 : (int)length, text, key->name, key->min,
                 key->max);
        return false;
    }
    *value_of(config, key) = value;
    return true;
}

bool array_config_parse(ArrayConfig *config, const char *text, char *error)
{
    while (text && *text) {
        size_t length = strcspn(text, ",");

        if (!set_one(config, text, length, error)) {
            return false;
        }
        text += length;
        text += *text == ',';
    }
    return true;
}

static bool bad(char *error, const char *key, uint64_t value, const char *must,
                uint64_t what)
{
    snprintf(error, ARRAY_ERROR_BYTES, "%s=%" PRIu64 ": must %s %" PRIu64, key,
             value, must, what);
    return false;
}

size_t array_cached_pages(const ArrayConfig *c)
{
    uint64_t pages = c->cache_bytes ? c->cache_bytes / c->page_bytes :
                                      (uint64_t)c->n_drives * 4096;

    return pages / c->set_pages * c->set_pages;
}

static bool drives_check(const ArrayConfig *c, char *error)
{
    if (!c->n_drives || c->n_drives > ARRAY_MAX_DRIVES) {
        snprintf(error, ARRAY_ERROR_BYTES, "%" PRIu32 " drives: must be from 1 "
                 "to %d", c->n_drives, ARRAY_MAX_DRIVES);
        return false;
    }
    for (uint32_t i = 1; i < c->n_drives; i++) {
        if (c->drive_bytes[i] != c->drive_bytes[0]) {
            snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " has %" PRIu64
                     " bytes, drive 0 has %" PRIu64 ": they must be equal", i,
                     c->drive_bytes[i], c->drive_bytes[0]);
            return false;
        }
    }
    return true;
}

bool array_config_check(const ArrayConfig *c, char *error)
{
    uint64_t data;

    if (!drives_check(c, error)) {
        return false;
    }
    if (c->page_bytes & (c->page_bytes - 1)) {
        return bad(error, "page_bytes", c->page_bytes, "be a power of", 2);
    }
    if (c->stripe_bytes % c->page_bytes) {
        return bad(error, "stripe_bytes", c->stripe_bytes,
                   "be a multiple of page_bytes,", c->page_bytes);
    }
    if (c->drive_bytes[0] <= c->data_offset_bytes) {
        return bad(error, "drive_bytes", c->drive_bytes[0],
                   "be more than the label's", c->data_offset_bytes);
    }
    data = c->drive_bytes[0] - c->data_offset_bytes;
    if (data % c->stripe_bytes) {
        return bad(error, "stripe_bytes", c->stripe_bytes,
                   "divide what a drive has for data,", data);
    }
    if (c->data_offset_bytes % c->page_bytes) {
        return bad(error, "page_bytes", c->page_bytes,
                   "divide where data begin on a drive,", c->data_offset_bytes);
    }
    if (c->dirty_pages >= c->set_pages) {
        return bad(error, "dirty_pages", c->dirty_pages,
                   "be less than set_pages,", c->set_pages);
    }
    if (c->stale_score >= c->set_pages) {
        return bad(error, "stale_score", c->stale_score,
                   "be less than set_pages,", c->set_pages);
    }
    if (c->flush_batch > c->set_pages) {
        return bad(error, "flush_batch", c->flush_batch,
                   "be at most set_pages,", c->set_pages);
    }
    if (c->reserved_slots >= c->slots) {
        return bad(error, "reserved_slots", c->reserved_slots,
                   "be less than slots,", c->slots);
    }
    if (!array_cached_pages(c)) {
        return bad(error, "cache_bytes", c->cache_bytes,
                   "be at least a set's", c->set_pages * c->page_bytes);
    }
    if (array_buffers(c) > UINT32_MAX) {
        return bad(error, "cache_bytes", c->cache_bytes,
                   "have fewer pages than", UINT32_MAX);
    }
    return true;
}

/*
 * Returns the number of buffers: one for each page of the cache, one for each
 * slot, whose I/O may carry a page's old contents, and one for the page that
 * changes.
 */
size_t array_buffers(const ArrayConfig *c)
{
    return array_cached_pages(c) + c->slots * c->n_drives + 1;
}

size_t array_memory_bytes(const ArrayConfig *c)
{
    return array_buffers(c) * c->page_bytes;
}
