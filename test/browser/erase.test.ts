// Erasing images on the page of a task and for a selection, and the retention of a workspace.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { describe, expect, it } from 'vitest'
import type { Person } from '../support/app/people.ts'
import { createClient } from '../support/client.ts'
import { photo } from '../support/photos.ts'
import { untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'

describe.skipIf(!hasBrowser('erase.test.ts'))('a person', () => {
  const console = useConsole()

  /** Ids of two cut-outs with names. */
  async function givenCutOuts({ workspaceId }: Person): Promise<string[]> {
    const key = generateApiKey()
    await insertApiKey(console.stack.db, key, { workspaceId, name: 'shop', scopes, expiresAt: null })
    const client = createClient(console.url, key.key)
    const ids: string[] = []
    for (const fileName of ['secret-one.png', 'secret-two.png']) {
      const { id } = await client.createTask({ imageUrl: await client.upload(photo('coffee.png'), { fileName }) })
      ids.push((await untilStatus(client, id, 'succeeded')).id)
    }
    return ids
  }

  it('erases the images of a task, and then those of a selection', async () => {
    const someone = await console.person()
    const [first = ''] = await givenCutOuts(someone)
    const page = await console.openSignedIn({ person: someone })
    await page.goto(`/tasks/${first}`)
    await page.getByRole('heading', { name: 'secret-one.png' }).waitFor()
    await page.getByRole('button', { name: 'Erase images' }).click()
    const asked = page.getByRole('alertdialog', { name: 'Erase the images of this task?' })
    await asked.getByRole('button', { name: 'Erase images' }).click()
    await page.getByText(/^The images were erased on /).waitFor()
    await page.getByRole('heading', { name: 'Images erased' }).waitFor()
    await page.getByText('The photo is no longer stored.').waitFor()
    expect(await page.getByRole('button', { name: /Download|Erase images/ }).count()).toBe(0)
    expect(await page.content()).not.toContain('secret-one')

    await page.goto('/gallery')
    await page.getByRole('gridcell').filter({ hasText: 'Images erased' }).waitFor()
    await page.getByRole('button', { name: 'Select all loaded' }).click()
    await page.getByRole('button', { name: 'Erase images of 1' }).click()
    const all = page.getByRole('alertdialog', { name: 'Erase the images of 1 task?' })
    await all.getByRole('button', { name: 'Erase images of 1' }).click()
    await page.getByText('Images erased: 1').waitFor()
    await until('nothing is stored', async () => (await console.stack.bucket.keys()).length === 0)
    expect(await page.content()).not.toContain('secret-two')
  })

  it.each([
    {
      locale: 'en',
      erase: 'Erase images',
      title: 'Erase the images of this task?',
      gone: /^The images were erased on/,
    },
    {
      locale: 'de',
      erase: 'Bilder löschen',
      title: 'Die Bilder dieser Aufgabe löschen?',
      gone: /^Die Bilder wurden am/,
    },
  ])('is asked before images are erased, in $locale', async ({ locale, erase, title, gone }) => {
    const someone = await console.person()
    const [, second = ''] = await givenCutOuts(someone)
    const page = await console.openSignedIn({ person: someone })
    await page.evaluate(`localStorage.setItem('matte-locale', '${locale}')`)
    await page.goto(`/tasks/${second}`)
    await page.getByRole('button', { name: erase }).click()
    await page.getByRole('alertdialog', { name: title }).waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByText(gone).count()).toBe(0)
    await page.getByRole('button', { name: erase }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: erase }).click()
    await page.getByText(gone).waitFor()
  })

  it.each([
    {
      ...{ locale: 'en', label: 'Keep finished tasks with their images for', choice: '10 minutes' },
      ...{ save: 'Save retention', saved: 'Saved.' },
    },
    {
      ...{ locale: 'de', label: 'Beendete Aufgaben mit ihren Bildern aufbewahren für', choice: '10 Minuten' },
      ...{ save: 'Aufbewahrung speichern', saved: 'Gespeichert.' },
    },
  ])('chooses how long the workspace keeps tasks, in $locale', async ({ locale, label, choice, save, saved }) => {
    const someone = await console.person()
    const page = await console.openSignedIn({ person: someone })
    await page.evaluate(`localStorage.setItem('matte-locale', '${locale}')`)
    await page.goto('/team')
    await page.getByRole('button', { name: new RegExp(label) }).click()
    await page.getByRole('option', { name: choice, exact: true }).click()
    await page.getByRole('button', { name: save }).click()
    await page.getByText(saved).waitFor()
    const { data } = await someone.client.call<object>('GET', '/tasks/retention')
    expect(data).toMatchObject({ retention: 600, effective: 600 })
  })
})
