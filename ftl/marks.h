/*
 * Rare states of the engine, by name. Each has a plain sentence that says what
 * the drive has just met.
 *
 * The code calls scarp_mark() (core/mark.h) where it reaches such a state. Only
 * checked builds count. Tests ask by scarp_mark_field() and scarp_mark_times()
 * which states they have met.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MARKS_H
#define SCARP_MARKS_H

#define SCARP_MARKS(MARK) \
    /* nand */ \
    MARK(program_suspended, "a read suspended a program") \
    MARK(erase_suspended, "a read suspended an erase") \
    MARK(collection_suspended, \
         "a read suspended a program or an erase of a collection") \
    MARK(multiplane_suspended, "a read suspended a multi-plane command") \
    MARK(suspended_again, "a program or erase was suspended more than once") \
    MARK(suspended_before_array, \
         "a command was suspended before its array had begun to work") \
    MARK(suspend_limit_reached, \
         "a read waited as a command had been suspended as often as it may " \
         "be") \
    MARK(suspend_too_late, \
         "a read waited as too little was left of a program or erase") \
    MARK(suspend_met_behind, \
         "a program was not suspended, as another one was loaded behind it") \
    MARK(behind_of_other_side, \
         "a command of a collection ran behind one of the host's, or the " \
         "other way round") \
    MARK(behind_without_channel, \
         "a command had not had the channel when its turn at the array " \
         "came") \
    MARK(behind_sensed_early, \
         "a read behind another was sensed when its turn to be sent came") \
    MARK(mates_of_other_modes, \
         "programs of a die's planes did not join, as one goes to SLC cells " \
         "and the other does not") \
    MARK(channel_after_collections, \
         "a transfer had its turn, as enough of collections had gone before") \
    MARK(collection_first_on_channel, \
         "a collection's transfer went before others that had waited " \
         "longer") \
    MARK(command_throttled, \
         "a flash command took longer, as the drive was warm") \
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
         "closed") \
    MARK(unit_kept_for_collection, \
         "the host's next reclaim unit waited, as the last free one is kept " \
         "for collections") \
    MARK(other_plane_opens_unit, \
         "a plane waited for another one to open a reclaim unit that was " \
         "closed with few pages") \
    MARK(closed_with_programs, \
         "the host closed a reclaim unit while programs of it waited") \
    MARK(padded_by_close, \
         "a page was programmed half full as the host closed its reclaim " \
         "unit") \
    MARK(closed_before_opened, \
         "the host closed a reclaim unit none of whose programs had begun") \
    MARK(plane_a_unit_ahead, \
         "a plane waited for its next reclaim unit, as another plane of its " \
         "group was a whole unit behind") \
    MARK(two_units_open, \
         "a reclaim unit was opened while an earlier one of the same handle " \
         "had pages left") \
    MARK(isolated_copies_opened, \
         "a reclaim unit was opened for the copies of a persistently isolated " \
         "stream") \
    MARK(isolated_copies_took_last, \
         "the last free reclaim unit was opened for the copies of a " \
         "persistently isolated stream") \
    MARK(opened_beside_victim, \
         "a reclaim unit was opened while blocks of a victim of its group " \
         "were not erased") \
    /* allocation */ \
    MARK(group_passed_over, \
         "a page of the host went past a group of planes that has more than " \
         "its share of the data") \
    /* pack */ \
    MARK(host_page_padded, "a page of the host's units was not full") \
    /* map */ \
    MARK(changed_entry_evicted, \
         "a changed entry had to be written before its place was free") \
    MARK(used_entry_evicted, \
         "an entry that was used more than once made room, as all the " \
         "others are in use") \
    MARK(no_entry_to_evict, \
         "whoever waited for an entry found none that could make room") \
    MARK(leaving_entry_used, \
         "an entry on its way out of the cache was used again") \
    MARK(leaving_entry_held, \
         "an entry on its way out of the cache was wanted for a write") \
    MARK(entry_behind_others, \
         "an entry that needs no read waited for others that came before") \
    MARK(fetch_shared, \
         "two who wait for entries share the read of a translation unit") \
    MARK(trimmed_without_entry, \
         "a unit was deallocated whose entry was not in the cache") \
    MARK(moved_without_entry, \
         "a collection moved a unit whose entry was not in the cache") \
    MARK(collection_starved, \
         "a collection waited until changed entries of others were on " \
         "flash") \
    MARK(collection_waits_its_turn, \
         "a collection waited for that of a plane that had been refused") \
    MARK(hit_waits_its_turn, \
         "an entry was not used, as others had waited long for one") \
    MARK(starved_collection_freed, \
         "changed entries were written for which a collection had waited") \
    MARK(starved_asks_for_batch, \
         "a collection waited for entries that another one, still under " \
         "way, had changed") \
    MARK(translation_writes_limited, \
         "translation units waited for others that were on their way") \
    MARK(changed_while_packing, \
         "an entry changed while its translation unit waited for its page " \
         "to be full") \
    MARK(changed_while_programmed, \
         "an entry changed while its translation unit was programmed") \
    MARK(changed_unit_waits_its_turn, \
         "a translation unit that had changed once more went behind others") \
    MARK(fetched_for_both, \
         "a translation unit was read to be written, and for a read of the " \
         "host") \
    MARK(translation_page_padded, "a page of translation units was not full") \
    MARK(page_awaits_pair, \
         "a page of the host waited for the rest of its cells") \
    MARK(instant_awaits_other, \
         "a collection without time waited for another one of its plane") \
    MARK(copies_padded, \
         "cells were filled so that a victim could be erased") \
    MARK(checkpoint_of_nothing, \
         "a checkpoint began, and every translation unit was on flash") \
    MARK(translation_blocks_full, \
         "translation units were to be programmed while all blocks for " \
         "them were full") \
    MARK(partial_merge, \
         "a log block was completed, and became the data block") \
    MARK(switch_merge, "a log block became the data block as it is") \
    MARK(data_block_stays, \
         "all of a log block was written in place later: it was erased") \
    MARK(group_unmapped, \
         "a logical block that was merged had no mapped page") \
    MARK(merge_awaits_programs, \
         "nothing could be merged before programs on their way had ended") \
    MARK(sequential_merged_first, \
         "a page in order needed the sequential log block that another one " \
         "had") \
    MARK(random_took_sequential, \
         "a merge of a shared log block took the sequential one along") \
    MARK(shared_log_empty, "a shared log block had no valid page left") \
    MARK(sequential_for_room, \
         "the sequential log block was merged though nothing waited for it") \
    MARK(merged_into_current, \
         "a superblock's merge copied into the block that is written") \
    MARK(merge_opened_block, \
         "a superblock's merge needed a block of its own") \
    MARK(superblock_awaits_merge, \
         "a page waited for the merge of its own superblock") \
    MARK(no_plane_has_room, "dynamic allocation found room in no plane") \
    MARK(allocated_at_collecting, \
         "dynamic allocation found only dies that collect") \
    /* gc */ \
    MARK(fold_for_write, \
         "a fold was chosen as a write waited for room in the SLC cache") \
    MARK(fold_for_free_blocks, \
         "a fold was chosen as few blocks were free") \
    MARK(fold_lacks_room, \
         "a static block was not folded, as few blocks were free") \
    MARK(fold_lacks_entries, \
         "a fold waited for the RAM of the mapping's entries that it changes") \
    MARK(fold_not_worth_it, \
         "a block of the real mode had fewer valid units than an SLC block") \
    MARK(fold_of_stale, "a fold had nothing to copy") \
    MARK(static_block_replaced, \
         "a worn-out block of the static SLC cache became bad") \
    MARK(folds_beside, "several planes of a die folded together") \
    MARK(folded_while_idle, "an idle die folded") \
    MARK(idle_kept_blocks, \
         "an idle die left full blocks in the SLC cache, as they are kept") \
    MARK(stale_when_read, \
         "a unit was written or deallocated while its collection read it") \
    MARK(stale_when_moved, \
         "a unit was written or deallocated while its collection " \
         "programmed it") \
    MARK(page_of_two_blocks, \
         "a page of copies got units of two blocks of one reclaim unit") \
    MARK(page_of_two_victims, "a page carried units of two victims") \
    MARK(copyback_of_part, \
         "a page with stale units moved through the controller, where " \
         "copyback would bring them along") \
    MARK(step_leaves_units, \
         "a collection's step ended with units that wait for the next step " \
         "to fill their page") \
    MARK(victim_emptied_meanwhile, \
         "all units of a victim were written or deallocated before one had " \
         "moved") \
    MARK(wear_victim, "a victim was taken to level wear") \
    MARK(levelling_without_room, \
         "wear was not looked at, as the plane is short of free blocks") \
    MARK(translation_victim, "the victim was a block of translation units") \
    MARK(evictions_met_translation_collection, \
         "a collection of translation units began while changed entries " \
         "wait to leave the cache") \
    MARK(due_after_premigration, \
         "a collection was due when a page had moved ahead of it") \
    MARK(command_met_premigration, \
         "a command was in the device when a page had moved ahead of its " \
         "collection") \
    MARK(scheme_changed_in_merge, "the scheme changed while a merge ran") \
    MARK(scheme_changed_in_full_merge, \
         "the scheme changed while a full merge ran") \
    MARK(scheme_changed_in_collection, \
         "the scheme changed while a collection ran") \
    MARK(scheme_changed_in_erase, \
         "the scheme changed while a victim was erased, or waited for that") \
    MARK(scheme_changed_with_staged, \
         "the scheme changed while units of a collection waited for " \
         "company") \
    MARK(staged_called_back, \
         "a unit that waited for company in another plane came back to its " \
         "victim's") \
    MARK(collected_page_padded, "a collection's last page was not full") \
    MARK(nothing_taken_in, \
         "a die that collected on and on took nothing from others") \
    MARK(collection_held, \
         "a plane short of free blocks did not collect, as the host had " \
         "said so") \
    MARK(collected_for_oldest, \
         "a plane collected before the die's first one, as its program waited " \
         "longer") \
    MARK(nothing_behind_before_collection, \
         "no program was loaded behind another, as a collection had to begin") \
    MARK(collected_despite_hold, \
         "a plane down to its last free block collected, whatever the host " \
         "had said") \
    MARK(requested_while_running, \
         "the host asked for a collection in a plane that collects already") \
    MARK(aligned_put_off, "an open aligned block put a collection off") \
    MARK(merge_padded, "a merge programmed a page without data") \
    MARK(merged_unit_stale, \
         "a page was written or deallocated while its merge copied it") \
    MARK(merge_awaits_erase, \
         "all of a merge was copied, and its erases had not been granted") \
    MARK(write_needs_merge, "a write had no room until a merge for it") \
    MARK(round_forced, "a round ran to its end without being granted that") \
    MARK(round_forced_by_program, \
         "a round ran to its end, as a program in the device waited for it") \
    MARK(round_follows_erase, "a round that had waited for an erase began") \
    MARK(round_not_wanted_any_more, \
         "a round that had waited for an erase was not needed when that " \
         "had ended") \
    MARK(erase_with_next_round, \
         "a command carried an erase and pages of the round behind it") \
    MARK(urgent_step, \
         "a collection in steps went on to its end, as its plane was short " \
         "of free blocks") \
    MARK(yields_no_longer, "a collection no longer let the host go first") \
    MARK(planes_collect_together, \
         "planes of a die began to collect together") \
    MARK(background_began, "an idle die began to collect") \
    MARK(background_gave_up, \
         "idle dies stopped collecting, as that freed no block") \
    MARK(command_met_background, \
         "a command ended while a collection ran that an idle die may have " \
         "begun") \
    MARK(premigration_exhausted, \
         "an idle time had used up its steps ahead of collections") \
    MARK(nothing_to_premigrate, \
         "no die of the drive had anything to prepare") \
    MARK(premigration_went_on, \
         "a prepared block counted as free, and the next one was prepared") \
    MARK(hotness_halved, "the counters of reads were halved") \
    MARK(hot_unit_placed, "a hot unit was given to a channel") \
    MARK(share_left_busy_channel, \
         "a channel got less of a victim, as it is read more than others") \
    MARK(placed_elsewhere, \
         "a moved unit's plane had no room, and another one had") \
    MARK(placed_at_home, "no plane had room for a moved unit but its own") \
    MARK(choice_not_worth_it, \
         "the victim that a policy chose would have yielded nothing") \
    MARK(victim_unsettled, \
         "a block was to be collected while its last page was being " \
         "programmed") \
    MARK(nothing_worth_it, \
         "a plane was to collect, and no block would have yielded a page") \
    MARK(victim_matched_reads, \
         "of equal victims one was taken as waiting reads can join its " \
         "collection") \
    MARK(least_worn_victim, \
         "of equal victims the least erased was not the first") \
    /* parity */ \
    MARK(stripe_changed_again, \
         "a page was written whose older contents are in its stripe's sum") \
    MARK(stripe_emptied, "a stripe had no page left, and its parity went") \
    MARK(stripe_pushed_out, \
         "a stripe's parity was made early, as too many stripes were open") \
    MARK(stripe_keeps_place, \
         "a stripe's parity was written while the rest of one of its pages " \
         "was read, and its place was kept for that") \
    MARK(page_written_while_read, \
         "a page was written while it was read to make parity of") \
    MARK(stripe_read_again, \
         "parity needed one more round of reads, as pages had been written " \
         "meanwhile") \
    MARK(changed_while_parity_programmed, \
         "a page was written while its stripe's parity was programmed") \
    MARK(read_rebuilt, \
         "a read behind a collection was made from the rest of its stripe") \
    MARK(waiting_read_rebuilt, \
         "a collection found a read waiting that the rest of its stripe " \
         "can serve") \
    MARK(rebuild_spoiled, \
         "a page of a stripe was written while another one was made from " \
         "it") \
    MARK(rebuild_overtaken, \
         "a read that met a collection waited, as its page had been written " \
         "or deallocated since") \
    MARK(rebuild_met_open_stripe, \
         "a read waited, as its stripe's parity is not on flash") \
    MARK(rebuild_not_sooner, \
         "a read waited, as the rest of its stripe can be had no sooner") \
    MARK(rotation_waits, \
         "a collection waited for its turn among the dies of its stripes") \
    MARK(out_of_turn, "a plane at its floor collected out of turn") \
    /* buffer */ \
    MARK(overwritten_in_packer, \
         "a unit was overwritten before its page was full") \
    MARK(forced_in_packer, \
         "a unit that a forced write waits for became stale before its " \
         "page was full") \
    MARK(overwritten_in_flight, \
         "a unit was written again while its program was on its way") \
    MARK(deallocated_in_flight, \
         "a unit was deallocated while its program was on its way") \
    MARK(deallocated_in_packer, \
         "a unit was deallocated before its page was full") \
    MARK(overwritten_in_victim, \
         "a unit was written whose older copy lay in a block that was " \
         "being collected") \
    MARK(deallocated_in_victim, \
         "a unit was deallocated that lay in a block that was being " \
         "collected") \
    MARK(stale_unit_programmed, \
         "a stale unit was programmed, as its command waited for that") \
    MARK(stale_before_known, \
         "a unit was stale when the rest of its bytes was known") \
    MARK(part_behind_part, \
         "a part of a unit was written while the rest of an earlier part " \
         "was read") \
    MARK(other_stream, \
         "a unit was overwritten before its page was full, with another " \
         "stream") \
    MARK(part_ready_late, \
         "a unit had the rest of its bytes when its command's other units " \
         "had gone to their pages") \
    MARK(buffer_full, "a write found the buffer full") \
    MARK(fua_met_full_buffer, "a write with FUA set found the buffer full") \
    MARK(fua_met_full_buffer_half_way, \
         "a write with FUA set found the buffer full behind its first " \
         "units") \
    MARK(deallocation_met_full_buffer, \
         "a deallocation that is recorded found the buffer full") \
    MARK(zeroes_met_full_buffer, "a write of zeroes found the buffer full") \
    MARK(buffer_half_emptied, \
         "units went to pages that are not full, as the buffer was") \
    MARK(zeroes_split_unit, "zeroes were written to a part of a unit") \
    MARK(deallocation_of_part, \
         "a deallocation named a part of a unit, which keeps its data") \
    MARK(parities_full, "a write waited, as too many stripes were open") \
    MARK(flush_waits, "a flush waited for units that were not on flash") \
    MARK(flush_met_collection, "a flush waited while collections ran") \
    MARK(flush_met_full_merge, "a flush waited while a full merge ran") \
    MARK(flush_met_waiting_write, \
         "a flush came while a write waited for room") \
    MARK(record_on_its_way, \
         "a deallocation of nothing waited, as the record that says so was " \
         "on its way") \
    /* hil */ \
    MARK(writes_starved, \
         "batches of reads had passed writes as often as they may") \
    MARK(late_first, "a batch began with a command that is late") \
    MARK(anticipated, "nothing was dispatched, as a near read may come") \
    MARK(anticipation_right, \
         "the near read came that nothing else was dispatched for") \
    MARK(anticipation_wrong, \
         "no near read came while nothing was dispatched for it") \
    MARK(late_while_anticipating, \
         "a command that is late went first, in address order's stead") \
    MARK(bundle_ended_with_oldest, "the last of a bundle was its oldest") \
    MARK(bundle_ran_out, \
         "a bundle ended early, as no other write of it waits") \
    MARK(read_passed_writes, "a read passed a write that waits") \
    MARK(slack_accumulated, \
         "a write waited until others with slack had come") \
    MARK(accumulating_given_up, \
         "a write that had waited for slack went without it") \
    MARK(segments_in_slack, \
         "a command carried pages of a collection in its slack") \
    MARK(erase_in_slack, "a command carried an erase in its slack") \
    MARK(erase_behind_pages, \
         "a command carried the last pages of a round and the erase behind " \
         "them") \
    MARK(too_little_slack, \
         "a command had too little slack for any piece of a round") \
    MARK(passed_to_next_round, \
         "a write was passed over that needs the next round") \
    MARK(all_need_next_round, "all commands that wait need the next round") \
    MARK(others_carry_first, \
         "others went before a write that has no room, to carry what makes " \
         "it") \
    MARK(held_without_room, \
         "a write stayed in the queue while what makes room for it was " \
         "done") \
    MARK(looked_at_more_rarely, \
         "a write was held for far longer than the grants were expected to " \
         "take") \
    MARK(idle_die_first, "a command of idle dies went before older ones") \
    MARK(all_dies_busy, "all commands that wait go to busy dies") \
    MARK(joined_write, "a write joined the page of another one") \
    MARK(page_without_the_one_that_joins, \
         "a page went without the write that was to join it") \
    MARK(joined_chain, "a write joined a page that two others share") \
    MARK(joined_beyond_slots, \
         "a write that joins another one was dispatched beyond the " \
         "device's slots") \
    MARK(beyond_queue, \
         "more commands were in the device than the policy sees that wait") \
    MARK(not_its_dispatch, \
         "a command ended that another policy had dispatched") \
    MARK(late_left_out, \
         "a command that is late already was left out of the slack") \
    MARK(two_rounds_on_die, "two planes of a die had a round") \
    MARK(sibling_has_round, "a plane's round waited for one of the same die") \
    MARK(deadline_unmeetable, \
         "a deadline was shorter than a segment and an erase") \
    MARK(negative_slack, "a command was dispatched that will be late") \
    /* image */ \
    MARK(other_policy_loaded, \
         "an image was loaded under another policy, or other parameters, " \
         "than it was saved with") \
    MARK(cache_too_small_for_image, \
         "an image had more entries in its cache than the drive that loads " \
         "it") \
    /* flow */ \
    MARK(read_moved, \
         "a read waited, and its unit had moved when its turn came") \
    MARK(read_in_buffer, \
         "a read waited, and its unit had been written when its turn came") \
    MARK(read_deallocated, \
         "a read waited, and its unit had been deallocated when its turn " \
         "came") \
    MARK(rest_moved, \
         "the rest of a unit was to be read for a write of a part, and had " \
         "moved") \
    MARK(rest_deallocated, \
         "the rest of a unit was to be read for a write of a part, and had " \
         "been deallocated") \
    MARK(translation_unit_moved, \
         "a translation unit was to be read, and had moved") \
    MARK(stripe_page_moved, \
         "a page of a stripe was to be read, and had moved or vanished") \
    MARK(read_split_again, \
         "units of a read that were in one page no longer were") \
    MARK(mapped_read_in_buffer, \
         "a read waited for an entry of the mapping, and its unit was in " \
         "the buffer when that came") \
    MARK(mapped_reads_joined, \
         "reads that had waited for entries of the mapping became one " \
         "flash command") \
    MARK(mate_had_moved, \
         "a read that was to join a multi-plane command had moved") \
    MARK(mate_behind_others, \
         "a read joined a multi-plane command before others of its queue") \
    MARK(host_joined_collection, \
         "commands of the host and of a collection ran as one multi-plane " \
         "command") \
    MARK(program_joins_no_more, \
         "a program did not join a collection, as enough had run and others " \
         "waited longer") \
    MARK(collection_joined_host, \
         "a command of a collection joined one of the host's") \
    MARK(erases_together, "victims of several planes were erased together") \
    MARK(merges_together, \
         "programs of merges ran together in several planes") \
    MARK(aligned_mates, \
         "programs of host and collection went to aligned blocks together") \
    MARK(collection_after_reads, \
         "a collection that was due waited until the reads had been served") \
    MARK(collected_after_reads_had_gone, \
         "the reads that a collection waited for were served without their " \
         "die") \
    MARK(program_without_page, \
         "a program of the host waited, as its plane had no page for it") \
    MARK(program_after_passed_reads, \
         "a program went before reads, as enough had gone before it") \
    MARK(redirected_when_owed, \
         "programs went to another plane, as enough others had gone before") \
    MARK(pad_before_programs, \
         "a page without data went before programs, as enough had gone") \
    MARK(moved_read_goes_first, \
         "a read whose page had moved often was queued before younger ones") \
    MARK(collection_after_passed_reads, \
         "a collection went before reads, as programs waited for its room") \
    MARK(resumed_before_reads, \
         "what was suspended went on before reads, as enough had been served") \
    MARK(all_reads_had_moved, \
         "a die had reads waiting, and not one of them was still there") \
    MARK(drained_again, \
         "bringing a drive to rest took more than one round") \
    /* power cuts */ \
    MARK(cut_program, "power failed in a program of the host's data") \
    MARK(cut_copy, "power failed in a program of a collection or merge") \
    MARK(cut_translation_program, \
         "power failed in a program of translation units") \
    MARK(cut_parity_program, "power failed in a program of a parity") \
    MARK(cut_erase, "power failed in an erase") \
    MARK(cut_suspended, "power failed while a command stood still") \
    MARK(cut_flush, "power failed while a flush waited") \
    MARK(cut_unrecorded, \
         "power failed while units were deallocated without a record") \
    MARK(cut_awaiting_pair, \
         "power failed while a page waited for the rest of its cells") \
    MARK(cut_premigration, "power failed while pages moved ahead of time") \
    MARK(cut_data_copies, "power failed while a victim's data was copied") \
    MARK(cut_data_erase, "power failed while a victim of data was erased") \
    MARK(cut_translation_copies, \
         "power failed while a victim's translation units were copied") \
    MARK(cut_translation_erase, \
         "power failed while a victim of translation units was erased") \
    MARK(cut_block_partial, \
         "power failed in the copies of a partial merge of block mapping") \
    MARK(cut_block_full, \
         "power failed in the copies of a full merge of block mapping") \
    MARK(cut_block_erases, "power failed in a merge's erases, block mapping") \
    MARK(cut_superblock_partial, \
         "power failed in the copies of a superblock's merge that its block " \
         "had room for") \
    MARK(cut_superblock_full, "the same, when another block was opened") \
    MARK(cut_superblock_erases, \
         "power failed in a merge's erase, superblock mapping") \
    MARK(cut_fast_partial, \
         "power failed in the copies of a partial merge of FAST") \
    MARK(cut_fast_full, "power failed in the copies of a full merge of FAST") \
    MARK(cut_fast_erases, "power failed in a merge's erases, FAST") \
    MARK(cut_switch, "power failed in the erase of a switch merge") \
    MARK(cut_checkpoint, "power failed while a checkpoint was written") \
    MARK(cut_seal, "power failed while the end of a checkpoint was written") \
    MARK(cut_scan, "power failed again while spare areas were read") \
    MARK(cut_mend_copies, \
         "power failed again while units were copied to mend a plane") \
    MARK(cut_mend_erase, \
         "power failed again while blocks were erased to mend a plane") \
    MARK(cut_fold, "power failed in a fold of the SLC cache") \
    MARK(cut_before_slc_page, \
         "power failed when a block was open in SLC mode, and had no page") \
    MARK(mended_by_fold, \
         "recovery copied the units of an SLC block, to gain a free block") \
    MARK(mended_by_unit, \
         "a group of planes had no free reclaim unit after a power cut, and " \
         "copied some together") \
    MARK(unit_with_erased_block, \
         "a reclaim unit got a free block after a power cut, for one that was " \
         "not written yet, or erased already") \
    MARK(unit_with_torn_block, \
         "a reclaim unit got a block after a power cut that is neither erased " \
         "nor readable") \
    MARK(complete_copies_kept, \
         "of two copies of a mapping unit the newer one counted after a power " \
         "cut, as all of its reclaim unit had been copied") \
    MARK(mended_by_copies, \
         "a plane had no free block after a power cut, and copied some " \
         "together") \
    MARK(mended_superblock, \
         "the same, and its superblocks had blocks to spare") \
    MARK(mended_twins, \
         "a logical block had two log blocks after a power cut") \
    MARK(mended_log, \
         "a plane had too many log blocks after a power cut") \
    MARK(found_complete, \
         "a block had all of a logical block that others had parts of") \
    MARK(closed_early, \
         "of two blocks that were written on one was left as it is") \
    MARK(older_copy_kept, \
         "of two copies of a unit the older one counted after a power cut")

#ifdef SCARP_CHECKED
enum {
#define SCARP_MARK_NUMBER(name, help) SCARP_MARK_##name,
    SCARP_MARKS(SCARP_MARK_NUMBER)
#undef SCARP_MARK_NUMBER
    SCARP_MARK__COUNT
};
#endif

#endif /* SCARP_MARKS_H */
