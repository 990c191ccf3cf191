// Rows of the page of symptoms, above the pages that a search finds: the row that says most of what is asked comes first.
const MOST = 5;
const SAYS = { sees: 3, called: 2, group: 1, cause: 1, checks: 1 };  // how much a word tells, by where it stands
const PHRASE = 2;  // times as much where the words stand as they were asked
const query = new URLSearchParams(location.search).get('q') ?? '';
const STOP = new Set('a an and are at by do does for from how i in is it my of on or the to what when where why with'.split(' '));
const whole = text => text.toLowerCase().replace(/\b(time)d?[ -](out)s?\b/g, '$1$2').replace(/(\w)-(?=\w)/g, '$1');
const wordsOf = text => whole(text).match(/[\p{L}\p{N}_]+/gu) ?? [];
const stem = word => (word.length > 4 ? word.replace(/(ing|ed|es|s)$/, '') : word);
const terms = [...new Set(wordsOf(query))].filter(word => !STOP.has(word));
const asked = wordsOf(query).join(' ');
const phrase = window.symptomRows.map(row => Object.keys(SAYS).some(part => wordsOf(row[part]).join(' ').includes(asked)));
const rows = window.symptomRows.map(row => Object.fromEntries(Object.keys(SAYS).map(part => [part, wordsOf(row[part])])));

const says = (words, term) => words.some(word => stem(word) === stem(term) || (term.length > 2 && word.startsWith(term)) || (term.length > 3 && word.includes(term)));
const valueOf = (row, term) => Math.max(0, ...Object.entries(SAYS).filter(([part]) => says(row[part], term)).map(([, value]) => value));
function fitting() {
  const values = terms.map(term => rows.map(row => valueOf(row, term)));
  const rarity = values.map(ofRows => Math.log(1 + rows.length / (1 + ofRows.filter(Boolean).length)));
  const scores = rows.map((_, number) => ({
    number,
    met: values.filter(ofRows => ofRows[number]).length,
    score: (phrase[number] ? PHRASE : 1) * values.reduce((sum, ofRows, i) => sum + ofRows[number] * rarity[i], 0),
  }));
  const most = Math.max(...scores.map(({ met }) => met));
  return scores.filter(({ met }) => met === most && 2 * met > terms.length).sort((a, b) => b.score - a.score || a.number - b.number);
}
// Code font between backticks, as the page has it.
function marked(text) {
  return text.split('`').map((part, i) => (i % 2 ? Object.assign(document.createElement('code'), { textContent: part }) : part));
}
function itemOf({ number }) {
  const { group, sees, cause } = window.symptomRows[number], item = document.createElement('li');
  const link = Object.assign(document.createElement('a'), { href: `notebooks/symptoms.html#row-${number}` });
  link.append(...marked(sees));
  const may = document.createElement('p');
  may.append(`${group}. It may be: `, ...marked(cause));
  item.append(link, may);
  return item;
}
const found = terms.length ? fitting() : [];
if (found.length) {
  const section = document.createElement('section'), list = document.createElement('ol');
  section.className = 'found-symptoms';
  const heading = Object.assign(document.createElement('h2'), { textContent: 'Symptoms' });
  list.append(...found.slice(0, MOST).map(itemOf));
  const all = Object.assign(document.createElement('a'), { href: 'notebooks/symptoms.html', textContent: 'All symptoms' });
  section.append(heading, list, all, ': paste a log there, and it names the rows that fit.');
  document.getElementById('search-results').before(section);
}
