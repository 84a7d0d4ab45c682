// Fetches an image for an assistant. Its URL may come from a web page that the assistant read, so private networks are
// refused, and the check is on the address that is dialled.
import { lookup } from 'node:dns'
import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { CliError, usageError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { isPublicAddress } from './public-address.ts'

const bytesMax = 20 * 1_024 * 1_024
const redirectsMax = 5
const totalMsMax = 60_000

const privateAddress = (host: string) =>
  usageError(`${host} is an address of a private network.`, 'Add --allow-private-urls if the assistant may reach it.')

const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0)
    const [first] = addresses
    if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
      return callback(privateAddress(hostname), '', 0)
    }
    return options.all ? callback(null, addresses) : callback(null, first.address, first.family)
  })
}

/** @throws CliError for a private address, an answer without the file, or a file that is too large */
export async function fetchImage(text: string, allowPrivate: boolean): Promise<Buffer> {
  const signal = AbortSignal.timeout(totalMsMax)
  let url = text
  for (let redirect = 0; redirect <= redirectsMax; redirect++) {
    const response = await open(new URL(url), { allowPrivate, signal })
    const { statusCode = 0, headers } = response
    if (statusCode === 200) return readAll(response)
    response.destroy()
    const isRedirect = [301, 302, 303, 307, 308].includes(statusCode) && headers.location !== undefined
    if (!isRedirect) throw unusable(`${new URL(url).host} answers ${statusCode}.`)
    url = new URL(headers.location ?? '', url).href
  }
  throw unusable(`${text} redirects more than ${redirectsMax} times.`)
}

const unusable = (message: string): CliError =>
  new CliError(exitCodes.usage, message, 'Check the URL; it must be the image itself.')

type Opening = { readonly allowPrivate: boolean; readonly signal: AbortSignal }

function open(url: URL, { allowPrivate, signal }: Opening): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (!/^https?:$/.test(url.protocol)) throw usageError(`${url.href} is no http URL.`, 'Give an http or https URL.')
  // Node asks for no lookup of an address.
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) throw privateAddress(host)
  const get = url.protocol === 'https:' ? getHttps : getHttp
  return new Promise((resolve, reject) => {
    get(url, { signal, headers: { Accept: 'image/*' }, ...(!allowPrivate && { lookup: lookupPublic }) }, resolve).on(
      'error',
      (error) => reject(error instanceof CliError ? error : unusable(`${url.host}: ${error.message}.`)),
    )
  })
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bytesMax) throw unusable(`The file is larger than ${bytesMax / 1_024 / 1_024} MiB.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
