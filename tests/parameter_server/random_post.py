"""A post office without a clock: whose letter comes next is drawn from a seed."""

import random
from collections.abc import Mapping

from course_lib.parameter_server import Letter, Role


class RandomPost:
    """Letters between roles, delivered one by one in a random order; between two roles they keep theirs."""

    def __init__(self, roles: Mapping[int, Role], seed: int) -> None:
        self.roles, self.random = roles, random.Random(seed)
        self.letters: dict[tuple[int, int], list[Letter]] = {}  # by sender and receiver
        for rank, role in roles.items():
            self._post(rank, role.begin())

    def _post(self, src: int, mail: list) -> None:
        for dst, letter in mail:
            self.letters.setdefault((src, dst), []).append(letter)

    def deliver(self) -> bool:
        """Deliver one letter; False if there is none."""
        waiting = sorted(route for route, letters in self.letters.items() if letters)
        if not waiting:
            return False
        src, dst = self.random.choice(waiting)
        assert not self.roles[dst].finished, f"a letter from {src} to {dst}, who has left"
        self._post(dst, self.roles[dst].handle(self.letters[src, dst].pop(0)))
        return True
