// `make logs`: follows the logs of all parts, or of those named in ARGS="api triton", until Ctrl-C.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readLayout } from './paths.ts'

const { logDir } = readLayout(process.env)
const wanted = process.argv.slice(2)
const names = (existsSync(logDir) ? readdirSync(logDir) : [])
  .filter((file) => file.endsWith('.log'))
  .map((file) => file.slice(0, -'.log'.length))
  .filter((name) => wanted.length === 0 || wanted.includes(name))

for (const name of names) {
  // `-F` reopens a log that `make up` has moved aside.
  const tail = spawn('tail', ['-n', '20', '-F', join(logDir, `${name}.log`)], { stdio: ['ignore', 'pipe', 'ignore'] })
  createInterface({ input: tail.stdout }).on('line', (line) => process.stdout.write(`${name.padEnd(12)} ${line}\n`))
}
if (names.length === 0) {
  process.stderr.write(`make logs: ${logDir} has no log of ${wanted.join(', ') || 'any part'}. Run make up first.\n`)
  process.exitCode = 1
}
