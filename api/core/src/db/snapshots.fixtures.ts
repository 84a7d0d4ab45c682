// Compiles statements for snapshots.test.ts.
import {
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import type { Db } from './database.ts'
import type { Tables } from './tables/index.ts'

export type Sending = {
  readonly send: (db: Db) => Promise<unknown>
  /** Rows returned by the database, one list per statement; none after the last. */
  readonly answers?: readonly (readonly unknown[])[]
}

/** Statement for psql, in lines of at most 120 columns. */
export function prepare(name: string, sql: string): string {
  const lines = sql.replace(/^\n|\s+$/g, '').split('\n')
  const indent = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)))
  const text = lines.map((line) => breakLine(line.slice(indent))).join('\n')
  return text.startsWith('set ') ? `${text};\n` : `prepare ${name} as\n${text};\n` // settings cannot be prepared
}

/** Splits a line after commas and before keywords. */
function breakLine(line: string): string {
  if (line.length <= 120) return line
  const pieces = line.split(/(?<=,) | (?=(?:from|where|and|order by|limit|for update|returning) )/)
  const lines = ['']
  for (const piece of pieces) {
    const last = lines.pop() ?? ''
    if (last === '') lines.push(piece)
    else if (last.length + piece.length < 120) lines.push(`${last} ${piece}`)
    else lines.push(last, `  ${' '.repeat(line.search(/\S/))}${piece}`)
  }
  return lines.join('\n')
}

/** Statements that `send` sends to a database with these answers. */
export async function sentBy({ send, answers = [] }: Sending): Promise<string[]> {
  const sent: string[] = []
  const connection: DatabaseConnection = {
    executeQuery: async ({ sql }) => ({ rows: [...(answers[sent.push(sql) - 1] ?? [])] as never[] }),
    streamQuery: () => {
      throw new Error('nothing is read as a stream')
    },
  }
  class AnsweringDriver extends DummyDriver {
    override acquireConnection = async () => connection
  }
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new AnsweringDriver(),
      createIntrospector: (inner) => new PostgresIntrospector(inner),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  await send(db).catch(() => undefined) // some callers reject an empty result
  return sent
}
