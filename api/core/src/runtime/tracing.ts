// Traces from HTTP through the row, NATS, gRPC and S3 to the webhook. The SDK is loaded only with an exporter;
// otherwise calls go to a no-op tracer. Spans are set by hand, because automatic instrumentation can cost most of the
// request rate.
import {
  type Attributes,
  type Context,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Service } from './service.ts'

const tracer = () => trace.getTracer('matte')

export function tracing(processName: string, endpoint: string | undefined): Service {
  let stop: (() => Promise<void>) | undefined
  return {
    name: 'tracing',
    start: async () => {
      if (endpoint === undefined) return
      const { NodeSDK } = await import('@opentelemetry/sdk-node')
      const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http')
      const sdk = new NodeSDK({
        serviceName: `matte-${processName}`,
        traceExporter: new OTLPTraceExporter({ url: new URL('v1/traces', `${endpoint.replace(/\/$/, '')}/`).href }),
        instrumentations: [],
      })
      sdk.start()
      // The SDK registers itself globally and does not unregister.
      stop = () => sdk.shutdown().finally(() => [trace, context, propagation].forEach((each) => void each.disable()))
    },
    stop: async () => {
      await stop?.().catch(() => undefined) // an unreachable exporter must not delay the exit
    },
  }
}

type SpanOptions = {
  readonly kind?: 'server' | 'client' | 'producer' | 'consumer' | 'internal'
  readonly attributes?: Attributes
  /** `traceparent` of a row or message; the span continues that trace. */
  readonly traceparent?: string | null
}

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const

const parentOf = ({ traceparent }: SpanOptions): Context =>
  traceparent ? propagation.extract(context.active(), { traceparent }) : context.active()

const toSpanOptions = ({ kind = 'internal', attributes = {} }: SpanOptions) => ({ kind: kinds[kind], attributes })

/** Runs `work` in a span; an error marks the span and is rethrown. */
export function inSpan<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  return tracer().startActiveSpan(name, toSpanOptions(options), parentOf(options), async (span) => {
    try {
      return await work(span)
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' })
      throw error
    } finally {
      span.end()
    }
  })
}

/** A span without duration for an event that another trace continues from. */
export function markSpan(name: string, options: SpanOptions): void {
  tracer().startSpan(name, toSpanOptions(options), parentOf(options)).end()
}

/** The active span as W3C `traceparent`; undefined without tracing. */
export function currentTraceparent(): string | undefined {
  const carrier: { traceparent?: string } = {}
  propagation.inject(context.active(), carrier)
  return carrier.traceparent
}
