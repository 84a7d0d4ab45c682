// The life of a process: services start in order; a signal or a broken service ends it. Then all stop taking work at
// once, and they stop in reverse within a limit. A second signal, or the limit passed, forces the exit; until then the
// event loop empties by itself.
import type { Logger } from 'pino'
import { ConfigError } from './env.ts'
import { useOwnLookup } from './names/lookup.ts'
import type { Service } from './service.ts'

type ProcessOptions = {
  readonly logger: Logger
  readonly services: readonly Service[]
  /** Milliseconds from the signal until the exit is forced; must lie below the pod's grace time. */
  readonly stopWithinMs: number
}

/** After everything has stopped: time for the last lines of the log. */
const lingerMs = 1_000

/** Starts the services and returns when all have stopped after SIGTERM or SIGINT. */
export async function runServices({ logger, services, stopWithinMs }: ProcessOptions): Promise<void> {
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
    // A signal ends the start too: a service may be waiting for its server for longer than the pod's grace time.
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
  // What still holds the event loop is a socket to a machine that is gone, for which TCP waits a quarter of an hour.
  setTimeout(() => process.exit(), lingerMs).unref()
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

/** Runs a process's main function; a configuration that cannot be used is printed without a stack, with exit code 2. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  useOwnLookup()
  try {
    await main()
  } catch (error) {
    const message = error instanceof ConfigError ? error.message : String(error instanceof Error ? error.stack : error)
    process.stderr.write(`${message}\n`)
    process.exitCode = error instanceof ConfigError ? 2 : 1
    setImmediate(() => process.exit())
  }
}
