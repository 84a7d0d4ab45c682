import type { createClient } from '../support/client.ts'
import { until } from '../support/until.ts'

type Client = ReturnType<typeof createClient>
type Page = { readonly items: readonly { readonly modelVersion: string }[] }

/** Waits until the API accepts the model, some seconds after the database has it. */
export const untilOffered = (client: Client, model: string): Promise<unknown> =>
  until(`${model} is offered`, async () => {
    const { data } = await client.call<Page>('GET', '/models')
    return data.items.some(({ modelVersion }) => modelVersion === model)
  })
