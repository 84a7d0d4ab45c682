// The plan of the workspace allows four open tasks; more would be refused, and that is no business of this client.
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
