import { actorKinds } from '@matte/core/db/tables/account'
import type { readChanges } from '@matte/people/team/audit-export'
import type { listChanges } from '@matte/people/team/audit-log'
import { type Static, Type } from 'typebox'
import { named, nullable, time, uuid } from '../schema.ts'

const userId = 'a3a6f6d8-7a55-4a0c-8c93-7a2c5b8f0e21'

export const auditEntrySchema = named(
  'AuditEntry',
  {
    id: uuid(),
    at: time(),
    actorKind: Type.String({
      description:
        `${actorKinds.map((kind) => `\`${kind}\``).join(', ')}, and others in later releases. \`operator\` uses the ` +
        'API of operators, `matte-admin` the command line, and `system` acts without a request.',
    }),
    actorId: nullable(uuid('Of a member.')),
    apiKeyId: nullable(uuid('Of an API key.')),
    actorName: nullable(
      Type.String({
        description: 'Name or address of a member, or name of a key; null for other actors and deleted accounts.',
      }),
    ),
    action: Type.String({ description: 'The `operationId` of the request, or the command of matte-admin.' }),
    target: nullable(Type.String({ description: 'Id from the path or of the new resource.' })),
    reason: nullable(Type.String({ description: 'Given by the operator, or with a refund.' })),
    ipAddress: nullable(Type.String()),
    userAgent: nullable(Type.String({ description: 'At most 512 characters. Hidden for operators.' })),
    requestId: nullable(Type.String({ description: 'Chosen by the service, so it is unique.' })),
    clientRequestId: nullable(Type.String({ description: '`X-Request-Id` of the request, if the caller sent one.' })),
  },
  {
    id: 'c0c5f2a4-54c9-4f4c-8d0f-2f3a5b6c7d81',
    ...{ at: '2026-11-21T09:30:00.000Z', actorKind: 'member', actorId: userId, apiKeyId: null, actorName: 'Ada' },
    ...{ action: 'createTeamInvite', target: 'f2a4a0a2-6a8b-4c4e-9c51-2d6b9a7e6b31' },
    ...{ reason: null, ipAddress: '192.0.2.7', userAgent: 'Mozilla/5.0' },
    ...{ requestId: '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10', clientRequestId: null },
  },
)

type Change = Awaited<ReturnType<typeof listChanges>>[number]

/** The user agent of an operator names hosts of the installation. */
const isOfMembers = ({ actorKind }: Pick<Change, 'actorKind'>): boolean =>
  actorKind === 'member' || actorKind === 'api-key'

export const toAuditEntryView = ({ atMicros: _, at, ...change }: Change): Static<typeof auditEntrySchema> => ({
  ...change,
  at: at.toISOString(),
  userAgent: isOfMembers(change) ? change.userAgent : null,
})

type Exported = Awaited<ReturnType<typeof readChanges>>[number]

/** A line of `matte-admin audit export`: the workspace, and all of the entry. */
export const toExportedEntry = ({ atMicros: _, at, workspaceId, ...change }: Exported) => ({
  ...{ at: at.toISOString(), workspaceId },
  ...change,
})
