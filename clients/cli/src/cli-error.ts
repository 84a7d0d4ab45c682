import { type ExitCode, exitCodes } from './exit-codes.ts'

/** An error that the command line finds itself. The message says what is wrong, `advice` what to do. */
export class CliError extends Error {
  override name = 'CliError'
  readonly exitCode: ExitCode
  readonly advice: string
  constructor(exitCode: ExitCode, message: string, advice: string) {
    super(message)
    this.exitCode = exitCode
    this.advice = advice
  }
}

export const usageError = (message: string, advice: string): CliError => new CliError(exitCodes.usage, message, advice)

export const credentialError = (message: string, advice: string): CliError =>
  new CliError(exitCodes.credential, message, advice)
