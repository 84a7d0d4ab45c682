import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

type WaitOptions = {
  readonly say?: (line: string) => void
  /** Helpers of a killed server hold its ports for a few seconds. */
  readonly timeoutMs?: number
}

/** Returns the ports that are still taken after the limit. */
export async function awaitFreePorts(
  ports: readonly number[],
  { say, timeoutMs = 15_000 }: WaitOptions = {},
): Promise<readonly number[]> {
  const begun = performance.now()
  let said = say === undefined
  for (;;) {
    const free = await Promise.all(ports.map(isPortFree))
    const taken = ports.filter((_, index) => !free[index])
    const waitedMs = performance.now() - begun
    if (taken.length === 0 || waitedMs > timeoutMs) return taken
    if (!said && waitedMs > 1_000) {
      say?.(`waiting up to ${timeoutMs / 1_000} s until ${taken.join(', ')} ${taken.length > 1 ? 'are' : 'is'} free …`)
      said = true
    }
    await pause(50)
  }
}

type PortUse = {
  readonly port: number
  readonly what: string
  readonly variable: string
}

/** One message per conflict. `ours`: ports of a running `make up`, which are not conflicts. */
export async function findPortConflicts(uses: readonly PortUse[], ours: ReadonlySet<number>): Promise<string[]> {
  const conflicts = await Promise.all(
    uses.map(async ({ port, what, variable }, index) => {
      const twin = uses.slice(0, index).find((earlier) => earlier.port === port)
      if (twin) return `Port ${port} is wanted for ${twin.what} and for ${what}: set ${variable} to another port.`
      if (ours.has(port) || (await isPortFree(port))) return undefined
      return `Port ${port} (${what}) is in use by another program: set ${variable} to a free port.`
    }),
  )
  return conflicts.filter((conflict) => conflict !== undefined)
}
