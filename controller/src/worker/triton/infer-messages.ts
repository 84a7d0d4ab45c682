import { errorOfMessage, InferenceError } from './inference-error.ts'
import type { InferRequest, InferResponse, StreamResponse } from './triton-protocol.ts'

export type InferInput = {
  readonly model: string
  /** Echoed by the server: task, run and claim, so that an answer is never taken for another's. */
  readonly id: string
  /** RGB, `size` × `size` × 3 bytes. */
  readonly image: Uint8Array
  readonly size: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export const buildRequest = ({ model, id, image, size }: InferInput): InferRequest => ({
  model_name: model,
  id,
  inputs: [{ name: 'image', datatype: 'UINT8', shape: [1, size, size, 3] }],
  outputs: [{ name: 'alpha' }],
  raw_input_contents: [image],
})

/** Undefined: a message that is neither an answer nor an error, and of no concern. */
export function readMessage(message: StreamResponse): InferResponse | InferenceError | undefined {
  if (message.error_message) return errorOfMessage(message.error_message)
  return message.infer_response ?? undefined
}

/** @throws InferenceError failed: the answer is of another request, or of another size. */
export function readMask(answer: InferResponse, { id, size }: InferInput): Buffer {
  const mask = answer.raw_output_contents[0]
  if (answer.id !== id || mask === undefined || mask.length !== size * size) {
    throw new InferenceError('failed', `the model server answered ${mask?.length ?? 0} bytes for ${size * size}`)
  }
  return mask
}
