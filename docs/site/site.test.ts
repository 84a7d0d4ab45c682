import { resolve } from 'node:path'
import { errorCodes } from '@matte/core/error'
import { webhookEvents } from '@matte/core/webhook/events'
import { buildDocument } from '@matte/generate/build-document'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildFiles } from './files.ts'
import { type Page, urlOf } from './page.ts'
import { type ApiDocument, listOperations } from './reference/operations.ts'
import { findBrokenLinks } from './site.ts'

const root = resolve(import.meta.dirname, '../..')

let files: ReadonlyMap<string, Buffer>
const read = (path: string): string => String(files.get(path) ?? '')
const htmlFiles = (): [string, string][] =>
  [...files.keys()].filter((path) => path.endsWith('.html')).map((path) => [path, read(path)])

beforeAll(async () => {
  files = await buildFiles(root)
}, 60_000)

describe('the documentation', () => {
  it('has a page for each error code and event', () => {
    for (const code of errorCodes) expect(read(`errors/${code}.html`)).toContain(`<code>${code}</code></h1>`)
    for (const event of [...webhookEvents, 'test.webhook']) {
      expect(read(`events/${event}.html`)).toContain(`<code>${event}</code></h1>`)
    }
  })

  it('has each operation under its operationId, with request, errors and examples', async () => {
    const operations = listOperations((await buildDocument()) as ApiDocument)
    expect(operations.length).toBeGreaterThan(100)
    for (const { operationId, url } of operations) {
      const [page = ''] = url.slice(urlOf('').length).split('#')
      expect(read(`${page}.html`)).toContain(`<h2 id="${operationId}">`)
    }
    const tasks = read('api/tasks.html')
    expect(tasks).toContain('href="/docs/errors/TASK_CONCURRENT_LIMIT"')
    for (const title of ['curl', 'TypeScript', 'Python']) expect(tasks).toContain(`data-title="${title}"`)
  })

  it('lists on the page of an error code the operations that return it', () => {
    expect(read('errors/TASK_CANNOT_CANCEL.html')).toContain('href="/docs/api/tasks#cancelTask"')
    expect(read('errors/TASK_CANNOT_CANCEL.html')).not.toContain('#createTask"')
  })

  it('has a runbook per alert, the guides, and the picture on the home page', () => {
    expect(read('runbooks/MattePoolAtMax.html')).toContain('<h1 id="mattepoolatmax">MattePoolAtMax</h1>')
    expect(read('operations/backup.html')).toContain('Back up and restore')
    const [, picture = ''] = /<img src="\/docs\/(assets\/docs-contact-sheet-[^"]+)"/.exec(read('index.html')) ?? []
    expect(files.get(picture)?.byteLength).toBeGreaterThan(100_000)
  })

  it('needs no inline script and no inline style', () => {
    for (const [path, html] of htmlFiles()) {
      expect([path, /<style|\sstyle=|\son\w+="|<script(?![^>]*\ssrc=)|javascript:/i.exec(html)?.[0]]).toEqual([
        path,
        undefined,
      ])
    }
  })

  it('loads nothing from other hosts', () => {
    const loading = /<(?:script|link|img)[^>]*\s(?:src|href)="(?!\/docs\/)[^"]*"/
    for (const [path, html] of htmlFiles()) expect([path, loading.exec(html)?.[0]]).toEqual([path, undefined])
  })

  it('draws diagrams, and leaves no Mermaid source', () => {
    const architecture = read('architecture.html')
    expect(architecture.match(/<figure class="diagram"/g)).toHaveLength(2)
    expect(architecture).toContain('Caller to api: HTTP')
    expect(architecture).not.toContain('flowchart LR')
  })

  it('links codes and events in texts to their pages', () => {
    expect(read('events.html')).toContain('<a href="/docs/events/task.succeeded"><code>task.succeeded</code></a>')
    expect(read('clients/typescript.html')).toContain('href="/docs/errors/CREDITS_INSUFFICIENT"')
  })

  it('can be searched by code, operation and text', () => {
    const [path = ''] = [...files.keys()].filter((name) => /^assets\/search-.*\.json$/.test(name))
    const sections = JSON.parse(read(path)) as { u: string; p: string; h: string; t: string }[]
    const urls = (matches: (section: (typeof sections)[number]) => boolean) =>
      sections.filter(matches).map(({ u }) => u)
    expect(urls(({ p }) => p === 'TASK_CANNOT_CANCEL')).toContain('/docs/errors/TASK_CANNOT_CANCEL')
    expect(urls(({ h }) => h === 'Create a task')).toContain('/docs/api/tasks#createTask')
    expect(urls(({ t }) => t.includes('TLS'))).not.toEqual([])
    expect(new Set(sections.map(({ u }) => u)).size).toBe(sections.length)
  })
})

describe('findBrokenLinks', () => {
  const page = (path: string, html: string): Page => ({ path, title: path, group: 'Guides', html, headings: [] })

  it('reports links to missing pages, anchors and pictures', () => {
    const pages = [
      page('a', '<h2 id="x">X</h2><a href="#x">x</a><a href="/docs/b#y">y</a><a href="https://example.com">e</a>'),
      page('b', '<h2 id="y">Y</h2><a href="/docs/c">c</a><a href="/docs/a#z">z</a><img src="/docs/assets/p.png">'),
    ]
    expect(findBrokenLinks(pages, new Set())).toEqual([
      '/docs/b: /docs/c',
      '/docs/b: /docs/a#z',
      '/docs/b: /docs/assets/p.png',
    ])
    expect(findBrokenLinks(pages, new Set(['/docs/assets/p.png']))).toHaveLength(2)
  })
})
