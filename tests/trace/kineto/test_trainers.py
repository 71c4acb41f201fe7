"""Trainers register by polling, and fetch one configuration at a time."""

from vigie.trace.kineto.datagrams import Poll
from vigie.trace.kineto.trainers import (
    EXPIRY_SECONDS,
    MAX_TRAINERS,
    YOUNG_SECONDS,
    Assignment,
    Trainer,
    TrainerRegistry,
)


class World:
    """A registry at a time that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.registry = TrainerRegistry(lambda: self.now)

    def poll(self, pid: int = 7, *, kinds: int = 2, endpoint: bytes = b"\0a", uid: int = 1000) -> Trainer:
        trainer = self.registry.record_poll(pid, uid, Poll(kinds, 4711, (pid, 1)), endpoint)
        assert trainer is not None
        return trainer


def test_two_endpoints_of_a_process_are_one_trainer() -> None:
    world = World()
    assert world.poll(endpoint=b"\0a") is world.poll(endpoint=b"\0b")
    assert len(list(world.registry)) == 1


def test_trainer_that_stops_polling_is_forgotten_with_what_it_had_to_fetch() -> None:
    world = World()
    world.registry.assign(world.poll(), Assignment("s1", "text", 10))
    world.now += EXPIRY_SECONDS + 1
    assert world.registry.get(7) is None


def test_pid_used_again_by_another_process_is_another_trainer() -> None:
    world = World()
    world.registry.assign(world.poll(uid=1000), Assignment("s1", "text", 10))
    assert world.poll(uid=1001).pending is None


def test_config_is_held_back_while_the_trainer_traces() -> None:
    world = World()
    trainer = world.poll()
    assignment = Assignment("s1", "text", 10)
    assert world.registry.assign(trainer, assignment)
    world.poll(kinds=0)
    assert world.registry.choose_config(trainer) is None
    world.poll(kinds=3)
    assert world.registry.choose_config(trainer) is assignment


def test_iterations_wait_until_a_trainer_has_begun_its_steps() -> None:
    world = World()
    trainer = world.poll()
    assignment = Assignment("s1", "text", 10, counts_iterations=True)
    world.registry.assign(trainer, assignment)
    assert world.registry.choose_config(trainer) is None
    world.now += YOUNG_SECONDS
    assert world.registry.choose_config(world.poll()) is assignment


def test_second_config_is_refused_until_the_first_is_done() -> None:
    world = World()
    trainer = world.poll()
    first = Assignment("s1", "text", 30)
    assert world.registry.assign(trainer, first)
    assert not world.registry.assign(trainer, Assignment("s2", "text", 30))
    world.registry.mark_fetched(trainer, first)
    assert not world.registry.assign(trainer, Assignment("s2", "text", 30))
    world.now += 31
    assert world.registry.assign(trainer, Assignment("s2", "text", 30))


def test_cancelling_takes_back_only_what_was_not_fetched() -> None:
    world = World()
    fetched, waiting = world.poll(7), world.poll(8)
    for trainer in (fetched, waiting):
        world.registry.assign(trainer, Assignment("s1", "text", 30))
    assert fetched.pending is not None
    world.registry.mark_fetched(fetched, fetched.pending)
    assert world.registry.cancel("s1") == 1
    assert waiting.pending is None


def test_number_of_trainers_is_bounded_and_recovers() -> None:
    world = World()
    for pid in range(1, MAX_TRAINERS + 1):
        world.poll(pid)
    assert world.registry.record_poll(9999, 0, Poll(2, 0, (9999,)), b"\0z") is None
    world.now += EXPIRY_SECONDS + 1
    assert world.poll(9999).pid == 9999
