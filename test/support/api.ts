// Services of the API process in this program, on free ports of 127.0.0.1, against the shared servers. Tests change
// settings by environment variables, as an operator does.
import { type Config, readConfig } from '@matte/api/config'
import { buildServices } from '@matte/api/services'
import type { Service } from '@matte/core/runtime/service'
import { type Logger, pino } from 'pino'
import { inject } from 'vitest'
import { type Client, createClient } from './client.ts'
import { checkAnswers } from './declared-answers.ts'
import { freePorts } from './free-ports.ts'
import { envAs } from './roles.ts'

export type TestApi = {
  /** Origin, such as `http://127.0.0.1:12345`. */
  readonly url: string
  /** Origin of the health port. */
  readonly healthUrl: string
  readonly config: Config
  client(apiKey: string): Client
  /** @throws Error naming each response that the OpenAPI document does not declare */
  stop(): Promise<void>
}

/** Only `DATABASE_URL` is required. */
export async function startApi(
  variables: Record<string, string> & { DATABASE_URL: string },
  logger?: Logger,
): Promise<TestApi> {
  const [port = 0, healthPort = 0] = await freePorts(2)
  const url = `http://127.0.0.1:${port}`
  const config = readConfig({
    HOST: '127.0.0.1',
    PORT: String(port),
    HEALTH_PORT: String(healthPort),
    PUBLIC_URL: url,
    NATS_URL: inject('natsUrl'),
    NATS_STREAM_PREFIX: `t${port}`,
    S3_ENDPOINT: inject('storeEndpoint'),
    S3_ACCESS_KEY_ID: inject('storeAccessKeyId'),
    S3_SECRET_ACCESS_KEY: inject('storeSecretAccessKey'),
    MASTER_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
    MATTE_ENV: 'development',
    DRAIN_MS: '0',
    // All tests share one address, and many of them send wrong keys.
    FAILED_CREDENTIALS_PER_MINUTE: '1000000',
    // Tests of the console enable it; in all others links lead to the pages of the API.
    CONSOLE_ENABLED: 'false',
    LOG_LEVEL: 'silent',
    ...envAs('api', variables),
  })
  const { app, services } = await buildServices(config, logger ?? pino({ level: config.logLevel }))
  const answers = checkAnswers(app.server, app.swagger())
  const stopServices = await startAll(services)
  const stop = async (): Promise<void> => {
    await stopServices()
    answers.end()
  }
  const healthUrl = `http://127.0.0.1:${healthPort}`
  return { url, healthUrl, config, client: (apiKey) => createClient(url, apiKey), stop }
}

/** Starts services in order; returns a function that stops them in reverse. */
async function startAll(services: readonly Service[]): Promise<() => Promise<void>> {
  const started: Service[] = []
  const stop = async (): Promise<void> => {
    for (const service of started.splice(0).reverse()) await service.stop()
  }
  try {
    for (const service of services) {
      started.push(service)
      await service.start()
    }
  } catch (error) {
    await stop()
    throw error
  }
  return stop
}
