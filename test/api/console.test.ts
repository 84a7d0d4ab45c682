// Serving of the console: the page at its addresses, and the API's own answers everywhere else.
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { useApi } from './given.ts'

/** A small build, so these tests need none. */
const dir = mkdtempSync(join(tmpdir(), 'matte-console-'))
mkdirSync(join(dir, 'assets/static'), { recursive: true })
writeFileSync(join(dir, 'index.html'), '<!doctype html><meta name="matte-settings" content=""><p>console')
writeFileSync(join(dir, 'assets/index-0a1b2c3d.js'), 'console'.repeat(100))
writeFileSync(join(dir, 'assets/index-0a1b2c3d.js.br'), brotliCompressSync('console'.repeat(100)))
writeFileSync(join(dir, 'assets/static/icon.svg'), '<svg/>')
writeFileSync(join(dir, 'secret.txt'), 'secret')
afterAll(() => rmSync(dir, { recursive: true }))

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

describe('with a console', () => {
  const world = useApi({ CONSOLE_ENABLED: 'true', CONSOLE_DIR: dir })
  const get = (path: string, headers: Record<string, string> = html) =>
    fetch(`${world.api.url}${path}`, { headers, redirect: 'manual' })

  it.each(['/', '/gallery', '/tasks/1?page=2', '/sign-in'])('answers a browser at %s with the page', async (path) => {
    const response = await get(path)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await response.text()).toContain('<p>console')
  })

  it.each(['/api/v1/nothing', '/api', '/v1/nothing', '/assets/nothing.js', '/assets/%2e%2e%2fsecret.txt'])(
    'answers %s as without a console',
    async (path) => {
      const response = await get(path)
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ error: { code: 'NOT_FOUND' } })
    },
  )

  it('answers a program with JSON', async () => {
    const response = await get('/gallery', { accept: 'application/json' })
    expect(response.status).toBe(404)
    const post = await fetch(`${world.api.url}/gallery`, { method: 'POST', headers: html })
    expect(post.status).toBe(404)
  })

  it('forbids scripts and styles inside of the page, and other origins', async () => {
    const policy = (await get('/')).headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'self';")
    expect(policy).not.toMatch(/unsafe|\*/)
    expect(policy).toContain("frame-ancestors 'none'")
  })

  it('writes the settings into the page, escaped', async () => {
    const text = await (await get('/')).text()
    const [, content = ''] = /name="matte-settings" content="([^"]*)"/.exec(text) ?? []
    const settings = JSON.parse(content.replaceAll('&quot;', '"'))
    expect(settings).toMatchObject({ accounts: true, publicUrl: world.api.url, registration: 'open' })
  })

  it('lets a browser revalidate the page', async () => {
    const first = await get('/')
    expect(first.headers.get('cache-control')).toBe('no-cache')
    const again = await get('/gallery', { ...html, 'if-none-match': first.headers.get('etag') ?? '' })
    expect(again.status).toBe(304)
  })

  it('lets browsers keep files whose name has a hash', async () => {
    const script = await get('/assets/index-0a1b2c3d.js', { 'accept-encoding': 'gzip, br' })
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(script.headers.get('content-encoding')).toBe('br')
    expect(await script.text()).toBe('console'.repeat(100))
    const icon = await get('/assets/static/icon.svg')
    expect(icon.headers.get('cache-control')).toBe('no-cache')
    const etag = icon.headers.get('etag') ?? ''
    expect((await get('/assets/static/icon.svg', { 'if-none-match': etag })).status).toBe(304)
  })

  it.each(['identity', 'br;q=0', 'gzip'])('sends the file itself for the encodings %s', async (encoding) => {
    const script = await get('/assets/index-0a1b2c3d.js', { 'accept-encoding': encoding })
    expect(script.headers.get('content-encoding')).toBeNull()
    expect(await script.text()).toBe('console'.repeat(100))
  })

  it('leads from another name of the loopback to the one that links and cookies hold for', async () => {
    const port = new URL(world.api.url).port
    const response = await fetch(`http://localhost:${port}/gallery?page=2`, { headers: html, redirect: 'manual' })
    expect(response.status).toBe(302)
    expect(response.headers.get('location')).toBe(`${world.api.url}/gallery?page=2`)
  })
})

describe('without a console', () => {
  const world = useApi({ CONSOLE_ENABLED: 'false' })

  it.each(['/', '/assets/static/icon.svg'])('answers a browser at %s with NOT_FOUND', async (path) => {
    const response = await fetch(`${world.api.url}${path}`, { headers: html })
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })
})

describe('while the console is built', () => {
  const built = join(dir, 'built')
  const world = useApi({ CONSOLE_ENABLED: 'true', CONSOLE_DIR: built })
  const page = () => fetch(world.api.url, { headers: html })
  const script = (hash: string) => fetch(`${world.api.url}/assets/index-${hash}.js`)
  const build = (hash: string): void => {
    const next = join(dir, 'next')
    mkdirSync(join(next, 'assets'), { recursive: true })
    writeFileSync(join(next, 'index.html'), `<!doctype html><script src="/assets/index-${hash}.js"></script>`)
    writeFileSync(join(next, `assets/index-${hash}.js`), hash)
    rmSync(built, { recursive: true, force: true })
    renameSync(next, built)
  }

  it('says what to do first, then serves each build as a whole, without a restart', async () => {
    const before = await page()
    expect(before.status).toBe(503)
    expect(await before.text()).toContain('make console')
    for (const [hash, former] of [
      ['aaaaaaaa', undefined],
      ['bbbbbbbb', 'aaaaaaaa'],
    ] as const) {
      build(hash)
      expect(await (await page()).text()).toContain(hash)
      expect(await (await script(hash)).text()).toBe(hash)
      if (former !== undefined) expect((await script(former)).status).toBe(404)
    }
    rmSync(built, { recursive: true })
    // A build that is being replaced.
    expect((await page()).status).toBe(200)
  })
})
