import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { connectTriton } from '@matte/controller/worker/triton/triton-client'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'

export type WireBytes = { readonly perImage: number; readonly tensors: number }

/** Bytes on the wire per image, both ways, with envelope and HTTP/2, counted by a proxy. */
export async function measureWireBytes(address: string, images: number): Promise<WireBytes> {
  const [host = '', port = ''] = address.split(':')
  let bytes = 0
  const sockets: Socket[] = []
  const proxy = createServer((inner) => {
    const outer = connect(Number(port), host)
    sockets.push(inner, outer)
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      from.on('data', (chunk) => {
        bytes += chunk.length
      })
      from.pipe(to)
      from.on('error', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const client = connectTriton(loadTriton(), `127.0.0.1:${(proxy.address() as AddressInfo).port}`)
  try {
    const shape = await client.readyModel('u2netp')
    if (shape === undefined) throw new Error('model u2netp is not ready')
    const size = shape.inputSize
    const image = Buffer.alloc(size * size * 3, 127)
    const signal = new AbortController().signal
    const ask = (id: string) => client.infer({ model: 'u2netp', id, image, size, timeoutMs: 30_000, signal })
    await ask('00000000-0000-0000-0000-000000000000/1/first')
    const before = bytes
    for (let i = 0; i < images; i++) await ask(`00000000-0000-0000-0000-000000000000/1/${i}`)
    return { perImage: (bytes - before) / images, tensors: size * size * 4 }
  } finally {
    client.close()
    for (const socket of sockets) socket.destroy()
    proxy.close()
  }
}
