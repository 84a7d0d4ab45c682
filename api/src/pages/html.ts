// HTML as a tagged template. Every value is escaped for text and for quoted attributes unless it is HTML made here, so
// an attribute with a value must be written in quotes. No value may stand inside a script or a style: pages have none.

/** Made by `html` alone, so that no text from outside is ever taken for HTML. */
class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type { Html }

/** `undefined` and `false` are nothing. */
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
