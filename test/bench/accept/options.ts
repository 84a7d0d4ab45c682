export type AcceptOptions = {
  readonly rounds: number
  readonly seconds: number
  /** The folder, and so the disk, that the servers keep their files in. */
  readonly dir: string
  readonly say: (line: string) => void
}

/** Of a closed loop. */
export const connections = 32
export const warmupSeconds = 1
