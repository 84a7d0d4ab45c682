// The documentation as the API serves it, and in a browser.
import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { searchOptions } from '@matte/docs-site/search-options'
import { rootDir } from '@matte/local/paths'
import MiniSearch from 'minisearch'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startApi } from '../support/api.ts'
import { reportSkip } from '../support/report/skips.ts'
import { useApi } from './given.ts'

const docsDir = mkdtempSync(join(tmpdir(), 'matte-docs-'))
const origin = 'https://app.example.com'

// Before useApi: the API lists the files at start.
beforeAll(async () => {
  await promisify(execFile)(process.execPath, [join(rootDir, 'docs/site/build.ts'), '--out', docsDir])
}, 600_000)
afterAll(() => rmSync(docsDir, { recursive: true, force: true }))

const world = useApi({ DOCS_DIR: docsDir, CORS_ALLOWED_ORIGINS: origin })

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

/** Sends the path as it is: fetch would resolve `..`. */
const ask = (
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  url = world.api.url,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const sent = request({ hostname, port, path, method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })

describe('/docs', () => {
  it('serves pages under a policy that allows only its own files', async () => {
    for (const path of ['/docs/', '/docs/errors/NOT_FOUND', '/docs/events/task.succeeded', '/docs/api/tasks']) {
      const { status, headers, body } = await ask(path)
      expect([path, status, headers['content-type']]).toEqual([path, 200, 'text/html; charset=utf-8'])
      expect(headers['content-security-policy']).toMatch(/^default-src 'self'; /)
      expect(headers['content-security-policy']).not.toMatch(/unsafe|http/)
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['cache-control']).toBe('no-cache')
      expect(String(body)).toMatch(/^<!doctype html>/i)
    }
  })

  it('redirects the former address, and addresses that lack or have a slash', async () => {
    for (const [path, location] of [
      ['/docs', '/docs/'],
      ['/api/v1/docs', '/docs/'],
      ['/api/v1/docs/', '/docs/'],
      ['/docs/errors/', '/docs/errors'],
    ] as const) {
      const { status, headers } = await ask(path)
      expect([path, status, headers.location]).toEqual([path, 308, location])
    }
  })

  it('sends the variant that the client accepts, with its own ETag', async () => {
    const identity = await ask('/docs/')
    const brotli = await ask('/docs/', { 'accept-encoding': 'gzip, deflate, br' })
    const gzip = await ask('/docs/', { 'accept-encoding': 'gzip;q=1, br;q=0' })
    expect([identity, brotli, gzip].map(({ headers }) => headers['content-encoding'])).toEqual([
      undefined,
      'br',
      'gzip',
    ])
    expect(brotliDecompressSync(brotli.body)).toEqual(identity.body)
    expect(gunzipSync(gzip.body)).toEqual(identity.body)
    for (const { headers, body } of [identity, brotli, gzip]) {
      expect(Number(headers['content-length'])).toBe(body.byteLength)
      expect(headers.vary).toBe('Origin, Accept-Encoding')
    }
    expect(new Set([identity, brotli, gzip].map(({ headers }) => headers.etag)).size).toBe(3)
  })

  it('answers 304 to a known ETag, and HEAD without a body', async () => {
    const first = await ask('/docs/glossary')
    const known = await ask('/docs/glossary', { 'if-none-match': `"other", W/${first.headers.etag}` })
    expect([known.status, known.body.byteLength, known.headers.etag]).toEqual([304, 0, first.headers.etag])
    expect((await ask('/docs/glossary', { 'if-none-match': '"other"' })).status).toBe(200)
    const head = await ask('/docs/glossary', {}, 'HEAD')
    expect([head.status, head.body.byteLength]).toEqual([200, 0])
    expect(head.headers['content-length']).toBe(first.headers['content-length'])
  })

  it('lets browsers keep files with a hash in their name', async () => {
    const html = String((await ask('/docs/')).body)
    const parts = [...html.matchAll(/(?:src|href)="(\/docs\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(parts.length).toBeGreaterThanOrEqual(6)
    for (const part of parts) {
      const { status, headers } = await ask(part)
      expect([part, status, headers['cache-control']]).toEqual([part, 200, 'public, max-age=31536000, immutable'])
    }
  })

  it('serves nothing but its pages, whatever the path', async () => {
    const paths = [
      ...['/docs/../package.json', '/docs/..%2fpackage.json', '/docs/%2e%2e/%2e%2e/etc/passwd', '/docs//etc/passwd'],
      ...['/docs/index.html', '/docs/index', '/docs/glossary.html', '/docs/glossary.html.br', '/docs/__proto__'],
      ...['/docs/.packages', '/docs/glossary.md.br'],
      ...['/docs/assets/', '/docs/assets/..%5c..%5cpackage.json', '/docs/glossary%00', `/docs/${'a/'.repeat(2_000)}`],
    ]
    for (const path of paths) {
      const { status, body } = await ask(path)
      expect([path, status]).toEqual([path, 404])
      expect(String(body)).not.toMatch(/"name": "matte"|root:/)
    }
    const { headers, body } = await ask('/docs/no-such-page')
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(String(body)).toContain('<title>404 | Matte</title>')
    const post = await ask('/docs/', {}, 'POST')
    expect([post.status, post.headers.allow]).toEqual([404, 'GET, HEAD'])
  })

  it('says how to build it when it is not built', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, DOCS_DIR: join(docsDir, 'missing') })
    onTestFinished(() => api.stop())
    const { status, body } = await ask('/docs/', {}, 'GET', api.url)
    expect(status).toBe(404)
    expect(String(body)).toContain('make docs')
  })
})

