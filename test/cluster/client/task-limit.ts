// Limits open tasks to four, the limit of the workspace's plan.
const openMax = 4

let open = 0
const waiting: (() => void)[] = []

export async function withPlace(work: () => Promise<void>): Promise<void> {
  if (open >= openMax) await new Promise<void>((resolve) => waiting.push(resolve))
  else open += 1
  try {
    await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) open -= 1
    else next()
  }
}
