// Beginning of every command that calls the service: output, credential, client.
import type { Command } from 'commander'
import { Matte } from 'matte-client'
import { exitCodes } from './exit-codes.ts'
import { createOutput, type Output } from './print/output.ts'
import { readConfigFor } from './profile/config-file.ts'
import { type Credential, chooseCredential } from './profile/credential.ts'
import { version } from './version.ts'

export type CommonOptions = {
  readonly profile?: string | undefined
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
}

export type Session = { readonly matte: Matte; readonly out: Output; readonly credential: Credential }

export const withProfile = (command: Command): Command =>
  command.option('--profile <name>', 'profile to use (default: the one of the latest login)')

export const withOutput = (command: Command): Command =>
  command.option('--json', 'print one line of JSON per record').option('-q, --quiet', 'print no notes')

export const withCommon = (command: Command): Command => withOutput(withProfile(command))

/** @throws CliError without a usable credential */
export async function connect(options: CommonOptions): Promise<Session> {
  const out = createOutput(options)
  const config = await readConfigFor(process.env)
  const credential = chooseCredential({ env: process.env, config, profileName: options.profile })
  if (credential.note !== undefined) out.note(credential.note)
  return { matte: createClient(credential), out, credential }
}

export const createClient = ({ apiKey, baseUrl }: Pick<Credential, 'apiKey' | 'baseUrl'>, retriesMax?: number): Matte =>
  new Matte({ apiKey, baseUrl, userAgent: `matte-cli/${version}`, ...(retriesMax !== undefined && { retriesMax }) })

/** Runs with a signal that Ctrl-C and SIGTERM abort. A second one ends the process at once. */
export async function interruptible<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupted = new AbortController()
  const stop = (): void => {
    if (interrupted.signal.aborted) process.exit(exitCodes.interrupted)
    interrupted.abort()
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  try {
    return await run(interrupted.signal)
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}
