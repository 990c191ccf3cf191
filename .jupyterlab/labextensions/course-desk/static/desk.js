// What JupyterLab does on a desk beyond its own: a place for each guess, with its choices; results that open once the
// cell above them has run, and say again what was guessed; a start page that is read anew when one comes back to it.
//
// It is one plain file, so nothing has to be built. Without it a desk is plain Markdown: the guess is text in its cell,
// and a click opens a result.

(() => {
  const NAME = 'course-desk';
  const SUFFIX = '-guess';
  const LABEL = '\u270e **Your guess:**';
  const style = new URL('desk.css', document.currentScript.src);

  const make = (kind, attributes, ...children) => {
    const element = Object.assign(document.createElement(kind), attributes);
    element.append(...children);
    return element;
  };

  const isPlace = cell => cell.model.type === 'markdown' && cell.model.id.endsWith(SUFFIX);
  const sourceOf = cell => cell.model.sharedModel.getSource();
  const guessOf = cell => sourceOf(cell).replace(LABEL, '').trim();
  const hasRun = cell => cell.model.executionCount != null && cell.model.executionState !== 'running';

  // A place for a guess: radio buttons for choices, else a field; it stands instead of the cell's text, which it writes.

  const write = (cell, words) => cell.model.sharedModel.setSource(`${LABEL} ${words}`);

  const choices = (cell, among) =>
    among.map(words => {
      const button = make('input', { type: 'radio', name: cell.model.id, value: words });
      button.addEventListener('change', () => write(cell, words));
      return make('label', {}, button, words);
    });

  const field = (cell, isNumber) => {
    const input = make('input', { type: 'text', inputMode: isNumber ? 'decimal' : 'text', size: isNumber ? 12 : 48 });
    input.placeholder = isNumber ? 'a number' : 'in your own words';
    input.addEventListener('change', () => write(cell, input.value));
    return [input];
  };

  const place = cell => {
    const kind = cell.model.getMetadata('guess') ?? {};
    const inputs = kind.among ? choices(cell, kind.among) : field(cell, kind.number);
    const box = make('fieldset', { className: 'course-guess' }, make('legend', {}, '\u270e Your guess'), ...inputs);
    cell.node.insertBefore(box, cell.node.querySelector('.jp-Cell-inputWrapper'));
    cell.node.classList.add('course-has-guess');
    return box;
  };

  const showGuess = cell => {
    const box = cell.node.querySelector(':scope > .course-guess') ?? place(cell);
    const guess = guessOf(cell);
    for (const input of box.querySelectorAll('input')) {
      if (input.type === 'radio') input.checked = input.value === guess;
      else if (input !== document.activeElement) input.value = guess;
    }
    // Words that are none of the choices, as an editor may have left them, are shown as they stand.
    const radio = box.querySelector('input[type=radio]');
    const free = Boolean(radio && guess && !box.querySelector('input:checked'));
    cell.node.classList.toggle('course-free-guess', free);
  };

  // Results. `above` is the code or the place for a guess that a text stands below.

  const above = (cells, at) => {
    while (--at >= 0) {
      if (cells[at].model.type === 'code' || isPlace(cells[at])) return cells[at];
    }
    return null;
  };

  const lastGuess = (cells, at) => {
    while (--at >= 0) if (isPlace(cells[at])) return guessOf(cells[at]);
    return '';
  };

  const showResult = (fold, cell, guess, isFirst) => {
    const ready = cell && (cell.model.type === 'code' ? hasRun(cell) : guessOf(cell) !== '');
    if (ready && !fold.dataset.opened) {
      fold.dataset.opened = 'once'; // whoever closes it later finds it closed
      fold.open = true;
    }
    const summary = fold.querySelector(':scope > summary');
    const title = ready ? 'Result' : summary.dataset.first ?? summary.textContent;
    summary.dataset.first ??= summary.textContent; // what to do first
    // What is written anew would be noticed, and written anew: so only what differs is.
    if (summary.textContent !== title) summary.textContent = title;
    const line = fold.querySelector(':scope > .course-guessed');
    const words = isFirst && guess ? `\u270e You guessed: ${guess}` : '';
    if ((line?.textContent ?? '') === words) return;
    line?.remove();
    if (words) summary.after(make('p', { className: 'course-guessed' }, words));
  };

  const refresh = notebook => {
    const cells = notebook.widgets;
    let isFirst = false; // below a guess
    cells.forEach((cell, at) => {
      if (isPlace(cell)) {
        showGuess(cell);
        isFirst = true;
      }
      const folds = cell.model.type === 'markdown' ? cell.node.querySelectorAll('details.result') : [];
      for (const fold of folds) {
        showResult(fold, above(cells, at), lastGuess(cells, at), isFirst);
        isFirst = false;
      }
    });
  };

  const notebooks = new WeakMap(); // by their nodes

  const watch = panel => {
    const notebook = panel.content;
    notebooks.set(notebook.node, notebook);
    let due = 0;
    const soon = () => {
      if (!due) due = setTimeout(() => { due = 0; if (!notebook.isDisposed) refresh(notebook); }, 50);
    };
    notebook.modelContentChanged.connect(soon); // also when a cell has run
    const rendered = new MutationObserver(soon);
    rendered.observe(notebook.node, { subtree: true, childList: true });
    notebook.disposed.connect(() => rendered.disconnect());
    panel.context.ready.then(soon);
  };

  // JupyterLab takes keys before a page does. Those that belong to a summary or a guess never reach it; Shift+Enter does.
  const keepKey = event => {
    const opens = event.target.matches?.('.jp-Notebook summary') && ['Enter', ' '].includes(event.key);
    const chooses = event.target.closest?.('.course-guess') && event.key !== 'Escape';
    if ((opens || chooses) && !event.shiftKey && !event.ctrlKey && !event.metaKey) event.stopImmediatePropagation();
  };

  // From a cell, Tab comes to its first fold or choice, and not first to the buttons that JupyterLab has in its corner.
  // Enter comes to the choice too, where JupyterLab would open the text under it, with the cursor before its label.
  const tabInto = event => {
    const enters = event.key === 'Enter' && event.target.matches?.('.course-has-guess:not(.course-free-guess)');
    if (!enters && (event.key !== 'Tab' || !event.target.matches?.('.jp-MarkdownCell'))) return;
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const choice = event.target.querySelector('.course-guess input:checked, .course-guess input');
    const first = choice ?? event.target.querySelector('details.result > summary');
    if (!first) return;
    first.focus();
    event.preventDefault();
    event.stopImmediatePropagation();
  };

  // JupyterLab's arrows pass over a cell whose code is folded, so that nobody could run it by keyboard. Here they do not.
  const stepOnFolded = event => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const plain = !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey;
    const notebook = notebooks.get(event.target.closest?.('.jp-Notebook'));
    if (!step || !plain || notebook?.mode !== 'command' || event.target.closest('input, textarea, .jp-OutputArea')) return;
    const at = notebook.activeCellIndex + step;
    const next = notebook.widgets[at];
    if (!next?.inputHidden || next.isHidden) return;
    notebook.deselectAll();
    notebook.activeCellIndex = at;
    notebook.scrollToItem(at, 'smart');
    notebook.activate(); // gives the cell the focus
    event.preventDefault();
    event.stopImmediatePropagation();
  };

  const goOn = app => event => {
    if (event.key !== 'Enter' || !event.target.matches?.('.course-guess input[type=text]')) return;
    event.target.blur();
    event.stopImmediatePropagation();
    event.preventDefault();
    app.commands.execute('notebook:run-cell-and-select-next');
  };

  const followStart = (app, context) => {
    const look = async () => {
      const now = await app.serviceManager.contents.get(context.path, { content: false });
      if (!context.isDisposed && now.last_modified !== context.contentsModel?.last_modified) await context.revert();
    };
    return () => look().catch(() => {}); // without its file there is nothing to show
  };

  const activate = app => {
    document.head.append(make('link', { rel: 'stylesheet', href: style.href }));
    window.addEventListener('keydown', goOn(app), true);
    window.addEventListener('keydown', tabInto, true);
    window.addEventListener('keydown', stepOnFolded, true);
    window.addEventListener('keydown', keepKey, true);
    app.docRegistry.addWidgetExtension('Notebook', { createNew: panel => watch(panel) });
    app.docRegistry.addWidgetExtension('Markdown Preview', {
      createNew: (panel, context) => {
        if (context.path !== 'START.md') return;
        const look = followStart(app, context);
        const onCurrent = (_, change) => change.newValue === panel && look();
        app.shell.currentChanged?.connect(onCurrent);
        panel.disposed.connect(() => app.shell.currentChanged?.disconnect(onCurrent));
      },
    });
  };

  const plugin = { id: `${NAME}:plugin`, autoStart: true, activate };
  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB[NAME] = { init: () => {}, get: async () => () => ({ __esModule: true, default: plugin }) };
})();
