// The documentation as the API serves it, and in a browser.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { rootDir } from '@matte/local/paths'
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
})
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
      expect(String(body)).toMatch(/^<!doctype html>/)
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
    const parts = [...html.matchAll(/(?:src|href|data-index)="(\/docs\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
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
      ...['/docs/assets/', '/docs/assets/..%5c..%5cpackage.json', '/docs/glossary%00', `/docs/${'a/'.repeat(2_000)}`],
    ]
    for (const path of paths) {
      const { status, body } = await ask(path)
      expect([path, status]).toEqual([path, 404])
      expect(String(body)).not.toMatch(/"name": "matte"|root:/)
    }
    const { headers, body } = await ask('/docs/no-such-page')
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(String(body)).toContain('Page not found')
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
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  afterAll(() => browser.close())

  async function openPage(colorScheme: 'light' | 'dark', width: number): Promise<Page> {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    onTestFinished(() => expect(complaints).toEqual([]))
    return page
  }

  it('finds the page of an error code by the keyboard alone', async () => {
    const page = await openPage('light', 1_280)
    await page.goto(`${world.api.url}/docs/`)
    await page.keyboard.press('/')
    await page.getByRole('combobox').fill('cannot cancel')
    await page.getByRole('option', { name: 'TASK_CANNOT_CANCEL' }).first().waitFor()
    await page.getByRole('combobox').fill('TASK_CANNOT_CANCEL')
    const chosen = page.getByRole('option', { selected: true })
    await chosen.filter({ hasText: 'TASK_CANNOT_CANCEL' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/errors\/TASK_CANNOT_CANCEL/)
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('TASK_CANNOT_CANCEL')
  })

  it('says so when nothing is found', async () => {
    const page = await openPage('light', 1_280)
    await page.goto(`${world.api.url}/docs/`)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('combobox').fill('zzzzqqqq')
    await page.getByText('Nothing found').waitFor()
    expect(await page.getByRole('option').count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
  })

  it('keeps the chosen language of examples, and the chosen theme', async () => {
    const page = await openPage('light', 1_280)
    await page.goto(`${world.api.url}/docs/api/tasks#createTask`)
    await page.getByRole('tab', { name: 'Python' }).first().click()
    await page.getByRole('button', { name: 'Dark theme' }).click()
    await page.goto(`${world.api.url}/docs/api/batches`)
    expect(await page.getByRole('tab', { name: 'Python' }).first().getAttribute('aria-selected')).toBe('true')
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
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
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Glossary' })
    expect(await link.isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Pages' }).click()
    await link.click()
    await page.waitForURL(/\/docs\/glossary$/)
  })

  // The themes differ in colours alone.
  it.each([
    ['light', '{}'],
    ['dark', "{ runOnly: ['color-contrast'] }"],
  ] as const)('has no accessibility finding in the %s theme', async (theme, rules) => {
    const page = await openPage(theme, 1_280)
    const findings: unknown[] = []
    for (const path of ['', 'api/usage', 'errors/TASK_CANNOT_CANCEL', 'events/task.failed', 'architecture']) {
      await page.goto(`${world.api.url}/docs/${path}`)
      findings.push(...(await findViolations(page, path, rules)))
    }
    await page.keyboard.press('/')
    await page.getByRole('combobox').fill('cannot cancel')
    await page.getByRole('option').first().waitFor()
    findings.push(...(await findViolations(page, 'search', rules)))
    expect(findings).toEqual([])
  })
})

type Violation = { readonly id: string; readonly nodes: readonly { readonly html: string }[] }

async function findViolations(page: Page, path: string, rules: string): Promise<unknown[]> {
  await page.evaluate(axe)
  const { violations } = (await page.evaluate(`axe.run(document, ${rules})`)) as { violations: readonly Violation[] }
  return violations.map(({ id, nodes }) => ({ path, id, nodes: nodes.slice(0, 3).map(({ html }) => html) }))
}
