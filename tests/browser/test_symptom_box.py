"""The box on the book's page of symptoms, opened without a server: it ranks as `course symptoms` does."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from course_lib.cli.symptoms import fitting, rank, read_rows

from .harness import PATIENCE_MS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

ROWS = read_rows((Path(__file__).parents[2] / "notebooks" / "symptoms.md").read_text(encoding="utf-8"))
TOLD = [
    "adding a second graphics card gives me no speedup at all",
    "the script stalls as soon as it writes the checkpoint",
    "CPU memory goes up with every epoch when num_workers is 8",
    "E1123 10:00:00 api.py:882] failed (exitcode: -9) local_rank: 1 (pid: 4711) of binary: /opt/bin/python",
    "[rank3]: the constructor of toString\r\n\r\n\x1b[31mRuntimeError: Address already in use\x1b[0m\r__proto__",
    "step 1\n" * 500 + "ValueError: Default process group has not been initialized",
    "host:1:1 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open: No such file or directory",
    "git push was rejected because the remote contains work that you do not have",
    "Ränge hängen – 卡住不动 ±∞",
    "",
    "torch.OutOfMemoryError: CUDA out of memory.\n[Rank 1] Watchdog caught collective operation timeout: WorkNCCL",
    "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  NCCL watchdog timeout",
    "it freezes when rank 0 saves the checkpoint: NCCL timeout",
]
FIRST = "text => rank(text).slice(0, 3).map(({ number, score }) => [number, score])"


@pytest.fixture(params=[(1366, 768), (375, 812)], ids=["laptop", "phone"])
def page(request: pytest.FixtureRequest, browser: Browser, book: Path) -> Iterator[Page]:
    """The page of symptoms; it asks nobody for anything, and no script of it fails."""
    width, height = request.param
    elsewhere, errors = [], []
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda asked: asked.url.startswith(("file:", "data:")) or elsewhere.append(asked.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((book / "notebooks/symptoms.html").as_uri())
        yield page
    assert elsewhere == []
    assert errors == []


def ask(page: Page, text: str) -> None:
    """Paste a text and ask by keys."""
    page.get_by_label("The end of your log").fill(text)
    page.keyboard.press("Control+Enter")


def test_the_box_names_the_rows_that_the_command_names(page: Page) -> None:
    for text in [*TOLD, *(row.sees for row in ROWS)]:
        first = [match for match in rank(text, ROWS)[:3] if match.score > 0]
        shown = page.evaluate(FIRST, text)[: len(first)]
        assert [number for number, _ in shown] == [ROWS.index(match.row) for match in first], text
        assert [score for _, score in shown] == pytest.approx([match.score for match in first]), text
        assert page.evaluate("text => fitting(text)", text) == [ROWS.index(m.row) for m in fitting(text, ROWS)], text


def test_an_error_pasted_is_answered_by_keys_and_leads_to_its_row(page: Page) -> None:
    text = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    ask(page, text)
    expect(page.locator(".symptom-box li")).to_have_count(len(fitting(text, ROWS)))
    first = page.locator(".symptom-box li").first
    expect(first).to_contain_text("Memory: In training: CUDA out of memory")
    expect(first).to_contain_text("More parameters, gradients, optimizer and activations than room")
    assert re.search(r"07_gradient_checkpointing.html#kept$", first.locator("a").last.get_attribute("href") or "")
    first.locator("a").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("tr:target")).to_contain_text("CUDA out of memory")
    expect(page.locator("tr:target")).to_be_in_viewport()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_what_is_pasted_is_answered_at_once(page: Page) -> None:
    page.get_by_label("The end of your log").focus()
    page.evaluate("""() => {
        const data = new DataTransfer(), box = document.activeElement;
        data.setData("text", "NCCL timeout");
        box.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        document.execCommand("insertText", false, "NCCL timeout");
    }""")
    items = page.locator(".symptom-box li")
    expect(items).to_have_count(3)
    expect(items.first).to_contain_text("One rank died, and the others noticed")


def test_where_nothing_fits_the_box_says_so_and_the_last_answer_is_gone(page: Page) -> None:
    ask(page, "OSError: [Errno 98] Address already in use")
    expect(page.locator(".symptom-box li").first).to_contain_text("Another run has the port")
    ask(page, "my plot has no title")
    expect(page.get_by_role("status")).to_have_text(re.compile("^No row fits. Give more of the log"))
