// Process life cycle: services start in order until a signal or a failed start. Then all stop taking work, and stop in
// reverse order within a limit. A second signal or the limit forces the exit.
import type { Logger } from 'pino'
import { ConfigError } from './env.ts'
import type { Service } from './service.ts'

type ProcessOptions = {
  readonly logger: Logger
  readonly services: readonly Service[]
  /** Milliseconds from the signal to the forced exit; below the pod's grace period. */
  readonly stopWithinMs: number
}

const lingerMs = 1_000

export async function runServices({ logger, services, stopWithinMs }: ProcessOptions): Promise<void> {
  logUnhandled(logger)
  const started: Service[] = []
  let stopping = false
  const signalled = untilSignal().finally(() => {
    stopping = true
  })
  const start = async (): Promise<void> => {
    for (const service of services) {
      if (stopping) return
      started.push(service)
      await service.start()
      logger.debug({ service: service.name }, 'service started')
    }
    logger.info({ pid: process.pid }, 'process started')
  }
  try {
    // A signal also ends the start, which may wait for a server longer than the grace period.
    await Promise.race([signalled, start()])
    logger.info({ signal: await signalled }, 'process stopping')
  } catch (error) {
    logger.fatal({ err: error }, 'process could not start')
    process.exitCode = 1
  }
  const stoppedMs: Record<string, number> = {}
  let waitingFor = ''
  const forced = setTimeout(() => {
    logger.fatal(
      { stop_within_ms: stopWithinMs, waiting_for: waitingFor, stopped_ms: stoppedMs },
      'process did not stop in time',
    )
    process.exit(1)
  }, stopWithinMs)
  for (const service of started) service.stopTaking?.()
  for (const service of started.reverse()) {
    const since = performance.now()
    waitingFor = service.name
    try {
      await service.stop()
    } catch (error) {
      logger.error({ service: service.name, err: error }, 'service did not stop cleanly')
    }
    stoppedMs[service.name] = Math.round(performance.now() - since)
  }
  clearTimeout(forced)
  logger.info({ stopped_ms: stoppedMs }, 'process stopped')
  // A socket to a dead machine would keep the event loop alive for 15 minutes.
  setTimeout(() => process.exit(), lingerMs).unref()
}

/** Node would print the error with all its fields, and PostgreSQL's repeat values of rows. */
function logUnhandled(logger: Logger): void {
  process.once('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'process failed')
    process.exit(1)
  })
}

function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    let seen = 0
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        seen += 1
        if (seen > 1) process.exit(1)
        resolve(signal)
      })
    }
  })
}

/** Runs the main function; prints a ConfigError without a stack and exits with 2. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main()
  } catch (error) {
    const message = error instanceof ConfigError ? error.message : String(error instanceof Error ? error.stack : error)
    process.stderr.write(`${message}\n`)
    process.exitCode = error instanceof ConfigError ? 2 : 1
    setImmediate(() => process.exit())
  }
}
