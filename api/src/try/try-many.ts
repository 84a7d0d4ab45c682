// The bundled photo many times over, each logged: what a client saw while something is done to the service.
import { readBundledPhoto } from './bundled-photo.ts'
import { removeBackground } from './remove-background.ts'

type Connection = Parameters<typeof removeBackground>[0]

/** A line of JSON each: `{"taskId","seconds"}`, or `{"error"}` with what was answered. */
export async function tryMany(
  connection: Connection,
  { count, atOnce }: { readonly count: number; readonly atOnce: number },
): Promise<void> {
  const photo = readBundledPhoto()
  let begun = 0
  const client = async (): Promise<void> => {
    while (begun < count) {
      begun += 1
      const line = await removeBackground(connection, photo).then(
        ({ taskId, seconds }) => ({ taskId, seconds }),
        (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
      )
      process.stdout.write(`${JSON.stringify(line)}\n`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, client))
}
