// A table that is wider than its column says so, and can be scrolled by keys.
const boxes = document.querySelectorAll('article :is(.pst-scrollable-table-container, .output.text_html:has(table))');
function look(box) {
  const goesOn = box.scrollWidth > box.clientWidth + 1;
  box.classList.toggle('goes-on', goesOn);
  for (const [name, value] of [['tabindex', '0'], ['role', 'region'], ['aria-label', 'a wide table, which is scrolled']]) {
    if (goesOn) box.setAttribute(name, value);
    else box.removeAttribute(name);
  }
}
const noted = new ResizeObserver(changed => changed.forEach(({ target }) => look(target)));
boxes.forEach(box => noted.observe(box));
