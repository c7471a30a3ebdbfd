/*
 * libFuzzer: a real image with changes is refused, or loaded; a loaded one
 * keeps the laws, and works.
 *
 * The input is no image, but edits of one that is made here.  The first byte
 * says whether digests and lengths are set right afterwards, without which
 * nothing but them would be tried, and how the drive is loaded; the second, of
 * which drive the image is; then come edits of five bytes each.
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

#define MAX_BYTES 262144
#define BATCH 64 /* commands at once */
#define CUTS "nand.power_cuts=1,ftl.recovery="
#define SLC "geometry.blocks_per_plane=30,nand.cell_bits=2," \
            "timing.slc_read_ns=50,timing.slc_program_ns=300," \
            "timing.slc_erase_ns=2000,slc.dynamic=1,slc.fold_idle_us=100"

static const char description[] =
    "[geometry]\nchannels=2\nchips_per_channel=1\ndies_per_chip=1\n"
    "planes_per_die=2\nblocks_per_plane=16\npages_per_block=4\n"
    "page_bytes=1024\n[timing]\nread_ns=100\nprogram_ns=1000\nerase_ns=5000\n"
    "channel_mts=1000\n[controller]\nfirmware_ns=10\nlink_mbs=1000\n"
    "buffer_bytes=8192\n[ftl]\n"
    "over_provisioning_permille=1000\n"
    "[gc]\ntrigger_free_blocks=1\n";

/* Each mapping, and what else an image has more of. */
static const struct {
    const char *overrides, *scheme;
} drives[] = {
    { "ftl.unit_bytes=512,ftl.recovery=1,ftl.streams=2", "pregc+gftl" },
    { "ftl.mapping=demand,ftl.unit_bytes=512,geometry.blocks_per_plane=24,"
      "ftl.recovery=1", "pgc" },
    { "ftl.mapping=block", "pgc" },
    { "ftl.mapping=superblock,ftl.superblock_blocks=3", "gftl" },
    { "ftl.mapping=fast,ftl.recovery=1", "hios-2" },
    { "ftl.unit_bytes=512,ftl.recovery=2", "gc-z" },
    { "ftl.parity_width=2,ftl.unit_bytes=1024,ftl.allocation=cpwd", "ttflash" },
    { "ftl.allocation=dynamic,nand.endurance_erases=60,"
      "nand.bad_blocks_permille=70,gc.wear_spread_erases=3", "global" },
    /* Whose power fails, before and after the image. */
    { CUTS "2,ftl.unit_bytes=512,ftl.streams=2", "pregc+gftl" },
    { CUTS "1,ftl.mapping=demand,ftl.unit_bytes=512,nand.cell_bits=2,"
      "ftl.paired_pages=backup,geometry.blocks_per_plane=24,"
      "ftl.checkpoint_pages=64", "pgc" },
    { CUTS "1,ftl.mapping=block,ftl.log_blocks=3", "pgc" },
    { CUTS "2,ftl.mapping=superblock,ftl.superblock_blocks=3", "gftl" },
    { CUTS "1,ftl.mapping=fast,ftl.log_blocks=3", "hios-2" },
    { CUTS "1,ftl.parity_width=2,ftl.unit_bytes=1024,nand.cell_bits=2,"
      "ftl.paired_pages=plp,controller.plp_bytes=65536", "ttflash" },
    { CUTS "1,ftl.unit_bytes=512,nand.cell_bits=2,ftl.paired_pages=pad,"
      "geometry.blocks_per_plane=40,nand.bad_blocks_permille=30", "pgc" },
    /* With an SLC cache. */
    { SLC ",ftl.unit_bytes=512,slc.static_blocks=2,slc.full=fold,ftl.streams=2,"
      "nand.endurance_erases=60,slc.endurance_erases=90", "pgc" },
    { CUTS "2," SLC ",ftl.paired_pages=pad,ftl.unit_bytes=512,"
      "ftl.over_provisioning_permille=2000", "baseline" },
    { SLC ",ftl.mapping=demand,ftl.unit_bytes=512,slc.static_blocks=1,"
      "slc.full=fold,geometry.blocks_per_plane=24", "pgc" },
};

