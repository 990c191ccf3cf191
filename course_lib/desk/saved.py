"""What Jupyter's server does when a page of a desk is saved: the start page is written anew.

`make lab` names `after_save` to the server, which calls it in its only thread. So the writing has a thread of its own,
and whatever goes wrong there is a line in the server's log and costs no save.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

from course_lib.desk.files import DeskError
from course_lib.desk.points import desk_around
from course_lib.desk.start import write_start_page

__all__ = ["after_save"]

LOG = logging.getLogger(__name__)


def after_save(os_path: str, model: dict[str, Any], **_: Any) -> threading.Thread | None:
    """Write the start page of the desk that this saved notebook lies on; gives the thread that does so, if one does."""
    desk = desk_around(Path(os_path).parent) if model.get("type") == "notebook" else None
    if desk is None:
        return None
    thread = threading.Thread(target=_write, args=(desk,), daemon=True, name="start page")
    thread.start()
    return thread


def _write(desk: Path) -> None:
    try:
        said = write_start_page(desk)
    except (DeskError, OSError) as error:
        said = f"the start page could not be written: {error}"
    if said:
        LOG.warning(said)
