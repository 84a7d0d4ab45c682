// One trace from the request to the webhook, through all three processes.
import { describe, expect, it } from 'vitest'
import { lemur } from '../support/photos.ts'
import { startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'

const exporter = await startReceiver()
const env = { OTEL_EXPORTER_OTLP_ENDPOINT: exporter.url }

type Span = { traceId: string; spanId: string; parentSpanId?: string; name: string }
type Export = { resourceSpans: { resource: unknown; scopeSpans: { spans: Span[] }[] }[] }

const spansSoFar = (): Span[] =>
  exporter.received
    .filter(({ path }) => path.endsWith('/v1/traces'))
    .flatMap(({ bytes }) => (JSON.parse(bytes.toString()) as Export).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))

describe('with an exporter', () => {
  const stack = useStack({ env: { api: env, worker: env, dispatcher: env } })

  it('joins request, row, message, inference, store and webhook in one trace', async () => {
    const receiver = await startReceiver()
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const imageUrl = await stack.client.upload(lemur())
    await stack.client.call('POST', '/tasks', {
      body: { imageUrl, callbackUrl: receiver.url },
      headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    })
    const [webhook] = await receiver.until(1)
    expect(webhook?.headers.traceparent).toMatch(new RegExp(`^00-${traceId}-`))
    // Stopping flushes the exporter.
    await Promise.all((['api', 'worker', 'dispatcher'] as const).map((name) => stack.process(name).stop()))
    const names = [
      'nudge.publish',
      'nudge.receive',
      'task.run',
      'task.fetch',
      'triton.infer',
      'task.store',
      'webhook.deliver',
    ]
    const spans = await until('all spans have arrived', () => {
      const ours = spansSoFar().filter((span) => span.traceId === traceId)
      return names.every((name) => ours.some((span) => span.name === name)) && ours
    })
    const known = new Set([...spans.map(({ spanId }) => spanId), '00f067aa0ba902b7'])
    expect(spans.filter(({ parentSpanId = '' }) => !known.has(parentSpanId))).toEqual([])
    await receiver.close()
    await exporter.close()
  })
})
