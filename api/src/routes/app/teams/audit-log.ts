import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { invalidParam } from '@matte/core/invalid-params'
import { findPosition, readChanges } from '@matte/people/team/audit-export'
import { countChanges, listChanges } from '@matte/people/team/audit-log'
import { Type } from 'typebox'
import { readListQuery, readPage } from '../../../paging.ts'
import { auditEntrySchema, toAuditEntryView } from '../../../schemas/app/audit.ts'
import { firstPage, pageOf, pageQuery, spanQuery } from '../../../schemas/page.ts'
import { memberResponses, refer, success, withDefault } from '../../../schemas/schema.ts'
import { isUuid } from '../../../uuid.ts'
import { tags, teamParams } from './team-requests.ts'

type AuditDeps = { readonly db: Db }

const listSchema = {
  operationId: 'listTeamChanges',
  summary: 'List what was changed in a team, newest first; kept for a year by default',
  description:
    'Changes by members, by API keys, and by the operator of the service. An entry is committed with its change, or ' +
    'neither is. Tasks, batches and uploads that API keys create have no entries.',
  tags,
  params: teamParams,
  querystring: Type.Object({
    ...pageQuery,
    ...spanQuery,
  }),
  response: memberResponses(200, success('One page.', pageOf(refer(auditEntrySchema))), []),
}

/** Bounds the memory and time of a response: a megabyte. */
const exportedMax = 1_000

const lines = Type.Unsafe<string>({ type: 'string' })
const exportSchema = {
  operationId: 'exportTeamChanges',
  summary: 'Export the audit log of a team as JSON lines, oldest first',
  description:
    'Each line is an `AuditEntry`. To continue, send the `id` of the last line as `after`, until the response is ' +
    'empty; later, the same request returns what was added since. Without `endDate` the entries of the last minute ' +
    'are left out, so that continuing misses none.',
  tags,
  params: teamParams,
  querystring: Type.Object({
    ...spanQuery,
    after: Type.Optional(
      Type.String({
        description: '`id` of the last entry that you have.',
        examples: ['c0c5f2a4-54c9-4f4c-8d0f-2f3a5b6c7d81'],
      }),
    ),
    limit: withDefault(
      Type.Integer({ minimum: 1, maximum: exportedMax, description: 'Entries in the response.' }),
      exportedMax,
    ),
  }),
  response: {
    ...memberResponses(200, Type.Any(), []),
    200: { description: 'The entries.', content: { 'application/x-ndjson': { schema: lines } } },
  },
}

export const auditLogRoutes: FastifyPluginAsyncTypebox<AuditDeps> = async (app, { db }) => {
  const config = { access: { roles: ['owner', 'admin'] } } as const
  app.get('/api/v1/app/teams/:teamId/audit-log', { schema: listSchema, config }, async ({ caller, query }) => {
    const { from, before, ...page } = readListQuery(query)
    const filter = { workspaceId: caller.workspaceId, from, before }
    return readPage(page, {
      read: (range) => Promise.all([listChanges(db, filter, range), range.total ?? countChanges(db, filter)]),
      micros: (row) => row.atMicros,
      view: toAuditEntryView,
    })
  })

  // Text gets no envelope, which is added to objects alone.
  const exportConfig = { access: { roles: ['owner'] } } as const
  app.get(
    '/api/v1/app/teams/:teamId/audit-log/export',
    { schema: exportSchema, config: exportConfig },
    async ({ caller, query }, reply) => {
      const { workspaceId } = caller
      const { after: id, limit, ...span } = query
      const { from, before } = readListQuery({ ...span, page: firstPage, pageSize: limit })
      const after = id === undefined ? undefined : await readPosition(db, workspaceId, id)
      const entries = await readChanges(db, { workspaceId, from, before }, { after, limit })
      const text = entries.map((entry) => `${JSON.stringify(toAuditEntryView(withoutWorkspace(entry)))}\n`).join('')
      return reply.header('content-type', 'application/x-ndjson').send(text)
    },
  )
}

const withoutWorkspace = ({ workspaceId: _, ...entry }: Awaited<ReturnType<typeof readChanges>>[number]) => entry

/** @throws MatteError INVALID_PARAMS: unknown, in another log, or older than the retention */
async function readPosition(db: Db, workspaceId: string, id: string) {
  const position = isUuid(id) ? await findPosition(db, workspaceId, id) : undefined
  if (position !== undefined) return position
  throw invalidParam('/query/after', 'is no entry of this log, or was deleted after its retention: use startDate')
}
