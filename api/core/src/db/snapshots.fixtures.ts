// How statements are written down, and how they are found in the sources, for snapshots.test.ts.
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
  /** Rows that the database answers, a list for each statement in turn; none after the last. */
  readonly answers?: readonly (readonly unknown[])[]
}

/** As psql takes it; a line of more than 120 columns is divided. */
export function prepare(name: string, sql: string): string {
  const lines = sql.replace(/^\n|\s+$/g, '').split('\n')
  const indent = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)))
  const text = lines.map((line) => breakLine(line.slice(indent))).join('\n')
  return text.startsWith('set ') ? `${text};\n` : `prepare ${name} as\n${text};\n` // a setting cannot be prepared
}

/** A line in pieces of at most 120 columns, divided after commas and before keywords. */
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

/** The lines of every `sql` template that takes several lines of a source. */
export function templatesOf(source: string): string[][] {
  const templates: string[][] = []
  let open: string[] | undefined
  for (const line of source.split('\n')) {
    const [before = '', after = '', ...rest] = line.split('`')
    const opensOrCloses = line.includes('`') && rest.length % 2 === 0 // an odd number of marks
    if (open === undefined) open = opensOrCloses && /\bsql(<.*>)?$/.test(before) ? [after] : undefined
    else if (opensOrCloses) {
      templates.push([...open, before])
      open = undefined
    } else open.push(line)
  }
  return templates.map((lines) => lines.map((line) => line.trim()).filter((line) => line !== ''))
}

/** Statements that `send` sends to a database that gives these answers. */
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
  await send(db).catch(() => undefined) // some refuse an answer without rows
  return sent
}
