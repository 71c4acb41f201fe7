"""The inference servers of a node, as its agent relays them: a Triton, and a vLLM on the job's second GPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vigie.simulation.cluster.activity import compute_requests
from vigie.simulation.cluster.device_names import build_pid
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import Scenario
from vigie.simulation.cluster.workloads import INFERENCE, SimulatedJob
from vigie.wire.messages import RELAYED_PREFIX

TRITON, VLLM = ("triton", "8002"), ("vllm", "8000")
MODELS = (("chat-13b", "1", 0.7), ("embed-large", "2", 0.3))  # with their share of the requests
MOST_REQUESTS = 420.0  # a second
MODEL_MS = 9.0  # of one request in the model, when nothing is in its way
LLM_REQUESTS = 14.0  # a second, at full load
PROMPT_TOKENS, ANSWER_TOKENS = 900.0, 240.0  # of one request
FIRST_TOKEN, BETWEEN_TOKENS = 0.18, 0.022  # seconds, when nothing is in their way
BUCKETS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0)


def inference_columns(scenario: Scenario, machine: MachineSpec, times: Times) -> Iterator[Column]:
    """Yield what the agent relays of the inference servers on a node."""
    for job in scenario.jobs_on(machine.name):
        gpus = next(place.gpus for place in job.places if place.node == machine.name)
        if job.behaviour != INFERENCE or not gpus:
            continue
        load = compute_requests(scenario, job, times)
        for (server, port), gpu, columns in (
            (TRITON, gpus[0], _triton(load)),
            (VLLM, gpus[-1], _vllm(job, load)),
        ):
            yield from _relayed(server, port, gpu, [*columns], scenario.within(times, job.begin, job.end))


def _relayed(server: str, port: str, gpu: int, columns: list[Column], there: Numbers) -> Iterator[Column]:
    """Yield the columns in the table of their server, with the agent's report of them and its GPU."""
    one = np.ones(len(there))
    columns.append(gauge("up", one, port))
    columns.append(gauge("scrape_duration_seconds", one * 0.004, port))
    columns.append(gauge("scrape_samples_scraped", one * len(columns), port))
    source = f"{RELAYED_PREFIX}{server}:{port}"
    for column in columns:
        yield column._replace(there=there, source=source)
    which = gauge("vigie_inference_server_info", one, port, build_pid(gpu), str(gpu))
    yield which._replace(there=there, source=f"{source}:gpus")


def _triton(load: Numbers) -> Iterator[Column]:
    for model, version, share in MODELS:
        yield from _model((model, version, TRITON[1]), load * MOST_REQUESTS * share, load)


def _model(model: tuple[str, ...], asked: Numbers, load: Numbers) -> Iterator[Column]:
    batch = 1 + 6 * load
    waited = MODEL_MS * _crowding(load)
    yield rate("nv_inference_request_success", asked, *model)
    yield rate("nv_inference_request_failure", asked * 2e-4, *model, "BACKEND")
    yield rate("nv_inference_count", asked, *model)
    yield rate("nv_inference_exec_count", asked / batch, *model)
    for name, milliseconds in (
        ("request", waited + MODEL_MS + 1.2),
        ("queue", waited),
        ("compute_input", np.full(len(asked), 0.4)),
        ("compute_infer", np.full(len(asked), MODEL_MS)),
        ("compute_output", np.full(len(asked), 0.3)),
    ):
        yield rate(f"nv_inference_{name}_duration_us", asked * milliseconds * 1000, *model)
    yield gauge("nv_inference_pending_request_count", np.round(asked * waited / 1000), *model)


def _vllm(job: SimulatedJob, load: Numbers) -> Iterator[Column]:
    labels = job.name, "0", VLLM[1]
    asked, crowding = load * LLM_REQUESTS, _crowding(load)
    first, between = FIRST_TOKEN * (1 + 2 * crowding), BETWEEN_TOKENS * (1 + load)
    whole = first + between * ANSWER_TOKENS
    running = asked * whole
    yield gauge("vllm:num_requests_running", np.round(running), *labels)
    yield gauge("vllm:num_requests_waiting", np.round(running * crowding / 2), *labels)
    yield gauge("vllm:kv_cache_usage_perc", np.clip(running / 140, 0, 1), *labels)
    yield rate("vllm:generation_tokens_total", asked * ANSWER_TOKENS, *labels)
    yield rate("vllm:prompt_tokens_total", asked * PROMPT_TOKENS, *labels)
    yield from _histogram("vllm:time_to_first_token_seconds", first, asked, labels)
    yield from _histogram("vllm:inter_token_latency_seconds", between, asked * ANSWER_TOKENS, labels)
    yield from _histogram("vllm:e2e_request_latency_seconds", whole, asked, labels)


def _histogram(name: str, mean: Numbers, asked: Numbers, labels: tuple[str, ...]) -> Iterator[Column]:
    """Yield the buckets of times that lie around their mean as those of queues do."""
    for bound in BUCKETS:
        below = 1 - np.exp(-((bound / mean) ** 2))
        yield rate(f"{name}_bucket", asked * below, *labels, str(bound))
    yield rate(f"{name}_bucket", asked, *labels, "+Inf")
    yield rate(f"{name}_sum", asked * mean * 0.886, *labels)  # the mean of that distribution
    yield rate(f"{name}_count", asked, *labels)


def _crowding(load: Numbers) -> Numbers:
    """Return how long requests wait, in times of their service: the nearer to full load, the longer."""
    busy = np.clip(load, 0, 0.9)
    waited: Numbers = busy**2 / (1 - busy)
    return waited
