/**
 * The input image itself cannot be processed, so another attempt would end the same way (D32). Every other error thrown
 * by this folder is an error of the service and may be attempted again. The message is for the caller.
 */
export class ImageError extends Error {
  override name = 'ImageError'
  readonly reason: 'INPUT_UNREADABLE' | 'INPUT_TOO_LARGE'

  constructor(reason: ImageError['reason'], message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.reason = reason
  }
}
