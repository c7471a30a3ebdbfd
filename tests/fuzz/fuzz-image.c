/*
 * libFuzzer: a real image with changes is refused, or loaded; a loaded one
 * keeps the laws, and works.
 *
 * The input is no image, but edits of one that is made here: the first byte
 * says whether digests and lengths are set right afterwards, without which
 * nothing but them would be tried; then edits of four bytes each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fuzz.h"
#include "image/internal.h"

#include <glib/gstdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_BYTES 65536

static const char description[] =
    "[geometry]\nchannels=2\nchips_per_channel=1\ndies_per_chip=1\n"
    "planes_per_die=2\nblocks_per_plane=16\npages_per_block=4\n"
    "page_bytes=1024\n[timing]\nread_ns=100\nprogram_ns=1000\nerase_ns=5000\n"
    "channel_mts=1000\n[controller]\nfirmware_ns=10\nlink_mbs=1000\n"
    "buffer_bytes=8192\n[ftl]\nunit_bytes=512\n"
    "over_provisioning_permille=1000\nrecovery=1\nstreams=2\n"
    "[gc]\ntrigger_free_blocks=1\n";

static uint8_t image[MAX_BYTES];
static size_t image_bytes;

static void run(ScarpDrive *drive, unsigned n)
{
    uint64_t sectors = scarp_drive_logical_bytes(drive) / 512;
    g_autoptr(GError) error = NULL;

    for (unsigned i = 0; i < n; i++) {
        char data[2048] = { i };
        ScarpCmd cmd = { .op = i % 4 ? SCARP_OP_WRITE : SCARP_OP_READ,
                         .offset_bytes = i * 7919 % (sectors - 4) * 512,
                         .length_bytes = (i % 4 + 1) * 512, .data = data,
                         .stream = i % 3, .deadline_ns = SCARP_TIME_NEVER };

        scarp_submit(drive, &cmd, scarp_now_ns(drive));
        g_assert_true(scarp_drain(drive, &error));
        g_assert_true(scarp_reap(drive) == &cmd);
    }
    g_assert_true(scarp_check(drive, &error));
    g_assert_cmpuint(scarp_stats(drive)->oob_mismatches, ==, 0);
}

static void make_image(void)
{
    g_autofree char *folder = g_dir_make_tmp("fuzz-image-XXXXXX", NULL);
    g_autofree char *text = g_build_filename(folder, "drive.ini", NULL);
    g_autofree char *path = g_build_filename(folder, "image", NULL);
    g_autofree char *bytes = NULL;
    g_autoptr(GError) error = NULL;
    ScarpAge age = { .utilisation_permille = 900, .pattern = "random",
                     .overwrite_permille = 500, .seed = 1 };
    ScarpDrive *drive;

    g_assert_true(g_file_set_contents(text, description, -1, &error));
    drive = scarp_drive_new(&(ScarpConfig) { .description_path = text,
                                             .scheme = "pregc+gftl",
                                             .seed = 1, .store_data = true },
                            &error);
    g_assert_no_error(error);
    g_assert_true(scarp_age(drive, &age, &error));
    run(drive, 100);
    g_assert_true(scarp_save(drive, path, &error));
    scarp_drive_free(drive);
    g_assert_true(g_file_get_contents(path, &bytes, &image_bytes, &error));
    g_assert_cmpuint(image_bytes, <, MAX_BYTES);
    memcpy(image, bytes, image_bytes);
    g_unlink(text);
    g_unlink(path);
    g_rmdir(folder);
}

static void digest(const void *a, size_t n, const void *b, size_t m,
                   uint8_t *out)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_MD5);
    gsize length = IMAGE_DIGEST_BYTES;

    g_checksum_update(sum, a, n);
    g_checksum_update(sum, b, m);
    g_checksum_get_digest(sum, out, &length);
}

/* Where section i begins. */
static size_t begin_of(const ImageHead *head, uint32_t i)
{
    const ImageSection *section = (const ImageSection *)(head + 1);
    size_t at = sizeof(*head) + head->n_sections * sizeof(*section);

    for (uint32_t j = 0; j < i; j++) {
        at += section[j].bytes;
    }
    return at;
}

