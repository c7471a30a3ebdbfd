/*
 * The contents of a drive, read piece by piece, because the drive may be large.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/look.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 1 << 20, /* whole units */
    PIECE_SECTORS = PIECE_BYTES / SCARP_SECTOR_BYTES,
};

static const char zeroes[PIECE_BYTES];

/*
 * A piece of the contents. It is read anew when a sector outside of the piece
 * is wanted.
 */
typedef struct {
    const CutsDrive *d;
    uint64_t first, end; /* its first sector, and the sector behind its last */
    char bytes[PIECE_BYTES];
} Piece;

static void move_to(Piece *piece, uint64_t sector)
{
    piece->first = sector / PIECE_SECTORS * PIECE_SECTORS;
    piece->end = MIN(piece->first + PIECE_SECTORS, piece->d->sectors);
    scarp_peek(piece->d->run.drive, piece->first * SCARP_SECTOR_BYTES,
               (piece->end - piece->first) * SCARP_SECTOR_BYTES, piece->bytes);
}

static Piece *piece_new(const CutsDrive *d)
{
    Piece *piece = g_new(Piece, 1);

    piece->d = d;
    move_to(piece, 0);
    return piece;
}

static const char *sector_of(Piece *piece, uint64_t sector)
{
    if (sector < piece->first || sector >= piece->end) {
        move_to(piece, sector);
    }
    return piece->bytes + (sector - piece->first) * SCARP_SECTOR_BYTES;
}

static bool holds(void *opaque, uint64_t sector, uint32_t id)
{
    Piece *piece = opaque;
    const CutsDrive *d = piece->d;
    const char *found = sector_of(piece, sector);
    char wanted[SCARP_SECTOR_BYTES];

    if (!id) {
        return !memcmp(found, zeroes, SCARP_SECTOR_BYTES);
    }
    if (id == cuts_id_before(d)) {
        cuts_drive_before(d, sector, wanted);
    } else {
        rerun_record_sector(d->run.record, id - 1, sector, wanted);
    }
    return !memcmp(found, wanted, SCARP_SECTOR_BYTES);
}

/* ---- Lost writes -------------------------------------------------------- */

static uint32_t shown_as(const CutsDrive *d, uint32_t id)
{
    return rerun_row(d->run.record, id - 1)->cmd.op == SCARP_OP_WRITE ? id : 0;
}

/*
 * True when the sector shows a write that was under way when power failed, and
 * that has overwritten the last completed write, `last`.
 */
static bool holds_later(Piece *piece, uint64_t sector, uint32_t last)
{
    const CutsDrive *d = piece->d;
    uint64_t at = sector * SCARP_SECTOR_BYTES;

    for (guint row = d->left_from; row < d->left_to; row++) {
        const CmdLogRow *cmd = &rerun_row(d->run.record, row)->cmd;

        if (cuts_id(row) != last && cmd->complete_ns > d->left_ns &&
            (cmd->op == SCARP_OP_WRITE || cmd->op == SCARP_OP_WRITE_ZEROES) &&
            at >= cmd->offset_bytes &&
            at < cmd->offset_bytes + cmd->length_bytes &&
            holds(piece, sector, shown_as(d, cuts_id(row)))) {
            return true;
        }
    }
    return false;
}

static uint64_t count_lost(Piece *piece)
{
    const CutsDrive *d = piece->d;
    uint64_t lost = 0;

    for (uint64_t sector = 0; sector < d->sectors; sector++) {
        uint32_t last = d->last[sector];

        lost += last && !holds(piece, sector, shown_as(d, last)) &&
                !holds_later(piece, sector, last);
    }
    return lost;
}

/* ---- The name of contents ----------------------------------------------- */

/*
 * Returns a name for the contents: a digest of the units that differ from those
 * before the run.
 */
static char *name_of(Piece *piece)
{
    const CutsDrive *d = piece->d;
    uint64_t n = scarp_drive_unit_bytes(d->run.drive);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

    for (uint64_t at = 0; at < d->sectors * SCARP_SECTOR_BYTES; at += n) {
        const char *found = sector_of(piece, at / SCARP_SECTOR_BYTES);

        if (memcmp(found, d->before ? d->before + at : zeroes, n)) {
            uint64_t place = GUINT64_TO_LE(at);

            g_checksum_update(sum, (const guchar *)&place, sizeof(place));
            g_checksum_update(sum, (const guchar *)found, n);
        }
    }
    return g_strndup(g_checksum_get_string(sum), 32);
}

void cuts_look(CutsDrive *d, CutsLook *look)
{
    g_autofree Piece *piece = piece_new(d);

    look->story = scarp_contract_judge(d->contract, holds, piece);
    look->lost = count_lost(piece);
    look->name = name_of(piece);
}

void cuts_look_clear(CutsLook *look)
{
    g_free(look->story);
    g_free(look->name);
    *look = (CutsLook) { 0 };
}

/* ---- A file of the contents --------------------------------------------- */

static bool write_units(Piece *piece, int fd)
{
    uint64_t n = scarp_drive_unit_bytes(piece->d->run.drive);
    uint64_t bytes = piece->d->sectors * SCARP_SECTOR_BYTES;

    if (ftruncate(fd, bytes)) {
        return false;
    }
    for (uint64_t at = 0; at < bytes; at += n) {
        const char *found = sector_of(piece, at / SCARP_SECTOR_BYTES);

        if (memcmp(found, zeroes, n) &&
            pwrite(fd, found, n, at) != (ssize_t)n) {
            return false;
        }
    }
    return true;
}

bool cuts_look_keep(const CutsDrive *d, const CutsLook *look,
                    const char *folder, GError **error)
{
    g_autofree char *path = g_strdup_printf("%s/%s.raw", folder, look->name);
    g_autofree char *fresh = g_strdup_printf("%s.%d", path, (int)getpid());
    g_autofree Piece *piece = NULL;
    int fd;
    bool ok;

    if (!access(path, F_OK)) {
        return true;
    }
    piece = piece_new(d);
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ok = fd >= 0 && write_units(piece, fd);
    ok = fd >= 0 && !close(fd) && ok && !rename(fresh, path);
    if (!ok) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "%s: %s", path,
                    g_strerror(errno));
        unlink(fresh);
    }
    return ok;
}
