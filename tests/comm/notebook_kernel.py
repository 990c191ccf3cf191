"""A real Jupyter kernel for tests."""

from collections.abc import Iterator
from pathlib import Path
from queue import Empty

import psutil
import pytest
from jupyter_client import KernelManager


class Notebook:
    """A kernel whose temporary files go to a folder of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setenv("TMPDIR", str(folder))
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel()
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        assert self.run("import torch, torch.distributed as dist\nfrom course_lib import *\nwarm_up()") == ""

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.context.destroy(linger=0)

    def shut_down(self) -> int:
        """Ask the kernel to end, as JupyterLab does; its exit code."""
        process = self.manager.provisioner.process
        self.manager.shutdown_wait_time = 60.0  # a busy machine takes its time
        self.manager.shutdown_kernel()
        return process.poll()

    def family(self) -> list[psutil.Process]:
        """The kernel's fork server and ranks."""
        return psutil.Process(self.manager.provisioner.pid).children(recursive=True)

    def folders(self, name: str = "course-run-*") -> list[Path]:
        return list(self.folder.rglob(name))

    def start(self, code: str) -> str:
        return self.client.execute(code)

    def run(self, code: str) -> str:
        """Execute a cell and return all that it shows: output, its value, the error as displayed."""
        return self.finish(self.start(code))

    def finish(self, request: str, until: str = "") -> str:
        """What a cell shows until it is idle, or until `until` has appeared."""
        shown = ""
        for content in self._answers(request):
            shown += content.get("text", "") + content.get("data", {}).get("text/plain", "")
            shown += "\n".join(content.get("traceback", ()))
            if content.get("execution_state") == "idle" or (until and until in shown):
                return shown
        raise AssertionError("the kernel fell silent")

    def _answers(self, request: str) -> Iterator[dict]:
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=60)
            except Empty:
                raise AssertionError("the cell did not end within a minute") from None
            if message["parent_header"].get("msg_id") == request:
                yield message["content"]
