"""An object store on this machine: a server of its own, clients that outlive its death, and the record of both.

In the order of the page: the server (`server.py` is what runs there), a client and how it waits, many clients, and
what their records say.
"""

from course_lib.storage.object_store.client import Backoff, StoreClient, StoreError, load, read_share
from course_lib.storage.object_store.process import ObjectStore
from course_lib.storage.object_store.request_log import LoadSummary, Request, percentile, reads, summarize
