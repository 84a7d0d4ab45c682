// What has to be in the environment before one of our processes starts, because its C libraries read it first. An image
// needs the same two variables.
import { hugePageTunables } from './huge-pages.ts'

/** Above any machine's cores here: a process decodes one image a core and leaves two threads to all else (A51). */
const threadPoolSize = '16'

/**
 * Memory of 4 MiB and more goes back to the system when it is freed, as the bound of the controller assumes (A52). By
 * itself glibc raises that limit to 32 MiB as images come, and keeps more than twice what one needs for each thread.
 */
const mallocTunables = 'glibc.malloc.mmap_threshold=4194304:glibc.malloc.trim_threshold=8388608'

export const runtimeEnv = (): { GLIBC_TUNABLES: string; UV_THREADPOOL_SIZE: string } => ({
  GLIBC_TUNABLES: process.env.GLIBC_TUNABLES ?? `${hugePageTunables}:${mallocTunables}`,
  UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE || threadPoolSize,
})
