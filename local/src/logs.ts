// `make logs`: what all parts write, each line under its part's name, until Ctrl-C. `make logs ARGS="api triton"`
// shows these only.
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as pause } from 'node:timers/promises'
import { readLayout } from './paths.ts'

/** How much of each log is shown at first, and at most read at a time. */
const tailBytes = 4_096
const readBytesMax = 256 * 1024
const readEveryMs = 250

type Tail = { readonly path: string; position: number; rest: string; readonly decoder: StringDecoder }

const { logDir } = readLayout(process.env)
const wanted = process.argv.slice(2)
const tails = new Map<string, Tail>()

for (;;) {
  for (const name of listLogs()) {
    const tail = tails.get(name) ?? openTail(name)
    tails.set(name, tail)
    for (const line of readLines(tail)) process.stdout.write(`${name.padEnd(12)} ${line}\n`)
  }
  if (tails.size === 0) {
    process.stderr.write(`make logs: no log of ${wanted.join(', ') || 'any part'} in ${logDir}. Run make up first.\n`)
    process.exit(1)
  }
  await pause(readEveryMs)
}

function listLogs(): string[] {
  const files = existsSync(logDir) ? readdirSync(logDir) : []
  const names = files.filter((file) => file.endsWith('.log')).map((file) => file.slice(0, -'.log'.length))
  return names.filter((name) => wanted.length === 0 || wanted.includes(name)).sort()
}

function openTail(name: string): Tail {
  const path = join(logDir, `${name}.log`)
  const position = Math.max(0, statSync(path).size - tailBytes)
  return { path, position, rest: position > 0 ? '… ' : '', decoder: new StringDecoder() }
}

/** Whole lines that were added since the last read; a log that was moved aside is read from its new beginning. */
function readLines(tail: Tail): string[] {
  const size = statSync(tail.path, { throwIfNoEntry: false })?.size ?? 0
  if (size < tail.position) tail.position = 0
  const buffer = Buffer.alloc(Math.min(size - tail.position, readBytesMax))
  if (buffer.length === 0) return []
  const file = openSync(tail.path, 'r')
  try {
    const read = readSync(file, buffer, 0, buffer.length, tail.position)
    const lines = (tail.rest + tail.decoder.write(buffer.subarray(0, read))).split('\n')
    tail.position += read
    const last = lines.pop() ?? ''
    const tooLong = last.length > readBytesMax // a line without an end is shown in pieces
    tail.rest = tooLong ? '' : last
    return tooLong ? [...lines, last] : lines
  } finally {
    closeSync(file)
  }
}