static struct {
    uint8_t bytes[MAX_BYTES];
    size_t n;
} images[G_N_ELEMENTS(drives)];

static void check(const ScarpDrive *drive)
{
    g_autoptr(GError) error = NULL;

    if (!scarp_check(drive, &error)) {
        g_error("%s", error->message);
    }
    g_assert_cmpuint(scarp_stats(drive)->oob_mismatches, ==, 0);
}

/* After so many events; it comes back. */
static ScarpDrive *cut(ScarpDrive *drive, unsigned events)
{
    g_autoptr(GError) error = NULL;

    for (; events && scarp_next_event_ns(drive) != SCARP_TIME_NEVER; events--) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    drive = scarp_power_cut(drive, &error);
    g_assert_no_error(error);
    while (!scarp_is_ready(drive)) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    check(drive);
    return drive;
}

/* Those that were submitted have completed. */
static void reap(ScarpDrive *drive, unsigned n)
{
    g_autoptr(GError) error = NULL;

    if (!scarp_drain(drive, &error)) {
        g_error("%s", error->message);
    }
    for (; n; n--) {
        g_assert_nonnull(scarp_reap(drive));
    }
    g_assert_null(scarp_reap(drive));
}

/*
 * Commands by the score, so that a drive is short of whatever it can be.  Where
 * power fails it does so after each second batch, of which some is done.
 */
static ScarpDrive *run(ScarpDrive *drive, unsigned n, bool cuts)
{
    uint64_t sectors = scarp_drive_logical_bytes(drive) / 512;
    g_autofree ScarpCmd *cmd = g_new0(ScarpCmd, BATCH);
    g_autofree char *data = g_malloc0(BATCH * 2048);

    for (unsigned i = 0; i < n; i++) {
        ScarpCmd *c = &cmd[i % BATCH];

        data[i % BATCH * 2048] = i;
        *c = (ScarpCmd) {
            .op = i % 4 == 0 ? SCARP_OP_READ
                  : i % 17 == 16 ? SCARP_OP_DEALLOCATE : SCARP_OP_WRITE,
            .offset_bytes = i * 7919 % (sectors - 4) * 512,
            .length_bytes = (i % 4 + 1) * 512,
            .data = &data[i % BATCH * 2048],
            .stream = i % 3, .deadline_ns = SCARP_TIME_NEVER };
        scarp_submit(drive, c, scarp_now_ns(drive));
        if (i % BATCH != BATCH - 1 && i != n - 1) {
            continue;
        }
        if (cuts && i / BATCH % 2) {
            drive = cut(drive, 100 + i);
        } else {
            reap(drive, i % BATCH + 1);
        }
    }
    reap(drive, 0);
    check(drive);
    return drive;
}

static bool has_cuts(unsigned number)
{
    return g_str_has_prefix(drives[number].overrides, CUTS);
}

static void make_image(unsigned number)
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
    drive = scarp_drive_new(&(ScarpConfig) {
        .description_path = text, .overrides = drives[number].overrides,
        .scheme = drives[number].scheme, .seed = 1, .store_data = true },
        &error);
    g_assert_no_error(error);
    g_assert_true(scarp_age(drive, &age, &error));
    drive = run(drive, 3 * BATCH, has_cuts(number));
    g_assert_true(scarp_save(drive, path, &error));
    scarp_drive_free(drive);
    g_assert_true(g_file_get_contents(path, &bytes, &images[number].n, &error));
    g_assert_cmpuint(images[number].n, <, MAX_BYTES);
    memcpy(images[number].bytes, bytes, images[number].n);
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

