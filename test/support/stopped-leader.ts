// A leader for tests that stop it between its check and its write. It prints each step and continues on request:
// `decide` reads the ConfigMap and confirms the lease, `write` applies the decision.
import { createInterface } from 'node:readline'
import { createKubeClient } from '@matte/controller/operator/kube/client'
import { loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import { createKubeMetrics } from '@matte/controller/operator/kube/kube-metrics'
import { leadership } from '@matte/controller/operator/kube/leadership'
import { fieldManager } from '@matte/controller/operator/pool/labels'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { pino } from 'pino'
import { buildConfigMap, configMaps } from './config-map.ts'

const { LEASE: name = '', NAMESPACE: namespace = '', TARGET: target = '' } = process.env
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const loaded = await loadKubeConfig()
if (loaded === undefined) throw new Error('there is no cluster')
const logger = pino({ level: 'silent' })
const metrics = createKubeMetrics(createRegistry('test'))
const kube = createKubeClient({ config: loaded.config, namespace, fieldManager, metrics, logger })
const times = { leaseDurationMs: 5_000, renewDeadlineMs: 3_500, retryMs: 400 }
const lead = leadership({ kube, name, logger, metrics, ...times })
lead.onChange((leads) => {
  if (leads) say('leading')
})
await lead.start()

let decidedOn: { name: string; resourceVersion: string; uid: string } | undefined
for await (const order of createInterface({ input: process.stdin })) {
  if (order === 'decide') {
    const { resourceVersion = '', uid = '' } = (await kube.get(configMaps, target))?.metadata ?? {}
    decidedOn = { name: target, resourceVersion, uid }
    await lead.confirm()
    say('confirmed')
  } else if (decidedOn !== undefined) {
    const object = { ...buildConfigMap(target, { value: 'the stopped leader' }), metadata: decidedOn }
    const outcome = await kube.apply(configMaps, object).then(
      () => 'went through',
      (error: { status?: number }) => String(error.status),
    )
    say(`wrote ${outcome} leads ${lead.isLeader()}`)
  }
}
// The test program has exited.
process.exit()
