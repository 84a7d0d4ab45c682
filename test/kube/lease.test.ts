import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { leases } from '@matte/controller/operator/kube/client'
import { type Leadership, type LeadershipOptions, leadership } from '@matte/controller/operator/kube/leadership'
import type { Clock } from '@matte/core/runtime/clock'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildConfigMap, configMaps } from '../support/config-map.ts'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })
const cluster = await findCluster(import.meta.filename)
/** A third of the real times; a delay of seconds on a busy machine only costs a term. */
const times = { leaseDurationMs: 5_000, renewDeadlineMs: 3_500, retryMs: 400 }
const hourMs = 3_600_000

/** The real clock with an offset. */
function movedClock({ wallMs = 0 } = {}): Clock & { jump(ms: number): void } {
  let monotonicMs = 0
  return {
    monotonicMs: () => performance.now() + monotonicMs,
    nowMs: () => Date.now() + wallMs,
    jump: (ms) => {
      monotonicMs += ms
    },
  }
}

describe.skipIf(cluster === undefined)('the leadership', () => {
  const namespace = useNamespace(cluster)
  let proxy: FaultProxy
  let name = ''
  let count = 0
  const candidates: Leadership[] = []

  beforeEach(async () => {
    count += 1
    name = `lease-${count}`
    if (cluster) proxy = await startFaultProxy(cluster)
  })
  afterEach(async () => {
    await Promise.all(candidates.splice(0).map((candidate) => candidate.stop()))
    await proxy.close()
  })

  /** Starts a candidate; asserts that a new leader is the only one. */
  async function given(options: Partial<LeadershipOptions> & { through?: 'proxy' } = {}): Promise<Leadership> {
    const { kube, metrics } = namespace.client(options.through && proxy.config)
    const subject = leadership({ kube, name, logger, metrics, ...times, ...options })
    subject.onChange((leads) => {
      const leaders = candidates.filter((candidate) => candidate.isLeader())
      if (leads && leaders.length > 1) both.push(`${leaders.length} lead in term ${subject.term()}`)
    })
    candidates.push(subject)
    await subject.start()
    return subject
  }
  const both: string[] = []
  afterEach(() => {
    expect(both).toEqual([])
  })
  const untilLeads = (subject: Leadership) => until('the candidate leads', () => subject.isLeader())
  const readLease = () => namespace.kube().get(leases, name)

  it('belongs to one candidate, which confirms it in its own term', async () => {
    const first = await given()
    const second = await given()
    const leader = await until('one leads', () => candidates.find((candidate) => candidate.isLeader()))
    const other = leader === first ? second : first
    expect(await leader.confirm()).toEqual({ term: leader.term() })
    await expect(other.confirm()).rejects.toMatchObject({ name: 'NotLeaderError' })
    expect((await readLease())?.spec?.leaseTransitions).toBe(leader.term())
    expect(other.isLeader()).toBe(false)
  })

  it('moves to another candidate in a higher term after the holder has stopped renewing and leading', async () => {
    const holder = await given({ through: 'proxy' })
    await untilLeads(holder)
    const successor = await given()
    const { term } = await holder.confirm()
    const notified: boolean[] = []
    holder.onChange((leads) => notified.push(leads))
    let heldWhenTaken: boolean | undefined
    successor.onChange((leads) => {
      if (leads) heldWhenTaken ??= holder.isLeader()
    })
    proxy.silence()
    await untilLeads(successor)
    expect(heldWhenTaken).toBe(false)
    expect(notified).toContain(false)
    expect(successor.term()).toBeGreaterThan(term)
    await expect(holder.confirm()).rejects.toMatchObject({ name: 'NotLeaderError' })
  })

  it('is handed over at once by a stopping holder', async () => {
    // With these times a successor that had to wait would be too late.
    const slow = { leaseDurationMs: 600_000, renewDeadlineMs: 400_000, retryMs: 300 }
    const holder = await given(slow)
    await untilLeads(holder)
    const successor = await given(slow)
    const notified: boolean[] = []
    holder.onChange((leads) => notified.push(leads))
    await holder.stop()
    expect(notified).toEqual([false])
    expect(holder.isLeader()).toBe(false)
    await untilLeads(successor)
  })

  it('does not move if the clock of the holder or of another candidate is an hour off', async () => {
    // The holder may be late by nearly the whole duration, because a busy machine must not move the Lease either.
    const long = { leaseDurationMs: 8_000, renewDeadlineMs: 7_500, retryMs: 400 }
    for (const [holderMs, otherMs] of [
      [-hourMs, hourMs],
      [hourMs, -hourMs],
    ]) {
      name = `${name}-skewed`
      const holder = await given({ ...long, clock: movedClock({ wallMs: holderMs ?? 0 }) })
      await untilLeads(holder)
      const term = holder.term()
      const other = await given({ ...long, clock: movedClock({ wallMs: otherMs ?? 0 }) })
      const seen = new Set<string>()
      const begun = performance.now()
      await until('the holder has renewed for longer than a lease lasts', async () => {
        const lease = await readLease()
        seen.add(lease?.metadata.resourceVersion ?? '')
        return seen.size > 5 && performance.now() - begun > 1.2 * long.leaseDurationMs
      })
      expect(other.isLeader()).toBe(false)
      expect((await readLease())?.spec?.leaseTransitions).toBe(term)
      await holder.stop()
      await untilLeads(other)
      await other.stop()
    }
  })

  it('ends by the clock, before any other code runs', async () => {
    const clock = movedClock()
    const holder = await given({ clock })
    await untilLeads(holder)
    clock.jump(times.renewDeadlineMs)
    expect(holder.isLeader()).toBe(false)
    await expect(holder.confirm()).rejects.toMatchObject({ name: 'NotLeaderError' })
  })

  it('is acquired again in a higher term after it has expired', async () => {
    const clock = movedClock()
    const holder = await given({ clock })
    await untilLeads(holder)
    const term = holder.term()
    clock.jump(times.renewDeadlineMs)
    await untilLeads(holder)
    expect(holder.term()).toBeGreaterThan(term)
    await holder.confirm()
  })

  it('is not confirmed once another candidate has acquired the Lease, regardless of the clock', async () => {
    const holder = await given({ retryMs: 60_000, renewDeadlineMs: 200_000, leaseDurationMs: 300_000 })
    await untilLeads(holder)
    const lease = await readLease()
    const term = (lease?.spec?.leaseTransitions ?? 0) + 1
    const spec = { holderIdentity: 'somebody-else', leaseTransitions: term }
    await namespace.kube().mergePatch(leases, name, { spec })
    expect(holder.isLeader()).toBe(true)
    await expect(holder.confirm()).rejects.toMatchObject({ name: 'NotLeaderError' })
    // Ends before its next renewal, so no useless work begins.
    expect(holder.isLeader()).toBe(false)
  })

  it('survives a manual change of the Lease', async () => {
    const holder = await given()
    await untilLeads(holder)
    const term = holder.term()
    const { metadata } = await namespace.kube().mergePatch(leases, name, { metadata: { labels: { seen: 'yes' } } })
    await until('it is renewed', async () => {
      const lease = await readLease()
      return lease?.metadata.resourceVersion !== metadata.resourceVersion && lease?.metadata.labels?.seen === 'yes'
    })
    expect(await holder.confirm()).toEqual({ term })
  })

  it('never has the same term twice, even if the Lease is deleted', async () => {
    const holder = await given()
    await untilLeads(holder)
    const term = holder.term()
    await namespace.kube().delete(leases, name)
    await until('there is a lease again', async () => {
      const lease = await readLease()
      return lease?.spec?.holderIdentity && (await holder.confirm().catch(() => undefined))
    })
    expect(holder.term()).toBeGreaterThan(term)
  })

  it('rejects times that do not fit together', () => {
    const { kube, metrics } = namespace.client()
    const build = (own: Partial<typeof times>) => () => leadership({ kube, name, logger, metrics, ...times, ...own })
    expect(build({ leaseDurationMs: times.renewDeadlineMs })).toThrow(RangeError)
    expect(build({ retryMs: times.renewDeadlineMs / 2 })).toThrow(RangeError)
  })

  it('rejects writes of a stopped leader once its successor has written its fencing token', async () => {
    const target = await namespace.kube().create(configMaps, buildConfigMap('target', { value: 'nobody' }))
    const leader = startChild({ name, namespace: namespace.name(), target: 'target' })
    try {
      await leader.untilSaid('leading')
      leader.say('decide')
      await leader.untilSaid('confirmed')
      leader.child.kill('SIGSTOP')

      const successor = await given()
      await untilLeads(successor)
      const { term } = await successor.confirm()
      const { name: targetName, uid = '' } = target.metadata
      const { resourceVersion = '' } = (await namespace.kube().get(configMaps, targetName))?.metadata ?? {}
      const annotations = { 'matte.dev/leader-term': String(term) }
      const withToken = { name: targetName, uid, resourceVersion, annotations }
      await namespace.kube().apply(configMaps, { ...buildConfigMap(targetName, {}), metadata: withToken })

      leader.say('write')
      leader.child.kill('SIGCONT')
      expect(await leader.untilSaid('wrote')).toBe('wrote 409 leads false')
      expect((await namespace.kube().get(configMaps, targetName))?.data?.value).not.toBe('the stopped leader')
    } finally {
      leader.child.kill('SIGKILL')
    }
  })
})

type Child = { child: ChildProcess; say(line: string): void; untilSaid(word: string): Promise<string> }

function startChild(env: { name: string; namespace: string; target: string }): Child {
  const file = new URL('../support/stopped-leader.ts', import.meta.url)
  const child = spawn(process.execPath, [file.pathname], {
    env: { ...process.env, LEASE: env.name, NAMESPACE: env.namespace, TARGET: env.target },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const said: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line))
  return {
    child,
    say: (line) => void child.stdin.write(`${line}\n`),
    untilSaid: (word) => until(`the child says ${word}`, () => said.find((line) => line.startsWith(word))),
  }
}
