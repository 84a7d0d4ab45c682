// Pages that are open while the service gets a newer console, whose parts have other names.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { findProblems } from './support/axe.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'
import { newBuildDir, replaceBuild } from './support/replace-build.ts'

const dir = newBuildDir()
const tolerates = [/status of 404/, /could not be loaded/, /Refused to apply style/]

describe.skipIf(!hasBrowser('upgrade.test.ts'))('a page that is open during an upgrade', () => {
  beforeAll(() => replaceBuild(dir, { mark: 'first' }))
  const console = useConsole({ CONSOLE_DIR: dir })

  let builds = 0
  const upgrade = (without?: RegExp): string => {
    builds++
    const mark = `build${builds}`
    replaceBuild(dir, { mark, ...(without !== undefined && { without }) })
    return mark
  }
  /** Documents that the page has loaded since. */
  const countLoads = (page: Page): (() => number) => {
    let count = 0
    page.on('load', () => count++)
    return () => count
  }
  const buildOf = async (page: Page): Promise<string> =>
    String(await page.evaluate(`document.querySelector('script[type="module"]').src`))
  const updated = (page: Page) => page.getByText('The console was updated. Some things')
  const open = async (page: Page, link: string, heading: string): Promise<void> => {
    await page.getByRole('link', { name: link, exact: true }).click()
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  }

  it('gets the newer console with the next page, at each upgrade', async () => {
    const page = await console.openSignedIn({ tolerates })
    const loads = countLoads(page)
    const next = upgrade()
    await open(page, 'Credits', 'Credits')
    await page.locator('dt', { hasText: /^Available$/ }).waitFor()
    expect(loads()).toBe(1)
    expect(await buildOf(page)).toContain(next)
    // Pages of this build are loaded as usual.
    await open(page, 'Team', 'Team')
    expect(loads()).toBe(1)

    const last = upgrade()
    await open(page, 'Usage', 'Usage')
    expect(loads()).toBe(2)
    expect(await buildOf(page)).toContain(last)
  })

  it('stays as it is, with a note, if only a part of it is missing', async () => {
    const page = await console.openSignedIn({ tolerates, reducedMotion: 'reduce' })
    await page.getByRole('button', { name: 'Cup of coffee' }).click()
    await page.getByText(/^Done in /).waitFor()
    await open(page, 'Gallery', 'Gallery')
    await page.getByRole('button', { name: 'Select all loaded' }).click()
    const loads = countLoads(page)
    const next = upgrade()
    await page.getByRole('button', { name: 'Download 1', exact: true }).click()
    await updated(page).waitFor()
    expect(await findProblems(page)).toEqual([])
    await page.getByRole('region', { name: '1 selected' }).waitFor()
    expect(loads()).toBe(0)
    await page.getByRole('status').getByRole('button', { name: 'Reload' }).press('Enter')
    await page.getByRole('button', { name: 'Select all loaded' }).waitFor()
    expect(await buildOf(page)).toContain(next)
    expect(await updated(page).count()).toBe(0)
  })

  it('asks before a reload that ends the session of a key', async () => {
    const { workspaceId } = await console.person()
    const key = generateApiKey()
    await insertApiKey(console.stack.db, key, { workspaceId, name: 'shop', scopes, expiresAt: null })
    const page = await console.open({ tolerates })
    await page.goto('/sign-in')
    await page.getByRole('tab', { name: 'API key' }).click()
    await page.getByLabel('API key', { exact: true }).last().fill(key.key)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'Signed in with an API key' }).waitFor()
    const loads = countLoads(page)
    upgrade()
    await open(page, 'Batches', 'The console was updated')
    await page.getByText('Then you sign in again, because your key is kept nowhere.').waitFor()
    expect(loads()).toBe(0)
    // Pages that are loaded already work as before.
    await open(page, 'Playground', 'Playground')
    await page.getByRole('button', { name: 'Signed in with an API key' }).waitFor()
  })

  it('reloads once while another pod answers with another build', async () => {
    const page = await console.openSignedIn({ tolerates })
    const loads = countLoads(page)
    const other = '<!doctype html><script type="module" src="/assets/index-other.js"></script>'
    await page.route(`${console.url}/`, (route) =>
      route.request().resourceType() === 'fetch'
        ? route.fulfill({ contentType: 'text/html', body: other })
        : route.continue(),
    )
    await page.route('**/assets/credits*.js', (route) => route.fulfill({ status: 404 }))
    await open(page, 'Credits', 'The console was updated')
    await updated(page).waitFor()
    expect(loads()).toBe(1)
  })

  it('reloads once and then shows the error, if the newer console lacks the page as well', async () => {
    const page = await console.openSignedIn({ tolerates })
    const loads = countLoads(page)
    upgrade(/^credits/)
    await open(page, 'Credits', 'This page failed')
    expect(loads()).toBe(1)
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('heading', { name: 'This page failed' }).waitFor()
    expect(loads()).toBe(2)
  })
})
