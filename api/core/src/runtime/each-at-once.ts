/** Runs `work` for each, at most `atOnceMax` at a time; rejects with the first error, and begins nothing after it. */
export async function eachAtOnce<T>(
  atOnceMax: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values()
  let failed = false
  const worker = async (): Promise<void> => {
    for (const item of left) {
      if (failed) return
      try {
        await work(item)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, worker))
}
