import { describe, expect, it } from 'vitest'
import { byteBudget } from './byte-budget.ts'

const never = new Promise<never>(() => undefined)
const done = async (): Promise<string> => 'done'
const refusal = { code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'capacity' } }

describe('the budget of bytes', () => {
  it('gives one workspace half, except to its only request', async () => {
    const budget = byteBudget(100)
    void budget.use('a', 80, () => never)
    await expect(budget.use('a', 1, done)).rejects.toMatchObject(refusal)
    await expect(budget.use('b', 21, done)).rejects.toMatchObject(refusal)
    expect(await budget.use('b', 20, done)).toBe('done')
  })

  it('admits a request above it while there is no other', async () => {
    const budget = byteBudget(100)
    expect(await budget.use('a', 101, done)).toBe('done')
    void budget.use('a', 1, () => never)
    await expect(budget.use('b', 101, done)).rejects.toMatchObject(refusal)
  })

  it('returns bytes when the work ends or fails', async () => {
    const budget = byteBudget(100)
    expect(await budget.use('a', 100, done)).toBe('done')
    const failing = budget.use('a', 100, () => Promise.reject(new Error('no image')))
    await expect(failing).rejects.toThrow('no image')
    expect(await budget.use('b', 100, done)).toBe('done')
  })
})
