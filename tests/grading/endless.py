"""Programs that do not end: what is raised in them is swallowed, or they wait outside of Python."""

import contextlib
import itertools
import threading
import time
import weakref

__all__ = ["ENDLESS", "WAITING"]


class Thing:
    """Something that a weak reference can refer to."""


def callback_of_a_weak_reference():
    def loses_what_is_raised(_):
        for _ in range(3000):
            pass

    while True:
        thing = Thing()
        reference = weakref.ref(thing, loses_what_is_raised)
        del thing, reference


def callback_that_does_not_end():
    def goes_on(_):
        while True:
            pass

    thing = Thing()
    reference = weakref.ref(thing, goes_on)
    del thing
    while reference:
        pass


def finalizer():
    class Ends:
        def __del__(self):
            for _ in range(3000):
                pass

    while True:
        Ends()


def catches_all():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


def catches_all_twice():
    while True:
        with contextlib.suppress(BaseException):
            while True:
                try:
                    while True:
                        pass
                except BaseException:
                    pass


def catches_all_and_calls_itself():
    try:
        while True:
            pass
    except BaseException:
        catches_all_and_calls_itself()


def says_another_error():
    while True:
        try:
            while True:
                pass
        except BaseException as error:
            with contextlib.suppress(ValueError):
                raise ValueError("mine") from error


def ends_with_a_loop():
    try:
        while True:
            pass
    finally:
        try:
            while True:
                pass
        finally:
            while True:
                pass


def context_manager_with_a_loop():
    class Closes:
        def __enter__(self):
            pass

        def __exit__(self, *_):
            while True:
                pass

    with Closes():
        while True:
            pass


def generator():
    def yields():
        while True:
            with contextlib.suppress(BaseException):
                yield

    while True:
        with contextlib.suppress(BaseException):
            for _ in yields():
                pass


def comparison_in_a_dictionary():
    class Key:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            with contextlib.suppress(BaseException):
                while True:
                    pass
            return False

    keys = {Key(): 1}
    while True:
        keys.get(Key())


def c_call_that_calls_back():
    while True:
        with contextlib.suppress(BaseException):
            max(filter(lambda number: number < 0, itertools.count()))


def many_short_c_calls():
    while True:
        with contextlib.suppress(BaseException):
            sum(range(10**5))


def sleeps():
    time.sleep(3600)


def sleeps_again():
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(3600)


def lock_that_nobody_opens():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


ENDLESS = [callback_of_a_weak_reference, callback_that_does_not_end, finalizer, catches_all, catches_all_twice]
ENDLESS += [catches_all_and_calls_itself, says_another_error, ends_with_a_loop, context_manager_with_a_loop, generator]
ENDLESS += [comparison_in_a_dictionary, c_call_that_calls_back, many_short_c_calls]
WAITING = [sleeps, sleeps_again, lock_that_nobody_opens]
