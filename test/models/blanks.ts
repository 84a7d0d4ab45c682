const side = 320

type Colour = readonly [number, number, number]

/** A gradient from one colour to another; `share` is 0..1, `x` and `y` are 0..1. */
function fade(first: Colour, last: Colour, share: (x: number, y: number) => number): Uint8Array {
  const image = new Uint8Array(side * side * 3)
  for (let pixel = 0; pixel < side * side; pixel++) {
    const at = share((pixel % side) / (side - 1), Math.floor(pixel / side) / (side - 1))
    for (const [channel, value] of first.entries()) {
      image[pixel * 3 + channel] = Math.round(value + ((last[channel] ?? 0) - value) * at)
    }
  }
  return image
}

const plain = (colour: Colour): Uint8Array => fade(colour, colour, () => 0)

/** Plain colours, skies and walls, in some of which a badly quantised model sees a subject. */
export const blanks: readonly (readonly [string, Uint8Array])[] = [
  ['black', plain([0, 0, 0])],
  ['white', plain([255, 255, 255])],
  ['grey', plain([128, 128, 128])],
  ['yellow', plain([240, 220, 40])],
  ['blue', plain([40, 80, 220])],
  ['a clear sky', fade([60, 120, 210], [215, 235, 250], (_, y) => y)],
  ['a sky at dusk', fade([30, 20, 60], [250, 140, 60], (_, y) => y)],
  ['sand', fade([230, 210, 170], [150, 110, 70], (x) => x)],
  ['black to white', fade([0, 0, 0], [255, 255, 255], (x) => x)],
  [
    'a lamp on a wall',
    fade([230, 210, 170], [150, 110, 70], (x, y) => Math.min(1, Math.hypot(x - 0.5, y - 0.5) * 1.4)),
  ],
  ['a weave', fade([180, 175, 170], [200, 195, 190], (x, y) => 0.5 + 0.25 * (Math.sin(x * 400) + Math.sin(y * 400)))],
]
