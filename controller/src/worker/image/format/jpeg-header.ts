const startOfScan = 0xda
/** SOF0, 1, 2, 9 and 10: the frames that libjpeg decodes. */
const frames = [0xc0, 0xc1, 0xc2, 0xc9, 0xca]
const progressive = [0xc2, 0xca]
/** By a frame's components, the transforms of Adobe that libjpeg knows; of other frames it asks for none. */
const transformsOf: ReadonlyMap<number, readonly number[]> = new Map([
  [3, [0, 1]],
  [4, [0, 2]],
])
/** Cameras and editors write fewer than a hundred; whoever makes a file chooses every byte of it (A54). */
const segmentsMax = 512

/**
 * Whether the header has one of the oddities that libjpeg warns about, though each viewer shows such a file: bytes
 * that nobody needs between its segments, a revision of JFIF or a transform of Adobe that is none, a scan of all
 * coefficients that says it has fewer. Reads from segment to segment, as far as the first scan; more segments than are
 * read are odd.
 */
export function isOddHeader(jpeg: Uint8Array): boolean {
  const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength)
  let isSequential = true
  let components = 0
  let transform = 0
  let at = 2
  for (let segment = 0; segment < segmentsMax; segment++) {
    if (jpeg[at] !== 0xff) return true
    while (jpeg[at + 1] === 0xff) at += 1 // any number of these may come before a marker
    if (at + 4 > jpeg.length) return false
    const marker = view.getUint8(at + 1)
    const end = at + 2 + view.getUint16(at + 2)
    const body = jpeg.subarray(at + 4, end)
    if (marker === startOfScan) {
      const isKnown = transformsOf.get(components)?.includes(transform) ?? true
      return !isKnown || (isSequential && isPartial(body))
    }
    if (marker === 0xe0 && begins(body, 'JFIF\0') && body[5] !== 1) return true
    if (marker === 0xee && begins(body, 'Adobe')) transform = body[11] ?? 0
    if (frames.includes(marker)) components = body[5] ?? 0
    if (progressive.includes(marker)) isSequential = false
    at = end
  }
  return true
}

const begins = (body: Uint8Array, text: string): boolean =>
  Buffer.from(body.subarray(0, text.length)).toString('latin1') === text

/** The last three bytes: the first and last coefficient, and the bits of them. */
const isPartial = (scan: Uint8Array): boolean => {
  const [first, last, bits] = scan.subarray(-3)
  return first !== 0 || last !== 63 || bits !== 0
}
