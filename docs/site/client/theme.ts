// Applies the stored theme before the first paint. Without a choice the stylesheet follows the system.
const stored = readChoice()
if (stored === 'dark' || stored === 'light') document.documentElement.dataset.theme = stored

/** Null when the browser denies storage. */
function readChoice(): string | null {
  try {
    return localStorage.getItem('matte-docs-theme')
  } catch {
    return null
  }
}
