"""LLM servers: tokens, queues, latency and KV caches of vLLM, SGLang, TGI, trtllm-serve, NIM, Dynamo, Triton.

Each server is asked by its own names. One that was renamed is asked by the new name, or else by the old one.
"""

from __future__ import annotations

from vigie.dashboards._build import build_multi_panel, build_panel, rate
from vigie.model.dashboard import Dashboard, Panel, Section, Threshold, Variable

_NEEDS = "an agent beside an inference server (see the exporters guide)"
_WHERE = 'instance=~"$node", job=~"$server"'
_BY = "job, instance, port"
_NAME = "{{job}} {{instance}}:{{port}}"
_SERVERS = 'vigie_inference_server_info{instance=~"$node", job=~"$server"}'
_VARIABLES = (
    Variable("node", "Nodes", metric="vigie_inference_server_info", by="instance", multi=True),
    Variable(
        "server", "Servers", metric='vigie_inference_server_info{instance=~"$node"}', by="job", multi=True
    ),
)
_RUNNING = (
    *("vllm:num_requests_running", "sglang:num_running_reqs", "tgi_batch_current_size"),
    *("trtllm_num_requests_running", "num_requests_running", "dynamo_frontend_active_requests"),
    'nv_trt_llm_request_metrics{request_type="active"}',
)
_WAITING = (
    *("vllm:num_requests_waiting", "sglang:num_queue_reqs", "tgi_queue_size"),
    *("trtllm_num_requests_waiting", "num_requests_waiting", "dynamo_frontend_queued_requests"),
    *('nv_trt_llm_request_metrics{request_type="waiting"}', "nv_inference_pending_request_count"),
)
_CACHE = (
    *("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"),
    *("trtllm_kv_cache_utilization", "gpu_cache_usage_perc"),
    'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction"}',
)
_GENERATED = (
    *("vllm:generation_tokens_total", "sglang:generation_tokens_total", "tgi_request_generated_tokens_sum"),
    *("trtllm_generation_tokens_total", "generation_tokens_total", "dynamo_frontend_output_tokens_total"),
)
_PROMPTS = (
    *("vllm:prompt_tokens_total", "sglang:prompt_tokens_total", "tgi_request_input_length_sum"),
    *("trtllm_prompt_tokens_total", "prompt_tokens_total", "dynamo_frontend_input_sequence_tokens_sum"),
)
_FIRST = (
    *("vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"),
    *("trtllm_time_to_first_token_seconds", "time_to_first_token_seconds"),
    "dynamo_frontend_time_to_first_token_seconds",
)
_BETWEEN = (
    *("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
    *("sglang:inter_token_latency_seconds", "tgi_request_mean_time_per_token_duration"),
    *("trtllm_time_per_output_token_seconds", "time_per_output_token_seconds"),
    "dynamo_frontend_inter_token_latency_seconds",
)
_WHOLE = (
    *("vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds", "tgi_request_duration"),
    *("trtllm_e2e_request_latency_seconds", "e2e_request_latency_seconds"),
    "dynamo_frontend_request_duration_seconds",
)


def _selector(metric: str) -> str:
    name, _, labels = metric.rstrip("}").partition("{")
    return f"{name}{{{', '.join(filter(None, (labels, _WHERE)))}}}"


def _either(how: str, metrics: tuple[str, ...]) -> str:
    """Return an aggregate by server; of two names for the same, the first goes before the second."""
    return " or ".join(f"{how} by ({_BY}) ({_selector(metric)})" for metric in metrics)


def _rates(metrics: tuple[str, ...]) -> str:
    return " or ".join(f"sum by ({_BY}) ({rate(metric, _WHERE)})" for metric in metrics)


def _quantile(share: float, metrics: tuple[str, ...]) -> str:
    buckets = " or ".join(f"sum by ({_BY}, le) ({rate(f'{metric}_bucket', _WHERE)})" for metric in metrics)
    return f"histogram_quantile({share}, {buckets})"


def _first_token(share: float) -> str:
    """Return when the first token came; Triton counts it in milliseconds."""
    triton = _quantile(share, ("nv_inference_first_response_histogram_ms",))
    return f"{_quantile(share, _FIRST)} or {triton} / 1000"


def _each(title: str, why: str, unit: str, promql: str) -> Panel:
    return build_panel(title, why, unit, promql, _NAME, needs=_NEEDS, floor=0)


def _latency(title: str, why: str, metrics: tuple[str, ...]) -> Panel:
    queries = {f"p50 {_NAME}": _quantile(0.5, metrics), f"p95 {_NAME}": _quantile(0.95, metrics)}
    return build_multi_panel(title, why, "seconds", queries, needs=_NEEDS, floor=0)


_LOAD = (
    _each(
        "Tokens generated per second",
        "The output of each server: a fall while requests wait is a server that stalls.",
        "ops/s",
        _rates(_GENERATED),
    ),
    _each(
        "Prompt tokens per second",
        "Long prompts cost compute before the first token.",
        "ops/s",
        _rates(_PROMPTS),
    ),
    _each(
        "Requests running", "The batch: more of them use the GPU better.", "count", _either("sum", _RUNNING)
    ),
    _each(
        "Requests waiting",
        "A queue that grows means more load than the GPUs can take.",
        "count",
        _either("sum", _WAITING),
    ),
    build_panel(
        "KV cache use",
        "Near 100% requests wait or are preempted, however busy the GPU is.",
        "ratio",
        _either("max", _CACHE),
        _NAME,
        needs=_NEEDS,
        floor=0,
        ceiling=1,
        thresholds=(Threshold(0.95, "warning"),),
    ),
)
_LATENCY = (
    build_multi_panel(
        "Time to first token",
        "What a user waits before anything comes: queue and prompt (TGI does not report it).",
        "seconds",
        {f"p50 {_NAME}": _first_token(0.5), f"p95 {_NAME}": _first_token(0.95)},
        needs=_NEEDS,
        floor=0,
    ),
    _latency("Time between tokens", "It grows with the batch: above 0.1 s reading stalls.", _BETWEEN),
    _latency("Request duration", "From a request to its last token.", _WHOLE),
)
_GPUS = (
    build_panel(
        "GPU busy by server",
        "Idle GPUs under a queue are not the limit: look at the KV cache and the CPU.",
        "ratio",
        "max by (instance, gpu) (vigie_gpu_busy_ratio) * on (instance, gpu) group_right () "
        f"max by ({_BY}, gpu) ({_SERVERS})",
        "{{job}} {{instance}}:{{gpu}}",
        needs="the nvidia_processes source, and the right to see whose process a port is",
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Servers, GPUs and users",
        "Which server runs on which GPU, and to whom that GPU is allocated.",
        "count",
        # One holder of each GPU: its job, container and environment are told by the dashboard Jobs.
        'topk by (instance, gpu) (1, vigie_holder_info{gpu!=""}) * on (instance, gpu) '
        f"group_right (kind, holder, user) max by ({_BY}, gpu) ({_SERVERS})",
        kind="table",
        needs="the nvidia_processes source, and one that tells to whom GPUs are allocated",
    ),
)

DASHBOARD = Dashboard(
    "llm",
    "LLM servers",
    "Tokens, queues, latency and KV caches of language model servers, by each server's own metrics.",
    (Section("Load", _LOAD), Section("Latency", _LATENCY), Section("GPUs", _GPUS)),
    _VARIABLES,
)
