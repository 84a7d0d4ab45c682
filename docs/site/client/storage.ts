/** Remembers a choice of the reader, unless the browser denies storage. */
export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`matte-docs-${name}`, value)
  } catch {
    // The choice lasts for this page only.
  }
}

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`matte-docs-${name}`)
  } catch {
    return null
  }
}
