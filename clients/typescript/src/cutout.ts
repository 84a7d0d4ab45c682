import { saveFile } from '#files'
import type { Task } from './schema.ts'

export type CutoutFields = {
  readonly task: Task
  readonly url: string
  readonly contentType: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** A downloaded result. */
export class Cutout {
  readonly taskId: string
  readonly task: Task
  /** Valid for 7 days; read the task again for a new one. */
  readonly url: string
  readonly contentType: string
  readonly sizeBytes: number
  readonly #bytes: Uint8Array<ArrayBuffer>

  constructor({ task, url, contentType, bytes }: CutoutFields) {
    this.taskId = task.id
    this.task = task
    this.url = url
    this.contentType = contentType
    this.sizeBytes = bytes.byteLength
    this.#bytes = bytes
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes
  }

  async blob(): Promise<Blob> {
    return new Blob([this.#bytes], { type: this.contentType })
  }

  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new Blob([this.#bytes]).stream()
  }

  /** Writes a file (Node, Deno, Bun), whole or not at all. */
  async save(path: string): Promise<void> {
    await saveFile(path, this.#bytes)
  }
}
