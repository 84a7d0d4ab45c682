// Memory in pages of 2 MiB in place of 4 KiB: fewer entries for the processor to look up, and those look-ups are what a
// machine that others share is short of. It is asked for, never required: where the kernel has none
// (`/sys/kernel/mm/transparent_hugepage/enabled` says `never`) or glibc is older than 2.35, nothing changes.

/** What malloc takes from the kernel: pixels, tensors. The caller's own tunables count instead. */
export const hugePageTunables = 'glibc.malloc.hugetlb=1'

export const hugePageEnv = (): { GLIBC_TUNABLES: string } => ({
  GLIBC_TUNABLES: process.env.GLIBC_TUNABLES ?? hugePageTunables,
})

/** Node's own code, 40 MiB that are then no longer shared between processes, and 0.1 s more at the start. */
export const hugePageFlags = ['--use-largepages=silent']
