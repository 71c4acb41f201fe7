"""Users and jobs of the simulated cluster, and how each job behaves. Times are minutes from now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

TRAINING, PIPELINE, INFERENCE, NOTEBOOK = "training", "pipeline", "inference", "notebook"
IDLE, LINGERING, NEVER_STARTED, CPU_ONLY = "idle", "lingering", "never started", "cpu"


class Slot(NamedTuple):
    """GPUs of a node, or its cores if there are none."""

    node: str
    gpus: tuple[int, ...] = ()


class SimulatedJob(NamedTuple):
    """A job from submission to end, which may be in the future."""

    id: str
    name: str
    user: str
    account: str
    partition: str
    behaviour: str
    places: tuple[Slot, ...]
    begin: float
    end: float | None = None
    state: str = "RUNNING"  # or its final state
    step_seconds: float = 1.0  # of a training step
    activity: float = 0.9  # share of a step with GPU activity
    memory: float = 0.8  # share of the GPU's memory
    limit_hours: float = 24
    image: str = ""  # of its container
    worked_until: float | None = None  # when it stopped working, though still allocated


class PendingJob(NamedTuple):
    id: str
    name: str
    user: str
    account: str
    partition: str
    gpus: int
    since: float
    reason: str


class SimulatedEnvironment(NamedTuple):
    """A genv environment and its GPUs."""

    eid: str
    user: str
    place: Slot
    since: float


EIGHT = tuple(range(8))
ACCOUNTS = {"alice": "language", "bob": "vision", "carol": "vision", "dave": "language", "erin": "language"}


def _job(
    number: int, name: str, user: str, partition: str, behaviour: str, places: Iterable[Slot], begin: float
) -> SimulatedJob:
    return SimulatedJob(str(number), name, user, ACCOUNTS[user], partition, behaviour, tuple(places), begin)


def _whole(*nodes: str) -> tuple[Slot, ...]:
    return tuple(Slot(node, EIGHT) for node in nodes)


JOBS = (
    _job(
        4211, "llm-70b", "alice", "train", TRAINING, _whole("gpu01", "gpu02", "gpu03", "gpu04"), -1307
    )._replace(step_seconds=8.0, activity=0.93, memory=0.91, limit_hours=72),
    _job(4219, "moe-8x7b", "dave", "train", TRAINING, _whole("gpu05"), -340)._replace(
        step_seconds=2.0, activity=0.9, memory=0.87
    ),
    _job(4222, "segment-xl", "carol", "train", TRAINING, _whole("gpu07"), -170)._replace(
        step_seconds=1.2, activity=0.85, memory=0.62, image="registry.local/vision/segment:3.1"
    ),
    _job(4224, "speech-large", "erin", "train", TRAINING, _whole("gpu08"), -260)._replace(
        end=-33, state="NODE_FAIL", step_seconds=1.5, activity=0.88, memory=0.74
    ),
    _job(4225, "distill-7b", "alice", "train", TRAINING, [Slot("gpu09", (0,))], -150)._replace(
        step_seconds=0.7, activity=0.82, memory=0.55
    ),
    _job(4227, "chat-serve", "dave", "train", INFERENCE, [Slot("gpu09", (1, 2))], -2880)._replace(
        activity=0.55, memory=0.84, limit_hours=168, image="registry.local/serve/triton:25.08"
    ),
    _job(4230, "pipe-13b", "bob", "dev", PIPELINE, [Slot("gpu10", (4, 5, 6, 7))], -210)._replace(
        step_seconds=3.0, activity=0.8, memory=0.78
    ),
    _job(4231, "notebook", "erin", "dev", NOTEBOOK, [Slot("gpu10", (0,))], -300)._replace(
        activity=0.25, memory=0.12, limit_hours=8
    ),
    _job(4232, "notebook", "carol", "dev", NOTEBOOK, [Slot("gpu11", (0,))], -95)._replace(
        activity=0.3, memory=0.4, limit_hours=8
    ),
    _job(4234, "render", "bob", "dev", TRAINING, [Slot("gpu11", (1, 2, 3))], -75)._replace(
        step_seconds=0.5, activity=0.95, memory=0.5
    ),
    _job(4235, "rocm-llm", "alice", "dev", TRAINING, _whole("gpu12"), -230)._replace(
        step_seconds=2.5, activity=0.86, memory=0.7
    ),
    _job(4236, "interactive", "bob", "train", IDLE, [Slot("gpu06", (0, 1, 2, 3))], -245)._replace(
        activity=0.0, memory=0.03, limit_hours=12
    ),
    _job(4238, "eval-sweep", "carol", "train", LINGERING, [Slot("gpu06", (4, 5))], -200)._replace(
        step_seconds=1.0, activity=0.8, memory=0.66, worked_until=-70
    ),
    _job(4241, "lora-batch", "dave", "train", NEVER_STARTED, [Slot("gpu06", (6, 7))], -25),
    _job(4243, "tokenise", "erin", "cpu", CPU_ONLY, [Slot("cpu01")], -190),
    _job(4244, "features", "carol", "cpu", CPU_ONLY, [Slot("cpu02")], -65),
    _job(4203, "ablation-3", "alice", "train", TRAINING, _whole("gpu06"), -420)._replace(
        end=-275, state="COMPLETED", step_seconds=1.0, activity=0.9, memory=0.8
    ),
    _job(4214, "segment-s", "carol", "train", TRAINING, _whole("gpu07"), -330)._replace(
        end=-176, state="COMPLETED", step_seconds=1.0, activity=0.87, memory=0.5
    ),
    _job(4217, "audio-tiny", "erin", "train", TRAINING, [Slot("gpu09", (3, 4))], -290)._replace(
        end=-214, state="CANCELLED", step_seconds=0.6, activity=0.7, memory=0.3
    ),
)

PENDING = (
    PendingJob("4245", "llm-70b-long", "alice", "language", "train", 64, -190, "Resources"),
    PendingJob("4247", "segment-xxl", "carol", "vision", "train", 16, -80, "Priority"),
    PendingJob("4248", "speech-large", "erin", "language", "train", 8, -31, "ReqNodeNotAvail"),
    PendingJob("4249", "eval-after", "dave", "language", "train", 1, -22, "Dependency"),
)

ENVIRONMENTS = (
    SimulatedEnvironment("7731", "erin", Slot("gpu10", (2,)), -160),
    SimulatedEnvironment("8120", "bob", Slot("gpu10", (3,)), -45),
)

USERS = tuple(ACCOUNTS)
