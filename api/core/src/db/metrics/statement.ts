// What a statement is, for metrics: a kind by its text, and a reason by its error.
import { connectionErrorReason } from '../../runtime/metrics/connection-error.ts'

export const statementKinds = ['select', 'insert', 'update', 'delete', 'transaction', 'other'] as const

type StatementKind = (typeof statementKinds)[number]

/**
 * By the first word, and after `with` by the first part that writes. Most of ours write several tables in one
 * statement, so that the kind says what it begins with: the end of a run is an `update`, a creation may be one too.
 */
export function statementKind(text: string): StatementKind {
  const [, word = ''] = /^\s*(\w+)/.exec(text) ?? []
  if (word === 'with') return kindOfPart(writingPart.exec(text)?.[1])
  return kindOfPart(word)
}

/** Not the `update` of `for update`. */
const writingPart = /(?<!for |key )\b(insert|update|delete)\s+(?:into|from|only|"?\w+"?)/

const kindOfPart = (word = 'select'): StatementKind =>
  word === 'select' || word === 'insert' || word === 'update' || word === 'delete' ? word : 'other'

export const databaseErrorReasons = ['unavailable', 'timeout', 'conflict', 'constraint', 'other'] as const

/** By the code of PostgreSQL, and by the connection where there is no answer of it. */
export function databaseErrorReason(error: unknown): (typeof databaseErrorReasons)[number] {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === '57014' || code === '55P03') return 'timeout' // canceled by the limit of time, or waited for a lock
  if (/^(40\w{3})$/.test(code)) return 'conflict'
  if (/^23\w{3}$/.test(code)) return 'constraint'
  if (error instanceof Error && error.name === 'DatabaseBusy') return 'timeout' // waited for a connection of the pool
  const reason = connectionErrorReason(error)
  if (reason === 'other') return 'other'
  return reason === 'timeout' ? 'timeout' : 'unavailable'
}
