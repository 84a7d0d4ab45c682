import { existsSync } from 'node:fs'
import { reportSkip } from '@matte/test/support/report/skips.ts'
import { chromium } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundle } from './bundle.fixtures.ts'
import { png, result, startService } from './service.fixtures.ts'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'

const hasBrowser = existsSync(executablePath)
if (!hasBrowser)
  reportSkip({ matching: 'src/browser.test.ts', reason: `there is no ${executablePath}; $CHROMIUM names another` })

describe.skipIf(!hasBrowser)('a browser', () => {
  it('uploads a Blob with its progress, and downloads the result', async () => {
    const code = await bundle('*')
    const service = await startService(({ seen, response }) => {
      if (!/^\/(page|client\.js)$/.test(seen.path)) return false
      const type = seen.path === '/page' ? 'text/html' : 'text/javascript'
      response.writeHead(200, { 'content-type': type }).end(seen.path === '/page' ? '<!doctype html>' : code)
      return true
    })
    onTestFinished(() => service[Symbol.asyncDispose]())
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(`${service.origin}/page`)
    // 127.0.0.1 and localhost are two origins, so the requests need the consent of the service.
    const origin = service.origin.replace('127.0.0.1', 'localhost')
    const program = `(async () => {
      const { Matte } = await import('/client.js')
      const matte = new Matte({ apiKey: 'service_live_x', baseUrl: '${origin}/api/v1' })
      const states = []
      const onProgress = ({ state, loadedBytes }) => states.push([state, loadedBytes])
      const photo = new Blob([Uint8Array.from(${JSON.stringify([...png])})])
      const cutout = await matte.removeBackground(photo, { onProgress })
      const refusal = await matte.removeBackground('chair.png').catch(({ code }) => code)
      return { text: await (await cutout.blob()).text(), states, refusal }
    })()`
    const outcome = (await page.evaluate(program)) as { text: string; states: [string, number][]; refusal: string }
    expect(outcome.text).toBe(String(result))
    expect(outcome.refusal).toBe('CLIENT_INPUT')
    expect(outcome.states.filter(([state]) => state === 'uploading').at(-1)).toEqual(['uploading', png.length])
    const put = service.requests.find(({ method }) => method === 'PUT')
    expect(put?.body.equals(png)).toBe(true)
    expect(put?.headers).not.toHaveProperty('x-api-key')
  })
})
