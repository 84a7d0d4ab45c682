/** One thing that a check objects to. `rule` and `where` together name it in the baseline. */
export type Finding = {
  readonly rule: string
  readonly where: string
  /** How far it goes; 1 where there is nothing to measure. */
  readonly size: number
  /** What to do about it. */
  readonly advice: string
}

/** Code that no process runs: it may import anything, and nothing of the processes may import it. */
export const isTestCode = (path: string): boolean =>
  /^test\/|\.(test|fixtures)\.ts$|^(vitest|rolldown)\.config\.ts$/.test(path)
