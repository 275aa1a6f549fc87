"""Settings that SGLang may change by itself: a change of one of these without a known reason is its own decision.

Sources: the fields that ServerArgs assigns to itself in 0.5.9 (server_args.py, and `server_args.X =` elsewhere in srt),
and those declared `resolvable` in 0.5.23 (arg_groups/fields). What says which model is served, where, and how long a
context it has is not among them: a change of that is never taken for granted.
"""

from __future__ import annotations

_NAMES = """
    attention_backend attn_cp_size attn_dp_size aux_hidden_state_capture boundary_reduction chunked_prefill_size
    cuda_graph_bs cuda_graph_max_bs custom_weight_loader dcp_comm_backend dcp_replicate_q_proj
    decode_attention_backend deepep_mode device disable_aiter_allreduce_fusion_in_decode
    disable_aiter_allreduce_fusion_in_prefill disable_chunked_prefix_cache disable_cuda_graph
    disable_custom_all_reduce disable_hybrid_swa_memory disable_overlap_schedule disable_radix_cache
    disable_shared_experts_fusion disaggregation_decode_dp disaggregation_decode_tp disaggregation_ib_device
    disaggregation_mode disaggregation_prefill_pp dp_size dsa_decode_backend dsa_prefill_backend
    dsa_topk_backend dsv4_attn_backend dtype enable_aiter_allreduce_fusion enable_attn_tp_input_scattered
    enable_cp_tp_group_sharing enable_decoder_swa_bounded_replay enable_deterministic_inference
    enable_dp_attention enable_dp_lm_head enable_dsa_fused_indexer enable_dynamic_batch_tokenizer
    enable_flashinfer_allreduce_fusion enable_fused_qk_norm_rope enable_lora enable_lora_overlap_loading
    enable_mixed_chunk enable_multi_layer_eagle enable_prefill_delayer enable_symm_mem enable_tf32_matmul
    enable_tokenizer_batch_encode enable_tp_lm_head_all_to_all ep_dispatch_algorithm ep_size eplb_algorithm
    expert_distribution_recorder_buffer_size expert_distribution_recorder_mode
    flashinfer_allreduce_fusion_backend fp4_gemm_runner_backend fp8_gemm_runner_backend grammar_backend
    hicache_io_backend hicache_mem_layout hicache_storage_backend hicache_storage_backend_extra_config
    hicache_storage_prefetch_policy hicache_write_policy kv_cache_dtype limit_mm_data_per_request
    load_balance_method load_format lora_paths lora_target_modules mamba_full_memory_ratio
    mamba_radix_cache_strategy mamba_scheduler_strategy max_mamba_cache_size max_running_requests
    mem_fraction_static mm_enable_dp_encoder mm_feature_transport mm_preprocess_cache_size_mb mm_process_config
    moe_a2a_backend moe_dense_tp_size moe_runner_backend mooncake_ib_device nsa_decode_backend
    nsa_prefill_backend page_size piecewise_cuda_graph_compiler piecewise_cuda_graph_max_tokens
    piecewise_cuda_graph_tokens ple_offload_embedding preferred_sampling_params prefill_attention_backend
    prefill_decode_interval prefill_delayer_max_delay_passes prefill_delayer_token_usage_low_watermark
    prefill_kv_cache_dequant_dtype quantization radix_eviction_policy random_seed
    remote_instance_weight_loader_start_seed_via_transfer_engine sampling_backend schedule_conservativeness
    soft_watchdog_timeout speculative_algorithm speculative_attention_mode speculative_boundary_reduction
    speculative_draft_attention_backend speculative_draft_kv_cache_dtype speculative_draft_model_path
    speculative_draft_model_quantization speculative_draft_model_revision speculative_eagle_topk
    speculative_moe_a2a_backend speculative_moe_runner_backend speculative_num_draft_tokens
    speculative_num_steps swa_full_tokens_ratio tokenizer_worker_num triton_attention_num_kv_splits
"""
OWN_DECISION = frozenset(_NAMES.split())
