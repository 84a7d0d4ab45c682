import { recordChange } from '@matte/core/audit/record-change'
import { inTransaction } from '@matte/core/db/in-transaction'
import { expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'

const database = useDatabase()

it('a long reason is cut, and never within a character, which PostgreSQL would refuse', async () => {
  const nobody = { userId: null, apiKeyId: null, ipAddress: null, userAgent: null, requestId: null }
  const change = { ...nobody, clientRequestId: null, workspaceId: null, action: 'createRefund', target: null }
  await inTransaction(database.db, (tx) =>
    recordChange(tx, { ...change, actor: 'operator', reason: `a${'😀'.repeat(400)}` }),
  )
  const { details } = await database.db.selectFrom('audit_entry').select('details').executeTakeFirstOrThrow()
  expect(details).toEqual({ reason: `a${'😀'.repeat(255)}\u{fffd}` })
})
