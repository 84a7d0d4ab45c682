// What a panel's drawing is made of.
/** A series with the name that Grafana gives it. */
export type Curve = { readonly name: string; readonly points: readonly (readonly [seconds: number, value: number])[] }

export type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }

/** From the left edge of a picture to its right one, in seconds since 1970. */
export type Span = { readonly from: number; readonly to: number }

/** What a panel shows, and where. */
export type Drawn = { readonly curves: readonly Curve[]; readonly box: Box; readonly span: Span }
