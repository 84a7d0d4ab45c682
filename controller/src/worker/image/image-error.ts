/** The input itself cannot be processed, so no retry would succeed. The message is for the caller. */
export class ImageError extends Error {
  override name = 'ImageError'
  readonly reason: 'INPUT_UNREADABLE' | 'INPUT_TOO_LARGE'

  constructor(reason: ImageError['reason'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.reason = reason
  }
}
