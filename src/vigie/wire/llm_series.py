"""The metrics of servers of language models that dashboards ask for, as each server names them itself.

One row a concept: vLLM, SGLang, TGI, trtllm-serve, NIM (without a prefix) and Dynamo's front end. An agent
that relays them adds the port, because several servers may run on one node.
"""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Metric

PORT = "port"
# What follows a prefix is known of it; NIM's names have none, so that it comes last.
LABELS = (
    ("vllm:", ("model_name", "engine", PORT)),
    ("sglang:", ("model_name", PORT)),
    ("tgi_", (PORT,)),
    ("trtllm_", ("model_name", PORT)),
    ("dynamo_frontend_", ("model", PORT)),
    ("", ("model_name", PORT)),
)
GAUGES = {
    "Requests that are being answered.": (
        *("vllm:num_requests_running", "sglang:num_running_reqs", "tgi_batch_current_size"),
        *("trtllm_num_requests_running", "num_requests_running", "dynamo_frontend_active_requests"),
    ),
    "Requests that wait.": (
        *("vllm:num_requests_waiting", "sglang:num_queue_reqs", "tgi_queue_size"),
        *("trtllm_num_requests_waiting", "num_requests_waiting", "dynamo_frontend_queued_requests"),
    ),
    "Share of the KV cache that is in use, from 0 to 1.": (
        *("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"),
        *("trtllm_kv_cache_utilization", "gpu_cache_usage_perc"),
    ),
}
COUNTERS = {
    "Tokens that were generated.": (
        *("vllm:generation_tokens_total", "sglang:generation_tokens_total"),
        *("trtllm_generation_tokens_total", "generation_tokens_total", "dynamo_frontend_output_tokens_total"),
    ),
    "Tokens of prompts.": (
        *("vllm:prompt_tokens_total", "sglang:prompt_tokens_total"),
        *("trtllm_prompt_tokens_total", "prompt_tokens_total"),
    ),
}
HISTOGRAMS = {
    "Tokens that a request generated.": ("tgi_request_generated_tokens",),
    "Tokens of a request's prompt.": ("tgi_request_input_length", "dynamo_frontend_input_sequence_tokens"),
    "Seconds until the first token.": (
        *("vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"),
        *("trtllm_time_to_first_token_seconds", "time_to_first_token_seconds"),
        "dynamo_frontend_time_to_first_token_seconds",
    ),
    "Seconds between two tokens.": (
        *("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
        *("sglang:inter_token_latency_seconds", "tgi_request_mean_time_per_token_duration"),
        *("trtllm_time_per_output_token_seconds", "time_per_output_token_seconds"),
        "dynamo_frontend_inter_token_latency_seconds",
    ),
    "Seconds of a request in all.": (
        *("vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds", "tgi_request_duration"),
        *("trtllm_e2e_request_latency_seconds", "e2e_request_latency_seconds"),
        "dynamo_frontend_request_duration_seconds",
    ),
}


def labels_of(name: str) -> tuple[str, ...]:
    """Return the labels of a server's metric, as far as they are the same in all versions."""
    return next(labels for prefix, labels in LABELS if name.startswith(prefix))


def _declared() -> Iterator[Metric]:
    for kind, rows in (("gauge", GAUGES), ("counter", COUNTERS)):
        for what, names in rows.items():
            yield from (Metric(name, kind, what, labels_of(name)) for name in names)
    for what, names in HISTOGRAMS.items():
        for name in names:
            yield Metric(f"{name}_bucket", "histogram", what, (*labels_of(name), "le"))
            yield Metric(f"{name}_sum", "histogram", what, labels_of(name))
            yield Metric(f"{name}_count", "histogram", what, labels_of(name))


METRICS = tuple(_declared())
