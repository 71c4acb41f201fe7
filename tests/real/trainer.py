# mypy: ignore-errors
"""A small training program for real PyTorch: four ranks on gloo, of which one is made slow or stuck."""

import os
import time
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

RANK, ODD = int(os.environ["RANK"]), 2
MODE = os.environ["MODE"]
STUCK_AFTER = 20


class Files(Dataset[Any]):
    """Samples, of which the odd rank's stop coming in the mode `stuck-data`."""

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.read_shard(number)

    def read_shard(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        if MODE == "stuck-data" and RANK == ODD and number > STUCK_AFTER * 16:
            with open(os.environ["FIFO"]) as fifo:  # nobody writes
                fifo.read()
        return torch.randn(64), torch.tensor(number % 10)


def batches() -> Iterator[Any]:
    yield from DataLoader(Files(), batch_size=16, num_workers=int(os.environ["WORKERS"]))


def work(step: int) -> None:
    """Do what makes the odd rank odd."""
    if RANK != ODD:
        return
    if MODE == "slow-compute":
        matrix = torch.randn(300, 300)
        for _ in range(12):
            matrix = matrix @ matrix / 300
    elif MODE == "slow-data":
        time.sleep(0.02)
    elif MODE == "stuck-collective" and step == STUCK_AFTER:
        time.sleep(3600)


def train_one_step(model: Any, optimizer: Any, inputs: Any, targets: Any) -> None:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    layers = [torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for step, (inputs, targets) in enumerate(batches()):
        work(step)
        train_one_step(model, optimizer, inputs, targets)
        if step == STUCK_AFTER - 1 and RANK == 0:
            print("training", flush=True)


if __name__ == "__main__":
    main()
