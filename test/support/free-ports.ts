import { createServer } from 'node:net'
import { isPortFree } from '@matte/local/ports/is-port-free'

// Below the ports that Linux gives to outgoing connections (32,768 and above): such a connection may take a port before
// the server that it was picked for, or while that server restarts.
const [lowest, highest, blockSize] = [12_000, 32_000, 50]
const blocks = (highest - lowest) / blockSize

/** Ports of the blocks that this program has reserved and not yet handed out. */
const reserved: number[] = []
let reserving = Promise.resolve()

/**
 * Ports of 127.0.0.1 on which nothing listens, all different. No other program that picks its ports here gets them
 * while this one runs, so a server can be stopped and started again on its port.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = reserved.shift()
    if (port === undefined) {
      reserving = reserving.catch(() => {}).then(reserveBlock)
      await reserving
    } else if (await isPortFree(port)) ports.push(port)
  }
  return ports
}

async function reserveBlock(): Promise<void> {
  if (reserved.length > 0) return // a call that waited here meanwhile has reserved one
  const first = Math.floor(Math.random() * blocks)
  for (let i = 0; i < blocks; i++) {
    const block = (first + i) % blocks
    if (!(await holdName(`matte-ports-${block}`))) continue
    reserved.push(...Array.from({ length: blockSize }, (_, offset) => lowest + block * blockSize + offset))
    return
  }
  throw new Error(`all ports from ${lowest} to ${highest} are reserved by test programs that run on this machine`)
}

/** Listens on an abstract socket, which one program can hold at a time and Linux releases with the program. */
function holdName(name: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().unref()
    server.once('error', () => resolve(false))
    server.listen({ path: `\0${name}` }, () => resolve(true))
  })
}

/**
 * Environment of a Node process that a test starts, beside its settings: the path, the run that it ends with, and the
 * cache of compiled code, with which it starts in half the time. The hundreds of starts are a good part of a run.
 */
export const nodeEnv = (): Record<string, string> => {
  const { PATH = '', NODE_COMPILE_CACHE = '', MATTE_TEST_RUN = '' } = process.env
  return { PATH, NODE_COMPILE_CACHE, MATTE_TEST_RUN }
}
