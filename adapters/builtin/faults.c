#include "adapters/builtin/faults.h"

#include "adapters/builtin/builtin.h"

/* One row for each broken variant: the correct variant, the fault, the switch, the law, and a sentence. */
#define FAULTS(ROW) \
    ROW(full, over_removal_leaves_stale, OVER_REMOVAL_LEAVES_STALE, CLAMP, \
        "Removing more than there is computes a negative length and slices with it, so that stale tokens stay.") \
    ROW(full, zero_empties, ZERO_EMPTIES, ZERO, "crop(0) empties the cache.") \
    ROW(full, positive_keeps, POSITIVE_KEEPS, REFUSE, "A positive crop keeps that many tokens instead of being refused.") \
    ROW(full, positive_wrong_error, POSITIVE_WRONG_ERROR, REFUSE, \
        "A positive crop is refused with a RuntimeError instead of a ValueError.") \
    ROW(full, unused_crop_raises, UNUSED_CROP_RAISES, REFUSE, "A crop of a cache that was never used raises a TypeError.") \
    ROW(full, full_crop_refused, FULL_CROP_REFUSED, REFUSE, "Removing exactly what there is is refused.") \
    ROW(full, keyword_ignored, KEYWORD_IGNORED, CALL, "A crop called by keyword removes nothing.") \
    ROW(full, container_crops_twice, CONTAINER_CROPS_TWICE, CALL, "A crop through the container reaches the layer two times.") \
    ROW(full, refused_positive_empties, REFUSED_POSITIVE_EMPTIES, ATOMIC, \
        "A positive crop is refused after the cache has been emptied.") \
    ROW(full, reset_keeps_values, RESET_KEEPS_VALUES, RESET, "reset empties the keys and forgets the values.") \
    ROW(full, reset_keeps_count, RESET_KEEPS_COUNT, RESET, \
        "After a reset the reported length still counts one token from before.") \
    ROW(full, reorder_keys_only, REORDER_KEYS_ONLY, BATCH, "reorder moves the keys and forgets the values.") \
    ROW(full, reorder_inverse, REORDER_INVERSE, BATCH, "reorder applies the inverse of the permutation that it is given.") \
    ROW(full, repeat_tiles, REPEAT_TILES, BATCH, \
        "repeat puts the copies of the whole batch one after another instead of side by side.") \
    ROW(full, select_first_rows, SELECT_FIRST_ROWS, BATCH, "select keeps the first rows, whichever it is asked for.") \
    ROW(full, length_not_rolled_back, LENGTH_NOT_ROLLED_BACK, LENGTH, \
        "A crop removes the tokens and leaves the reported length.") \
    ROW(full, heads_swapped_after_crop, HEADS_SWAPPED_AFTER_CROP, KEYS, "A crop exchanges the keys of the first two heads.") \
    ROW(full, dtype_lost_after_crop, DTYPE_LOST_AFTER_CROP, KEYS, "After a crop the keys are float32, whatever was put in.") \
    ROW(full, crop_takes_oldest, CROP_TAKES_OLDEST, KEYS, "A crop removes the oldest tokens instead of the newest.") \
    ROW(full, row_left_behind, ROW_LEFT_BEHIND, KEYS, \
        "A crop shifts the last row by one token when there are two rows or more.") \
    ROW(full, append_repeats_row, APPEND_REPEATS_ROW, KEYS, \
        "An append of a batch writes the keys of the first row into all rows.") \
    ROW(full, values_not_cropped, VALUES_NOT_CROPPED, VALUES, "A crop of one token leaves the values as they were.") \
    ROW(full, values_channel_shifted, VALUES_CHANNEL_SHIFTED, VALUES, \
        "A crop turns the channels of the newest value by one place.") \
    ROW(full, strided_read_wrong, STRIDED_READ_WRONG, VALUES, \
        "An append reads a value tensor that is not contiguous as if it were.") \
    ROW(full, late_stale_value, LATE_STALE_VALUE, VALUES, \
        "A crop, two appends and one more crop leave the removed value in the place of the newest.") \
    ROW(full, returns_before_append, RETURNS_BEFORE_APPEND, RETURN, "An append returns the keys and values from before it.") \
    ROW(full, returns_new_only, RETURNS_NEW_ONLY, RETURN, "An append to a used cache returns only the new tokens.") \
    ROW(full, mask_without_new, MASK_WITHOUT_NEW, MASK, "The announced mask does not count the new tokens.") \
    ROW(full, mask_not_rolled_back, MASK_NOT_ROLLED_BACK, MASK, "The announced mask counts the tokens that a crop removed.") \
    ROW(full, returned_overwritten, RETURNED_OVERWRITTEN, ALIAS, \
        "An append after a crop writes into the tensor that the append before it returned.") \
    ROW(full, input_written, INPUT_WRITTEN, ALIAS, "An append of two tokens or more writes into its own input.") \
    ROW(full, position_not_rolled_back, POSITION_NOT_ROLLED_BACK, POSITION, \
        "After a crop the next position is still that of the longest cache so far.") \
    ROW(full, position_drifts_on_reorder, POSITION_DRIFTS_ON_REORDER, POSITION, \
        "Every reorder moves the next position on by one.") \
    ROW(full, aborts_when_empty_again, ABORTS_WHEN_EMPTY_AGAIN, ALIVE, \
        "A crop of a cache that was used and is empty again aborts the process.") \
    ROW(full, hangs_on_second_zero, HANGS_ON_SECOND_ZERO, ALIVE, "The second crop(0) in a row never returns.") \
    ROW(full, leaks_memory, LEAKS_MEMORY, ALIVE, \
        "Every append takes 40 MiB and does not give them back before the cache is closed.") \
    ROW(full, copy_shares_values, COPY_SHARES_VALUES, ISOLATION, "A copy shares the values with its original.") \
    ROW(full, copy_empties_original, COPY_EMPTIES_ORIGINAL, ISOLATION, "Copying empties the cache that is copied.") \
    ROW(full, offload_drops_values, OFFLOAD_DROPS_VALUES, SAVE, "offload loses the values.") \
    ROW(full, prefetch_restores_stale, PREFETCH_RESTORES_STALE, SAVE, \
        "prefetch brings the keys back as they were offloaded, whatever was removed since.") \
    ROW(full, initialize_wrong_dtype, INITIALIZE_WRONG_DTYPE, KEYS, \
        "After an early initialisation the keys are float32, whatever is put in.") \
    ROW(indexed, over_removal_index_left, OVER_REMOVAL_INDEX_LEFT, CLAMP, \
        "Removing more than there is empties keys and values, and slices the index keys with a negative length.") \
    ROW(indexed, over_removal_leaves_stale, OVER_REMOVAL_LEAVES_STALE, CLAMP, \
        "Removing more than there is leaves stale tokens in all tensors.") \
    ROW(indexed, zero_empties_index, ZERO_EMPTIES_INDEX, ZERO, "crop(0) empties the index keys only.") \
    ROW(indexed, unused_crop_raises, UNUSED_CROP_RAISES, REFUSE, "A crop of a cache that was never used raises a TypeError.") \
    ROW(indexed, reset_keeps_index, RESET_KEEPS_INDEX, RESET, "reset forgets the index keys.") \
    ROW(indexed, reorder_forgets_index, REORDER_FORGETS_INDEX, BATCH, "reorder forgets the index keys.") \
    ROW(indexed, repeat_forgets_index, REPEAT_FORGETS_INDEX, BATCH, "repeat forgets the index keys.") \
    ROW(indexed, index_not_cropped, INDEX_NOT_CROPPED, INDEX, "A crop forgets the index keys.") \
    ROW(indexed, index_one_short, INDEX_ONE_SHORT, INDEX, "A crop removes one index key too many.") \
    ROW(indexed, index_returns_new_only, INDEX_RETURNS_NEW_ONLY, RETURN, "An append returns only the new index keys.") \
    ROW(window, negative_length, NEGATIVE_LENGTH, CLAMP, \
        "Removing more than there is makes the length negative once the window was reached.") \
    ROW(window, zero_keeps_recorded, ZERO_KEEPS_RECORDED, ZERO, "crop(0) keeps what was recorded instead of giving it back.") \
    ROW(window, double_crop_loses, DOUBLE_CROP_LOSES, REFUSE, \
        "A second crop past the window is done although the tokens that it needs are gone.") \
    ROW(window, late_recording_wrong, LATE_RECORDING_WRONG, REFUSE, \
        "A crop is done with fewer tokens than needed when recording began past the window.") \
    ROW(window, unrecorded_crops, UNRECORDED_CROPS, REFUSE, \
        "A crop past the window without recording is done with what is left.") \
    ROW(window, refuses_recorded, REFUSES_RECORDED, HONEST, "A crop past the window is refused although all was recorded.") \
    ROW(window, claims_lost_tokens, CLAIMS_LOST_TOKENS, HONEST, \
        "The cache claims that it can be cropped when it cannot, and then crops.") \
    ROW(window, refused_crop_shrinks, REFUSED_CROP_SHRINKS, ATOMIC, \
        "A refused crop has removed a token from the keys and values.") \
    ROW(window, reset_stops_recording, RESET_STOPS_RECORDING, RESET, "reset switches recording off.") \
    ROW(window, reset_keeps_window, RESET_KEEPS_WINDOW, RESET, \
        "reset sets the length back and forgets keys and values once the window was reached.") \
    ROW(window, length_capped, LENGTH_CAPPED, LENGTH, "The reported length never exceeds the window.") \
    ROW(window, keeps_too_few, KEEPS_TOO_FEW, KEYS, "One token less than the window needs is kept.") \
    ROW(window, keeps_too_many, KEEPS_TOO_MANY, KEYS, "Two tokens more than the window needs are kept.") \
    ROW(window, record_never_ends, RECORD_NEVER_ENDS, KEYS, "Recording cannot be switched off.") \
    ROW(window, record_returns_all, RECORD_RETURNS_ALL, RETURN, "While recording an append returns all that was recorded.") \
    ROW(window, mask_offset_negative, MASK_OFFSET_NEGATIVE, MASK, \
        "Below the window the announced mask begins before the first token.") \
    ROW(window, mask_offset_late, MASK_OFFSET_LATE, MASK, "Past the window the announced mask begins one token too late.") \
    ROW(window, position_capped, POSITION_CAPPED, POSITION, "The next position never exceeds the window.") \
    ROW(window, copy_loses_recording, COPY_LOSES_RECORDING, SAVE, "A copy does not record.") \
    ROW(convolution, over_removal_leaves_state, OVER_REMOVAL_LEAVES_STATE, CLAMP, \
        "Removing more than there is leaves the oldest state.") \
    ROW(convolution, zero_keeps_recorded, ZERO_KEEPS_RECORDED, ZERO, \
        "crop(0) keeps what was recorded instead of giving it back.") \
    ROW(convolution, unrecorded_crops, UNRECORDED_CROPS, REFUSE, "A crop without recording is done with what is left.") \
    ROW(convolution, double_crop_loses, DOUBLE_CROP_LOSES, REFUSE, \
        "A second crop is done although the states that it needs are gone.") \
    ROW(convolution, claims_lost_tokens, CLAIMS_LOST_TOKENS, HONEST, \
        "The cache claims that it can be cropped when it cannot, and then crops.") \
    ROW(convolution, refused_crop_shrinks, REFUSED_CROP_SHRINKS, ATOMIC, "A refused crop has removed a state.") \
    ROW(convolution, reset_keeps_states, RESET_KEEPS_STATES, RESET, "reset sets the length back and forgets the states.") \
    ROW(convolution, reorder_forgets, REORDER_FORGETS, BATCH, "reorder forgets the states.") \
    ROW(convolution, pads_right, PADS_RIGHT, STATE, "Fewer states than the kernel holds get their zeros on the right.") \
    ROW(convolution, keeps_too_few, KEEPS_TOO_FEW, STATE, "One state less than the kernel holds is kept.") \
    ROW(convolution, crop_keeps_oldest, CROP_KEEPS_OLDEST, HONEST, \
        "After a crop the oldest states are kept instead of the newest.") \
    ROW(convolution, returns_new_only, RETURNS_NEW_ONLY, RETURN, "An append to a used cache returns only the new states.") \
    ROW(recurrent, crop_accepted, CROP_ACCEPTED, REFUSE, "A crop is done by lowering the length only.") \
    ROW(recurrent, zero_refused, ZERO_REFUSED, REFUSE, "crop(0) is refused.") \
    ROW(recurrent, claims_lost_tokens, CLAIMS_LOST_TOKENS, HONEST, \
        "The cache claims that it can be cropped, and a crop of two tokens or more then lowers the length only.") \
    ROW(recurrent, claims_and_refuses, CLAIMS_AND_REFUSES, HONEST, \
        "The cache claims that it can be cropped, and refuses every crop.") \
    ROW(recurrent, refused_crop_clears, REFUSED_CROP_CLEARS, ATOMIC, "A refused crop has set the state back.") \
    ROW(recurrent, reset_keeps_fold, RESET_KEEPS_FOLD, RESET, \
        "After a reset the next tokens are added to the state from before.") \
    ROW(recurrent, reorder_forgets, REORDER_FORGETS, BATCH, "reorder forgets the state.") \
    ROW(recurrent, folds_last_only, FOLDS_LAST_ONLY, STATE, \
        "An append of several tokens adds only the last of them to the state.") \
    ROW(recurrent, returns_before_append, RETURNS_BEFORE_APPEND, RETURN, "An append returns the state from before it.") \
    ROW(running, partial_crop_accepted, PARTIAL_CROP_ACCEPTED, REFUSE, \
        "A crop of some tokens is done by lowering the length only.") \
    ROW(running, refused_crop_clears, REFUSED_CROP_CLEARS, ATOMIC, "A refused crop has set the summary back.") \
    ROW(running, reset_keeps_summary, RESET_KEEPS_SUMMARY, RESET, \
        "After a reset the next tokens are added to the summary from before.") \
    ROW(running, not_reset_on_full_crop, NOT_RESET_ON_FULL_CROP, RESUME, \
        "After all tokens were removed the next ones are added to the summary from before.") \
    ROW(running, full_crop_counts, FULL_CROP_COUNTS, RESUME, \
        "After all tokens were removed the next append adds one unit too much to the summary.") \
    ROW(running, chunk_dependent, CHUNK_DEPENDENT, CHUNK, "Each append adds its own number of tokens to the summary.") \
    ROW(running, first_chunk_special, FIRST_CHUNK_SPECIAL, CHUNK, "An append of four tokens or more skips the third of them.") \
    ROW(fixed, crop_below_zero, CROP_BELOW_ZERO, CLAMP, "Removing more than there is makes the length negative.") \
    ROW(fixed, overflow_wraps, OVERFLOW_WRAPS, REFUSE, \
        "An append past the capacity writes on from the beginning of the buffer.") \
    ROW(fixed, overflow_wrong_error, OVERFLOW_WRONG_ERROR, REFUSE, \
        "An append past the capacity is refused with a RuntimeError instead of an IndexError.") \
    ROW(fixed, refuses_last_cell, REFUSES_LAST_CELL, REFUSE, "An append that fills the buffer exactly is refused.") \
    ROW(fixed, overflow_half_done, OVERFLOW_HALF_DONE, ATOMIC, \
        "An append past the capacity writes what fits before it is refused.") \
    ROW(fixed, overflow_counts, OVERFLOW_COUNTS, ATOMIC, "A refused append past the capacity is counted in the length.") \
    ROW(fixed, reset_keeps_length, RESET_KEEPS_LENGTH, RESET, "reset clears the buffers and leaves the length.") \
    ROW(fixed, reorder_values_only, REORDER_VALUES_ONLY, BATCH, "reorder moves the values and forgets the keys.") \
    ROW(fixed, crop_shifts_front, CROP_SHIFTS_FRONT, KEYS, "A crop removes the oldest tokens instead of the newest.") \
    ROW(fixed, append_past_cropped, APPEND_PAST_CROPPED, KEYS, "An append after a crop goes behind the removed tokens.") \
    ROW(fixed, values_not_written, VALUES_NOT_WRITTEN, VALUES, \
        "An append of one token to a buffer that was cropped forgets the value.") \
    ROW(fixed, mask_is_length, MASK_IS_LENGTH, MASK, "The announced mask is as long as the tokens, not as the buffer.") \
    ROW(fixed, reorder_moves_buffer, REORDER_MOVES_BUFFER, ADDRESS, "reorder makes new buffers.") \
    ROW(fixed, reset_moves_buffer, RESET_MOVES_BUFFER, ADDRESS, "reset makes new buffers.") \
    ROW(fixed, copy_shares_buffers, COPY_SHARES_BUFFERS, ISOLATION, "A copy writes into the buffers of its original.") \
    ROW(fixed, pickle_loses_count, PICKLE_LOSES_COUNT, SAVE, "A restored cache has length 0.") \
    ROW(fixed, initialize_counts, INITIALIZE_COUNTS, LENGTH, "An early initialisation counts as a token.") \
    ROW(fixed, initialize_one_cell_short, INITIALIZE_ONE_CELL_SHORT, KEYS, \
        "An early initialisation makes buffers of one cell less.") \
    ROW(fixed_window, crop_after_eviction, CROP_AFTER_EVICTION, REFUSE, \
        "A crop of two tokens or more is done although the tokens that it needs were evicted.") \
    ROW(fixed_window, claims_lost_tokens, CLAIMS_LOST_TOKENS, HONEST, \
        "The cache claims that it can be cropped when it cannot, and then crops.") \
    ROW(fixed_window, reset_keeps_length, RESET_KEEPS_LENGTH, RESET, "reset clears the buffers and leaves the length.") \
    ROW(fixed_window, length_capped, LENGTH_CAPPED, LENGTH, "The reported length never exceeds the window.") \
    ROW(fixed_window, wraps_around, WRAPS_AROUND, KEYS, \
        "Past the window the newest token takes the place of the oldest, so that the order is lost.") \
    ROW(fixed_window, full_returns_buffer, FULL_RETURNS_BUFFER, RETURN, \
        "An append of several tokens past the window returns the buffer only.") \
    ROW(fixed_window, mask_offset_late, MASK_OFFSET_LATE, MASK, \
        "Past the window the announced mask begins one token too late.") \
    ROW(fixed_window, moves_when_full, MOVES_WHEN_FULL, ADDRESS, "The append that fills the window makes new buffers.") \
    ROW(ring, trim_after_wrap, TRIM_AFTER_WRAP, REFUSE, "A crop is done although the tokens that it needs were overwritten.") \
    ROW(ring, refuses_before_wrap, REFUSES_BEFORE_WRAP, REFUSE, \
        "A crop is refused as soon as the ring is full, before anything was overwritten.") \
    ROW(ring, over_removal_leaves_stale, OVER_REMOVAL_LEAVES_STALE, CLAMP, "Removing more than there is leaves stale tokens.") \
    ROW(ring, reset_keeps_length, RESET_KEEPS_LENGTH, RESET, "reset clears the ring and leaves the length.") \
    ROW(ring, reorder_keys_only, REORDER_KEYS_ONLY, BATCH, "reorder moves the keys and forgets the values.") \
    ROW(ring, length_capped, LENGTH_CAPPED, LENGTH, "The reported length never exceeds the capacity.") \
    ROW(ring, evicts_kept, EVICTS_KEPT, KEYS, "The first tokens, which are to be kept, are overwritten too.") \
    ROW(ring, one_too_few, ONE_TOO_FEW, KEYS, "The ring wraps one cell too early.") \
    ROW(ring, position_wraps, POSITION_WRAPS, POSITION, "The next position starts again from zero when the ring wraps.") \
    ROW(blocks, reopens_silently, REOPENS_SILENTLY, REFUSE, "A crop into a closed block is done by dropping the whole block.") \
    ROW(blocks, over_removal_leaves_rest, OVER_REMOVAL_LEAVES_REST, CLAMP, \
        "Removing more than there is leaves the unfinished rest.") \
    ROW(blocks, refused_crop_drops_rest, REFUSED_CROP_DROPS_REST, ATOMIC, "A refused crop has dropped the unfinished rest.") \
    ROW(blocks, reset_keeps_rest, RESET_KEEPS_REST, RESET, "reset forgets the unfinished rest.") \
    ROW(blocks, reorder_forgets_entries, REORDER_FORGETS_ENTRIES, BATCH, "reorder forgets the entries.") \
    ROW(blocks, entries_not_dropped, ENTRIES_NOT_DROPPED, STATE, "A crop to the end of an earlier block leaves the entries.") \
    ROW(blocks, rest_not_cleared, REST_NOT_CLEARED, STATE, "A block that is closed leaves its tokens in the rest.") \
    ROW(blocks, fold_not_rolled_back, FOLD_NOT_ROLLED_BACK, STATE, \
        "The entry closed after a crop into the rest still contains the removed tokens.") \
    ROW(blocks, long_append_closes_once, LONG_APPEND_CLOSES_ONCE, STATE, \
        "An append that ends two blocks closes only the first.") \
    ROW(overlap, reopens_silently, REOPENS_SILENTLY, REFUSE, \
        "A crop to the end of an earlier block is done although the block before it is gone.") \
    ROW(overlap, reset_keeps_overlap, RESET_KEEPS_OVERLAP, RESET, "reset forgets the tokens of the newest finished block.") \
    ROW(overlap, reset_keeps_finished, RESET_KEEPS_FINISHED, RESET, "reset leaves the number of finished blocks.") \
    ROW(overlap, reorder_forgets_overlap, REORDER_FORGETS_OVERLAP, BATCH, \
        "reorder forgets the tokens of the newest finished block.") \
    ROW(overlap, overlap_lags, OVERLAP_LAGS, STATE, \
        "An append that finishes two blocks keeps the tokens of the first.") \
    ROW(overlap, counts_one_block, COUNTS_ONE_BLOCK, STATE, "An append that finishes two blocks counts one.") \
    ROW(overlap, count_not_cropped, COUNT_NOT_CROPPED, STATE, "A crop of everything leaves the number of finished blocks.") \
    ROW(overlap, closed_without_rest, CLOSED_WITHOUT_REST, RETURN, \
        "An append that finishes a block returns its own tokens only.") \
    ROW(overlap, prior_is_new, PRIOR_IS_NEW, RETURN, \
        "An append that finishes a block returns its tokens as those of the block before.") \
    ROW(overlap, block_start_late, BLOCK_START_LATE, RETURN, \
        "An append that finishes a block returns the position behind it.") \
    ROW(prefix_window, unrecorded_crops, UNRECORDED_CROPS, REFUSE, \
        "A crop past the window without recording is done with what is left.") \
    ROW(prefix_window, double_crop_loses, DOUBLE_CROP_LOSES, REFUSE, \
        "A second crop past the window is done although the tokens that it needs are gone.") \
    ROW(prefix_window, reset_keeps_prefix, RESET_KEEPS_PREFIX, RESET, "After a reset the prefix is as long as the one before.") \
    ROW(prefix_window, evicts_prefix, EVICTS_PREFIX, KEYS, "Past the window the oldest tokens of all are evicted.") \
    ROW(prefix_window, keeps_too_few, KEEPS_TOO_FEW, KEYS, "One token less than the window needs is kept.") \
    ROW(prefix_window, crop_spares_prefix, CROP_SPARES_PREFIX, CLAMP, "A crop never removes tokens of the prefix.") \
    ROW(prefix_window, returns_without_prefix, RETURNS_WITHOUT_PREFIX, RETURN, \
        "An append behind the prefix returns the window only.") \
    ROW(prefix_window, mask_without_prefix, MASK_WITHOUT_PREFIX, MASK, \
        "Past the window the announced mask does not count the prefix.") \
    ROW(fixed_prefix, crop_after_eviction, CROP_AFTER_EVICTION, REFUSE, \
        "A crop of two tokens or more is done although the tokens that it needs were evicted.") \
    ROW(fixed_prefix, evicts_prefix, EVICTS_PREFIX, KEYS, "Past the window the oldest tokens of all are evicted.") \
    ROW(fixed_prefix, reset_moves_buffer, RESET_MOVES_BUFFER, ADDRESS, "reset makes new buffers.") \
    ROW(fixed_prefix, reorder_values_only, REORDER_VALUES_ONLY, BATCH, "reorder moves the values and forgets the keys.") \
    ROW(fixed_prefix, mask_without_prefix, MASK_WITHOUT_PREFIX, MASK, \
        "Past the window the announced mask does not count the prefix.") \
    ROW(nothing, append_accepted, APPEND_ACCEPTED, REFUSE, "An append is taken and forgotten.") \
    ROW(nothing, refused_append_kept, REFUSED_APPEND_KEPT, ATOMIC, "An append is refused and its keys are kept.") \
    ROW(cross, reset_keeps_cross, RESET_KEEPS_CROSS, RESET, "reset forgets the cross keys and values.") \
    ROW(cross, reorder_forgets_cross, REORDER_FORGETS_CROSS, BATCH, "reorder forgets the cross keys and values.") \
    ROW(cross, cropped_too, CROPPED_TOO, KEYS, "A crop of one token also removes a cross key.") \
    ROW(cross, written_twice, WRITTEN_TWICE, KEYS, "The second append adds the cross keys again.") \
    ROW(cross, lost_when_empty, LOST_WHEN_EMPTY, KEYS, \
        "Removing exactly what there is also removes the cross keys and values.") \
    ROW(cross, crop_removes_cross_values, CROP_REMOVES_CROSS_VALUES, VALUES, \
        "A crop of two tokens or more removes the last cross value.") \
    ROW(quantised, over_removal_leaves_stale, OVER_REMOVAL_LEAVES_STALE, CLAMP, \
        "Removing more than there is leaves stale tokens.") \
    ROW(quantised, zero_empties, ZERO_EMPTIES, ZERO, "crop(0) empties the cache.") \
    ROW(quantised, reset_keeps_quantised, RESET_KEEPS_QUANTISED, RESET, "reset empties the residual and forgets the codes.") \
    ROW(quantised, reorder_forgets_quantised, REORDER_FORGETS_QUANTISED, BATCH, "reorder moves the residual and forgets the codes.") \
    ROW(quantised, repeat_forgets_quantised, REPEAT_FORGETS_QUANTISED, BATCH, "repeat forgets the codes.") \
    ROW(quantised, scale_lost_on_reorder, SCALE_LOST_ON_REORDER, BATCH, "reorder moves the codes and forgets their scales.") \
    ROW(quantised, length_from_residual, LENGTH_FROM_RESIDUAL, LENGTH, "The reported length counts the residual only.") \
    ROW(quantised, crop_residual_only, CROP_RESIDUAL_ONLY, KEYS, "A crop removes tokens of the residual only.") \
    ROW(quantised, residual_not_flushed, RESIDUAL_NOT_FLUSHED, KEYS, "An append of several tokens leaves too many in the residual.") \
    ROW(quantised, flush_keeps_residual, FLUSH_KEEPS_RESIDUAL, KEYS, "Tokens that were quantised stay in the residual too.") \
    ROW(quantised, flush_first_row, FLUSH_FIRST_ROW, KEYS, "The codes of all rows are made from the first.") \
    ROW(quantised, scale_halved, SCALE_HALVED, KEYS, "Codes are stored with half their scale.") \
    ROW(quantised, scale_drifts, SCALE_DRIFTS, KEYS, "Every quantisation stores scales that are a tenth too small.") \
    ROW(quantised, values_from_keys, VALUES_FROM_KEYS, VALUES, "The codes of the values are made from the keys.") \
    ROW(quantised, returns_quantised_only, RETURNS_QUANTISED_ONLY, RETURN, "An append returns without the residual.") \
    ROW(hybrid, unrecorded_crops, UNRECORDED_CROPS, REFUSE, \
        "A crop without recording is done with what is left of the states.") \
    ROW(hybrid, refused_half_done, REFUSED_HALF_DONE, ATOMIC, \
        "A refused crop has cropped the keys and values before the states refused.") \
    ROW(hybrid, reset_keeps_states, RESET_KEEPS_STATES, RESET, "reset forgets the convolution states.") \
    ROW(hybrid, reorder_forgets_states, REORDER_FORGETS_STATES, BATCH, "reorder forgets the convolution states.") \
    ROW(hybrid, states_not_cropped, STATES_NOT_CROPPED, STATE, "A crop forgets the convolution states.") \
    ROW(hybrid, values_not_cropped, VALUES_NOT_CROPPED, VALUES, "A crop of one token leaves the values as they were.") \
    ROW(hybrid, copy_forgets_states, COPY_FORGETS_STATES, SAVE, "A copy has no convolution states.") \
    ROW(layers, container_skips_last, CONTAINER_SKIPS_LAST, CALL, \
        "A crop through the container does not reach the last layer.") \
    ROW(layers, crop_half_done, CROP_HALF_DONE, ATOMIC, "A refused crop has cropped the layers before the one that refused.") \
    ROW(layers, append_half_done, APPEND_HALF_DONE, ATOMIC, \
        "A refused append has gone into the layers before the one that refused.") \
    ROW(layers, reset_first_only, RESET_FIRST_ONLY, RESET, "reset reaches the first layer only.") \
    ROW(layers, reorder_first_only, REORDER_FIRST_ONLY, BATCH, "reorder reaches the first layer only.") \
    ROW(layers, length_of_last_lags, LENGTH_OF_LAST_LAGS, LENGTH, "The last layer reports its length from before the crop.") \
    ROW(layers, copy_first_only, COPY_FIRST_ONLY, ISOLATION, \
        "A copy shares all layers but the first with its original.") \
    ROW(ragged, select_keeps_padding, SELECT_KEEPS_PADDING, BATCH, "select leaves the padding of the rows that stood there before.") \
    ROW(ragged, extend_wrong_position, EXTEND_WRONG_POSITION, POSITION, \
        "Rows of another batch get the position of the first row.") \
    ROW(ragged, extend_not_aligned, EXTEND_NOT_ALIGNED, BATCH, "The shorter of two batches that are joined is put at the left.") \
    ROW(ragged, extract_with_padding, EXTRACT_WITH_PADDING, SAVE, "A row is taken out of its batch with its padding.") \
    ROW(ragged, extract_counts_padding, EXTRACT_COUNTS_PADDING, SAVE, \
        "The length of a row that is taken out counts its padding.") \
    ROW(ragged, crop_first_row, CROP_FIRST_ROW, KEYS, "A crop removes tokens of the first row only.") \
    ROW(ragged, crop_below_zero, CROP_BELOW_ZERO, POSITION, \
        "Removing more than a row has leaves it at a negative position.") \
    ROW(ragged, merge_swaps_rows, MERGE_SWAPS_ROWS, SAVE, "Caches that are merged become rows in the wrong order.") \
    ROW(ragged, finalize_not_rolled, FINALIZE_NOT_ROLLED, KEYS, \
        "The padding on the right that an append leaves is not rolled to the left.") \
    ROW(ragged, mask_shows_padding, MASK_SHOWS_PADDING, MASK, "The mask lets padding be seen.") \
    ROW(ragged, idle_row_written, IDLE_ROW_WRITTEN, KEYS, "An append writes into rows that it gives no token.") \
    ROW(ragged, split_moves_positions, SPLIT_MOVES_POSITIONS, POSITION, \
        "What a split part is given moves the positions of the rows that stay.") \
    ROW(ragged, pickle_loses_padding, PICKLE_LOSES_PADDING, SAVE, "A restored cache takes its padding for tokens.") \
    ROW(ragged_window, crop_after_eviction, CROP_AFTER_EVICTION, REFUSE, \
        "A crop that needs evicted tokens is done without them.") \
    ROW(ragged_window, padding_evicts, PADDING_EVICTS, KEYS, "The padding that an append leaves evicts tokens.") \
    ROW(ragged_window, mask_without_window, MASK_WITHOUT_WINDOW, MASK, "The mask lets tokens be seen that the window has passed.")

#define DESCRIPTION(variant, fault, switch, law, text) {#variant, #fault, #law, text},
#define NAME(variant, fault, switch, law, text) #variant "+" #fault,
#define SWITCH(variant, fault, switch, law, text) KVC_FAULT_##switch,

static const kvc_builtin_fault table[] = {FAULTS(DESCRIPTION)};
static const char *const names[] = {FAULTS(NAME)};
static const kvc_fault switches[] = {FAULTS(SWITCH)};

size_t kvc_builtin_faults(const kvc_builtin_fault **faults) {
    *faults = table;
    return sizeof table / sizeof table[0];
}

kvc_fault kvc_fault_at(size_t index) {
    return switches[index];
}

const char *kvc_fault_variant(size_t index) {
    return names[index];
}
