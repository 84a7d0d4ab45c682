import { isPortFree } from './is-port-free.ts'

type PortUse = {
  readonly port: number
  readonly what: string
  /** Moves the port. */
  readonly variable: string
}

/**
 * One line for each port that is not available, with the variable that moves it; empty when all are.
 * `ours` are ports on which processes of an earlier `make up` listen: they are no conflict.
 */
export async function findPortConflicts(uses: readonly PortUse[], ours: ReadonlySet<number>): Promise<string[]> {
  const conflicts = await Promise.all(
    uses.map(async ({ port, what, variable }, index) => {
      const twin = uses.slice(0, index).find((earlier) => earlier.port === port)
      if (twin) return `Port ${port} is wanted for ${twin.what} and for ${what}: set ${variable} to another port.`
      if (ours.has(port) || (await isPortFree(port))) return undefined
      return `Port ${port} (${what}) is taken by another program: set ${variable} to a free port.`
    }),
  )
  return conflicts.filter((conflict) => conflict !== undefined)
}
