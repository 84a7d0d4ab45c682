/** Top left, top right, bottom left, bottom right. */
export type Corners = readonly (readonly number[])[]

type Reason = 'INPUT_UNREADABLE' | 'INPUT_TOO_LARGE'

/** Of a cut-out in which the model has found everything. */
export type Cut = {
  readonly width: number
  readonly height: number
  /** sRGB, and alpha where it is not 255; undefined: whatever. */
  readonly corners?: Corners
  /** Levels that a channel may be off. */
  readonly within?: number
}

export type TortureCase = {
  readonly name: string
  readonly make: () => Buffer | Promise<Buffer>
  readonly outcome: Cut | Reason
  /** Seconds, or hundreds of megabytes: left out where all files are taken many times. */
  readonly isHeavy?: true
}

export const mapCorners = (all: Corners, change: (colour: readonly number[]) => readonly number[]): Corners =>
  all.map((colour) => change(colour))
