// Teams as rows, with signed-in members, like the result of creating a team and accepting invitations.
import { grantCredits } from '@matte/core/credit/lot-queries'
import type { Db } from '@matte/core/db/database'
import { unseal } from '@matte/core/runtime/seal'
import { generateApiKey } from '@matte/core/workspace/api-key'
import type { Role } from '@matte/core/workspace/role'
import { scopes } from '@matte/core/workspace/scope'
import type { TestApi } from '../api.ts'
import { givenPerson, type Person } from './people.ts'

type World = { readonly db: Db; readonly api: TestApi }

export type Team = {
  readonly id: string
  readonly path: string
  readonly owner: Person
  /** Creates a member with this role and a token for the team. */
  member(role: Role): Promise<Person>
}

/** Creates a team with an owner; by default `pro` with 100 credits. */
export async function givenTeam({ db, api }: World, options: { plan?: string; credits?: number } = {}): Promise<Team> {
  const { plan = 'pro', credits = 100 } = options
  const { id } = await db
    .insertInto('workspace')
    .values({ name: 'Shop', kind: 'team', plan })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (credits > 0) await grantCredits(db, { workspaceId: id, kind: 'test', amount: credits })
  const member = (role: Role) => givenPerson(db, api, { credits: 0, member: { workspaceId: id, role } })
  return { id, path: `/teams/${id}`, owner: await member('owner'), member }
}

/** An API key of a workspace, created by this person. */
export async function givenKeyOf(db: Db, workspaceId: string, userId: string) {
  const key = generateApiKey()
  const { id } = await db
    .insertInto('api_key')
    .values({
      ...{ workspace_id: workspaceId, name: 'test', hash: key.hash, prefix: key.prefix, last_four: key.lastFour },
      ...{ scopes: [...scopes], created_by: userId },
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { id, key: key.key }
}

/** Tokens from invitation mails to this address, the latest last. Only mails contain them. */
export async function readInviteMails({ db, api }: World, email: string) {
  const rows = await db
    .selectFrom('mail')
    .select(['id', 'data_sealed', 'user_id'])
    .where('to_address', '=', email)
    .where('template', '=', 'team-invitation')
    .orderBy('created_at')
    .execute()
  return rows.map(({ id, data_sealed, user_id }) => {
    const data = JSON.parse(unseal(api.config.masterKeys, id, data_sealed ?? '')) as Record<string, string>
    const token = new URL(data.url ?? '').searchParams.get('token') ?? ''
    return { ...data, userId: user_id, token }
  })
}
