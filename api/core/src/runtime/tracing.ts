// Traces join HTTP → row → NATS → gRPC → S3 → webhook. The SDK is loaded only when an exporter is configured;
// otherwise every call below goes to the API's no-op tracer and costs next to nothing. No automatic
// instrumentation: it cost others up to 80 % of their request rate, and the five seams here are set by hand.
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

/** A service that starts the SDK when `endpoint` is set, and flushes it on stop. */
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
      // The SDK registers itself for the whole process and does not take that back.
      stop = () => sdk.shutdown().finally(() => [trace, context, propagation].forEach((each) => void each.disable()))
    },
    stop: async () => {
      await stop?.().catch(() => undefined) // an exporter that is gone must not hold up the exit
    },
  }
}

type SpanOptions = {
  readonly kind?: 'server' | 'client' | 'producer' | 'consumer' | 'internal'
  readonly attributes?: Attributes
  /** The `traceparent` of a row or a message: the new span continues that trace. */
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

/** Runs `work` inside a span that ends with it; an error marks the span and goes on to the caller. */
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

/** A span without length, for an event that something else goes on from, such as a message sent or received. */
export function markSpan(name: string, options: SpanOptions): void {
  tracer().startSpan(name, toSpanOptions(options), parentOf(options)).end()
}

/** The active span as a W3C `traceparent`, for a row, a message or a request; undefined without tracing. */
export function currentTraceparent(): string | undefined {
  const carrier: { traceparent?: string } = {}
  propagation.inject(context.active(), carrier)
  return carrier.traceparent
}
