// Resources of the victim for tests of all operations. Each path parameter has a function here that creates its
// resource through the API or as a row; role-matrix.test.ts and app-ownership.test.ts fail for a parameter without one.
// Only resources in the document's paths are created.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { type Caller, smallImage, succeed, type World } from '../api/given.ts'
import type { Operation } from '../support/app/operations.ts'
import { givenPerson, type Person } from '../support/app/people.ts'

/** A team on the plan `internal`, with an owner and a key. */
type Team = { readonly world: World; readonly caller: Caller; readonly owner: Person }

export type Victim = Team & {
  readonly workspaceId: string
  readonly objectKey: string
  /** Ids of the resources by parameter name. */
  readonly things: Readonly<Record<string, string>>
}

type Make = (team: Team & { readonly objectKey: string }) => Promise<string>

const post = async ({ caller }: Team, path: string, body: object): Promise<string> =>
  (await caller.client.call<{ id: string }>('POST', path, { body })).data.id

/** A row of a table by any creator. */
async function row(
  { world, caller, owner }: Team,
  statement: (ids: { w: string; u: string }) => ReturnType<typeof sql>,
) {
  const { rows } = await statement({ w: caller.workspaceId, u: owner.userId }).execute(world.db)
  return (rows as { id: string }[])[0]?.id ?? ''
}

const delivery: Make = (team) =>
  row(
    team,
    ({ w }) => sql`
      insert into delivery (workspace_id, event, event_key, target_url, target_host, body)
      values (${w}, 'welcome', gen_random_uuid()::text, 'https://93.184.216.34/', '93.184.216.34:443', '{}')
      returning id`,
  )

const order: Make = (team) =>
  row(
    team,
    ({ w, u }) => sql`
      insert into payment_order (workspace_id, created_by, kind, status, description, pack_id, credits, amount,
                                 currency, provider, paid_at)
      values (${w}, ${u}, 'pack', 'paid', 'A pack', 'small', 100, 900, 'USD', 'sandbox', now()) returning id`,
  )

export const makers: Readonly<Record<string, Make>> = {
  teamId: async ({ caller }) => caller.workspaceId,
  workspaceId: async ({ caller }) => caller.workspaceId,
  userId: async ({ owner }) => owner.userId,
  sessionId: async ({ owner }) => owner.sessionId,
  apiKeyId: async ({ caller }) => caller.apiKeyId,
  /** No resource of a user: a fixed part of the path. */
  provider: async () => 'sandbox',
  taskId: async (team) => {
    const id = await post(team, '/tasks', { imageUrl: team.objectKey })
    await succeed(team.world.db, id)
    return id
  },
  batchId: (team) => post(team, '/batch-tasks', { imageUrls: [team.objectKey] }),
  webhookId: (team) => post(team, '/webhooks', { targetUrl: 'https://93.184.216.34/' }),
  deliveryId: delivery,
  eventId: delivery,
  inviteId: (team) =>
    row(
      team,
      ({ w, u }) => sql`
        insert into team_invite (workspace_id, email, email_key, role, token_hash, invited_by, expires_at)
        values (${w}, 'invited@example.com', 'invited@example.com', 'member', ${randomBytes(32)}, ${u},
                now() + interval '7 days')
        returning id`,
    ),
  orderId: order,
  refundId: async (team) => {
    const orderId = await order(team)
    return row(
      team,
      ({ w, u }) => sql`
        insert into refund (workspace_id, order_id, created_by, amount, currency, credits, reason)
        values (${w}, ${orderId}, ${u}, 900, 'USD', 0, 'victim') returning id`,
    )
  },
  invoiceId: async (team) => {
    const orderId = await order(team)
    const number = `victim-${randomBytes(4).toString('hex')}`
    const who = '{"name": "victim", "addressLines": [], "taxId": null, "email": null}'
    return row(
      team,
      ({ w }) => sql`
        insert into invoice (workspace_id, order_id, number, seller, buyer, lines, subtotal, tax, total, currency,
                             paid_at, issued_at)
        values (${w}, ${orderId}, ${number}, ${who}, ${who}, '[]', 900, 0, 900, 'USD', now(), now()) returning id`,
    )
  },
  notificationId: (team) =>
    row(
      team,
      ({ w, u }) => sql`
        insert into notification (user_id, workspace_id, type, event_key, title, body)
        values (${u}, ${w}, 'welcome', 'victim', 'victim', 'victim') returning id`,
    ),
}

const parametersOf = (path: string): readonly string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

/** @throws Error for a parameter without a function */
export async function givenVictim(world: World, operations: readonly Operation[]): Promise<Victim> {
  const caller = await world.caller({ plan: 'internal' })
  const { workspaceId } = caller
  await world.db.updateTable('workspace').set({ kind: 'team' }).where('id', '=', workspaceId).execute()
  const owner = await givenPerson(world.db, world.api, { member: { workspaceId, role: 'owner' } })
  const objectKey = await caller.client.upload(await smallImage())
  const things: Record<string, string> = {}
  for (const name of new Set(operations.flatMap(({ path }) => parametersOf(path)))) {
    const make = makers[name]
    if (make === undefined) throw new Error(`whose id is {${name}}? Give the victim one in test/app/victim.ts`)
    things[name] = await make({ world, caller, owner, objectKey })
  }
  return { world, caller, owner, workspaceId, objectKey, things }
}

/** The path with the victim's ids. */
export const addressOf = ({ world, things }: Victim, { path }: Operation): string =>
  `${world.api.url}${path.replace(/\{(\w+)\}/g, (_, name: string) => things[name] ?? name)}`
