"""Servers and workers that may be killed: a write-ahead log, messages that repeat, work that is handed out again."""
# ruff: noqa: I001 - names stand in the order of the page

from course_lib.parameter_server.fault_tolerance.write_ahead_log import WriteAheadLog
from course_lib.parameter_server.fault_tolerance.exactly_once import (
    Dispatcher,
    Durable,
    IdempotentServer,
    QueueWorker,
    recover,
)
from course_lib.parameter_server.fault_tolerance.zmq_mailbox import ZmqMailbox
from course_lib.parameter_server.fault_tolerance.cluster import MemberProcesses, run_members, Member
