import { isPortFree } from '@matte/local/ports/is-port-free'

// Below what Linux gives to outgoing connections (32,768 and above): one of those may have the port by the time that a
// server takes it, or takes it again. Each of the programs that run tests at the same time has a share of its own.
const [lowest, highest, shares] = [12_000, 32_000, 8]
const share = Math.floor((highest - lowest) / shares)
const from = lowest + (Number(process.env.VITEST_POOL_ID ?? 0) % shares) * share
let next = Math.floor(Math.random() * share)

/** Ports of 127.0.0.1 that were free a moment ago, all different; none comes again before some thousands of others. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    next = (next + 1) % share
    const port = from + next
    if (await isPortFree(port)) ports.push(port)
  }
  return ports
}

/**
 * Environment of a Node process that a test starts, beside its settings: the path, the run that it ends with, and the
 * cache of compiled code, with which it starts in half the time. The hundreds of starts are a good part of a run.
 */
export const nodeEnv = (): Record<string, string> => {
  const { PATH = '', NODE_COMPILE_CACHE = '', MATTE_TEST_RUN = '' } = process.env
  return { PATH, NODE_COMPILE_CACHE, MATTE_TEST_RUN }
}
