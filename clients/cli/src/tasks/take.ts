/** The first `most` of an iterable, read no further than needed. */
export async function* take<T>(items: AsyncIterable<T>, most: number): AsyncGenerator<T> {
  let left = most
  if (left <= 0) return
  for await (const item of items) {
    yield item
    left -= 1
    if (left === 0) return
  }
}
