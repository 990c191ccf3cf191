"""A pipe to the parent that two threads of a rank share."""

import threading
from multiprocessing import Pipe
from typing import NamedTuple

from course_lib.comm.processes.pipes import SharedPipe


class Answer(NamedTuple):
    number: int
    text: str


def test_every_thread_gets_the_answers_to_its_own_questions_in_whatever_order_they_come():
    parent, child = Pipe()
    pipe, heard = SharedPipe(child), [{}, {}]

    def ask(who: int) -> None:
        for _ in range(200):
            number = next(pipe.numbers)
            pipe.send((number, who))
            answer = pipe.answer(number) or pipe.wait_for(number)
            heard[who][number] = answer.text

    threads = [threading.Thread(target=ask, args=(who,)) for who in (0, 1)]
    for thread in threads:
        thread.start()
    for _ in range(200):  # both wait, so two questions are there: the second is answered first
        asked = [parent.recv(), parent.recv()]
        for number, who in reversed(asked):
            parent.send(Answer(number, f"{number} for {who}"))
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert [len(mine) for mine in heard] == [200, 200]
    assert all(text == f"{number} for {who}" for who in (0, 1) for number, text in heard[who].items())


def test_an_answer_that_has_not_come_is_none():
    parent, child = Pipe()
    pipe = SharedPipe(child)
    assert pipe.answer(0) is None
    parent.send(Answer(1, "later"))
    parent.send(Answer(0, "now"))
    assert pipe.wait_for(0).text == "now"
    assert pipe.answer(1).text == "later"
