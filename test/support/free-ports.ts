import { type AddressInfo, createServer, type Server } from 'node:net'

/** Ports of 127.0.0.1 that were free a moment ago, all different. Held until all are known, then released together. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

function listen(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(server))
  })
}

/**
 * What a Node process that a test starts gets beside its settings: the path, and the cache of compiled code, with which
 * it starts in half the time. The hundreds of starts are a good part of what a run takes.
 */
export const nodeEnv = (): Record<string, string> => {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  return { PATH, NODE_COMPILE_CACHE }
}
