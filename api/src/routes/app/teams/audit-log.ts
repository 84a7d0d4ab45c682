import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { countChanges, listChanges } from '@matte/core/audit/list-changes'
import type { Db } from '@matte/core/db/database'
import { Type } from 'typebox'
import { auditEntrySchema } from '../../../schemas/app/team.ts'
import { pageOf, pageQuery, spanQuery } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { toAuditEntryView } from '../../../views/app/team-view.ts'
import { buildPage, readTaskQuery } from '../../../views/task-page.ts'
import { tags, teamParams } from './team-params.ts'

type AuditDeps = { readonly db: Db }

const listSchema = {
  operationId: 'listTeamChanges',
  summary: 'List what members changed in a team, newest first, as long as it is kept: a year by default',
  tags,
  params: teamParams,
  querystring: Type.Object({
    ...pageQuery,
    ...spanQuery,
  }),
  response: memberResponses(200, success('One page.', pageOf(refer(auditEntrySchema))), []),
}

export const auditLogRoutes: FastifyPluginAsyncTypebox<AuditDeps> = async (app, { db }) => {
  const config = { access: { roles: ['owner', 'admin'] } } as const
  app.get('/:teamId/audit-log', { schema: listSchema, config }, async ({ caller, query }) => {
    const { from, before, ...page } = readTaskQuery(query)
    const filter = { workspaceId: caller.workspaceId, from, before }
    const rows = await listChanges(db, filter, { limit: page.pageSize + 1, offset: page.offset, after: page.after })
    const shown = rows.slice(0, page.pageSize)
    const last = shown.at(-1)
    const next = rows.length > shown.length && last ? { createdAtMicros: last.atMicros, id: last.id } : undefined
    return buildPage(shown.map(toAuditEntryView), page, { total: await countChanges(db, filter), next })
  })
}
