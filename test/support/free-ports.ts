import { createServer } from 'node:net'
import { isPortFree } from '@matte/local/lifecycle/free-ports'

// Below Linux's range for outgoing connections (32,768 and above): such a connection could take a port before its
// server starts, or while the server restarts.
const [lowest, highest, blockSize] = [12_000, 32_000, 50]
const blocks = (highest - lowest) / blockSize

/** Reserved ports that were not handed out yet. */
const reserved: number[] = []
let reserving = Promise.resolve()

/**
 * Returns free ports of 127.0.0.1, all different. No other program with this function gets them while this one runs, so
 * a server can restart on its port.
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
  if (reserved.length > 0) return // a concurrent call has reserved a block meanwhile
  const first = Math.floor(Math.random() * blocks)
  for (let i = 0; i < blocks; i++) {
    const block = (first + i) % blocks
    if (!(await holdName(`matte-ports-${block}`))) continue
    reserved.push(...Array.from({ length: blockSize }, (_, offset) => lowest + block * blockSize + offset))
    return
  }
  throw new Error(`all ports from ${lowest} to ${highest} are reserved by test programs that run on this machine`)
}

/** Listens on an abstract socket, which only one program can hold; Linux releases it when the program ends. */
function holdName(name: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().unref()
    server.once('error', () => resolve(false))
    server.listen({ path: `\0${name}` }, () => resolve(true))
  })
}

/**
 * Environment of Node processes that tests start, in addition to their settings: the path, the run's id, and a compile
 * cache that halves start-up time.
 */
export const nodeEnv = (): Record<string, string> => {
  const { PATH = '', NODE_COMPILE_CACHE = '', MATTE_TEST_RUN = '' } = process.env
  return { PATH, NODE_COMPILE_CACHE, MATTE_TEST_RUN }
}
