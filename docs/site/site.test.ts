import { resolve } from 'node:path'
import { errorCodes } from '@matte/core/error'
import { webhookEvents } from '@matte/core/webhook/events'
import { buildDocument } from '@matte/generate/build-document'
import { beforeAll, describe, expect, it } from 'vitest'
import { drawDiagram } from './.vitepress/diagram.ts'
import { highlight } from './.vitepress/highlight.ts'
import { linkPages } from './links.ts'
import { urlOf } from './page.ts'
import { buildPages, type Site, writeIndex } from './pages.ts'
import { type ApiDocument, listOperations } from './reference/operations.ts'
import { buildSidebar } from './sidebar.ts'

let site: Site
const read = (path: string): string => site.pages.find((page) => page.path === path)?.markdown ?? ''

beforeAll(async () => {
  site = await buildPages(resolve(import.meta.dirname, '../..'))
}, 60_000)

describe('the documentation', () => {
  it('has a page for each error code and event', () => {
    for (const code of errorCodes) expect(read(`errors/${code}`)).toContain(`# \`${code}\`\n`)
    for (const event of [...webhookEvents, 'test.webhook'])
      expect(read(`events/${event}`)).toContain(`# \`${event}\`\n`)
  })

  it('has each operation under its operationId, with request, errors and examples', async () => {
    const operations = listOperations((await buildDocument()) as ApiDocument)
    expect(operations.length).toBeGreaterThan(100)
    for (const { operationId, url } of operations) {
      const [path = ''] = url.slice(urlOf('').length).split('#')
      expect(read(path)).toContain(` {:#${operationId}}\n`)
    }
    const tasks = read('api/tasks')
    expect(tasks).toContain('[`TASK_CONCURRENT_LIMIT`](../errors/TASK_CONCURRENT_LIMIT.md)')
    for (const title of ['curl', 'TypeScript', 'Python']) expect(tasks).toContain(` [${title}]\n`)
  })

  it('lists on the page of an error code the operations that return it', () => {
    expect(read('errors/TASK_CANNOT_CANCEL')).toContain('(../api/tasks.md#cancelTask)')
    expect(read('errors/TASK_CANNOT_CANCEL')).not.toContain('#createTask)')
  })

  it('has a runbook per alert, and an index of every page for programs', () => {
    expect(read('runbooks')).toContain('[MattePoolAtMax](./runbooks/MattePoolAtMax.md)')
    const index = writeIndex(site)
    for (const { path } of site.pages) expect(index).toContain(`](/docs/${path || 'index'}.md)`)
  })
})

describe('linkPages', () => {
  const pages = new Map([
    ['README.md', ''],
    ['docs/b.md', 'b'],
    ['docs/deep/c.md', 'deep/c'],
  ])
  const targets = { pages, names: new Map([['NOT_FOUND', 'errors/NOT_FOUND']]), isOutside: () => false }
  const link = (text: string) =>
    linkPages(text, { path: 'deep/c', file: 'docs/deep/c.md' }, targets, (file) => `pictures/${file}`)

  it('leads to the Markdown of other pages, and names files without a page', () => {
    expect(link('[a](../b.md#x), [home](../../README.md)')).toBe('[a](../b.md#x), [home](../index.md)')
    expect(link('[the\ncode](../../api/x.ts)')).toBe('the\ncode')
    expect(link('[d](/docs/b), [e](https://example.com), [f](/api/v1/openapi.json)')).toBe(
      '[d](../b.md), [e](https://example.com), [f](/api/v1/openapi.json)',
    )
    expect(link('![p](p.png)')).toBe('![p](../pictures/docs/deep/p.png)')
  })

  it('links names in code, but not in links, headings and blocks of code', () => {
    expect(link('`NOT_FOUND` and `OTHER`')).toBe('[`NOT_FOUND`](../errors/NOT_FOUND.md) and `OTHER`')
    for (const text of ['[see `NOT_FOUND`](https://example.com)', '# `NOT_FOUND`', '```\n`NOT_FOUND`\n```']) {
      expect(link(text)).toBe(text)
    }
  })

  it('refuses a link to a document that is no page', () => {
    expect(() => link('[x](missing.md)')).toThrow('docs/deep/c.md links to docs/deep/missing.md, which is no page')
  })
})

describe('buildSidebar', () => {
  const titles = () => new Map(site.pages.map(({ path, title }) => [path, title]))

  it('has groups of at most nine', () => {
    for (const { items } of site.sidebar) expect(items.length).toBeLessThanOrEqual(9)
  })

  it('refuses a page without a group, and says where to add it', () => {
    expect(() => buildSidebar(titles().set('new-page', 'New'))).toThrow(
      "the page new-page is in no group: add 'new-page' to one in docs/site/sidebar.ts",
    )
  })

  it('refuses a name without a page', () => {
    const fewer = titles()
    fewer.delete('glossary')
    expect(() => buildSidebar(fewer)).toThrow('docs/site/sidebar.ts lists glossary, which is no page')
  })
})

describe('a page of the site', () => {
  it('has colours by classes, also for code in a language without colours', () => {
    expect(highlight('{"a": 1}\n', 'json')).toContain('<span class="hljs-number">1</span>')
    expect(highlight('max(a{b="<c>"})', 'promql')).toContain('max(a{b=&quot;&lt;c&gt;&quot;})')
  })

  it('has drawings without styles, with the connections as text', () => {
    const drawing = drawDiagram('flowchart LR\n  a([Caller]) -->|HTTP| api\n')
    expect(drawing).toContain('aria-label="Caller to api: HTTP"')
    expect(drawing).not.toMatch(/<style|\sstyle=|http:\/\/fonts|https:\/\/fonts/)
  })
})
