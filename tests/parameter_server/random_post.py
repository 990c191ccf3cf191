"""A post office without a clock: whose message comes next is drawn from a seed."""

import random
from collections.abc import Mapping

from course_lib.parameter_server import Actor, Message


class RandomPost:
    """Messages between actors, delivered one by one in a random order; between two actors they keep theirs."""

    def __init__(self, actors: Mapping[int, Actor], seed: int) -> None:
        self.actors, self.random = actors, random.Random(seed)
        self.messages: dict[tuple[int, int], list[Message]] = {}  # by sender and receiver
        for rank, actor in actors.items():
            self._post(rank, actor.begin())

    def _post(self, src: int, outbox: list) -> None:
        for dst, message in outbox:
            self.messages.setdefault((src, dst), []).append(message)

    def deliver(self) -> bool:
        """Deliver one message; False if there is none."""
        waiting = sorted(route for route, messages in self.messages.items() if messages)
        if not waiting:
            return False
        src, dst = self.random.choice(waiting)
        assert not self.actors[dst].finished, f"a message from {src} to {dst}, who has left"
        self._post(dst, self.actors[dst].handle(self.messages[src, dst].pop(0)))
        return True
