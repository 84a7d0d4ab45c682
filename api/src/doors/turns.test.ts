import { concurrencyReached } from '@matte/core/workspace/limit/single-slot'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import type { FastifyRequest } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createTurns } from './turns.ts'

const planLimits = planNamed(defaultPlans, 'pro')
const waitMs = 600_000

/** Turns whose slots are looked up when the test says so. */
function given(max?: number) {
  const looks: ((freed: { id: string } | undefined) => void)[] = []
  const turns = createTurns(
    {
      wait: (_id, { signal }) =>
        new Promise((resolve) => {
          looks.push(resolve)
          signal.addEventListener('abort', () => resolve(undefined), { once: true })
        }),
    },
    max,
  )
  const created: string[] = []
  /** Slots that are free; each task takes one. */
  const slots = { free: 0 }
  const ask = (name: string, { workspaceId = 'a', over = new AbortController().signal } = {}) => {
    const request = { caller: { workspaceId, planLimits }, holders: [workspaceId], releaseSlot: () => undefined }
    const create = async () => {
      if (slots.free === 0) throw concurrencyReached(planLimits)
      slots.free -= 1
      created.push(name)
      return name
    }
    return turns.take(request as unknown as FastifyRequest, { create, waitMs, over })
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const free = async (count: number) => {
    slots.free = count
    while (looks.length === 0) await turn()
    looks.shift()?.({ id: 'a' })
    await turn()
  }
  return { ask, free, turn, created, slots, looks }
}

describe('turns of a workspace', () => {
  it('go in the order of arrival, before a request that finds a slot free', async () => {
    const { ask, free, turn, created, slots } = given()
    const first = ask('first')
    await turn()
    slots.free = 1
    const second = ask('second')
    await turn()
    expect(created).toEqual([])
    await free(1)
    await free(1)
    expect(await Promise.all([first, second])).toEqual(['first', 'second'])
    expect(created).toEqual(['first', 'second'])
  })

  it('are not taken while a slot is free', async () => {
    const { ask, slots } = given()
    slots.free = 2
    expect(await Promise.all([ask('one'), ask('two')])).toEqual(['one', 'two'])
  })

  it('are kept when the slot goes to another request, with a pause before the next look', async () => {
    const { ask, free, turn, looks } = given()
    const asked = ask('one')
    await turn()
    await free(0)
    expect(looks).toEqual([])
    await free(1)
    expect(await asked).toBe('one')
  })

  it('end with the error of the limit, and pass to the next', async () => {
    const { ask, free, turn, looks } = given()
    const over = new AbortController()
    const first = ask('first', { over: over.signal })
    const second = ask('second')
    await turn()
    over.abort()
    await expect(first).rejects.toMatchObject({ code: 'TASK_CONCURRENT_LIMIT' })
    looks.shift() // of the first
    await free(1)
    expect(await second).toBe('second')
  })

  it('are a quarter of those of the process, and those of others stay free', async () => {
    const { ask, turn } = given(8)
    const over = new AbortController()
    const waiting = [ask('1', { over: over.signal }), ask('2', { over: over.signal })]
    await turn()
    await expect(ask('3')).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'capacity' } })
    waiting.push(ask('4', { workspaceId: 'b', over: over.signal }))
    await turn()
    over.abort()
    for (const each of waiting) await expect(each).rejects.toMatchObject({ code: 'TASK_CONCURRENT_LIMIT' })
  })
})
