// Masks from a model file, without a server: each answer is kept by the checksums of model and input, so that only what
// was never asked costs an inference.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findPython } from '@matte/local/install/python'
import { sayToTerminal } from '@matte/local/say'
import { installTriton } from '@matte/local/servers/triton'
import { cached } from '../cache.ts'

/** The mask (`size * size` bytes, probability x 255) of an image of `size * size * 3` bytes. */
export type Ask = (image: Uint8Array) => Promise<Uint8Array>

export type Model = { readonly ask: Ask; readonly close: () => Promise<void> }

export async function openModel(path: string): Promise<Model> {
  const checksum = sha256(await readFile(path)).slice(0, 16)
  let program: Promise<ChildProcessWithoutNullStreams> | undefined
  // One question at a time: the program answers in order and says nothing of which question it was.
  let last: Promise<unknown> = Promise.resolve()
  const infer = (image: Uint8Array): Promise<Uint8Array> => {
    program ??= startProgram(path)
    const running = program
    const answer = last.then(async () => exchange(await running, image))
    last = answer.catch(() => undefined)
    return answer
  }
  return {
    ask: (image) => cached(`masks-${checksum}/${sha256(image)}`, () => infer(image)),
    async close() {
      if (program === undefined) return
      const child = await program
      child.stdin.end()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

async function startProgram(model: string): Promise<ChildProcessWithoutNullStreams> {
  const [python, { dir }] = await Promise.all([findPython(), installTriton(sayToTerminal)])
  const PYTHONPATH = join(dir, 'pytriton/tritonserver/backends/python')
  const { PATH, HOME } = process.env
  const child = spawn(python.command, [join(import.meta.dirname, 'ask.py'), model], {
    env: { PATH, HOME, PYTHONPATH },
    stdio: 'pipe',
  })
  child.stderr.pipe(process.stderr)
  return child
}

async function exchange({ stdin, stdout }: ChildProcessWithoutNullStreams, image: Uint8Array): Promise<Uint8Array> {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(image.length)
  stdin.write(length)
  stdin.write(image)
  let answer = Buffer.alloc(0)
  const chunks = stdout.iterator({ destroyOnReturn: false })
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    answer = Buffer.concat([answer, chunk])
    if (answer.length >= 4 && answer.length >= 4 + answer.readUInt32LE()) return answer.subarray(4)
  }
  throw new Error('the model program has ended')
}
