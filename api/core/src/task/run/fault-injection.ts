// Attempts that fail on purpose, for tests outside production (D53).
import type { Db } from '../../db/database.ts'
import type { Claim } from '../task.ts'

/** Makes the next `attempts` attempts of an open task fail. Undefined: no such task, or it has ended. */
export function setFaultAttempts(db: Db, id: string, attempts: number) {
  return db
    .updateTable('task')
    .set({ fault_attempts: attempts })
    .where('id', '=', id)
    .where('status', 'in', ['queued', 'processing'])
    .returning(['id', 'status'])
    .executeTakeFirst()
}

/** Consumes one injected failure; false if none is left. */
export async function takeInjectedFault(db: Db, { id, run, claim }: Claim): Promise<boolean> {
  const row = await db
    .updateTable('task')
    .set((eb) => ({ fault_attempts: eb('fault_attempts', '-', 1) }))
    .where('id', '=', id)
    .where('run', '=', run)
    .where('claim', '=', claim)
    .where('fault_attempts', '>', 0)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}
