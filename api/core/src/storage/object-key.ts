import { randomUUID } from 'node:crypto'

/**
 * The key of a new upload, `private-uploads/<yyyy>/<mm>/<uuid>-<file name>` (D20). The name is reduced to
 * `[A-Za-z0-9._-]` and its last 100 characters, so that the ending survives; the key alone grants nothing.
 */
export function newUploadKey(fileName: string, at: Date): string {
  const name = fileName
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(-100)
  return `private-uploads/${yearMonth(at)}/${randomUUID()}-${name}`
}

/** The key of one claim's result: run and claim are in it, so that a lost claim can never overwrite a winner's (D34). */
export function resultKey(
  task: { id: string; run: number; claim: string; createdAt: Date },
  extension: string,
): string {
  return `results/${yearMonth(task.createdAt)}/${task.id}/${task.run}-${task.claim}.${extension}`
}

const yearMonth = (at: Date): string => at.toISOString().slice(0, 7).replace('-', '/')
