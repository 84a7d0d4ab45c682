// Runs and their manifests in IndexedDB. A manifest is append-only text. Each append adds a record; its promise
// resolves when the browser has stored the record.
import type { ManifestStore } from 'matte-client'
import type { RunRecord } from './run-progress.ts'

const name = 'matte-batches'
/** Runs that are older are deleted, as their results may be. */
const keptMs = 30 * 24 * 60 * 60 * 1_000

type Line = { readonly runId: string; readonly text: string }

export type RunStorage = {
  readonly list: (scope: string) => Promise<RunRecord[]>
  readonly put: (run: RunRecord) => Promise<void>
  readonly remove: (runId: string) => Promise<void>
  readonly manifest: (runId: string) => ManifestStore
}

export async function openRunStorage(): Promise<RunStorage> {
  const opening = indexedDB.open(name, 1)
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore('runs', { keyPath: 'id' })
    opening.result.createObjectStore('lines', { autoIncrement: true }).createIndex('runId', 'runId')
  }
  const db = await settled(opening)

  const write = (change: (runs: IDBObjectStore, lines: IDBObjectStore) => void): Promise<void> => {
    const transaction = db.transaction(['runs', 'lines'], 'readwrite', { durability: 'strict' })
    change(transaction.objectStore('runs'), transaction.objectStore('lines'))
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })
  }
  const remove = (runId: string): Promise<void> =>
    write((runs, lines) => {
      runs.delete(runId)
      const cursor = lines.index('runId').openKeyCursor(IDBKeyRange.only(runId))
      cursor.onsuccess = () => {
        if (cursor.result === null) return
        lines.delete(cursor.result.primaryKey)
        cursor.result.continue()
      }
    })

  return {
    list: async (scope) => {
      const all: RunRecord[] = await settled(db.transaction('runs').objectStore('runs').getAll())
      const isOld = ({ createdAt }: RunRecord): boolean => Date.parse(createdAt) < Date.now() - keptMs
      for (const { id } of all.filter(isOld)) await remove(id)
      return all
        .filter((run) => run.scope === scope && !isOld(run))
        .sort((a, b) => b.createdAt.localeCompare(a.createdAt))
    },
    put: (run) => write((runs) => void runs.put(run)),
    remove,
    manifest: (runId) => ({
      read: async () => {
        const index = db.transaction('lines').objectStore('lines').index('runId')
        const lines: Line[] = await settled(index.getAll(runId))
        return lines.map(({ text }) => text).join('')
      },
      append: (text) => write((_, lines) => void lines.add({ runId, text } satisfies Line)),
    }),
  }
}

const settled = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
