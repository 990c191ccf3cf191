// Explorers that move without a kernel. All that they can show was computed when the book was built: places, each with
// what the controls offer and say there, the pictures, and the place that every move leads to. Without scripts the still
// pictures remain.
(() => {
  const FOLDER = new URL('explorers/', document.currentScript.src);
  const STEP_MS = 700, REST_MS = 600;
  const waiting = new Map();
  window.explorerStates = (name, packed) => waiting.get(name)?.(packed);

  // A script and not a request: it loads from a folder, too, where there is no server.
  const load = name => new Promise((resolve, reject) => {
    waiting.set(name, resolve);
    const script = document.createElement('script');
    script.src = new URL(`${name}.js`, FOLDER);
    script.onerror = reject;
    document.head.append(script);
  });

  const unpack = packed => {
    const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Response(stream).json();
  };

  const part = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  const button = (text, name, act) => {
    const made = part('button', { type: 'button', title: name, 'aria-label': name }, text);
    made.addEventListener('click', act);
    return made;
  };

  // A control that moves: a menu, or a slider over the choices of a place. `chosen` is told the number of the choice.
  const control = ({ label, kind }, id, chosen) => {
    const menu = kind === 'menu';
    const input = menu ? part('select', { id }) : part('input', { id, type: 'range', min: 0, step: 1 });
    const says = part('span', { class: 'explorer-value', 'aria-hidden': 'true' });
    const name = part('label', { for: id }, label);
    const row = part('div', { class: 'explorer-row' }, name, input, ...(menu ? [] : [says]));
    input.addEventListener(menu ? 'change' : 'input', () => chosen(menu ? input.selectedIndex : Number(input.value)));
    let offered;
    const stand = (offers, at, resting) => {
      if (menu && offers !== offered) input.replaceChildren(...offers.map(text => part('option', {}, text)));
      offered = offers;
      if (menu) input.selectedIndex = at;
      else {
        input.max = offers.length - 1;
        input.value = at;
        says.textContent = offers[at];
        input.setAttribute('aria-valuetext', offers[at]);
      }
      input.disabled = resting !== undefined;
      row.title = resting ?? '';
    };
    return { row, input, stand, label, kind };
  };

  const build = (box, { controls, texts, pieces, offers, places }) => {
    const said = number => texts[number].map(piece => pieces[piece]).join('');
    const id = box.dataset.states;
    const moving = controls.filter(each => each.kind !== 'rest');
    let at = 0, byItself = false, rest, timer;

    const words = part('p', { class: 'explorer-words' });
    const pictures = part('div', { class: 'explorer-pictures' });
    // Screen readers announce what changes inside a region that stays, once the controls have come to rest.
    const heard = part('p', { class: 'explorer-said', role: 'status', 'aria-live': 'polite' });
    const resting = controls.filter(each => each.kind === 'rest').map(({ label }) => {
      const value = part('b');
      return { value, item: part('span', {}, `${label} `, value) };
    });

    const go = (place, moved) => {
      at = place;
      draw();
      clearTimeout(rest);
      if (!byItself) rest = setTimeout(() => { heard.textContent = `${moved} ${words.textContent}`; }, REST_MS);
    };
    const rows = moving.map((each, number) => control(each, `${id}-${number}`, choice => choose(number, choice)));
    const choose = (number, choice) => {
      const place = places[at];
      go(place.leads[number][choice], `${rows[number].label}: ${offers[place.offers[number]][choice]}.`);
    };

    const steps = rows.findIndex(row => row.kind === 'steps');
    const isLast = () => places[at].at[steps] + 1 >= places[at].leads[steps].length;
    const step = by => {
      const choice = places[at].at[steps] + by;
      if (choice >= 0 && choice < places[at].leads[steps].length) choose(steps, choice);
      return !isLast() || byItself;
    };
    const pause = () => { clearInterval(timer); timer = undefined; says(); };
    const play = () => {
      if (timer) return pause();
      if (isLast()) choose(steps, 0);
      timer = setInterval(() => {
        if (byItself && isLast()) choose(steps, 0);
        else if (!step(1)) pause();
      }, STEP_MS);
      says();
    };
    const player = button('play', 'play the steps', play);
    const says = () => {
      player.textContent = timer ? 'pause' : 'play';
      player.title = timer ? 'pause' : 'play the steps';
      player.setAttribute('aria-label', player.title);
    };
    const reset = button('reset', 'every control back to where it stood at first', () => { pause(); go(0, 'As at first.'); });
    const moves = [player, button('back', 'one step back', () => step(-1)), button('step', 'one step on', () => step(1))];
    const buttons = part('div', { class: 'explorer-buttons' }, ...(steps < 0 ? [] : moves), reset);

    const drawn = [];
    const draw = () => {
      const place = places[at];
      rows.forEach((row, number) => row.stand(
        offers[place.offers[number]], place.at[number], place.off[number] < 0 ? undefined : said(place.off[number])));
      resting.forEach(({ value }, number) => { value.textContent = said(place.rest[number]); });
      const stepsRest = steps >= 0 && place.off[steps] >= 0;
      for (const each of moves) each.disabled = stepsRest;
      if (stepsRest && timer) pause();
      words.textContent = said(place.words);
      while (pictures.children.length < place.views.length) pictures.append(part('div'));
      [...pictures.children].forEach((picture, number) => {
        const [text, wide] = place.views[number] ?? [-1, 0];
        picture.hidden = text < 0;
        picture.classList.toggle('explorer-wide', Boolean(wide));
        if (drawn[number] !== text) picture.innerHTML = text < 0 ? '' : said(text);
        drawn[number] = text;
      });
    };

    draw();
    const controlsBox = part('div', { class: 'explorer-controls' }, ...rows.map(row => row.row), buttons);
    const lab = part('p', { class: 'explorer-rest' }, 'At rest here, in JupyterLab they move, too: ');
    resting.forEach(({ item }, number) => lab.append(number ? ' · ' : '', item));
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', 'explorer');
    box.replaceChildren(controlsBox, words, pictures, ...(resting.length ? [lab] : []), heard);
    box.parentElement.classList.add('explorer-moves');
    // On the first page it plays by itself, again and again, and tells nobody, until a reader takes it.
    if ('plays' in box.dataset && !matchMedia('(prefers-reduced-motion: reduce)').matches) {
      byItself = true;
      play();
      for (const kind of ['pointerdown', 'keydown']) box.addEventListener(kind, event => {
        if (byItself && event.target !== player) pause();
        byItself = false;
      }, true);
    }
  };

  const start = async box => {
    try {
      build(box, await unpack(await load(box.dataset.states)));
    } catch (problem) {
      console.warn(`The explorer ${box.dataset.states} stays a still picture:`, problem);
    }
  };

  const seen = new IntersectionObserver(entries => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      start(target);
    }
  }, { rootMargin: '600px' });
  for (const box of document.querySelectorAll('.moving-explorer')) seen.observe(box);
})();
