export type Say = (line: string) => void

export const sayToTerminal: Say = (line) => void process.stdout.write(`${line}\n`)

/** Prints `text`, a reminder every 15 s, and the duration at the end. */
export async function sayWhile<T>(say: Say, text: string, act: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  const seconds = () => ((performance.now() - begun) / 1_000).toFixed(1)
  say(`${text} …`)
  const timer = setInterval(() => say(`${text}: still running after ${seconds()} s`), 15_000)
  try {
    const result = await act()
    say(`${text}: done in ${seconds()} s`)
    return result
  } finally {
    clearInterval(timer)
  }
}
