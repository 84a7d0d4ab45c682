import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'

const limitBytes = 12 * 1_024
const webhookLimitBytes = 2 * 1_024
const index = fileURLToPath(new URL('./index.ts', import.meta.url))

/** One minified module as an application for a browser would have it. */
async function bundle(program: string): Promise<string> {
  const entry = '\0entry.ts'
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === entry ? { id: entry, moduleSideEffects: true } : undefined),
        load: (id) => (id === entry ? program : undefined),
      },
    ],
  })
  const { output } = await build.generate({ format: 'esm', minify: true, codeSplitting: false })
  await build.close()
  return output[0].code
}

it('takes at most 12 KB of a bundle for browsers, without an import', async () => {
  const code = await bundle(`export * from ${JSON.stringify(index)}`)
  expect(gzipSync(code).length).toBeLessThanOrEqual(limitBytes)
  expect(code).toContain('CLIENT_INPUT')
  expect(code).not.toMatch(/["'`]node:|^import|\bimport\(/m)
})

it('takes less than 2 KB for verifyWebhook alone', async () => {
  const code = await bundle(`export { verifyWebhook } from ${JSON.stringify(index)}`)
  expect(gzipSync(code).length).toBeLessThan(webhookLimitBytes)
  expect(code).not.toContain('removeBackground')
})