/** Each page that has ever been served, one a line. A page that moves leaves a page at its former address. */
const addresses = readFileSync(join(rootDir, 'test/fixtures/docs-addresses.txt'), 'utf8').trim().split('\n')

describe('the pages', () => {
  it('still answer at every former address', async () => {
    expect(addresses.length).toBeGreaterThan(160)
    for (const address of addresses) {
      const { status, headers } = await ask(address)
      expect([address, status, headers['content-type']]).toEqual([address, 200, 'text/html; charset=utf-8'])
    }
  })

  it('are there as Markdown, which llms.txt lists and whose links lead to Markdown', async () => {
    const { headers, body } = await ask('/docs/llms.txt')
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
    const listed = [...String(body).matchAll(/\]\((\/docs\/[^)]+)\)/g)].map(([, path = '']) => path)
    expect(new Set(listed)).toEqual(
      new Set(
        globSync('**/*.html', { cwd: docsDir, exclude: ['404.html'] }).map((file) => `/docs/${markdownOf(file)}`),
      ),
    )
    for (const path of listed) {
      const page = await ask(path)
      expect([path, page.status, page.headers['content-type']]).toEqual([path, 200, 'text/markdown; charset=utf-8'])
      const text = String(page.body).replaceAll(/^```[\s\S]*?^```/gm, '')
      const links = [...text.matchAll(/\]\((\.[^)#\s]+)/g)].map(
        ([, link = '']) => new URL(link, `http://x${path}`).pathname,
      )
      for (const link of new Set(links)) expect([path, link, (await ask(link)).status]).toEqual([path, link, 200])
    }
  })

  it('link to pages, headings and pictures that exist', () => {
    const pages = readPages()
    const broken = [...pages].flatMap(([address, { html }]) =>
      [...html.matchAll(/\s(?:href|src)="([^"]+)"/g)].flatMap(([, link = '']) => {
        const { origin: host, pathname, hash } = new URL(link, `http://x${address}`)
        if (host !== 'http://x' || !pathname.startsWith('/docs/')) return []
        const target = pages.get(pathname)
        const exists = target ? hash === '' || target.ids.has(decodeURIComponent(hash.slice(1))) : isFile(pathname)
        return exists ? [] : [`${address}: ${link}`]
      }),
    )
    expect(broken).toEqual([])
  })

  it('have no inline script and no inline style, and load nothing from other hosts', () => {
    for (const [address, { html }] of readPages()) {
      const inline = /<style|\sstyle=|\son\w+="|<script(?![^>]*\ssrc=)|javascript:/i.exec(html)?.[0]
      const loading = /<(?:script|link|img)[^>]*\s(?:src|href)="(?!\/docs\/)[^"]*"/.exec(html)?.[0]
      expect([address, inline, loading]).toEqual([address, undefined, undefined])
    }
  })
})

