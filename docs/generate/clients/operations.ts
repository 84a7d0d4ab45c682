// Operations of the Developer API by their ids, for tests of the clients: each client has a method for each of them.
import { buildDeveloperDocument } from './developer-document.ts'

/** Method and path by operationId, such as `GET /open/developer/tasks/{taskId}`. */
export async function listDeveloperOperations(): Promise<Readonly<Record<string, string>>> {
  const { paths } = await buildDeveloperDocument()
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`] as const,
    ),
  )
  return Object.fromEntries(operations.sort(([a], [b]) => (a < b ? -1 : 1)))
}

export const writeOperations = async (): Promise<string> =>
  `${JSON.stringify(await listDeveloperOperations(), null, 2)}\n`
