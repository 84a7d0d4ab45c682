import { localError } from './kube-error.ts'

const newline = 0x0a

/** Yields one JSON value per line and calls `onData` per chunk. @throws KubeError TooLarge, BadAnswer */
export async function* readJsonLines(
  stream: AsyncIterable<Uint8Array>,
  { lineMaxBytes, onData }: { lineMaxBytes: number; onData?: (() => void) | undefined },
): AsyncGenerator<unknown, void, undefined> {
  let parts: Uint8Array[] = []
  let sizeBytes = 0
  for await (const chunk of stream) {
    onData?.()
    let from = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      parts.push(chunk.subarray(from, end))
      sizeBytes += end - from
      checkSize(sizeBytes, lineMaxBytes)
      const line = Buffer.concat(parts).toString('utf8')
      parts = []
      sizeBytes = 0
      from = end + 1
      if (line.trim() !== '') yield parse(line)
    }
    if (from < chunk.length) {
      parts.push(chunk.subarray(from))
      sizeBytes += chunk.length - from
      checkSize(sizeBytes, lineMaxBytes)
    }
  }
  if (sizeBytes > 0) throw localError('BadAnswer', 'the stream ended within a line')
}

function checkSize(sizeBytes: number, lineMaxBytes: number): void {
  if (sizeBytes > lineMaxBytes) throw localError('TooLarge', `a line is longer than ${lineMaxBytes} bytes`)
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw localError('BadAnswer', 'a line is not JSON', error)
  }
}
