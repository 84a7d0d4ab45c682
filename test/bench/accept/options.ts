export type AcceptOptions = {
  readonly rounds: number
  readonly seconds: number
  /** Folder, and so disk, of the servers' files. */
  readonly dir: string
  readonly say: (line: string) => void
}

/** Connections of a closed loop. */
export const connections = 32
export const warmupSeconds = 1
