const startOfScan = 0xda
/** SOF markers of the frames that libjpeg decodes. */
const frames = [0xc0, 0xc1, 0xc2, 0xc9, 0xca]
const progressive = [0xc2, 0xca]
/** Adobe transforms that libjpeg knows, by number of components. */
const transformsOf: ReadonlyMap<number, readonly number[]> = new Map([
  [3, [0, 1]],
  [4, [0, 2]],
])
/** Cameras write fewer than a hundred; the limit bounds hostile files. */
const segmentsMax = 512

/**
 * Reports whether libjpeg warns about the header although every viewer shows the file: stray bytes between segments,
 * unknown JFIF or Adobe variants, a sequential scan with fewer coefficients, or too many segments.
 */
export function isOddHeader(jpeg: Uint8Array): boolean {
  const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength)
  let isSequential = true
  let components = 0
  let transform = 0
  let at = 2
  for (let segment = 0; segment < segmentsMax; segment++) {
    if (jpeg[at] !== 0xff) return true
    while (jpeg[at + 1] === 0xff) at += 1 // fill bytes may precede a marker
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

const isPartial = (scan: Uint8Array): boolean => {
  const [first, last, bits] = scan.subarray(-3)
  return first !== 0 || last !== 63 || bits !== 0
}

/** Extended XMP of 20 MB has some three hundred, a profile at most 255. */
const keptSegmentsMax = 4_096
const [temporary, firstRestart, startOfImage, endOfImage] = [0x01, 0xd0, 0xd8, 0xd9]

/**
 * Whether a JPEG has so many segments that libjpeg, which keeps each from its head and between its scans, takes many
 * times the memory of the file: 1 GB for 18 MB of empty ones.
 */
export function hasTooManySegments(jpeg: Uint8Array): boolean {
  let segments = 0
  for (let at = 2; at + 3 < jpeg.length; ) {
    const marker = jpeg[at] === 0xff ? (jpeg[at + 1] as number) : 0
    // Compressed data, fill bytes, and markers without a length.
    if (marker <= temporary || marker === 0xff) at += 1
    else if (marker >= firstRestart && marker <= startOfImage) at += 2
    else if (marker === endOfImage) return false
    else {
      segments += 1
      if (segments > keptSegmentsMax) return true
      at += 2 + (jpeg[at + 2] as number) * 256 + (jpeg[at + 3] as number)
    }
  }
  return false
}
