// HTML of tables, lists and sections of generated pages.
import { anchorLink } from './markdown/render.ts'
import { slugOf } from './markdown/slug.ts'
import type { Heading } from './page.ts'

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: 'th' | 'td', row: readonly string[]) => row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')
  const body = rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('\n')
  return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>
<thead><tr>${cells('th', head)}</tr></thead>
<tbody>${body}</tbody></table></div>\n`
}

export const bulletList = (items: readonly string[]): string =>
  `<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>`

type Section = { readonly heading: Heading; readonly html: string }

export function section(title: string, html: string, id = slugOf(title)): Section {
  return {
    heading: { level: 2, id, text: title },
    html: `<h2 id="${id}">${title}${anchorLink(id, title)}</h2>\n${html}`,
  }
}
