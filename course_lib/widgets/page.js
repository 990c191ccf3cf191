// What ipywidgets leaves out: keys that stay in the controls, names and values that are said, sentences that are
// announced, disabled controls that are skipped. Runs once an explorer is on the page.
const set = (part, name, value) => { if (part.getAttribute(name) !== value) part.setAttribute(name, value); };
const text = (part, selector) => part.querySelector(selector)?.textContent.trim() ?? '';

if (!window.explorerKeys) {
  // JupyterLab takes keys in the capture phase at the document, before any control; it spares what bears this attribute
  // itself. Saving the notebook goes on working.
  window.explorerKeys = event => {
    const part = event.target;
    if (!part.closest?.('.explorer')) return;
    const saves = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 's';
    part.toggleAttribute('data-lm-suppress-shortcuts', !saves);
  };
  window.addEventListener('keydown', window.explorerKeys, true);
}

const explorer = document.currentScript?.closest?.('.explorer') ?? element.closest('.explorer');
if (explorer && !explorer.explorerNames) {
  const icons = { 'fa-play': 'play the steps', 'fa-pause': 'pause', 'fa-stop': 'stop and go back to the first step',
    'fa-retweet': 'repeat' };
  // Screen readers announce what changes inside a region that stays; ipywidgets puts a new sentence in the old one's
  // place. While a slider is dragged nothing is said, so that words do not queue up.
  const heard = document.createElement('p');
  set(heard, 'class', 'explorer-said');
  set(heard, 'role', 'status');
  set(heard, 'aria-live', 'polite');
  explorer.append(heard);
  let said = '', rest;
  const announce = () => {
    const words = explorer.querySelector('.explorer-words');
    const now = words?.dataset.moved ? `${words.dataset.moved} ${words.textContent}` : '';
    if (now === said) return;
    said = now;
    clearTimeout(rest);
    rest = setTimeout(() => { heard.textContent = now; }, 600);
  };
  const tell = () => {
    announce();
    for (const part of explorer.querySelectorAll('[title="null"]')) part.removeAttribute('title');
    for (const handle of explorer.querySelectorAll('.noUi-handle')) {
      const control = handle.closest('.widget-inline-hbox');
      const off = handle.closest('.noUi-target').hasAttribute('disabled');
      set(handle, 'aria-label', text(control, '.widget-label'));
      set(handle, 'aria-valuetext', text(control, '.widget-readout'));
      set(handle, 'aria-disabled', String(off));
      set(handle, 'tabindex', off ? '-1' : '0');
      const readout = control.querySelector('.widget-readout');
      // ipywidgets lets one write over a choice, and heeds nothing of it.
      if (control.matches('.explorer-choices')) set(readout, 'contenteditable', 'false');
      else if (readout) {
        set(readout, 'role', 'textbox');
        set(readout, 'aria-label', `${text(control, '.widget-label')}: type a value`);
        set(readout, 'aria-disabled', String(off));
        set(readout, 'tabindex', off ? '-1' : '0');
      }
    }
    for (const button of explorer.querySelectorAll('.explorer-bit')) {
      set(button, 'aria-label', button.title);
      set(button, 'aria-pressed', String(button.classList.contains('mod-active')));
    }
    for (const button of explorer.querySelectorAll('.widget-play button')) {
      const icon = Object.keys(icons).find(name => button.querySelector(`.${name}`) || button.classList.contains(name));
      if (icon) { set(button, 'aria-label', icons[icon]); set(button, 'title', icons[icon]); }
    }
  };
  // ipywidgets waits for a "blur" that bubbles, which no browser sends: what was typed counts when the reader goes on.
  explorer.addEventListener('focusout', ({ target }) => {
    if (target.matches('.widget-readout')) target.dispatchEvent(new FocusEvent('blur', { bubbles: true }));
  });
  explorer.explorerNames = new MutationObserver(tell);
  explorer.explorerNames.observe(explorer, { subtree: true, childList: true, characterData: true, attributes: true,
    attributeFilter: ['disabled', 'aria-valuetext', 'class', 'contenteditable', 'title'] });
  tell();
}
