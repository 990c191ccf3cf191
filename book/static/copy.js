// A button on each block of code that copies it.
for (const block of document.querySelectorAll('div.highlight')) {
  const code = block.querySelector('pre');
  if (!code || block.closest('.cell_output')) continue;
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'copy' });
  button.className = 'copy-code';
  button.setAttribute('aria-label', 'copy this code');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent.trimEnd());
      button.textContent = 'copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = 'selected';
    }
    setTimeout(() => { button.textContent = 'copy'; }, 2000);
  });
  block.append(button);
}
