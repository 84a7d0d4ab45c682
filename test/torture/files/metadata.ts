// Metadata that cameras and editors write and that results must not contain.

/** EXIF with orientation, location and serial number; without the "Exif" prefix of JPEG. */
export function exif(orientation: number): Buffer {
  const entries = 3
  const directory = Buffer.alloc(8 + 2 + entries * 12 + 4 + 2 + 18 + 4 + secret.length)
  directory.write('MM\0*', 0, 'latin1')
  directory.writeUInt32BE(8, 4)
  directory.writeUInt16BE(entries, 8)
  const gpsAt = 8 + 2 + entries * 12 + 4
  const secretAt = gpsAt + 2 + 12 + 4
  const entry = (at: number, [tag, type, count, value]: readonly [number, number, number, number]): void => {
    directory.writeUInt16BE(tag, at)
    directory.writeUInt16BE(type, at + 2)
    directory.writeUInt32BE(count, at + 4)
    if (type === 3) directory.writeUInt16BE(value, at + 8)
    else directory.writeUInt32BE(value, at + 8)
  }
  entry(10, [0x0112, 3, 1, orientation])
  entry(22, [0x8825, 4, 1, gpsAt])
  entry(34, [0xa431, 2, secret.length, secretAt])
  directory.writeUInt16BE(1, gpsAt)
  // Map datum, a text.
  entry(gpsAt + 2, [0x0012, 2, secret.length, secretAt])
  directory.write(secret, secretAt, 'latin1')
  return directory
}

/** Part of every metadata kind, so one search finds any. */
export const secret = 'torture-secret-52.5200N'

export const xmp = Buffer.from(
  `<x:xmpmeta xmlns:x="adobe:ns:meta/"><exif:GPSLatitude>${secret}</exif:GPSLatitude></x:xmpmeta>`,
)

/** An EXIF whose second directory points to the first. */
export function exifLoop(): Buffer {
  const loop = exif(1)
  loop.writeUInt32BE(8, 8 + 2 + 3 * 12)
  return loop
}
