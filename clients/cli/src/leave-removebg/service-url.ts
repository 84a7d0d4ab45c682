// The Matte that takes the calls: its URL, and whether its door for remove.bg is open.
import { CliError, usageError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { readConfigFor } from '../profile/config-file.ts'
import { chooseBaseUrl } from '../profile/credential.ts'

/** Host that programs of remove.bg dial. */
export const removebgHost = 'api.remove.bg'

const answerMsMax = 15_000

/**
 * The public URL of a Matte without a slash at its end. The base URL of the API is taken too.
 * @throws CliError for a text that is no http URL
 */
export function readServiceUrl(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search + url.hash !== '') {
    throw usageError('The URL of Matte is no http or https URL.', 'Give one such as https://matte.example.com')
  }
  if (url.hostname === removebgHost) {
    throw usageError(`${removebgHost} is no Matte.`, 'Give the URL of your own service.')
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/(\/api)?\/v1(\.0)?(\/removebg)?$/, '')
}

/** The URL of an option, of MATTE_BASE_URL or of a profile, in this order; undefined without any. */
export async function findServiceUrl(option: string | undefined): Promise<string | undefined> {
  if (option !== undefined) return readServiceUrl(option)
  const baseUrl = chooseBaseUrl({ env: process.env, config: await readConfigFor(process.env) })
  return baseUrl === undefined ? undefined : readServiceUrl(baseUrl)
}

export const missingUrl = (): CliError =>
  usageError('The URL of Matte is missing.', 'Add --url https://matte.example.com, set MATTE_BASE_URL, or: matte login')

/** Asks for the account without a key, which an open door refuses in the form of remove.bg. @throws CliError */
export async function requireDoor(serviceUrl: string): Promise<void> {
  const account = `${serviceUrl}/v1.0/account`
  const response = await fetch(account, { redirect: 'manual', signal: AbortSignal.timeout(answerMsMax) }).catch(
    (error: Error & { cause?: NodeJS.ErrnoException }) => {
      const reason = error.cause?.code ?? error.message
      throw new CliError(exitCodes.unavailable, `${serviceUrl} cannot be reached: ${reason}.`, 'Check URL and network.')
    },
  )
  const body = (await response.json().catch(() => undefined)) as { errors?: unknown } | undefined
  if (response.status === 403 && Array.isArray(body?.errors)) return
  throw new CliError(
    exitCodes.refused,
    `${account} answers ${response.status}, and not as the door for remove.bg does.`,
    'Check the URL, and ask the operator to turn doors.removebg.enabled on.',
  )
}
