"""Parameter servers: workers push gradients and pull parameters, servers hold shards of them."""

from course_lib.parameter_server.letters import HEADER_BYTES, KINDS, Letter
from course_lib.parameter_server.mailbox import CommMailbox, Mail, Mailbox, Role, converse

__all__ = [
    "CommMailbox",
    "HEADER_BYTES",
    "KINDS",
    "Letter",
    "Mail",
    "Mailbox",
    "Role",
    "converse",
]