const markdownOf = (file: string): string => file.replace(/\.html$/, '.md')

const isFile = (pathname: string): boolean => existsSync(join(docsDir, pathname.slice('/docs/'.length)))

type BuiltPage = { readonly html: string; readonly ids: ReadonlySet<string> }

const readPages = (): ReadonlyMap<string, BuiltPage> =>
  new Map(
    globSync('**/*.html', { cwd: docsDir }).map((file) => {
      const html = readFileSync(join(docsDir, file), 'utf8')
      const ids = new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id))
      return [`/docs/${file.replace(/\.html$/, '').replace(/^index$/, '')}`, { html, ids }]
    }),
  )

/** Queries whose first result is a part of one page. */
const firstAnswers: readonly (readonly [query: string, page: string])[] = [
  ['delete my image', 'what-we-keep'],
  ['how long are images kept', 'what-we-keep'],
  ['GDPR', 'what-we-keep'],
  ['remove.bg', 'leaving-remove-bg'],
  ['migrate from remove.bg', 'leaving-remove-bg'],
  ['shadow', 'shadows'],
]

/** Queries of new users. A page that answers each is among its first five results. */
const queries: readonly (readonly [query: string, answer: RegExp])[] = [
  ['white JPEG', /cookbook|api\/tasks#createTask/],
  ['crop', /cookbook|api\/tasks#createTask/],
  ['bulk', /cookbook|api\/batches/],
  ['10000 photos', /cookbook|many-photos|api\/batches|app#/],
  ['HEIC', /cookbook|TASK_FORMAT_NOT_SUPPORTED/],
  ['quick start', /local#/],
  ['getting started', /local#/],
  ['EXIF', /contract#tasks/],
  ['limits', /cookbook|RATE_LIMIT_EXCEEDED|limits/],
  ['rate limit', /cookbook|RATE_LIMIT_EXCEEDED/],
  ['429', /RATE_LIMIT_EXCEEDED/],
  ['cost', /cookbook|api\/(payments|credits)/],
  ['price', /cookbook|api\/(payments|credits)/],
  ['who pays if it fails', /cookbook|payments|contract/],
  ['remove background', /cookbook|clients\/cli#cut|app#/],
  ['cut-out', /cookbook|clients\/cli#cut|app#/],
  ['background colour', /cookbook|app#4-a-removed-background|doors|api\/tasks#createTask/],
  ['transparent PNG', /cookbook|clients\/cli#cut/],
  ['resolution', /TASK_FILE_SIZE_EXCEEDED/],
  ['rembg', /doors|leaving/],
  ['webhook signature', /webhooks/],
  ['verify webhook', /webhooks#verify/],
  ['retry a failed task', /api\/tasks#retryTask/],
  ['idempotency', /clients\/typescript#retries|errors\/CONFLICT/],
  ['API key', /errors\/API_KEY|developer-centre/],
  ['rotate key', /cookbook|operations\/(rotate|people)/],
  ['CORS', /clients\/typescript#browsers/],
  ['Python', /clients\/python/],
  ['TypeScript', /clients\/typescript/],
  ['command line', /clients\/cli/],
  ['GPU', /cookbook|on-a-gpu/],
  ['own model', /cookbook|models#add-a-model/],
  ['proxy', /cookbook|headers|poolers|MatteWebhooksFailing/],
  ['install on Kubernetes', /#on-kubernetes|chart/],
  ['upgrade', /operations\/upgrade/],
  ['backup', /operations\/backup/],
  ['refund', /refund/i],
  ['two-factor', /two-factor-login/],
]

describe('the search', () => {
  let index: MiniSearch
  beforeAll(async () => {
    const [file = ''] = globSync('assets/chunks/@localSearchIndexroot.*.js', { cwd: docsDir })
    const built = (await import(pathToFileURL(join(docsDir, file)).href)) as { readonly default: string }
    index = MiniSearch.loadJSON(built.default, {
      fields: ['title', 'titles', 'text'],
      storeFields: ['title', 'titles'],
      searchOptions,
    })
  })
  const find = (query: string): string[] => index.search(query).map(({ id }) => String(id))

  it.each(queries)('answers "%s"', (query, answer) => {
    const found = find(query)
    expect(found.slice(0, 5).filter((id) => answer.test(id))).not.toEqual([])
    for (const id of found) expect(id).toMatch(/^\/docs\//)
  })

  it.each(firstAnswers)('answers "%s" first with the page %s', (query, page) => {
    expect(find(query)[0]?.split('#')[0]).toBe(`/docs/${page}`)
  })

  it('finds any of the words, and the words that mean the same', () => {
    expect(find('cancel zzzzqqqq')).toEqual(find('cancel'))
    expect(find('zzzzqqqq')).toEqual([])
    expect(find('bulk')).toEqual(find('batch'))
    expect(find('price')).toEqual(find('cost'))
    expect(find('remove background')[0]).toBe(find('cut-out')[0])
  })

  it('ranks titles before texts, and guides before other pages', () => {
    expect(find('glossary')[0]).toMatch(/^\/docs\/glossary/)
    const own = new MiniSearch({ fields: ['title', 'titles', 'text'], searchOptions })
    own.addAll([
      { id: '/docs/models', title: 'White', titles: [], text: '' },
      { id: '/docs/cookbook/white', title: 'White', titles: [], text: '' },
      { id: '/docs/quality', title: 'Quality', titles: [], text: 'white' },
    ])
    expect(own.search('white').map(({ id }) => id)).toEqual(['/docs/cookbook/white', '/docs/models', '/docs/quality'])
  })
})

describe('an error response', () => {
  it('links to the page of its code, for pages of other origins too', async () => {
    const { headers, body } = await ask('/api/v1/open/developer/tasks', { origin })
    expect(JSON.parse(String(body))).toEqual({
      request_id: expect.any(String),
      error: { code: 'API_KEY_MISSING', message: expect.any(String), details: {} },
    })
    expect(headers.link).toBe('</docs/errors/API_KEY_MISSING>; rel="help"')
    expect(headers['access-control-expose-headers']).toContain('Link')
    const [, page = ''] = /^<([^>]+)>/.exec(String(headers.link)) ?? []
    expect((await ask(page)).status).toBe(200)
  })

  it('keeps the link to the successor of a deprecated path', async () => {
    const { headers } = await ask('/v1/tasks')
    expect(headers.link).toBe(
      `<${world.api.url}/api/v1/open/developer/tasks>; rel="successor-version", </docs/errors/API_KEY_MISSING>; rel="help"`,
    )
  })
})

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const hasBrowser = existsSync(executablePath)
if (!hasBrowser)
  reportSkip({
    matching: 'the documentation in a browser',
    reason: `there is no ${executablePath}; $CHROMIUM names another`,
  })

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

describe.skipIf(!hasBrowser)('the documentation in a browser', () => {
  let browser: Browser
  let complaints: string[]
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  afterAll(() => browser.close())

  async function openPage(colorScheme: 'light' | 'dark', width: number): Promise<Page> {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    complaints = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    onTestFinished(() => expect(complaints).toEqual([]))
    return page
  }

  it('finds the page of an error code by the keyboard alone', async () => {
    const page = await openPage('light', 1_280)
    await page.goto(`${world.api.url}/docs/`, { waitUntil: 'networkidle' })
    await page.keyboard.press('/')
    await page.getByRole('searchbox').fill('TASK_CANNOT_CANCEL')
    await page.getByRole('option', { selected: true }).filter({ hasText: 'TASK_CANNOT_CANCEL' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/errors\/TASK_CANNOT_CANCEL/)
    await page.getByRole('heading', { level: 1, name: 'TASK_CANNOT_CANCEL' }).waitFor()
  })

  it('finds the words that mean the same, and says so when nothing is found', async () => {
    const page = await openPage('light', 1_280)
    await page.goto(`${world.api.url}/docs/`)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill('bulk')
    await page.getByRole('option').filter({ hasText: 'Batches' }).first().waitFor()
    await page.getByRole('searchbox').fill('zzzzqqqq')
    await page.getByText('No results for').waitFor()
    expect(await page.getByRole('option').count()).toBe(0)
  })

  it('keeps the chosen language of examples, and the chosen theme', async () => {
    const page = await openPage('light', 1_280)
    await page.goto(`${world.api.url}/docs/api/tasks#createTask`)
    await page.getByText('Python', { exact: true }).locator('visible=true').first().click()
    await page.getByRole('switch').first().click()
    await page.goto(`${world.api.url}/docs/api/batches`)
    await page.locator('.vp-code-group .active.language-python').first().waitFor()
    await page.locator('html.dark').waitFor()
  })

  it('has a menu on a narrow screen, without a page that scrolls sideways', async () => {
    const page = await openPage('dark', 375)
    for (const path of ['', 'api/tasks', 'errors/INVALID_PARAMS', 'metrics', 'architecture']) {
      await page.goto(`${world.api.url}/docs/${path}`)
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      expect([path, overflow]).toEqual([path, 0])
    }
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Glossary', exact: true }).click()
    await page.waitForURL(/\/docs\/glossary$/)
  })

  it('says that a page does not exist', async () => {
    const page = await openPage('light', 900)
    await page.goto(`${world.api.url}/docs/no-such-page`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    complaints.length = 0
  })

  // The themes differ in colours alone.
  it.each([
    // In the search, VitePress's options are links too.
    ['light', '{}', "{ rules: { 'nested-interactive': { enabled: false } } }"],
    ['dark', "{ runOnly: ['color-contrast'] }", "{ runOnly: ['color-contrast'] }"],
  ] as const)('has no accessibility finding in the %s theme', async (theme, rules, inSearch) => {
    const page = await openPage(theme, 1_280)
    const findings: unknown[] = []
    for (const path of ['', 'api/usage', 'errors/TASK_CANNOT_CANCEL', 'events/task.failed', 'architecture']) {
      await page.goto(`${world.api.url}/docs/${path}`, { waitUntil: 'networkidle' })
      findings.push(...(await findViolations(page, path, rules)))
    }
    await page.keyboard.press('/')
    await page.getByRole('searchbox').fill('cannot cancel')
    await page.getByRole('option').first().waitFor()
    findings.push(...(await findViolations(page, 'search', inSearch)))
    expect(findings).toEqual([])
  })
})

type Violation = { readonly id: string; readonly nodes: readonly { readonly html: string }[] }

async function findViolations(page: Page, path: string, rules: string): Promise<unknown[]> {
  await page.evaluate(axe)
  const { violations } = (await page.evaluate(`axe.run(document, ${rules})`)) as { violations: readonly Violation[] }
  return violations.map(({ id, nodes }) => ({ path, id, nodes: nodes.slice(0, 3).map(({ html }) => html) }))
}
