// HTML as a tagged template. Escapes every value for text and quoted attributes unless `html` created it, so attributes
// must be quoted. Never put a value inside a script or style.

/** Created only by `html`, so no outside text counts as HTML. */
class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type { Html }

type Value = Html | string | number | undefined | false | readonly Value[]

export const html = (strings: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(strings.reduce((text, part, index) => `${text}${toText(values[index - 1])}${part}`))

function toText(value: Value): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  return typeof value === 'object' ? value.map(toText).join('') : escapeText(String(value))
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeText = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character] ?? character)
