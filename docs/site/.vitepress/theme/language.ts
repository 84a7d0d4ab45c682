const key = 'matte-docs-language'

export function rememberLanguage(): void {
  document.addEventListener('change', ({ target }) => {
    const title = target instanceof HTMLInputElement ? target.labels?.[0]?.dataset.title : undefined
    if (title !== undefined) localStorage.setItem(key, title)
  })
}

/** Shows the examples of a page in the language that the reader has chosen last. VitePress switches on a click. */
export function chooseLanguage(): void {
  const title = localStorage.getItem(key)
  for (const label of document.querySelectorAll<HTMLElement>('.vp-code-group label')) {
    if (label.dataset.title === title) label.click()
  }
}