/* n bytes more, or less, in section i, at offset. */
static size_t resize(uint8_t *bytes, size_t size, uint32_t i, size_t offset,
                     int n)
{
    ImageHead *head = (ImageHead *)bytes;
    ImageSection *section = (ImageSection *)(head + 1) + i;
    size_t at = begin_of(head, i) + (section->bytes ? offset % section->bytes
                                                    : 0);

    if (n > 0 && size + n <= MAX_BYTES) {
        memmove(bytes + at + n, bytes + at, size - at);
    } else if (n < 0 && section->bytes >= (uint64_t)-n &&
               at - n <= begin_of(head, i) + section->bytes) {
        memmove(bytes + at, bytes + at - n, size - at + n);
    } else {
        return size;
    }
    section->bytes += n;
    return size + n;
}

static void set_right(uint8_t *bytes, size_t size)
{
    ImageHead *head = (ImageHead *)bytes;
    ImageSection *section = (ImageSection *)(head + 1);

    head->file_bytes = size;
    for (uint32_t i = 0; i < head->n_sections; i++) {
        digest(bytes + begin_of(head, i), section[i].bytes, NULL, 0,
               section[i].digest);
    }
    memset(head->digest, 0, sizeof(head->digest));
    digest(head, sizeof(*head), section, head->n_sections * sizeof(*section),
           head->digest);
}

/* Edits: where (16 bits), what, and with which value. */
static size_t edit(uint8_t *bytes, size_t size, const uint8_t *data, size_t n,
                   bool right)
{
    ImageHead *head = (ImageHead *)bytes;
    size_t first = right ? begin_of(head, 0) : 0;

    for (; n >= 4 && size > first + 1; data += 4, n -= 4) {
        size_t offset = data[0] + (data[1] << 8);
        uint8_t *at = bytes + first + offset % (size - first);
        /* An edit before may have made it 0. */
        uint32_t section = data[3] % MAX(1, head->n_sections);

        switch (data[2] % 6) {
        case 0:
            *at = data[3];
            break;
        case 1:
            *at ^= 1 << data[3] % 8;
            break;
        case 2:
            *at += (int8_t)data[3];
            break;
        case 3:
            if (right) {
                size = resize(bytes, size, section, offset, 1 + data[2] / 6);
            } else {
                size -= MIN(size, data[3]);
            }
            break;
        case 4:
            if (right) {
                size = resize(bytes, size, section, offset, -1 - data[2] / 6);
            }
            break;
        default: /* two words change places: lists in another order */
            if (right && offset % 4 == 0) {
                uint32_t a, b;
                uint8_t *other = bytes + first +
                                 (offset + data[3] * 4) % (size - first);

                if (MAX(at, other) + 4 <= bytes + size) {
                    memcpy(&a, at, 4);
                    memcpy(&b, other, 4);
                    memcpy(at, &b, 4);
                    memcpy(other, &a, 4);
                }
            }
            break;
        }
    }
    if (right) {
        set_right(bytes, size);
    }
    return size;
}

/* Sizes that a description in the image may ask for, and that take long. */
static bool too_large(const char *path)
{
    ScarpImage *opened = scarp_image_open(path, NULL);
    g_autofree char *text = opened ? scarp_image_description(opened, NULL)
                                   : NULL;
    ScarpDescription d;
    bool large = false;

    if (text && scarp_description_parse(&d, text, "its text", NULL, NULL)) {
        large = d.channels * d.chips_per_channel * d.dies_per_chip *
                    d.planes_per_die * d.blocks_per_plane * d.pages_per_block *
                    (d.unit_bytes ? d.page_bytes / d.unit_bytes : 1) > 100000;
    }
    scarp_image_close(opened);
    return large;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MAX_BYTES];
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = NULL;
    size_t n;
    int fd;

    if (!image_bytes) {
        make_image();
    }
    if (!size) {
        return 0;
    }
    memcpy(bytes, image, image_bytes);
    n = edit(bytes, image_bytes, data + 1, size - 1, *data % 8);
    fd = memfd_create("image", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, bytes, n), ==, n);
    path = g_strdup_printf("/proc/self/fd/%d", fd);
    if (!too_large(path)) {
        drive = scarp_drive_new(&(ScarpConfig) {
            .scheme = *data & 64 ? "baseline" : "pregc+gftl",
            .image_path = path, .seed = *data & 128 ? 2 : 1,
            .store_data = true }, &error);
        g_assert_true(!drive == !!error);
        g_assert_true(!error || !strchr(error->message, '\n'));
    }
    if (drive) {
        g_assert_true(scarp_check(drive, &error));
        run(drive, 40);
        scarp_drive_free(drive);
    }
    close(fd);
    return 0;
}
