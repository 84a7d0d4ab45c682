// getaddrinfo shares Node's thread pool with image decoding, so name look-ups need threads that decoding leaves free.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

/** Starts decodes of photos of 12 megapixels, then one look-up. Prints how many decodes ended before the look-up. */
const program = `
import dns from 'node:dns'
import sharp from 'sharp'
const noise = { type: 'gaussian', mean: 128, sigma: 40 }
const photo = await sharp({ create: { width: 4_000, height: 3_000, channels: 3, noise } }).jpeg().toBuffer()
sharp.concurrency(1)
let ended = 0
const decoding = Array.from({ length: Number(process.argv[1]) }, async () => {
  await sharp(photo).raw().toBuffer()
  ended += 1
})
await dns.promises.lookup('localhost')
console.log(ended)
await Promise.all(decoding)
`

async function decodesBeforeLookUp(decodes: number): Promise<number> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', program, String(decodes)],
    { cwd: import.meta.dirname, env: { ...process.env, UV_THREADPOOL_SIZE: '16' } },
  )
  return Number(stdout)
}

it('looks up a name before any decode ends, with the two threads that the worker leaves free', async () => {
  expect(await decodesBeforeLookUp(14)).toBe(0)
})

it('waits for a decode if decoding holds every thread', async () => {
  expect(await decodesBeforeLookUp(16)).toBeGreaterThan(0)
})
