import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { KubeClient } from './client.ts'
import { cutText, type EventRecorderOptions, eventRecorder } from './events.ts'
import { KubeError } from './http/kube-error.ts'
import { createKubeMetrics } from './kube-metrics.ts'
import type { Event, KubeObject } from './objects.ts'

const logger = pino({ level: 'silent' })
const object: KubeObject = {
  apiVersion: 'example.dev/v1',
  kind: 'Example',
  metadata: { name: 'fast', uid: 'u1', resourceVersion: '7' },
}
const scaled = { type: 'Normal', reason: 'Scaled', message: 'Scaled from 1 to 3 pods.' } as const

/** A recorder in front of an API server that keeps Events; `answer` may refuse. */
function given(options: Partial<EventRecorderOptions> & { answer?: () => Promise<void> } = {}) {
  const kept = new Map<string, Event>()
  let now = 0
  const answer = options.answer ?? (async () => undefined)
  const clientOf = (namespace: string) => ({
    namespace,
    in: clientOf,
    fieldManager: 'the-controller',
    create: async (_: unknown, event: Event) => {
      await answer()
      kept.set(event.metadata.name, event)
      return event
    },
    mergePatch: async (_: unknown, name: string, patch: Partial<Event>) => {
      await answer()
      const event = kept.get(name)
      if (event === undefined) throw new KubeError(404, 'NotFound', 'no such Event')
      kept.set(name, { ...event, ...patch })
    },
  })
  const kube = clientOf('default') as unknown as KubeClient
  const metrics = createKubeMetrics(new Registry())
  const clock = { monotonicMs: () => now, nowMs: () => Date.UTC(2026, 0, 1) + now }
  const subject = eventRecorder({ kube, logger, metrics, clock, ...options })
  return {
    subject,
    kept,
    all: () => [...kept.values()],
    pass: (ms: number) => {
      now += ms
    },
    /** Waits until all recorded Events are written. */
    written: async () => {
      for (let n = 0; n < 2_000; n += 1) await Promise.resolve()
    },
    outcomes: async () =>
      Object.fromEntries((await metrics.events.get()).values.map(({ labels, value }) => [labels.outcome, value])),
  }
}

describe('the recorder of Events', () => {
  it('writes an Event about the object', async () => {
    const { subject, all } = given()
    subject.record(object, scaled)
    await subject.stop()
    expect(all()).toMatchObject([
      {
        metadata: { name: expect.stringMatching(/^fast\.[0-9a-f]{16}$/), namespace: 'default' },
        involvedObject: { apiVersion: 'example.dev/v1', kind: 'Example', name: 'fast', uid: 'u1' },
        type: 'Normal',
        reason: 'Scaled',
        message: 'Scaled from 1 to 3 pods.',
        source: { component: 'the-controller' },
        firstTimestamp: '2026-01-01T00:00:00Z',
        count: 1,
      },
    ])
  })

  it('writes it into the namespace of its object', async () => {
    const { subject, all } = given()
    subject.record({ ...object, metadata: { ...object.metadata, namespace: 'team' } }, scaled)
    await subject.stop()
    expect(all()).toMatchObject([{ metadata: { namespace: 'team' }, involvedObject: { namespace: 'team' } }])
  })

  it('counts a repeated Event within ten minutes, and writes a new one later', async () => {
    const { subject, all, pass, written, outcomes } = given()
    for (const passes of [0, 599_999, 599_999, 600_000]) {
      pass(passes)
      subject.record(object, scaled)
      await written()
    }
    expect(all().map(({ count }) => count)).toEqual([3, 1])
    expect(all()[0]?.lastTimestamp).toBe('2026-01-01T00:19:59Z')
    expect(await outcomes()).toMatchObject({ created: 2, counted: 2, dropped: 0, failed: 0 })
  })

  it('writes a new Event for another message, type, reason or object', async () => {
    const { subject, all } = given()
    subject.record(object, scaled)
    subject.record(object, { ...scaled, message: 'Scaled from 3 to 5 pods.' })
    subject.record(object, { ...scaled, type: 'Warning' })
    subject.record(object, { ...scaled, reason: 'Woken' })
    subject.record({ ...object, metadata: { name: 'fast', uid: 'u2' } }, scaled)
    await subject.stop()
    expect(all()).toHaveLength(5)
  })

  it('writes a deleted Event again', async () => {
    const { subject, kept, all, written } = given()
    subject.record(object, scaled)
    await written()
    kept.clear()
    subject.record(object, scaled)
    await written()
    expect(all()).toMatchObject([{ count: 1 }])
  })

  it('drops Events above the rate limit of an object', async () => {
    const { subject, all, outcomes } = given()
    for (let n = 0; n < 50; n += 1) subject.record(object, { ...scaled, message: `Scaled to ${n}.` })
    await subject.stop()
    expect(all()).toHaveLength(20)
    expect(await outcomes()).toMatchObject({ created: 20, counted: 0, dropped: 30, failed: 0 })
  })

  it('never throws or waits, and bounds its queue', async () => {
    const { subject, outcomes } = given({ answer: () => Promise.reject(new KubeError(403, 'Forbidden', 'no')) })
    for (let n = 0; n < 1_000; n += 1) subject.record({ ...object, metadata: { name: `pool-${n}` } }, scaled)
    await subject.stop()
    subject.record(object, scaled)
    const counted = await outcomes()
    expect(counted.failed).toBeLessThanOrEqual(201)
    expect((counted.failed ?? 0) + (counted.dropped ?? 0)).toBe(1_001)
  })
})

describe('cutText', () => {
  it('cuts at a whole character, and only a text that is too long', () => {
    expect(cutText('äöü', 6)).toBe('äöü')
    expect(cutText('äöüä', 7)).toBe('äö…')
    expect(Buffer.byteLength(cutText('😀'.repeat(1_000), 1_024))).toBeLessThanOrEqual(1_024)
  })
})
