"""The bugs that cache_bugs.py puts into transformers 5.24.0, one change each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """One change: `old` becomes `new` in the text of class `place`; class `shown` (its own, or a user) tells it."""

    place: str
    old: str
    new: str
    shown: str
    laws: str
    file: str = "cache_utils.py"


BUGS = (
    # Wrong slices
    Bug(
        "DynamicLayer",
        "self.values = self.values[..., : -abs(tokens_to_remove), :]",
        "self.values = self.values[..., abs(tokens_to_remove) :, :]",
        "DynamicLayer",
        "HONEST VALUES",
    ),
    Bug(
        "DynamicSlidingWindowLayer",
        "            self.keys = full_key_states[:, :, -self.sliding_window + 1 :, :]\n",
        "            self.keys = full_key_states[:, :, -self.sliding_window + 2 :, :]\n",
        "DynamicSlidingWindowLayer",
        "KEYS RETURN",
    ),
    Bug(
        "StaticSlidingWindowLayer",
        "self.values.copy_(full_value_states[:, :, -self.max_cache_len :, :])",
        "self.values.copy_(full_value_states[:, :, : self.max_cache_len, :])",
        "StaticSlidingWindowLayer",
        "VALUES RETURN",
    ),
    Bug(
        "LinearAttentionLayer",
        "self.conv_states[state_idx].copy_(full_conv_states[..., -self.conv_kernel_size[state_idx] :])",
        "self.conv_states[state_idx].copy_(full_conv_states[..., : self.conv_kernel_size[state_idx]])",
        "LinearAttentionLayer",
        "STATE RETURN",
    ),
    # A forgotten clamp, a forgotten case
    Bug(
        "DynamicSlidingWindowLayer",
        "kv_offset = max(self.cumulative_length - self.sliding_window + 1, 0)",
        "kv_offset = self.cumulative_length - self.sliding_window + 1",
        "DynamicSlidingWindowLayer",
        "MASK",
    ),
    Bug(
        "DynamicLayer",
        "if tokens_to_remove == 0 or not self.is_initialized:",
        "if not self.is_initialized:",
        "DynamicLayer",
        "ZERO",
    ),
    Bug(
        "DynamicLayer",
        "if tokens_to_remove > 0:",
        "if tokens_to_remove > 1:",
        "DynamicLayer",
        "REFUSE",
    ),
    # Forgotten tensors
    Bug(
        "DynamicIndexedLayer",
        "self.indexer_keys = self.indexer_keys.index_select(0, beam_idx.to(self.indexer_keys.device))",
        "pass",
        "DynamicIndexedLayer",
        "BATCH INDEX",
    ),
    Bug(
        "DynamicIndexedLayer",
        "self.indexer_keys = self.indexer_keys[:, : -abs(tokens_to_remove), :]",
        "pass",
        "DynamicIndexedLayer",
        "HONEST INDEX",
    ),
    Bug(
        "StaticIndexedLayer",
        "self.indexer_cumulative_length.zero_()",
        "pass",
        "StaticIndexedLayer",
        "RESET",
    ),
    Bug(
        "LinearAttentionCacheLayerMixin",
        "self.recurrent_states[i] = self.recurrent_states[i].index_select(0, beam_idx.to(self.device))",
        "pass",
        "LinearAttentionLayer",
        "BATCH STATE",
    ),
    Bug(
        "Fp8QuantizedLayer",
        "self._quantized_values = (quantized_values.index_select(0, beam_idx), value_scale)",
        "self._quantized_values = (quantized_values, value_scale)",
        "Fp8QuantizedLayer",
        "BATCH VALUES",
    ),
    # Stale counters
    Bug(
        "DynamicSlidingWindowLayer",
        "self.cumulative_length = self.cumulative_length - tokens_to_remove",
        "pass",
        "DynamicSlidingWindowLayer",
        "HONEST LENGTH CLAMP",
    ),
    Bug(
        "StaticLayer",
        "self.cumulative_length.add_(kv_length)",
        "self.cumulative_length.add_(1)",
        "StaticLayer",
        "LENGTH",
    ),
    Bug(
        "StaticSlidingWindowLayer",
        "super().reset()\n        self.cumulative_length_int = 0",
        "super().reset()",
        "StaticSlidingWindowLayer",
        "RESET LENGTH",
    ),
    Bug(
        "StaticIndexedLayer",
        "self.indexer_cumulative_length.add_(seq_len)",
        "self.indexer_cumulative_length.add_(self.cumulative_length * 0 + 1)",
        "StaticIndexedLayer",
        "INDEX",
    ),
    # Swapped dimensions and rows
    Bug(
        "DynamicIndexedLayer",
        "self.indexer_position_ids = self.indexer_position_ids[:, indices, :]",
        "self.indexer_position_ids = self.indexer_position_ids[indices, :, :]",
        "DynamicIndexedLayer",
        "BATCH INDEX REFUSE",
    ),
    Bug(
        "DynamicLayer",
        "self.keys = self.keys.repeat_interleave(repeats, dim=0)",
        "self.keys = self.keys.repeat(repeats, 1, 1, 1)",
        "DynamicLayer",
        "BATCH",
    ),
    Bug(
        "StaticSlidingWindowLayer",
        "new_keys = self.keys.roll(-1, dims=-2)",
        "new_keys = self.keys.roll(1, dims=-2)",
        "StaticSlidingWindowLayer",
        "KEYS RETURN",
    ),
    # A buffer that moves
    Bug(
        "StaticLayer",
        "self.keys.index_copy_(2, cache_position, key_states)",
        "self.keys = self.keys.index_copy(2, cache_position, key_states)",
        "StaticLayer",
        "ADDRESS",
    ),
    # More of each kind, after the harness had been made with those above: wrong slices
    Bug(
        "DynamicLayer",
        "self.values = torch.cat([self.values, value_states], dim=-2)",
        "self.values = torch.cat([value_states, self.values], dim=-2)",
        "DynamicLayer",
        "VALUES RETURN",
    ),
    Bug(
        "DynamicLayer",
        "self.values = self.values[indices, ...]",
        "self.values = self.values[: len(indices), ...]",
        "DynamicLayer",
        "BATCH",
    ),
    Bug(
        "DynamicSlidingWindowLayer",
        "self.values = self.values[:, :, -self.sliding_window + 1 - tokens_to_remove : -tokens_to_remove, :]",
        "self.values = self.values[:, :, -self.sliding_window - tokens_to_remove : -tokens_to_remove, :]",
        "DynamicSlidingWindowLayer",
        "HONEST VALUES",
    ),
    Bug(
        "DynamicSlidingWindowLayer",
        "num_visible = self.sliding_window - 1 + key_states.shape[-2]",
        "num_visible = self.sliding_window + key_states.shape[-2]",
        "DynamicSlidingWindowLayer",
        "RETURN MASK",
    ),
    Bug(
        "StaticSlidingWindowLayer",
        "full_value_states = torch.cat((self.values[:, :, :current_length, :], value_states), dim=-2)",
        "full_value_states = torch.cat((self.values, value_states), dim=-2)",
        "StaticSlidingWindowLayer",
        "VALUES RETURN",
    ),
    Bug(
        "LinearAttentionCacheLayerMixin",
        "..., -tokens_to_remove - self.conv_kernel_size[i] : -tokens_to_remove",
        "..., 1 - tokens_to_remove - self.conv_kernel_size[i] : -tokens_to_remove",
        "LinearAttentionLayer",
        "HONEST STATE",
    ),
    Bug(
        "DeepseekV4CSACache",
        "self.overlap_gate[name] = chunk_gate[:, -1, :, :head_dim].clone()",
        "self.overlap_gate[name] = chunk_gate[:, 0, :, :head_dim].clone()",
        "DeepseekV4CSACache",
        "STATE",
        "models/deepseek_v4/modeling_deepseek_v4.py",
    ),
    # Wrong numbers for the mask and the position
    Bug(
        "DynamicLayer",
        "kv_length = self.get_seq_length() + query_length",
        "kv_length = max(self.get_seq_length(), query_length)",
        "DynamicLayer",
        "MASK",
    ),
    Bug(
        "StaticSlidingWindowLayer",
        "kv_length = sliding_window + query_length - 1",
        "kv_length = sliding_window + query_length",
        "StaticSlidingWindowLayer",
        "MASK",
    ),
    Bug(
        "MtpCache",
        "return kv_length, kv_offset + mtp_offset",
        "return kv_length + mtp_offset, kv_offset",
        "MtpCache",
        "MASK",
    ),
    Bug(
        "DFlashCache",
        "return kv_length + self._previous_number_of_accepted_tokens, kv_offset",
        "return kv_length, kv_offset",
        "DFlashCache",
        "MASK",
    ),
    Bug(
        "UnlimitedOcrDynamicReferenceSlidingWindowLayer",
        "            kv_length += self.prefill_length\n",
        "            pass\n",
        "UnlimitedOcrDynamicReferenceSlidingWindowLayer",
        "MASK",
        "models/unlimited_ocr/modeling_unlimited_ocr.py",
    ),
    Bug(
        "DeepseekV4HCACache",
        "first_window_position = self.entry_count[name] * self.compress_rate",
        "first_window_position = self.entry_count[name]",
        "DeepseekV4HCACache",
        "RETURN POSITION STATE",
        "models/deepseek_v4/modeling_deepseek_v4.py",
    ),
    # Forgotten tensors and halves
    Bug(
        "StaticIndexedLayer",
        "        super().reorder_cache(beam_idx)\n",
        "",
        "StaticIndexedLayer",
        "BATCH KEYS",
    ),
    Bug(
        "LinearAttentionAndFullAttentionLayer",
        "DynamicLayer.reorder_cache(self, beam_idx)",
        "pass",
        "LinearAttentionAndFullAttentionLayer",
        "BATCH",
    ),
    Bug(
        "LinearAttentionAndSlidingWindowAttentionLayer",
        "DynamicSlidingWindowLayer.crop(self, tokens_to_remove)",
        "pass",
        "LinearAttentionAndSlidingWindowAttentionLayer",
        "HONEST KEYS LENGTH CLAMP ZERO",
    ),
    Bug(
        "DeepseekV4HCACache",
        "for states in (self.buffer_kv, self.buffer_gate, self.compressed_kv):",
        "for states in (self.buffer_kv, self.compressed_kv):",
        "DeepseekV4HCACache",
        "BATCH",
        "models/deepseek_v4/modeling_deepseek_v4.py",
    ),
    Bug(
        "MiniMaxM3VLSparseCacheLayer",
        "self.idx_keys = self.idx_keys.repeat_interleave(repeats, dim=0)",
        "pass",
        "MiniMaxM3VLSparseCacheLayer",
        "BATCH INDEX",
        "models/minimax_m3_vl/modeling_minimax_m3_vl.py",
    ),
    Bug(
        "MiniMaxCache",
        'raise RuntimeError("MiniMaxCache does not support `crop` method")',
        "pass",
        "MiniMaxCache",
        "REFUSE",
        "models/minimax/modeling_minimax.py",
    ),
    Bug(
        "EncoderDecoderCache",
        "self.cross_attention_cache.reorder_cache(beam_idx)",
        "pass",
        "EncoderDecoderCache",
        "BATCH",
    ),
    Bug(
        "EncoderDecoderCache",
        "        self.self_attention_cache.crop(tokens_to_remove)\n",
        "        self.self_attention_cache.crop(tokens_to_remove)\n"
        "        self.cross_attention_cache.crop(tokens_to_remove)\n",
        "EncoderDecoderCache",
        "HONEST STATE KEYS VALUES",
    ),
    Bug(
        "Cache",
        "            self.layers[layer_idx].crop(tokens_to_remove)\n",
        "            if layer_idx > 0:\n                self.layers[layer_idx].crop(tokens_to_remove)\n",
        "DynamicCache",
        "HONEST KEYS LENGTH CLAMP",
    ),
    # Counters and flags that a crop or a reset forgets
    Bug(
        "DynamicSlidingWindowLayer",
        "self.cumulative_length = self.keys.shape[-2]",
        "pass",
        "DynamicSlidingWindowLayer",
        "HONEST LENGTH CLAMP",
    ),
    Bug(
        "DynamicIndexedLayer",
        "self.indexer_keys = None\n        self.indexer_position_ids = None\n",
        "self.indexer_keys = None\n",
        "DynamicIndexedLayer",
        "RESET",
    ),
    Bug(
        "LinearAttentionCacheLayerMixin",
        "self.conv_states[i].zero_()",
        "pass",
        "LinearAttentionLayer",
        "RESET",
    ),
    Bug(
        "MiniMaxM3VLSparseStaticCacheLayer",
        "self.idx_cumulative_length.sub_(abs(tokens_to_remove))",
        "pass",
        "MiniMaxM3VLSparseStaticCacheLayer",
        "HONEST INDEX",
        "models/minimax_m3_vl/modeling_minimax_m3_vl.py",
    ),
    Bug(
        "QuantizedLayer",
        "super().reset()\n        self._pending_beam_idx = None",
        "super().reset()",
        "QuantoQuantizedLayer",
        "RESET",
    ),
    # Types, devices, swapped tensors and dimensions
    Bug(
        "DynamicLayer",
        "self.values = torch.tensor([], dtype=value_states.dtype, device=self.device)",
        "self.values = torch.tensor([], dtype=torch.float32, device=self.device)",
        "DynamicLayer",
        "VALUES RETURN",
    ),
    Bug(
        "CacheLayerMixin",
        'self.values = self.values.to("cpu", non_blocking=True)',
        'self.values = self.keys.to("cpu", non_blocking=True)',
        "DynamicLayer",
        "VALUES SAVE",
    ),
    Bug(
        "Fp8QuantizedLayer",
        "self._quantized_values = (torch.cat([quantized_values, new_values], dim=-2), value_scale)",
        "self._quantized_values = (torch.cat([quantized_values, new_values], dim=-2), value_scale * 2)",
        "Fp8QuantizedLayer",
        "VALUES RETURN",
    ),
    Bug(
        "LinearAttentionLayer",
        "(padding_length, 0)",
        "(0, padding_length)",
        "LinearAttentionLayer",
        "STATE RETURN",
    ),
    Bug(
        "DynamicIndexedLayer",
        "self.indexer_position_ids.repeat_interleave(repeats, dim=1)",
        "self.indexer_position_ids.repeat_interleave(repeats, dim=0)",
        "DynamicIndexedLayer",
        "BATCH INDEX",
    ),
    # A buffer that moves, a copy that shares
    Bug(
        "StaticSlidingWindowLayer",
        "self.values.copy_(new_values)",
        "self.values = new_values",
        "StaticSlidingWindowLayer",
        "ADDRESS",
    ),
    Bug(
        "StaticLayer",
        "    def crop(self, tokens_to_remove: int) -> None:\n",
        "    def __deepcopy__(self, memo):\n        twin = self.__class__.__new__(self.__class__)\n"
        "        twin.__dict__.update(self.__dict__)\n        twin.cumulative_length = self.cumulative_length.clone()\n"
        "        return twin\n\n    def crop(self, tokens_to_remove: int) -> None:\n",
        "StaticLayer",
        "SAVE ALIAS ISOLATION",
    ),
)
