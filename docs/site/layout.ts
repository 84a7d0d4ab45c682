// The HTML document around a page: header, navigation, contents. No inline script or style, so `default-src 'self'`
// suffices.
import { escapeHtml } from './html.ts'
import { summaryOf } from './markdown/render.ts'
import { basePath, groups, type Page, urlOf } from './page.ts'

/** URLs of files with a hash in their name. */
export type Assets = {
  readonly style: string
  /** Runs before the first paint. */
  readonly theme: string
  readonly script: string
  readonly index: string
  readonly icon: string
}

/** Pages of these groups are listed only while one of them is open. */
const folded: ReadonlySet<string> = new Set(['Webhook events', 'Error codes', 'Runbooks'])

export function layOut(page: Page, pages: readonly Page[], assets: Assets): string {
  const at = pages.indexOf(page)
  const name = page.path === '' ? 'Matte documentation' : `${page.title} · Matte`
  return `<!doctype html>
<html lang="en" data-index="${assets.index}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(name)}</title>
<meta name="description" content="${escapeHtml(summaryOf(page.html))}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}">
<script src="${assets.theme}"></script>
<script src="${assets.script}" type="module"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${header(assets)}
<div class="frame">
<nav id="navigation" class="navigation" aria-label="Pages">
${navigation(page, pages)}
</nav>
<main id="content" tabindex="-1">
<article>
${page.html}
</article>
${neighbours(pages[at - 1], pages[at + 1])}
</main>
${contents(page)}
</div>
</body>
</html>
`
}

const header = ({ icon }: Assets): string => `<header class="bar">
<button class="icon menu" type="button" aria-controls="navigation" aria-expanded="false" aria-label="Pages" hidden>\
<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M3 5.5h14M3 10h14M3 14.5h14"/></svg></button>
<a class="brand" href="${basePath}"><img src="${icon}" alt="" width="26" height="26">Matte</a>
<button class="search" type="button" aria-haspopup="dialog" hidden>\
<svg viewBox="0 0 20 20" aria-hidden="true"><circle cx="9" cy="9" r="5.5"/><path d="M13 13l4 4"/></svg>\
<span>Search</span><kbd>/</kbd></button>
<a class="top" href="${urlOf('api')}">API</a>
<a class="top" href="${urlOf('errors')}">Errors</a>
<a class="top" href="${urlOf('operations')}">Operations</a>
<button class="icon theme" type="button" aria-label="Dark theme" hidden>\
<svg viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="6.5"/><path class="half" d="M10 3.5a6.5 6.5 0 0 1 0 13z"/>\
</svg></button>
</header>`

function navigation(current: Page, pages: readonly Page[]): string {
  return groups
    .map((group) => {
      const own = pages.filter((page) => page.group === group)
      const shown = folded.has(group) && current.group !== group ? own.slice(0, 1) : own
      const items = shown.map((page) => {
        const here = page === current ? ' aria-current="page"' : ''
        return `<li><a href="${urlOf(page.path)}"${here}>${breakable(page.label ?? page.title)}</a></li>`
      })
      return `<section><h2>${group}</h2><ul>${items.join('')}</ul></section>`
    })
    .join('\n')
}

/** Long codes and names may break at their own separators. */
const breakable = (text: string): string => escapeHtml(text).replaceAll(/[_.](?=\w)|(?<=[a-z])(?=[A-Z])/g, '$&<wbr>')

const contentsMin = 2

function contents({ headings }: Page): string {
  const listed = headings.filter(({ level }) => level === 2)
  if (listed.length < contentsMin) return '<div class="contents"></div>'
  const items = listed.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`)
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>`
}

function neighbours(before: Page | undefined, after: Page | undefined): string {
  const link = (page: Page | undefined, words: string, kind: string) =>
    page === undefined
      ? '<span></span>'
      : `<a class="${kind}" href="${urlOf(page.path)}"><small>${words}</small>${escapeHtml(page.label ?? page.title)}</a>`
  return `<nav class="neighbours" aria-label="Neighbouring pages">${link(before, 'Previous', 'before')}${link(after, 'Next', 'after')}</nav>`
}

export const notFoundPage: Page = {
  path: '404',
  title: 'Page not found',
  group: 'Start',
  html: `<h1>Page not found</h1>\n<p>The documentation has no such page. Search for it, or start at the \
<a href="${basePath}">overview</a>.</p>`,
  headings: [],
}
