import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { databaseErrorReason, statementKind } from './database-metrics.ts'
import { DatabaseAway, DatabaseBusy } from './fail-fast-pool.ts'

/** A statement as it is sent. */
function snapshot(name: string): string {
  const file = readFileSync(join(import.meta.dirname, `snapshots/${name}.sql`), 'utf8')
  return file.slice(file.indexOf('\n') + 1)
}

describe('statementKind', () => {
  it.each([
    ['select', 'select 1'],
    ['select', '\n    select 1'],
    ['insert', 'insert into "task" ("id") values ($1) on conflict do update set "a" = 1'],
    ['update', 'update "task" set "a" = 1 where "id" in (select "id" from "x" for update)'],
    ['delete', 'delete from "task"'],
    ['select', 'with a as (select 1 from b for update), c as (select 1 from d for no key update of d) select 1'],
    ['select', 'with recursive a as (select updated, insert_at, delete_me from b) select 1'],
    ['other', 'set client_connection_check_interval = 1000'],
    ['other', 'savepoint a'],
    ['other', ''],
    ['update', snapshot('task/claim-next-tasks')],
    ['update', snapshot('task/succeed-task')],
    ['select', snapshot('scale/read-demand')],
    ['delete', 'with due as (select id from a for update skip locked) delete from b using due where b.id = due.id'],
  ])('%s: %s', (kind, text) => {
    expect(statementKind(text.replace(/^[^\n]* as\n/, ''))).toBe(kind)
  })
})

describe('databaseErrorReason', () => {
  const coded = (code: string): Error => Object.assign(new Error('words'), { code })
  it.each([
    ['unavailable', coded('ECONNREFUSED')],
    ['unavailable', coded('57P01')],
    ['unavailable', coded('53300')],
    ['unavailable', coded('28P01')],
    ['unavailable', coded('CERT_HAS_EXPIRED')],
    ['unavailable', new DatabaseAway('the database is unavailable')],
    ['timeout', new DatabaseBusy('no database connection became free')],
    ['timeout', new Error('Query read timeout')],
    ['timeout', coded('57014')],
    ['timeout', coded('55P03')],
    ['conflict', coded('40P01')],
    ['conflict', coded('40001')],
    ['constraint', coded('23505')],
    ['other', coded('42P01')],
    ['other', new Error('a bug')],
  ])('%s: %s', (reason, error) => {
    expect(databaseErrorReason(error)).toBe(reason)
  })
})
