// Chromium with a member's session, and a port for Lighthouse.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { chromiumPath } from '../../browser/support/chromium.ts'
import { freePorts } from '../../support/free-ports.ts'

type Account = { readonly email: string; readonly password: string }

export type Browser = { readonly port: number; close(): Promise<void> }

/** Lighthouse opens its tabs in the same profile, so they resume the session by its cookie. */
export async function openBrowser(origin: string, { email, password }: Account): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'matte-bench-chromium-'))
  const [port = 0] = await freePorts(1)
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath,
    args: ['--no-sandbox', `--remote-debugging-port=${port}`],
    locale: 'en-US',
  })
  const close = async (): Promise<void> => {
    await context.close()
    await rm(profile, { recursive: true, force: true })
  }
  try {
    const page = context.pages()[0] ?? (await context.newPage())
    await page.goto(`${origin}/sign-in`)
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: `Account of ${email}` }).waitFor()
    // The page would renew the session beside Lighthouse's.
    await page.goto('about:blank')
    return { port, close }
  } catch (error) {
    await close()
    throw error
  }
}
