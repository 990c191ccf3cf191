// A filter above the glossary: what is typed is looked for in terms, meanings and translations, terms first.
const list = document.querySelector('.glossary-terms');
const plain = text => text.toLowerCase().normalize('NFKD').replace(/[\u0300-\u036f]/g, '').replace(/[-\s]+/g, ' ').trim();
const entries = [...list.querySelectorAll('dt')].map((term, place) => {
  const meaning = term.nextElementSibling;
  return { term, meaning, place, name: plain(term.textContent), text: plain(`${term.textContent} ${meaning.textContent}`) };
});
const form = document.createElement('form');
form.className = 'glossary-filter';
form.setAttribute('role', 'search');
form.innerHTML = `<label for="glossary-words">Show only the terms with</label>
<input type="search" id="glossary-words" autocomplete="off" spellcheck="false"> <span role="status"></span>`;
const [input, status] = [form.querySelector('input'), form.querySelector('[role=status]')];
const rank = ({ name }, wanted) => (name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : 3);

function show() {
  const wanted = plain(input.value), words = wanted.split(' ');
  const found = entries.filter(({ text }) => words.every(word => text.includes(word)));
  const order = (a, b) => (wanted ? rank(a, wanted) - rank(b, wanted) : 0) || a.place - b.place;
  list.replaceChildren(...found.sort(order).flatMap(({ term, meaning }) => [term, meaning]));
  status.textContent = wanted ? `${found.length} of ${entries.length}` : `${entries.length} terms`;
}
form.addEventListener('submit', event => event.preventDefault());
input.addEventListener('input', show);
list.before(form);
show();
if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
