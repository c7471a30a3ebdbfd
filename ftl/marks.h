/*
 * Rare states of the engine, by name: one list, and a plain sentence for each
 * that says what the drive has just met.
 *
 * scarp_mark() (core/mark.h) stands where the code gets there.  Only checked
 * builds count; tests ask by scarp_mark_field() and scarp_mark_times() which
 * states they have met, and a campaign that leaves one out names it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MARKS_H
#define SCARP_MARKS_H

#define SCARP_MARKS(MARK) \
    /* blocks */ \
    MARK(last_free_block, "a plane gave out its last free block") \
    MARK(host_kept_from_last_block, \
         "a program of the host found no page but in the block that is " \
         "kept for collections") \
    MARK(last_translation_block, \
         "a collection opened the last block that a plane has for " \
         "translation units") \
    MARK(orphaned_aligned_block, \
         "a block that an earlier scheme kept aligned was filled up by " \
         "single programs") \
    MARK(worn_out, "a block was set aside after its last erase") \
    MARK(worn_out_but_needed, \
         "a block beyond its last erase stayed in use, as its plane has " \
         "none to spare") \
    MARK(victim_put_back, \
         "a block that was prepared ahead became a candidate again") \
    MARK(closed_on_load, \
         "an image's open block that this drive would never fill was " \
         "closed")

#ifdef SCARP_CHECKED
enum {
#define SCARP_MARK_NUMBER(name, help) SCARP_MARK_##name,
    SCARP_MARKS(SCARP_MARK_NUMBER)
#undef SCARP_MARK_NUMBER
    SCARP_MARK__COUNT
};
#endif

#endif /* SCARP_MARKS_H */
