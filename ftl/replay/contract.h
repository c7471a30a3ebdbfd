/*
 * NVMe's contract: what a drive may contain after a power cut.
 *
 * Each sector contains the last write that was durable, or a write that was
 * submitted later. Of a write inside one unit (AWUPF) all sectors are written,
 * or none. In all other cases sectors are independent of each other.
 *
 * A write is durable when it has completed with FUA; when a flush that was
 * submitted after the write's completion has completed; or, on a drive whose
 * cache is not lost (no cache, or enough energy), when it has completed.
 *
 * The contract knows only the commands, not the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CONTRACT_H
#define SCARP_CONTRACT_H

#include "scarp.h"

typedef struct ScarpContract ScarpContract;

typedef struct {
    uint64_t sectors;      /* of the drive */
    uint32_t unit_sectors; /* aligned sectors that are written as a whole */
    bool is_volatile;      /* a completed write may be lost */
    /*
     * Deallocated sectors are zeroes. A deallocation is durable as a write is.
     */
    bool deallocates;
} ScarpTerms;

ScarpContract *scarp_contract_new(const ScarpTerms *terms);
ScarpContract *scarp_contract_copy(const ScarpContract *contract);
void scarp_contract_free(ScarpContract *contract);

/*
 * Begins the contract anew. found[sector] is the id of the write whose contents
 * the sector has, or 0 if they are of no write. These contents are durable. The
 * caller may use any id again that is not in found[].
 */
void scarp_contract_begin(ScarpContract *contract, const uint32_t *found);

/*
 * Report a submission, and a completion, in the order in which they happen. The
 * caller chooses `id`, which must not be 0. Reads may be reported, and change
 * nothing.
 */
void scarp_contract_submit(ScarpContract *contract, const ScarpCmd *cmd,
                           uint32_t id);
void scarp_contract_complete(ScarpContract *contract, uint32_t id,
                             int64_t complete_ns);

/*
 * True when the sector has the contents that the write with this id put there.
 * Id 0 stands for zeroes, and for the contents that a sector with a 0 in
 * found[] had when the contract began. Several writes may have put equal
 * contents, so the function may be true for several ids.
 */
typedef bool (*ScarpHolds)(void *opaque, uint64_t sector, uint32_t id);

/*
 * Judges all sectors after a power cut. Returns NULL if all sectors have
 * permitted contents. Otherwise returns a text that describes a sector with
 * other contents, and the commands that decide about it; the caller frees it
 * with g_free(). Judging does not end the contract. If the drive runs on after
 * the power cut, the caller must call scarp_contract_begin().
 */
char *scarp_contract_judge(ScarpContract *contract, ScarpHolds holds,
                           void *opaque);

#endif /* SCARP_CONTRACT_H */
