// The console's page that creates an API key, for `matte login --console`.
import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { CliError, usageError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'

const timeoutMs = 15_000

/** Address of the form for a new key, with a name filled in. @throws CliError when the service has no console */
export async function findKeyForm(baseUrl: string): Promise<string> {
  const form = new URL('/keys', baseUrl)
  form.searchParams.set('create', `matte on ${hostname()}`.slice(0, 60))
  const response = await fetch(form, { signal: AbortSignal.timeout(timeoutMs) }).catch(() => {
    throw new CliError(
      exitCodes.unavailable,
      `${form.origin} cannot be reached.`,
      'Check the base URL and the network.',
    )
  })
  await response.body?.cancel()
  if (!response.ok || !response.headers.get('content-type')?.startsWith('text/html')) {
    throw usageError(`${form.origin} has no console.`, 'Get an API key from the operator, and run: matte login')
  }
  return form.href
}

/** Best effort: the address is printed too. */
export function openBrowser(url: string): void {
  const openers: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', win32: 'explorer' }
  const opener = spawn(openers[process.platform] ?? 'xdg-open', [url], { stdio: 'ignore', detached: true })
  opener.on('error', () => undefined)
  opener.unref()
}
