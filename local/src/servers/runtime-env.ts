// Environment that C libraries read when a process starts; the container image sets the same two variables.
import { availableParallelism } from 'node:os'

/** Above any local machine's cores: one decode per core, and two threads for everything else. */
const threadPoolSize = '16'

/** Returns freed blocks of 4 MiB to the system; by default glibc raises that threshold and keeps twice the memory. */
const mallocTunables = 'glibc.malloc.mmap_threshold=4194304:glibc.malloc.trim_threshold=8388608'

export const runtimeEnv = (): { GLIBC_TUNABLES: string; UV_THREADPOOL_SIZE: string } => ({
  GLIBC_TUNABLES: process.env.GLIBC_TUNABLES ?? `${hugePageTunables}:${mallocTunables}`,
  UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE || threadPoolSize,
})

/** Pages of 2 MiB for malloc: fewer TLB misses. Without support in the kernel or in glibc (2.35), nothing changes. */
export const hugePageTunables = 'glibc.malloc.hugetlb=1'

export const hugePageEnv = (): { GLIBC_TUNABLES: string } => ({
  GLIBC_TUNABLES: process.env.GLIBC_TUNABLES ?? hugePageTunables,
})

/** Huge pages for Node's own code, 40 MiB a process; adds 0.1 s to the start. */
export const hugePageFlags = ['--use-largepages=silent']

/** GOMAXPROCS of Go servers. On all cores the Go scheduler's search for work cost 2 ms per image. */
export const goThreads = (): number => Math.max(1, availableParallelism() >> 1)
