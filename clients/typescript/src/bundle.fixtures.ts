import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const index = JSON.stringify(fileURLToPath(new URL('./index.ts', import.meta.url)))

/** One minified module with these exports, as an application for a browser would have it. */
export async function bundle(exported: string): Promise<string> {
  const entry = '\0entry.ts'
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === entry ? { id: entry, moduleSideEffects: true } : undefined),
        load: (id) => (id === entry ? `export ${exported} from ${index}` : undefined),
      },
    ],
  })
  const { output } = await build.generate({ format: 'esm', minify: true, codeSplitting: false })
  await build.close()
  return output[0].code
}
