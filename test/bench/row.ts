/** A line of the benchmark's table. */
export type Row = {
  readonly name: string
  readonly ratio: number
  readonly target: string
  readonly met: boolean
  /** The figures behind the ratio. */
  readonly detail: string
}
