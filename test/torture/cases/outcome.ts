/** Top left, top right, bottom left, bottom right. */
export type Corners = readonly (readonly number[])[]

type Reason = 'INPUT_UNREADABLE' | 'INPUT_TOO_LARGE'

/** A cut-out in which the model has found everything. */
export type Cut = {
  readonly width: number
  readonly height: number
  /** sRGB, and alpha unless 255; undefined: anything. */
  readonly corners?: Corners
  /** Allowed difference in levels. */
  readonly within?: number
}

export type TortureCase = {
  readonly name: string
  readonly make: () => Buffer | Promise<Buffer>
  readonly outcome: Cut | Reason
  /** Takes seconds or hundreds of megabytes; skipped in repeated rounds. */
  readonly isHeavy?: true
}

export const mapCorners = (all: Corners, change: (colour: readonly number[]) => readonly number[]): Corners =>
  all.map((colour) => change(colour))
