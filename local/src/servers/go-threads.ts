import { availableParallelism } from 'node:os'

/**
 * Half of the cores, as GOMAXPROCS of a server written in Go, whose scheduler searches for work on every idle core.
 * With all of them the object store cost 2 ms for each image of a model that keeps two cores busy; one core stores 250
 * results a second.
 */
export const goThreads = (): number => Math.max(1, availableParallelism() >> 1)
