// The box on the page of symptoms. The rule is that of course_lib/cli/symptoms.py; a test holds the two equal.
const box = document.querySelector('.symptom-box');
const bare = (_, value) => (value?.constructor === Object ? Object.assign(Object.create(null), value) : value);
const data = JSON.parse(document.getElementById('symptom-data').textContent, bare);  // "constructor" is a word of a log
const [noise, divides, word] = ['noise', 'divides', 'word'].map(name => new RegExp(data.patterns[name], 'gi'));
const names = ['tells', 'log', 'note', 'frame', 'plain', 'ending', 'timed_out'];
const [tells, log, note, frame, plain, ending, timedOut] = names.map(name => new RegExp(data.patterns[name], 'i'));
const phrases = Object.entries(data.phrases).map(([name, pattern]) => [name, new RegExp(pattern, 'i')]);
const stop = new Set(data.stop), sum = numbers => numbers.reduce((total, number) => total + number, 0);
const weighed = ([level, words]) => words.split(' ').map(each => [each, data.told[each] * Number(level)]);
const split = quote => quote.split(' ');
const rows = data.rows.map(row => ({ ...row, quotes: row.quotes.map(split), told: new Map(Object.entries(row.told).flatMap(weighed)) }));
const pairs = words => words.slice(1).map((each, i) => `${words[i]} ${each}`);
const keys = quote => (quote.length > 1 ? pairs(quote) : quote);
const wanted = new Set(rows.flatMap(row => row.quotes.flatMap(keys)));
const short = text => text.replace(/([\w.~-]{200})[\w.~-]+ ?/g, '$1 ').replace(/([^\S\r\n]{200})[^\S\r\n]+/g, '$1');
const linesOf = text => short(text).split(/\r\n|\r|\n/).filter(line => line.trim());
function oneCode(each) {
  const [, kind, digits] = each.match(/^[a-z_]*?(code|signal)(-?\d+)$/) ?? [], number = Number(digits);
  if (!kind) return each;
  const told = kind === 'signal' ? number : number < 0 ? -number : number > 128 ? number - 128 : 0;
  const signal = 240 < number && number < 255 ? 256 - number : told;
  return 0 < signal && signal <= 64 ? `signal-${signal}` : `code${number}`;
}
const wordsOf = text => (text.replace(noise, ' ').replace(divides, ' assert divisible by ').toLowerCase().match(word) ?? []).map(each => oneCode(each.replace(/[\s:=([]/g, '')));
const stem = each => each.replace(ending, '$1').replace(/y$/, 'i').replace(/(.)\1$/, '$1');

function concepts(text) {
  const stems = [...new Set(wordsOf(text))].filter(each => !stop.has(each)).map(stem).map(each => data.concept[each] ?? each);
  return [...new Set([...stems, ...phrases.filter(([, pattern]) => pattern.test(text)).map(([name]) => name)])].sort();
}
function isSentence(line) {
  const words = line.trim().split(/\s+/);
  return ![log, note, frame].some(each => each.test(line)) && words.length > 1 && words.filter(each => plain.test(each)).length >= 0.6 * words.length;
}
function placesOf(text, frames) {
  const places = new Map();
  linesOf(text).forEach((line, i, all) => {
    const words = wordsOf(line), key = words.join(' '), late = all.length - 1 - i < data.lastLines;
    const weight = note.test(line) || (frame.test(line) && !frames) ? 0.3 : (tells.test(line) ? 2 : 1) * (late ? 1.5 : 1);
    for (const part of [...words, ...pairs(words)].filter(each => wanted.has(each))) {
      const at = places.get(part) ?? places.set(part, new Map()).get(part);
      at.set(key, Math.max(weight, at.get(key) ?? 0));
    }
  });
  return places;
}
function longestRun(quote, line) {
  let best = [];
  for (let i = 0; i < quote.length; i++) for (let j = 0, size = 0; j < line.length; j++, size = 0) {
    while (i + size < quote.length && quote[i + size] === line[j + size]) size++;
    if (size > best.length) best = quote.slice(i, i + size);
  }
  return best;
}
function valueOf(quote, places) {
  const found = new Map(keys(quote).flatMap(key => [...(places.get(key) ?? [])]));
  return Math.max(0, ...[...found].map(([line, weight]) => {
    const run = longestRun(quote, line.split(' '));
    return weight * sum(run.map(each => data.quoted[each])) * (run.length / quote.length) ** 2;
  }));
}
function rank(text, frames) {
  const places = placesOf(text, frames), told = concepts(linesOf(text).filter(isSentence).join('\n'));
  const most = sum(told.map(each => data.told[each] ?? data.unknown));
  return rows.map((row, number) => {
    const values = row.quotes.map(quote => valueOf(quote, places)).sort((a, b) => b - a);
    const both = told.filter(each => row.told.has(each)).map(each => row.told.get(each)), total = sum(both);
    const inWords = both.length > 1 ? data.toldWeight * total * Math.sqrt(total / most) : 0;
    const elsewhere = data.kinds[row.group] && !data.kinds[row.group].some(each => told.includes(each));
    return { number, score: sum(values.map((value, i) => value / 2 ** i)) + (elsewhere ? data.elsewhere : 1) * inWords };
  }).sort((a, b) => b.score - a.score);
}
const rowOf = number => document.querySelectorAll('article table tbody tr')[number];
const isNote = ({ number }) => rowOf(number).cells[1].textContent.trim().startsWith(data.notes);
function itemOf(number) {
  const row = rowOf(number), item = document.createElement('li'), [sees, ...others] = row.cells;
  const link = Object.assign(document.createElement('a'), { href: `#${row.id}` });
  link.append(...sees.cloneNode(true).childNodes);
  item.append(`${rows[number].group}: `, link, ' ', ...others.flatMap(cell => [...cell.cloneNode(true).childNodes, ' ']));
  return item;
}
function ofATimeOut(text) {  // an echo, which does not say of what: an error before it, what is told, then all its causes
  const lines = linesOf(text.replaceAll(data.what, ' ')), first = lines.findIndex(line => timedOut.test(line));
  const errors = lines.slice(0, first).filter(line => tells.test(line) && !note.test(line) && !frame.test(line));
  const told = rank(lines.filter(isSentence).join('\n')).find(({ number }) => rows[number].group === data.hangs);
  const before = [rank(errors.join('\n'))[0], told].filter(each => each.score >= data.enough && !isNote(each));
  return [...new Set([...before.map(({ number }) => number).filter(number => !data.timedOut.includes(number)), ...data.timedOut])];
}
function fitting(text) {
  if (linesOf(text).some(line => timedOut.test(line))) return ofATimeOut(text);
  const fits = ({ score }, _, [best]) => score >= Math.max(data.enough, data.near * best.score);
  const passes = /file "/i.test(text) ? [false, true] : [false];
  const found = passes.reduce((before, frames) => (before.length ? before : rank(text, frames).slice(0, 3).filter(fits)), []);
  return found.sort((a, b) => isNote(a) - isNote(b)).map(({ number }) => number);
}
function show() {
  const found = fitting(box.querySelector('textarea').value.slice(-1e6)), list = document.createElement('ol');
  list.append(...found.map(itemOf));
  const none = 'No row fits. Give more of the log, or say what you see: when, and on how many ranks.';
  box.querySelector('[role=status]').replaceChildren(found.length ? list : none);
}
box.addEventListener('submit', event => { event.preventDefault(); show(); });
box.addEventListener('keydown', event => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && box.requestSubmit());
box.addEventListener('paste', () => setTimeout(show));  // once the text is there
box.hidden = false;
