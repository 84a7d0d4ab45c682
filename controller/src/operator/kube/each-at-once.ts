/** Runs `work` for each, at most `atOnceMax` at a time; rejects with the first fault, and begins nothing after it. */
export async function eachAtOnce<T>(
  atOnceMax: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items]
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        await work(item)
      } catch (error) {
        left.length = 0
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, worker))
}
