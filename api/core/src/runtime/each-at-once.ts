import pLimit from 'p-limit'

/** Runs `work` for each item, at most `atOnceMax` at a time. Rejects with the first error and starts nothing after it. */
export async function eachAtOnce<T>(
  atOnceMax: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  let failed = false
  const run = async (item: T): Promise<void> => {
    if (failed) return
    try {
      await work(item)
    } catch (error) {
      failed = true
      throw error
    }
  }
  await pLimit(atOnceMax).map(items, run)
}
