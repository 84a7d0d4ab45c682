// Input of a panel's drawing.
/** A series with its name in Grafana. */
export type Curve = { readonly name: string; readonly points: readonly (readonly [seconds: number, value: number])[] }

export type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }

/** Time span from the left to the right edge, in seconds since 1970. */
export type Span = { readonly from: number; readonly to: number }

/** A panel's data and position. */
export type Drawn = { readonly curves: readonly Curve[]; readonly box: Box; readonly span: Span }
