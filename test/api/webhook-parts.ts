// Setup of the delivery tests: an API and a dispatcher process on one database, local receivers, and both surfaces,
// which must behave alike.
import { writeSetting } from '@matte/core/setting/setting-queries'
import { createEventDeliveries } from '@matte/core/webhook/create-deliveries'
import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { afterEach, beforeAll } from 'vitest'
import { type DispatcherProcess, spawnDispatcher, untilStarted } from '../dispatcher/dispatcher-process.ts'
import { type Receiver, startReceiver } from '../dispatcher/receiver.ts'
import { givenPerson } from '../support/app/people.ts'
import type { Answer, CallOptions } from '../support/client.ts'
import { useApi, type World } from './given.ts'

type Attempt = {
  readonly attempt: number
  readonly statusCode: number | null
  readonly error: string | null
  readonly responseBody: string | null
  readonly durationMs: number
  readonly endedAt: string
}
export type Delivery = {
  readonly id: string
  readonly event: string
  readonly status: string
  readonly endpointId: string | null
  readonly requestBody: string
  readonly attemptCount: number
  readonly nextAttemptAt: string | null
  readonly attempts: readonly Attempt[]
}
export type DeliveryPage = {
  readonly items: readonly Delivery[]
  readonly total: number
  readonly nextCursor: string | null
}

/** A caller with access to webhooks on one of the surfaces. */
export type Keeper = {
  readonly workspaceId: string
  call<T = unknown>(method: string, path: string, options?: CallOptions): Promise<Answer<T>>
}

export const surfaces = ['developer', 'app'] as const

type WebhookWorld = World & {
  keeper(surface: (typeof surfaces)[number]): Promise<Keeper>
  receiver(...options: Parameters<typeof startReceiver>): Promise<Receiver>
  dispatcher(env?: Record<string, string>): Promise<DispatcherProcess>
  /** An endpoint with any target, also one that creation would reject. */
  endpoint(workspaceId: string, url?: string): ReturnType<typeof createEndpoint>
  /** An event for the endpoints of the workspace. */
  announce(workspaceId: string, options?: { readonly event?: string; readonly key?: string }): Promise<void>
}

const publicTarget = 'https://93.184.216.34/hook'

export function useWebhooks(variables: Record<string, string> = {}): WebhookWorld {
  const world = useApi(variables)
  const ends: (() => Promise<unknown>)[] = []
  let announced = 0
  beforeAll(() => writeSetting(world.db, 'webhooks.allowedTargets', ['127.0.0.1:*']))
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })
  return Object.assign(Object.create(world) as World, {
    keeper: async (surface: (typeof surfaces)[number]): Promise<Keeper> => {
      const { client, workspaceId } = surface === 'app' ? await givenPerson(world.db, world.api) : await world.caller()
      const prefix = surface === 'app' ? '/developer' : ''
      return { workspaceId, call: (method, path, options) => client.call(method, `${prefix}${path}`, options) }
    },
    receiver: async (...options: Parameters<typeof startReceiver>) => {
      const receiver = await startReceiver(...options)
      ends.push(() => receiver.close())
      return receiver
    },
    dispatcher: async (env: Record<string, string> = {}) => {
      const { natsUrl, natsStreamPrefix } = world.api.config
      const dispatcher = await spawnDispatcher({
        DATABASE_URL: world.databaseUrl,
        MASTER_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
        NATS_URL: natsUrl,
        NATS_STREAM_PREFIX: natsStreamPrefix,
        ...env,
      })
      ends.push(() => {
        dispatcher.kill('SIGKILL')
        return dispatcher.exited
      })
      await untilStarted(dispatcher)
      return dispatcher
    },
    endpoint: (workspaceId: string, url = publicTarget) =>
      createEndpoint(world.db, world.api.config.masterKeys, {
        ...{ workspaceId, targetUrl: url, url: new URL(url), eventTypes: [], description: null },
      }),
    announce: (workspaceId: string, { event = 'welcome', key = `k${announced++}` } = {}) =>
      createEventDeliveries(world.db, {
        ...{ workspaceId, event, body: `{"event":"${event}"}`, callbackUrl: null, of: { key } },
      }),
  })
}
