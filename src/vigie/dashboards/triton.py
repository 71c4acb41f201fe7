"""Triton inference: requests, latency by stage, and batches."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import build_multi_panel, build_panel, rate
from vigie.model.dashboard import Dashboard, Panel, Section, Threshold, Variable

_NEEDS = "a scraped Triton server (port 8002)"
_VARIABLES = (
    Variable("node", "Nodes", metric="nv_inference_count", by="instance", multi=True),
    Variable("model", "Models", metric='nv_inference_count{instance=~"$node"}', by="model", multi=True),
)
_MODELS = 'instance=~"$node", model=~"$model"'
_BY = "sum by (instance, model, version)"
_NAME = "{{instance}} {{model}} v{{version}}"
_ASKED = f"({_BY} ({rate('nv_inference_request_success', _MODELS)}) > 0)"


def _of(metric: str) -> str:
    return f"{_BY} ({rate(metric, _MODELS)})"


def _took(name: str) -> str:
    """Return the mean time of a request in a stage, in seconds."""
    return f"{_of(f'nv_inference_{name}_duration_us')} / 1e6 / {_ASKED}"


def _each(title: str, why: str, unit: str, promql: str, **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, _NAME, needs=_NEEDS, **rest)


_REQUESTS = (
    _each(
        "Successful requests",
        "The load. A drop while clients wait: the server stalls.",
        "ops/s",
        _of("nv_inference_request_success"),
    ),
    build_panel(
        "Failed requests",
        "By reason. A steady rate needs the model's owner.",
        "ops/s",
        f"sum by (instance, model, reason) ({rate('nv_inference_request_failure', _MODELS)})",
        "{{instance}} {{model}}: {{reason}}",
        needs=_NEEDS,
    ),
    _each("Inferences", "Each element of a batch counts.", "ops/s", _of("nv_inference_count")),
    _each("Executions", "Each batch counts once.", "ops/s", _of("nv_inference_exec_count")),
    _each(
        "Mean batch size",
        "Near 1 under load: batching is off.",
        "count",
        f"{_of('nv_inference_count')} / ({_of('nv_inference_exec_count')} > 0)",
    ),
    build_multi_panel(
        "Totals since start",
        "A model without requests uses memory for nothing.",
        "count",
        {
            f"requests {_NAME}": f"{_BY} (nv_inference_request_success{{{_MODELS}}})",
            f"inferences {_NAME}": f"{_BY} (nv_inference_count{{{_MODELS}}})",
            f"executions {_NAME}": f"{_BY} (nv_inference_exec_count{{{_MODELS}}})",
        },
        kind="bars",
        needs=_NEEDS,
    ),
    _each(
        "Pending requests",
        "A growing queue: more load than the GPUs can handle.",
        "count",
        f"nv_inference_pending_request_count{{{_MODELS}}}",
    ),
)
_TIME = (
    _each(
        "Total latency",
        "As seen by a client, without the network.",
        "seconds",
        _took("request"),
        thresholds=(Threshold(1, "warning"),),
    ),
    _each(
        "Queue time",
        "Waiting for capacity: add an instance of the model or a GPU.",
        "seconds",
        _took("queue"),
    ),
    _each("Input time", "High values are copies: use shared memory.", "seconds", _took("compute_input")),
    _each(
        "Compute time",
        "GPU time. It follows batch size and clock.",
        "seconds",
        _took("compute_infer"),
    ),
    _each("Output time", "High values are copies back.", "seconds", _took("compute_output")),
    build_multi_panel(
        "Time by stage",
        "The stage that takes most time.",
        "seconds",
        {
            "queue": f"sum({_of('nv_inference_queue_duration_us')}) / 1e6",
            "input": f"sum({_of('nv_inference_compute_input_duration_us')}) / 1e6",
            "model": f"sum({_of('nv_inference_compute_infer_duration_us')}) / 1e6",
            "output": f"sum({_of('nv_inference_compute_output_duration_us')}) / 1e6",
        },
        stack=True,
        needs=_NEEDS,
    ),
)

DASHBOARD = Dashboard(
    "triton",
    "Triton inference",
    "Requests by model, latency by stage, and batching.",
    (Section("Requests", _REQUESTS), Section("Latency", _TIME)),
    _VARIABLES,
)
