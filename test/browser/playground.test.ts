// A photo becomes a cut-out, for a visitor who registers first.
import { describe, expect, it } from 'vitest'
import { newEmail } from '../support/app/sign-in/accounts.ts'
import { linkIn } from '../support/app/visitor/mailbox.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'

describe.skipIf(!hasBrowser('playground.test.ts'))('the playground', () => {
  const console = useConsole()

  it('cuts out a sample for a person who registered and opened the mail', async () => {
    const [email, password] = [newEmail(), 'seven umbrellas cross the pond']
    const page = await console.open()
    await page.goto('/sign-up')
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Check your mail' }).waitFor()

    const link = linkIn(await console.untilMail(email, 'Confirm your address'), 'Confirm address')
    expect(new URL(link).origin).toBe(console.url)
    await page.goto(link)
    expect(new URL(page.url()).search).toBe('')
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Verify and sign in' }).click()
    await page.getByRole('button', { name: `Account of ${email}` }).waitFor()

    await page.getByRole('button', { name: 'Cup of coffee' }).click()
    await page.getByText(/^Done in /).waitFor()
    const slider = page.getByRole('slider', { name: 'Share of the photo that is shown' })
    const cutOut = page.getByRole('img', { name: 'Cut-out' })
    const shown = async () => (await cutOut.locator('..').getAttribute('style')) ?? ''
    const before = await shown()
    await slider.press('End')
    expect(await slider.inputValue()).toBe('100')
    expect(await shown()).not.toBe(before)

    // The browser draws each kind of shadow, and the code names it.
    const result = page.getByRole('img', { name: /^coffee-cutout/ })
    const drawn = new Set([await result.getAttribute('src')])
    const choices = [
      ['Behind the subject', 'drop'],
      ['Under the subject', 'contact'],
      ['On the ground', 'cast'],
    ] as const
    for (const [choice, kind] of choices) {
      await page.getByRole('button', { name: /Shadow/ }).click()
      await page.getByRole('option', { name: choice }).click()
      await page.getByText(`--shadow ${kind}`).waitFor()
      await expect.poll(async () => drawn.has(await result.getAttribute('src')), { timeout: 20_000 }).toBe(false)
      drawn.add(await result.getAttribute('src'))
    }
    await page.getByText('Your browser draws a simple shadow.').waitFor()

    await page.getByRole('link', { name: 'Gallery' }).click()
    await page.getByRole('img', { name: 'Cut-out of coffee.webp' }).waitFor()
  })
})
