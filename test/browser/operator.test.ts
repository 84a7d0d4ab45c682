// Pages of operators, opened with a link of matte-admin.
import { recordPool } from '@matte/core/pool/record-pool'
import { describe, expect, it } from 'vitest'
import { admin } from '../support/admin.ts'
import { poolRecordOf } from '../support/pool-records.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'

describe.skipIf(!hasBrowser('operator.test.ts'))('an operator', () => {
  const console = useConsole()
  const consoleLink = async (): Promise<string> =>
    String((await admin(['console-link'], { ...console.stack.env('api'), PUBLIC_URL: console.url })).url)

  it('opens pools and decisions with a link, which then opens nothing more', async () => {
    const sentence = '3 pods: 6.1 requests/s need 2.7.'
    const { db } = console.stack
    await recordPool(db, poolRecordOf({ decidedFrom: 2 }, { wanted: 3, sentence, numbers: { rate: 6.1 } }), 0)
    const link = await consoleLink()
    const page = await console.open()
    await page.goto(link)
    await page.getByRole('button', { name: 'Open the operators’ pages' }).click()
    await page.getByRole('link', { name: 'Pools' }).first().click()
    await page.getByRole('heading', { name: 'matte/default' }).waitFor()
    expect(page.url()).toBe(`${console.url}/operator/pools`)
    const decision = page.getByRole('listitem').filter({ hasText: '2 → 3' })
    await decision.getByText(sentence).waitFor()
    expect(await decision.textContent()).toContain('rate 6.1')

    const other = await console.open({ tolerates: [/status of 401/] })
    await other.goto(link)
    await other.getByRole('button', { name: 'Open the operators’ pages' }).click()
    expect(await other.getByRole('alert').textContent()).toContain('matte-admin console-link')
    expect(await other.getByRole('link', { name: 'Pools' }).count()).toBe(0)
  })

  it('ends the session by signing out', async () => {
    const page = await console.open({ tolerates: [/status of 401/] })
    await page.goto(await consoleLink())
    await page.getByRole('button', { name: 'Open the operators’ pages' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByRole('button', { name: 'Signed in as operator' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.goto('/operator/pools')
    await page.getByLabel('Operator token').waitFor()
  })
})
