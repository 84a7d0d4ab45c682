/** At most one read per `maxAgeMs`, shared by concurrent callers. Errors are not kept. */
export function briefly<Value>(maxAgeMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let known: Promise<Value> | undefined
  let readAtMs = 0
  return () => {
    if (known !== undefined && performance.now() - readAtMs < maxAgeMs) return known
    readAtMs = performance.now()
    const latest = read()
    known = latest
    latest.catch(() => {
      if (known === latest) known = undefined
    })
    return latest
  }
}
