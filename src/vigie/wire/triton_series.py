"""Metrics of a Triton inference server, as it exposes them."""

from __future__ import annotations

from vigie.model import Metric, counter, gauge

MODEL = ("model", "version", "port")  # the last is added by the relay
GPU = ("gpu_uuid", "port")

METRICS = (
    SUCCESS := counter("nv_inference_request_success", "Successful requests.", *MODEL),
    FAILURE := counter("nv_inference_request_failure", "Failed requests, by reason.", *MODEL, "reason"),
    COUNT := counter("nv_inference_count", "Inferences; a batch of n counts n.", *MODEL),
    EXECUTIONS := counter("nv_inference_exec_count", "Executions of the model; a batch counts once.", *MODEL),
    REQUEST_TIME := counter(
        "nv_inference_request_duration_us", "Cumulative request duration, in microseconds.", *MODEL
    ),
    QUEUE_TIME := counter(
        "nv_inference_queue_duration_us", "Cumulative queue duration, in microseconds.", *MODEL
    ),
    INPUT_TIME := counter(
        "nv_inference_compute_input_duration_us",
        "Cumulative duration of preparing inputs, in microseconds.",
        *MODEL,
    ),
    INFER_TIME := counter(
        "nv_inference_compute_infer_duration_us", "Cumulative duration of inference, in microseconds.", *MODEL
    ),
    OUTPUT_TIME := counter(
        "nv_inference_compute_output_duration_us",
        "Cumulative duration of reading outputs, in microseconds.",
        *MODEL,
    ),
    PENDING := gauge("nv_inference_pending_request_count", "Pending requests.", *MODEL),
    LOAD_TIME := gauge("nv_model_load_duration_secs", "Duration of loading the model, in seconds.", *MODEL),
    CACHE_HITS := counter("nv_cache_num_hits_per_model", "Responses found in the cache.", *MODEL),
    CACHE_MISSES := counter("nv_cache_num_misses_per_model", "Responses not found in the cache.", *MODEL),
    GPU_POWER := gauge("nv_gpu_power_usage", "GPU power draw in watts.", *GPU),
    GPU_POWER_LIMIT := gauge("nv_gpu_power_limit", "GPU power limit in watts.", *GPU),
    GPU_ENERGY := counter("nv_energy_consumption", "GPU energy since Triton started, in joules.", *GPU),
    GPU_BUSY := gauge("nv_gpu_utilization", "GPU utilization, 0 to 1.", *GPU),
    GPU_MEMORY_TOTAL := gauge("nv_gpu_memory_total_bytes", "Total GPU memory.", *GPU),
    GPU_MEMORY_USED := gauge("nv_gpu_memory_used_bytes", "Used GPU memory.", *GPU),
    LLM_REQUESTS := gauge(
        "nv_trt_llm_request_metrics", "Requests of a TensorRT-LLM model by state.", *MODEL, "request_type"
    ),
    LLM_CACHE := gauge(
        "nv_trt_llm_kv_cache_block_metrics",
        "Blocks of the KV cache by type, and the fraction in use.",
        *(*MODEL, "kv_cache_block_type"),
    ),
    FIRST_RESPONSE := Metric(
        "nv_inference_first_response_histogram_ms_bucket",
        "histogram",
        "Milliseconds until the first response of a streaming model.",
        (*MODEL, "le"),
    ),
)
