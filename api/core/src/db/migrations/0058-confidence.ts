import { type Kysely, sql } from 'kysely'

// Columns without a default and constraints that are not validated: the table is neither rewritten nor read under its
// lock. New and changed rows are checked.
const statements = [
  `alter table task
     add column confidence double precision,
     add column charge text,
     add constraint task_confidence check (confidence is null or status = 'succeeded' and confidence between 0 and 1)
       not valid,
     add constraint task_charge check (charge = 'if_subject' or charge = 'none' and status = 'succeeded') not valid`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
