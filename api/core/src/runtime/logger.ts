import { trace } from '@opentelemetry/api'
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'

/** Paths that are never written, whatever an error or a request object carries with it. */
const redacted = [
  'req.headers.authorization',
  'req.headers["x-api-key"]',
  '*.apiKey',
  '*.signingSecret',
  '*.password',
  // What Node adds to the error of a URL that cannot be read, password and all.
  'err.input',
  'err.base',
]

/**
 * The process's logger: one JSON object a line, on stdout unless told otherwise, constant message, variables as fields
 * with one name everywhere (`task_id`, `delivery_id`, `workspace_id`, `request_id`, `trace_id`).
 */
export function createLogger(process: string, level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: redacted, censor: '***' },
    mixin: () => {
      const span = trace.getActiveSpan()?.spanContext()
      return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
    },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}
