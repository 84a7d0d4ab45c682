import { slotReports } from '@matte/controller/operator/reconcile/observe/slot-reports'
import { reportSlots } from '@matte/controller/worker/report-slots'
import { type Bus, openBus } from '@matte/core/bus/bus'
import { subjects } from '@matte/core/bus/streams'
import type { Service } from '@matte/core/runtime/service'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { newPrefix, removeStreams } from '../support/nats.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })

describe('reports of requests in flight from workers to the operator', () => {
  const services: Service[] = []
  let bus: Bus
  let prefix: string
  let nowMs: number
  let reports: ReturnType<typeof slotReports>

  beforeEach(async () => {
    prefix = newPrefix()
    nowMs = 0
    bus = openBus({ url: inject('natsUrl'), prefix, name: 'test', logger })
    await bus.start()
    await until('the bus is connected', () => bus.connection())
    reports = slotReports(bus, { monotonicMs: () => nowMs })
    await start(reports)
  })
  afterEach(async () => {
    for (const service of services.splice(0).toReversed()) await service.stop()
    await bus.stop()
    await removeStreams(inject('natsUrl'), prefix)
  })

  async function start(service: Service): Promise<void> {
    services.push(service)
    await service.start()
  }

  async function startWorker(worker: string, slots: Map<string, number>): Promise<void> {
    await start(reportSlots({ bus, worker, slots: () => slots }))
  }

  const untilUsed = (address: string, used: number) =>
    until(`${address} has ${used}`, () => reports.slotsUsed(address) === used)

  it('are summed per pod over all workers', async () => {
    await startWorker(
      'one',
      new Map([
        ['pod-a:8001', 2],
        ['pod-b:8001', 1],
      ]),
    )
    await startWorker('two', new Map([['pod-a:8001', 3]]))
    await untilUsed('pod-a:8001', 5)
    await untilUsed('pod-b:8001', 1)
    expect(reports.slotsUsed('pod-c:8001')).toBe(0)
  })

  it('end with the last request', async () => {
    const slots = new Map([['pod-a:8001', 2]])
    await startWorker('one', slots)
    await untilUsed('pod-a:8001', 2)
    slots.clear()
    await untilUsed('pod-a:8001', 0)
  })

  it('from a stopped worker count for three seconds', async () => {
    await startWorker('one', new Map([['pod-a:8001', 2]]))
    await untilUsed('pod-a:8001', 2)
    await services.pop()?.stop()
    nowMs += 3_000
    expect(reports.slotsUsed('pod-a:8001')).toBe(2)
    nowMs += 1
    expect(reports.slotsUsed('pod-a:8001')).toBe(0)
  })

  it('that are malformed change nothing', async () => {
    const texts = [
      '',
      'null',
      '[]',
      '{"worker":1,"slots":{}}',
      '{"worker":"x"}',
      '{"worker":"x","slots":{"pod-a:8001":"9"}}',
    ]
    for (const text of texts) bus.connection()?.publish(subjects.slots(prefix), text)
    await startWorker('one', new Map([['pod-a:8001', 1]]))
    await untilUsed('pod-a:8001', 1)
  })
})
