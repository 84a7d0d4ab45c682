import { nudgeListener } from '@matte/controller/operator/reconcile/nudge-listener'
import { type Bus, openBus } from '@matte/core/bus/bus'
import { consume } from '@matte/core/bus/consume'
import { createNudge } from '@matte/core/bus/nudge'
import { durables } from '@matte/core/bus/streams'
import type { Service } from '@matte/core/runtime/service'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { newPrefix, removeStreams } from '../support/nats.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })

describe('the listener to nudges', () => {
  const services: Service[] = []
  let bus: Bus
  let prefix: string
  beforeEach(async () => {
    prefix = newPrefix()
    bus = openBus({ url: inject('natsUrl'), prefix, name: 'test', logger })
    await bus.start()
    await until('the bus is connected', () => bus.connection())
  })
  afterEach(async () => {
    for (const service of services.splice(0).toReversed()) await service.stop()
    await bus.stop()
    await removeStreams(inject('natsUrl'), prefix)
  })

  /** Publishes until a nudge arrives: those before the subscription are lost. */
  const nudgeUntil = (heard: readonly string[], count: number) =>
    until('the nudge is heard', () => {
      createNudge(bus, logger).task('hq.v1', 'task')
      return heard.length >= count
    })

  it('hears nudges for a model while it leads, and takes them from no other listener', async () => {
    let leads = false
    const heard: string[] = []
    const pulled: string[] = []
    const consumer = consume({
      bus,
      durable: durables.taskNudges(prefix),
      logger,
      wake: ({ subject }) => void pulled.push(subject),
    })
    const listener = nudgeListener({ bus, leads: () => leads, wake: (version) => void heard.push(version) })
    services.push(consumer, listener)
    for (const service of services) await service.start()
    await nudgeUntil(pulled, 1)
    expect(heard).toEqual([])
    leads = true
    await nudgeUntil(heard, 1)
    expect(heard[0]).toBe('hq.v1')
    const before = pulled.length
    await nudgeUntil(pulled, before + 1)
  })

  it('continues after the connection was lost', async () => {
    const heard: string[] = []
    const listener = nudgeListener({ bus, leads: () => true, wake: (version) => void heard.push(version) })
    services.push(listener)
    await listener.start()
    await nudgeUntil(heard, 1)
    await bus.connection()?.close()
    const before = heard.length
    await nudgeUntil(heard, before + 1)
  })
})
