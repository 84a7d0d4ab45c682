import { trace } from '@opentelemetry/api'
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'

/** Paths redacted from errors and request objects. */
const redacted = [
  'req.headers.authorization',
  'req.headers["x-api-key"]',
  '*.apiKey',
  '*.signingSecret',
  '*.password',
  // Node adds it to invalid-URL errors, with the password.
  'err.input',
  'err.base',
]

/** Fields of PostgreSQL's errors that repeat values of rows; `log_error_verbosity = terse` omits them too. */
const aboutRows = ['detail', 'hint', 'internalQuery', 'where'] as const

function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const shown = pino.stdSerializers.err(error)
  for (const name of aboutRows) delete shown[name]
  return shown
}

/** Logs one JSON object per line: constant messages, variables as fields with fixed names such as `task_id`. */
export function createLogger(process: string, level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: serializeError },
    redact: { paths: redacted, censor: '***' },
    mixin: () => {
      const span = trace.getActiveSpan()?.spanContext()
      return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
    },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}
