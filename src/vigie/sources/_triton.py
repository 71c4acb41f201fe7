"""The metrics of a Triton inference server, as it gives them itself."""

from __future__ import annotations

from vigie.model import counter, gauge

MODEL = ("model", "version")

METRICS = (
    SUCCESS := counter("nv_inference_request_success", "Requests that were answered.", *MODEL),
    FAILURE := counter("nv_inference_request_failure", "Requests that failed, by reason.", *MODEL, "reason"),
    COUNT := counter("nv_inference_count", "Inferences; a batch of n counts n.", *MODEL),
    EXECUTIONS := counter("nv_inference_exec_count", "Runs of the model; a batch counts once.", *MODEL),
    REQUEST_TIME := counter(
        "nv_inference_request_duration_us", "Time of requests in all, in microseconds.", *MODEL
    ),
    QUEUE_TIME := counter(
        "nv_inference_queue_duration_us", "Time in the queue in all, in microseconds.", *MODEL
    ),
    INPUT_TIME := counter(
        "nv_inference_compute_input_duration_us", "Time of preparing inputs in all, in microseconds.", *MODEL
    ),
    INFER_TIME := counter(
        "nv_inference_compute_infer_duration_us", "Time in the model in all, in microseconds.", *MODEL
    ),
    OUTPUT_TIME := counter(
        "nv_inference_compute_output_duration_us", "Time of taking outputs in all, in microseconds.", *MODEL
    ),
    PENDING := gauge("nv_inference_pending_request_count", "Requests that wait to run.", *MODEL),
    LOAD_TIME := gauge("nv_model_load_duration_secs", "Seconds that loading the model took.", *MODEL),
    CACHE_HITS := counter("nv_cache_num_hits_per_model", "Answers that came from the cache.", *MODEL),
    CACHE_MISSES := counter("nv_cache_num_misses_per_model", "Answers that the cache lacked.", *MODEL),
    GPU_POWER := gauge("nv_gpu_power_usage", "Power of the GPU in watts.", "gpu_uuid"),
    GPU_POWER_LIMIT := gauge("nv_gpu_power_limit", "Power limit of the GPU in watts.", "gpu_uuid"),
    GPU_ENERGY := counter(
        "nv_energy_consumption", "Energy of the GPU since Triton began, in joules.", "gpu_uuid"
    ),
    GPU_BUSY := gauge(
        "nv_gpu_utilization", "Share of time in which the GPU was busy, from 0 to 1.", "gpu_uuid"
    ),
    GPU_MEMORY_TOTAL := gauge("nv_gpu_memory_total_bytes", "Memory that the GPU has.", "gpu_uuid"),
    GPU_MEMORY_USED := gauge("nv_gpu_memory_used_bytes", "Memory of the GPU that is taken.", "gpu_uuid"),
)
