import { availableParallelism } from 'node:os'

/**
 * Half of the cores, as GOMAXPROCS of a server that is written in Go: it looks for work on every core that seems idle to it.
 * The object store took 2 ms more of each picture from a model that keeps two cores busy; one does 250 results a second.
 */
export const goThreads = (): number => Math.max(1, availableParallelism() >> 1)
