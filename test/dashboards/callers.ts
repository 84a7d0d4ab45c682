// Callers of every kind, so every counter increases: tasks, bad images, rejections, plan limits, cancellations,
// batches, a webhook receiver, and an unreachable one.
import { grantCredits } from '@matte/core/credit/lot-queries'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { ApiError, type Client, createClient } from '../support/client.ts'
import { givenWorkspace } from '../support/factories.ts'
import { greyPng, mislabelledPng, truncatedPng } from '../support/photos.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Stack } from '../support/stack.ts'
import { until } from '../support/until.ts'

export type Callers = {
  /** Ends after calls in flight. @throws Error if a call got a server error */
  stop(): Promise<void>
}

const plans = ['business', 'enterprise'] as const
/** An unused port. */
const absent = 'http://127.0.0.1:1/hook'

/** Callers that run sequentially, each as fast as its tasks end, until stopped. */
export async function startCallers(stack: Stack): Promise<Callers> {
  const receiver = await startReceiver()
  const clients = [stack.client, ...(await Promise.all(plans.map((plan) => givenClient(stack, plan))))]
  let stopped = false
  const calls = Promise.all(
    clients.map(async (client) => {
      while (!stopped) await callOnce(client, receiver.url)
    }),
  )
  // stop() reports it.
  calls.catch(() => undefined)
  return {
    stop: async () => {
      stopped = true
      await calls.finally(() => receiver.close())
    },
  }
}

/** A caller of a paying workspace. */
async function givenClient({ db, process }: Stack, plan: string): Promise<Client> {
  const { id: workspaceId } = await givenWorkspace(db, { plan })
  await grantCredits(db, { workspaceId, kind: 'test', amount: 10_000 })
  const key = generateApiKey()
  await insertApiKey(db, key, { workspaceId, name: 'test', scopes, expiresAt: null })
  return createClient(process('api').url, key.key)
}

async function callOnce(client: Client, receiverUrl: string): Promise<void> {
  const imageUrl = await client.upload(greyPng(64, 64))
  const truncated = await client.upload(truncatedPng())
  const mislabelled = await client.upload(mislabelledPng)
  const accepted = await Promise.all([
    orRefused(client.createTask({ imageUrl, callbackUrl: receiverUrl })),
    orRefused(client.createTask({ imageUrl, callbackUrl: absent })),
    orRefused(client.createTask({ imageUrl: truncated, callbackUrl: receiverUrl })),
    orRefused(client.createTask({ imageUrl }).then(({ id }) => client.cancelTask(id))),
    orRefused(client.createTask({ imageUrl: mislabelled })),
    orRefused(client.createTask({ imageUrl: 'never/uploaded.png' })),
    orRefused(client.getTask('00000000-0000-7000-8000-000000000000')),
    orRefused(client.call('POST', '/batch-tasks', { body: { imageUrls: [imageUrl, imageUrl] } }).then(() => undefined)),
  ])
  const ids = accepted.flatMap((task) => task?.id ?? [])
  const isOpen = async (id: string): Promise<boolean> =>
    ['queued', 'processing'].includes((await client.getTask(id)).status)
  await until('the tasks of a round have ended', async () => !(await Promise.all(ids.map(isOpen))).includes(true), {
    everyMs: 250,
  })
}

/** Undefined if the call was rejected with a client error. */
async function orRefused<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return undefined
    throw error
  }
}
