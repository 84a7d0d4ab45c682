import { once } from 'node:events'
import pino from 'pino'
import { expect, it } from 'vitest'
import { dueParts } from './due-parts.ts'

it('ends a pass at its time limit even if more is due', async () => {
  const passed = Promise.withResolvers<void>()
  let rounds = 0
  const loop = dueParts({
    name: 'test',
    everyMs: 60_000,
    passMs: 1,
    parts: {
      endless: async ({ signal }) => {
        rounds += 1
        if (signal?.aborted === false) await once(signal, 'abort')
        return 1
      },
    },
    wake: passed.resolve,
    logger: pino({ level: 'silent' }),
  })
  await loop.start()
  await passed.promise
  await loop.stop()
  expect(rounds).toBe(1)
})
