// Streams all data of a user as one JSON, a page of rows at a time. An account may have a hundred thousand tasks, and
// no connection is held while a slow client reads. The export is therefore no snapshot: concurrent changes may be
// missing.
import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import { type RawBuilder, sql } from 'kysely'
import { findProfile } from './person-queries.ts'
import { personalData, type Section } from './personal-data.ts'

const rowsAtOnce = 500

type Person = { readonly id: string; readonly email: string; readonly workspaceId: string | null }

/** Members of the JSON object, without its braces: the profile, and a list per section. */
export async function* exportAccount(db: Db, userId: string): AsyncGenerator<string> {
  const profile = await findProfile(db, userId)
  if (profile === undefined) return
  yield `"profile":${JSON.stringify(profile)}`
  const workspaces = await listWorkspaceIds(db, userId)
  const workspaceId = workspaces.find(({ isPersonal }) => isPersonal)?.id ?? null
  const person = { id: userId, email: profile.email, workspaceId }
  for (const [place, { of, shown }] of Object.entries(personalData)) {
    if (typeof shown === 'string') continue
    const [table = '', column = ''] = place.split('.')
    const found = { table: sql.table(table), column: sql.ref(column), section: shown }
    yield `,"${shown.name}":[`
    let separator = ''
    for (const owned of ownersOf(of, person, { workspaces, maker: shown.maker })) {
      for await (const row of readSection(db, found, owned)) {
        yield `${separator}${JSON.stringify(row)}`
        separator = ','
      }
    }
    yield ']'
  }
}

type Workspaces = readonly { readonly id: string; readonly isPersonal: boolean }[]

async function listWorkspaceIds(db: Db, userId: string): Promise<Workspaces> {
  const { rows } = await sql<Workspaces[number]>`
    select m.workspace_id as id, w.personal_of is not distinct from m.user_id as "isPersonal"
      from membership m join workspace w on w.id = m.workspace_id
     where m.user_id = ${userId} order by m.workspace_id`.execute(db)
  return rows
}

type Owned = { readonly value: string; readonly also: RawBuilder<boolean> }

const anyRow = sql<boolean>`true`

function ownersOf(
  of: 'person' | 'address' | 'workspace',
  { id, email, workspaceId }: Person,
  { workspaces, maker }: { readonly workspaces: Workspaces; readonly maker: string | undefined },
): readonly Owned[] {
  if (of === 'person') return [{ value: id, also: anyRow }]
  if (of === 'address') return [{ value: foldAddress(email), also: anyRow }]
  const own = workspaceId === null ? [] : [{ value: workspaceId, also: anyRow }]
  if (maker === undefined) return own
  const others = workspaces.filter((workspace) => workspace.id !== workspaceId)
  return [...own, ...others.map((other) => ({ value: other.id, also: sql<boolean>`${sql.ref(maker)} = ${id}` }))]
}

type Found = { readonly table: RawBuilder<unknown>; readonly column: RawBuilder<unknown>; readonly section: Section }

async function* readSection(db: Db, found: Found, owned: Owned): AsyncGenerator<Record<string, unknown>> {
  let after: readonly string[] | undefined
  for (;;) {
    const rows = await readRows(db, found, { ...owned, after })
    for (const { position: _position, ...row } of rows) yield row
    if (rows.length < rowsAtOnce) return
    after = rows.at(-1)?.position
  }
}

type Part = Owned & { readonly after: readonly string[] | undefined }
type Row = Record<string, unknown> & { readonly position: readonly string[] }

/** The position is text, which keeps the microseconds that a Date loses. */
async function readRows(db: Db, { table, column, section }: Found, { value, also, after }: Part) {
  const order = sql.join(section.order.map((name) => sql.ref(name)))
  const position = sql.join(section.order.map((name) => sql`${sql.ref(name)}::text`))
  const shown = sql.join(section.columns.map((name) => sql`${sql.ref(name)} as ${sql.ref(camelCase(name))}`))
  const next = after === undefined ? anyRow : sql<boolean>`(${order}) > (${sql.join(after)})`
  const { rows } = await sql<Row>`
    select ${shown}, array[${position}] as position from ${table}
     where ${column} = ${value} and ${also} and ${next} order by ${order} limit ${rowsAtOnce}`.execute(db)
  return rows
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
