"""Triton inference: requests, where their time goes, and batches."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import build_multi_panel, build_panel, rate
from vigie.model.dashboard import Dashboard, Panel, Section, Threshold, Variable

_NEEDS = "a Triton server whose metrics (port 8002) are scraped"
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
    return build_panel(title, why, unit, promql, _NAME, needs=_NEEDS, floor=0, **rest)


_REQUESTS = (
    _each(
        "Requests answered",
        "The load: a fall while clients wait is a server that stalls.",
        "ops/s",
        _of("nv_inference_request_success"),
    ),
    build_panel(
        "Requests failed",
        "By reason: anything steady is for the model's owner.",
        "ops/s",
        f"sum by (instance, model, reason) ({rate('nv_inference_request_failure', _MODELS)})",
        "{{instance}} {{model}}: {{reason}}",
        needs=_NEEDS,
        floor=0,
    ),
    _each("Inferences", "Each element of a batch counts.", "ops/s", _of("nv_inference_count")),
    _each("Runs of the model", "Each batch counts once.", "ops/s", _of("nv_inference_exec_count")),
    _each(
        "Mean batch",
        "Near 1 under load means that batching is not switched on.",
        "count",
        f"{_of('nv_inference_count')} / ({_of('nv_inference_exec_count')} > 0)",
    ),
    build_multi_panel(
        "In all, since the servers began",
        "Which models are used at all: one that nobody asks takes memory in vain.",
        "count",
        {
            f"requests {_NAME}": f"{_BY} (nv_inference_request_success{{{_MODELS}}})",
            f"inferences {_NAME}": f"{_BY} (nv_inference_count{{{_MODELS}}})",
            f"runs {_NAME}": f"{_BY} (nv_inference_exec_count{{{_MODELS}}})",
        },
        kind="bars",
        needs=_NEEDS,
        floor=0,
    ),
    _each(
        "Waiting now",
        "A queue that grows means more load than the GPUs can take.",
        "count",
        f"nv_inference_pending_request_count{{{_MODELS}}}",
    ),
)
_TIME = (
    _each(
        "A request in all",
        "What a client waits, less the network.",
        "seconds",
        _took("request"),
        thresholds=(Threshold(1, "warning"),),
    ),
    _each(
        "In the queue", "Time lost to load: add an instance of the model or a GPU.", "seconds", _took("queue")
    ),
    _each("Preparing inputs", "Much of it is copying: use shared memory.", "seconds", _took("compute_input")),
    _each(
        "In the model",
        "The GPU's own time: it follows the batch and the clock.",
        "seconds",
        _took("compute_infer"),
    ),
    _each("Taking outputs", "Much of it is copying back.", "seconds", _took("compute_output")),
    build_multi_panel(
        "Where a second goes",
        "Which stage takes the most of the server.",
        "seconds",
        {
            "queue": f"sum({_of('nv_inference_queue_duration_us')}) / 1e6",
            "input": f"sum({_of('nv_inference_compute_input_duration_us')}) / 1e6",
            "model": f"sum({_of('nv_inference_compute_infer_duration_us')}) / 1e6",
            "output": f"sum({_of('nv_inference_compute_output_duration_us')}) / 1e6",
        },
        stack=True,
        needs=_NEEDS,
        floor=0,
    ),
)

DASHBOARD = Dashboard(
    "triton",
    "Triton inference",
    "Requests to each model, where their time goes, and how well they are batched.",
    (Section("Requests", _REQUESTS), Section("Time of a request", _TIME)),
    _VARIABLES,
)