/* The u32 at offset of the section, or at its end if that is beyond. */
static uint8_t *word_of(uint8_t *bytes, uint32_t i, size_t offset)
{
    ImageHead *head = (ImageHead *)bytes;
    const ImageSection *section = (const ImageSection *)(head + 1) + i;
    size_t words = section->bytes / 4;

    return words ? bytes + begin_of(head, i) + offset % words * 4 : NULL;
}

/* Of those there are; most often one by its name. */
static uint32_t section_of(const ImageHead *head, uint8_t choice)
{
    static const char *const often[] = {
        "state", "valid", "state", "scheme", "pages", "data", "version", "p2l",
    };
    const ImageSection *section = (const ImageSection *)(head + 1);

    for (uint32_t i = 0; choice & 128 && i < head->n_sections; i++) {
        if (!strncmp(section[i].name, often[choice % 8], 8)) {
            return i;
        }
    }
    return choice % MAX(1, head->n_sections);
}

/* Edits: where (16 bits), in which section, what, and with which value. */
static size_t edit(uint8_t *bytes, size_t size, const uint8_t *data, size_t n,
                   bool right)
{
    ImageHead *head = (ImageHead *)bytes;
    size_t first = right ? begin_of(head, 0) : 0;

    for (; n >= 5 && size > first + 1; data += 5, n -= 5) {
        size_t offset = data[0] + (data[1] << 8);
        uint32_t section = right ? section_of(head, data[2]) : 0, a, b;
        uint8_t value = data[4], *word, *other;
        uint8_t *at = bytes + first + offset % (size - first);

        if (!right) {
            if (data[3] % 3 == 2) {
                size -= MIN(size, value);
            } else {
                *at = data[3] % 3 ? *at ^ 1 << value % 8 : value;
            }
            continue;
        }
        if (section >= head->n_sections) {
            continue; /* there are none */
        }
        word = word_of(bytes, section, offset);
        if (!word) {
            continue;
        }
        switch (data[3] % 8) {
        case 0:
            word[data[3] / 8 % 4] = value;
            break;
        case 1:
            word[data[3] / 8 % 4] ^= 1 << value % 8;
            break;
        case 2:
            word[data[3] / 8 % 4] += (int8_t)value;
            break;
        case 3:
            size = resize(bytes, size, section, offset, 1 + value % 40);
            break;
        case 4:
            size = resize(bytes, size, section, offset, -1 - value % 40);
            break;
        case 5: /* a small number, or none */
            a = value == 255 ? UINT32_MAX : value;
            memcpy(word, &a, 4);
            break;
        default: /* two words change places: lists in another order */
            other = word_of(bytes, section, offset + value);
            memcpy(&a, word, 4);
            memcpy(&b, other, 4);
            memcpy(word, &b, 4);
            memcpy(other, data[3] % 8 == 6 ? &a : &b, 4);
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
    unsigned number;
    size_t n;
    int fd;

    if (size < 2) {
        return 0;
    }
    number = data[1] % G_N_ELEMENTS(drives);
    if (!images[number].n) {
        make_image(number);
    }
    memcpy(bytes, images[number].bytes, images[number].n);
    n = edit(bytes, images[number].n, data + 2, size - 2, *data % 8);
    fd = memfd_create("image", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, bytes, n), ==, n);
    path = g_strdup_printf("/proc/self/fd/%d", fd);
    if (!too_large(path)) {
        drive = scarp_drive_new(&(ScarpConfig) {
            .scheme = *data & 64 ? "baseline" : drives[number].scheme,
            .image_path = path, .seed = *data & 128 ? 2 : 1,
            .store_data = !(*data & 32) }, &error);
        g_assert_true(!drive == !!error);
        g_assert_true(!error || !strchr(error->message, '\n'));
    }
    if (drive) {
        check(drive);
        if (has_cuts(number)) {
            drive = cut(drive, 0);
        }
        drive = run(drive, 3 * BATCH, has_cuts(number));
        scarp_drive_free(drive);
    }
    close(fd);
    return 0;
}
