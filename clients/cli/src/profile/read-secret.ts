// Reads a line from a terminal, with or without echo, or from a pipe.
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { CliError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'

export type Question = { readonly prompt: string; readonly echo: boolean }

/** Asks on stderr, so stdout stays for results. @throws CliError on Ctrl-C */
export async function askLine({ prompt, echo }: Question): Promise<string> {
  process.stderr.write(prompt)
  // Without echo, readline's own output, which repeats what is typed, goes nowhere.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: echo ? process.stderr : silent, terminal: true })
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve)
      const stop = () => reject(new CliError(exitCodes.interrupted, 'Interrupted.', 'Nothing was changed.'))
      lines.once('SIGINT', stop)
      lines.once('close', stop)
    })
  } finally {
    lines.close()
    if (!echo) process.stderr.write('\n')
  }
}

/** First line of a pipe. */
export async function readPipedLine(): Promise<string> {
  const [line = ''] = (await text(process.stdin)).split('\n')
  return line.trim()
}
