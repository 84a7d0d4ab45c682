import { events } from '@matte/controller/operator/kube/client'
import { eventRecorder } from '@matte/controller/operator/kube/events'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { buildConfigMap, configMaps } from '../support/config-map.ts'
import { findCluster, useNamespace } from '../support/kube.ts'

const logger = pino({ level: 'silent' })
const cluster = await findCluster(import.meta.filename)

describe.skipIf(cluster === undefined)('Events', () => {
  const namespace = useNamespace(cluster)

  it('are listed at their object, once each, with a count', async () => {
    const object = await namespace.kube().create(configMaps, buildConfigMap('pool', {}))
    const { kube, metrics } = namespace.client()
    const recorder = eventRecorder({ kube, logger, metrics })
    for (let n = 0; n < 3; n += 1) {
      recorder.record(object, { type: 'Normal', reason: 'Scaled', message: 'Scaled from 1 to 3 pods.' })
    }
    recorder.record(object, { type: 'Warning', reason: 'QuotaRefused', message: 'x'.repeat(5_000) })
    await recorder.stop()
    const fieldSelector = `involvedObject.uid=${object.metadata.uid}`
    const { items } = await namespace.kube().list(events, { fieldSelector })
    const emitted = items.map(({ type, reason, count }) => ({ type, reason, count }))
    expect(emitted.sort((a, b) => a.reason.localeCompare(b.reason))).toEqual([
      { type: 'Warning', reason: 'QuotaRefused', count: 1 },
      { type: 'Normal', reason: 'Scaled', count: 3 },
    ])
  })
})
