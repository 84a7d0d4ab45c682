// Service and key of `--check URL KEY`.
import { credentialError, usageError } from '../../cli-error.ts'
import { readPipedLine } from '../../profile/read-secret.ts'
import { readServiceUrl } from '../service-url.ts'

export type CheckTarget = { readonly serviceUrl: string; readonly apiKey: string }

type Other = { readonly folder: string | undefined; readonly write: boolean }

/** @throws CliError when the key is missing, or arguments belong to a search */
export async function readCheckTarget(values: readonly string[], { folder, write }: Other): Promise<CheckTarget> {
  const [url = '', key, ...more] = values
  if (folder !== undefined || write || more.length > 0) {
    throw usageError('--check takes a URL and a key, and searches no folder.', 'Run the search on its own.')
  }
  const apiKey = key === '-' ? await readPipedLine() : (key ?? process.env.MATTE_API_KEY ?? '')
  if (apiKey === '') {
    throw credentialError(
      'The API key is missing.',
      'Set MATTE_API_KEY, or pipe a key and write - in its place: matte leave-removebg --check URL - < key-file',
    )
  }
  // A header takes no others, and its error would name the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw credentialError('The API key has characters that no key has.', 'Copy it again.')
  return { serviceUrl: readServiceUrl(url), apiKey }
}
