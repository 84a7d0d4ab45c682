// Masks from a model file, without a server. Results are cached by the checksums of model and input.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findPython } from '@matte/local/install/python-packages'
import { sayToTerminal } from '@matte/local/say'
import { installTriton } from '@matte/local/servers/triton'
import { cached } from '../cache.ts'

export type Network = {
  /** The side of its images and masks, pixels. */
  readonly size: number
  /** Mask (`size * size` bytes, probability x 255) of an image of `size * size * 3` bytes. */
  readonly ask: (image: Uint8Array) => Promise<Uint8Array>
}

export type Model = Network & { readonly close: () => Promise<void> }

/** `named`: an ONNX file, optionally after `openvino:` or `openvino-bf16:`. */
export async function openModel(named: string): Promise<Model> {
  const [, runtime = '', precision = '', file = named] = /^(openvino)(?:-(bf16))?:(.*)$/.exec(named) ?? []
  const path = resolve(file)
  const checksum = sha256(await readFile(path)).slice(0, 16) + runtime + precision
  const program = await startProgram(path, [runtime, precision].filter(Boolean))
  // One at a time: the program answers in order, without ids.
  let last: Promise<unknown> = Promise.resolve()
  const infer = (image: Uint8Array): Promise<Uint8Array> => {
    const answer = last.then(() => program.exchange(image))
    last = answer.catch(() => undefined)
    return answer
  }
  return {
    size: program.size,
    ask: (image) => cached(`masks-${checksum}/${sha256(image)}`, () => infer(image)),
    close: program.close,
  }
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

async function startProgram(model: string, runtime: readonly string[]) {
  const [python, { dir }] = await Promise.all([findPython(), installTriton(sayToTerminal)])
  const PYTHONPATH = join(dir, 'pytriton/tritonserver/backends/python')
  const { PATH, HOME } = process.env
  const child = spawn(python.command, [join(import.meta.dirname, 'ask.py'), model, ...runtime], {
    env: { PATH, HOME, PYTHONPATH },
    stdio: 'pipe',
  })
  child.stderr.pipe(process.stderr)
  const { stdin, stdout } = child
  const received = stdout.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  let left = Buffer.alloc(0)
  async function read(length: number): Promise<Buffer> {
    while (left.length < length) {
      const { value, done } = await received.next()
      if (done) throw new Error('the model program has ended')
      left = Buffer.concat([left, value])
    }
    const bytes = left.subarray(0, length)
    left = left.subarray(length)
    return bytes
  }
  const readNumber = async (): Promise<number> => (await read(4)).readUInt32LE()
  return {
    size: await readNumber(),
    async exchange(image: Uint8Array): Promise<Buffer> {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(image.length)
      stdin.write(length)
      stdin.write(image)
      return read(await readNumber())
    },
    async close(): Promise<void> {
      stdin.end()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}
