import { trace } from '@opentelemetry/api'
import { type Logger, pino } from 'pino'

/** Paths that are never written, whatever an error or a request object carries with it. */
const redacted = ['req.headers.authorization', 'req.headers["x-api-key"]', '*.apiKey', '*.signingSecret', '*.password']

/**
 * The process's logger: one JSON object a line on stdout, constant message, variables as fields with one name
 * everywhere (`task_id`, `delivery_id`, `workspace_id`, `request_id`, `trace_id`).
 */
export function createLogger(process: string, level: string): Logger {
  return pino({
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: redacted, censor: '***' },
    mixin: () => {
      const span = trace.getActiveSpan()?.spanContext()
      return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
    },
  })
}
