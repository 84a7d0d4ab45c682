// matte doctor: finds out why something does not work, and says what to do.
import { readFile } from 'node:fs/promises'
import { connect as connectTls } from 'node:tls'
import type { Command } from 'commander'
import { type ApiKey, type Matte, MatteError } from 'matte-client'
import { CliError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { exitCodeOfError, showError } from '../print/error.ts'
import { formatDuration, plural } from '../print/format.ts'
import { createOutput, type Output } from '../print/output.ts'
import { maskKey, readConfigFor } from '../profile/config-file.ts'
import { type Credential, chooseCredential } from '../profile/credential.ts'
import { isLoopbackHost } from '../profile/loopback.ts'
import { findKey } from '../profile/profile-commands.ts'
import { type CommonOptions, createClient, withCommon } from '../session.ts'
import {
  clockSkewMs,
  exitCodeOfFindings,
  explainConnection,
  type Finding,
  failed,
  judgeCertificate,
  judgeClock,
  judgeLimits,
  judgeScopes,
  ok,
  renderFinding,
  skipped,
  warning,
} from './judge.ts'

const answerMsMax = 15_000

export function addDoctorCommand(program: Command): void {
  withCommon(
    program.command('doctor').description('check connection, clock, key, scopes, limits, store and one cut-out'),
  )
    .option('--no-cut', 'leave out the cut-out, which costs one credit')
    .action(async ({ cut, ...common }: CommonOptions & { readonly cut: boolean }) => {
      const out = createOutput(common)
      const findings: Finding[] = []
      for await (const finding of examine(common.profile, cut)) {
        findings.push(finding)
        print(finding, out)
      }
      if (!out.json) out.note(summarize(findings))
      process.exitCode = exitCodeOfFindings(findings)
    })
}

function print(finding: Finding, out: Output): void {
  if (out.json) out.record(finding)
  else if (!out.quiet || finding.status === 'failed' || finding.status === 'warning') out.line(renderFinding(finding))
}

function summarize(findings: readonly Finding[]): string {
  const count = (status: Finding['status']): number => findings.filter((each) => each.status === status).length
  if (count('failed') > 0) return `\n${plural(count('failed'), 'problem')} found.`
  return count('warning') > 0 ? `\nIt works, with ${plural(count('warning'), 'warning')}.` : '\nEverything works.'
}

/** Each check needs those before it, so the first one that fails may end the examination. */
async function* examine(profileName: string | undefined, isCutWanted: boolean): AsyncGenerator<Finding> {
  const credential = await findCredential(profileName)
  if ('check' in credential) return yield credential
  yield ok('settings', `${credential.baseUrl}, key ${maskKey(credential.apiKey)}, from ${credential.source}`)
  if (credential.note !== undefined)
    yield warning('settings', credential.note, 'Unset the variables, or leave out --profile.')
  const url = new URL(credential.baseUrl)
  const answer = await reach(credential)
  if ('check' in answer) return yield answer
  yield answer.isService
    ? ok('reach', `${url.host} answers in ${formatDuration(answer.durationMs)}`)
    : notService(answer, url)
  yield await examineTls(url)
  yield judgeClock(clockSkewMs(answer))
  if (!answer.isService) return
  const matte = createClient(credential, 1)
  const refused = judgeKey(answer)
  yield refused ?? ok('key', 'valid')
  if (refused) return
  const key = await findOwnKey(matte, credential)
  yield key === undefined
    ? skipped('scopes', 'the key cannot list keys (scope api-keys:read)')
    : judgeScopes(key.scopes)
  yield await examineLimits(matte, answer.headers.get('x-ratelimit-limit'))
  yield* examineCut(matte, isCutWanted)
}

async function findCredential(profileName: string | undefined): Promise<Credential | Finding> {
  try {
    const config = await readConfigFor(process.env)
    return chooseCredential({ env: process.env, config, profileName })
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return failed('settings', error.message, error.advice, { exitCode: error.exitCode })
  }
}

type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly date: string | null
  readonly sentMs: number
  readonly receivedMs: number
  readonly durationMs: number
  /** Whether the base URL is that of the service. */
  readonly isService: boolean
  readonly code: string | undefined
  readonly message: string | undefined
  readonly requestId: string | undefined
}

type Envelope = {
  readonly request_id?: unknown
  readonly error?: { readonly code?: string; readonly message?: string }
}

/** A raw request, because the client hides headers and retries. */
async function reach({ baseUrl, apiKey }: Credential): Promise<Answer | Finding> {
  const sentMs = Date.now()
  try {
    const response = await fetch(`${baseUrl}/open/developer/usage`, {
      headers: { 'X-API-Key': apiKey },
      redirect: 'manual',
      signal: AbortSignal.timeout(answerMsMax),
    })
    const receivedMs = Date.now()
    // Any JSON may come; `isService` below is the check.
    const { request_id: requestId, error } = (await response.json().catch(() => ({}))) as Envelope
    return {
      status: response.status,
      headers: response.headers,
      date: response.headers.get('date'),
      sentMs,
      receivedMs,
      durationMs: receivedMs - sentMs,
      // A wrong path below the service gets its envelope too.
      isService: typeof requestId === 'string' && error?.code !== 'NOT_FOUND',
      code: error?.code,
      message: error?.message,
      requestId: typeof requestId === 'string' ? requestId : undefined,
    }
  } catch (error) {
    const { cause, name } = error as Error
    if (name === 'TimeoutError') {
      return failed('reach', `no answer within ${answerMsMax / 1_000} s`, 'Check firewall and proxy.', unavailable)
    }
    const [text, advice] = explainConnection((cause as NodeJS.ErrnoException | undefined)?.code, new URL(baseUrl))
    return failed('reach', text, advice, unavailable)
  }
}

const unavailable = { exitCode: exitCodes.unavailable }

function notService({ status, headers }: Answer, url: URL): Finding {
  const location = headers.get('location')
  const text = `${url.href} answers ${status}, and is not the API of the service`
  const advice = location
    ? `It redirects to ${location}: log in with that address.`
    : 'Check the path of the base URL: it ends in /api/v1.'
  return failed('reach', text, advice, unavailable)
}

async function examineTls(url: URL): Promise<Finding> {
  if (url.protocol === 'http:') {
    if (isLoopbackHost(url.hostname)) return skipped('tls', 'not needed on this machine')
    return warning('tls', 'http: others on the network can read the key', 'Use https if the service has it.')
  }
  return new Promise((resolve) => {
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const socket = connectTls({ host, port: Number(url.port || 443), servername: host, timeout: answerMsMax }, () => {
      const daysLeft = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / 86_400_000)
      resolve(judgeCertificate(daysLeft, socket.getProtocol() ?? 'TLS'))
      socket.destroy()
    })
    const giveUp = (): void => {
      resolve(skipped('tls', 'the certificate cannot be read through the proxy'))
      socket.destroy()
    }
    socket.on('error', giveUp).on('timeout', giveUp)
  })
}

/** Undefined: the key is valid. A missing scope proves that too. */
function judgeKey({ status, code, message, requestId }: Answer): Finding | undefined {
  if (status < 400 || code === 'API_KEY_INSUFFICIENT_SCOPE') return undefined
  const error = new MatteError(code ?? 'SYSTEM_INTERNAL_ERROR', message ?? `the service answers ${status}`, { status })
  return failed('key', error.message, showError(error).advice, { requestId, exitCode: exitCodeOfError(error) })
}

async function findOwnKey(matte: Matte, { apiKey }: Credential): Promise<ApiKey | undefined> {
  return matte.apiKeys
    .list()
    .all()
    .then(
      (keys) => findKey(keys, apiKey),
      () => undefined,
    )
}

async function examineLimits(matte: Matte, requestsPerMinute: string | null): Promise<Finding> {
  return matte.usage.get().then(
    ({ monthlyQuota }) => judgeLimits(monthlyQuota, requestsPerMinute),
    () => skipped('limits', 'the key cannot read usage (scope usage:read)'),
  )
}

/** Uploads the bundled photo, and cuts it out. */
async function* examineCut(matte: Matte, isCutWanted: boolean): AsyncGenerator<Finding> {
  const photo = await readFile(new URL('./sample.jpg', import.meta.url))
  const upload = await timed(() => matte.uploads.put(photo, { fileName: 'matte-doctor.jpg' }))
  if ('error' in upload) return yield failedBy('store', upload.error)
  yield ok('store', `took ${photo.length} bytes in ${formatDuration(upload.durationMs)}`)
  if (!isCutWanted) return yield skipped('cut-out', 'left out')
  const { objectKey } = upload.value
  const cutout = await timed(async () => {
    const task = await matte.tasks.create({ imageUrl: objectKey }, { waitSeconds: 20 })
    return matte.tasks.download(await matte.tasks.wait(task.id))
  })
  if ('error' in cutout) return yield failedBy('cut-out', cutout.error)
  const { task, sizeBytes, taskId } = cutout.value
  const size = `${task.width}×${task.height}, ${sizeBytes} bytes`
  yield ok('cut-out', `${size} in ${formatDuration(cutout.durationMs)}, for one credit (task ${taskId})`)
}

type Timed<T> = { readonly value: T; readonly durationMs: number } | { readonly error: unknown }

async function timed<T>(run: () => Promise<T>): Promise<Timed<T>> {
  const startedMs = performance.now()
  return run().then(
    (value) => ({ value, durationMs: performance.now() - startedMs }),
    (error: unknown) => ({ error }),
  )
}

/** The browser or this machine reaches the store by another address than the API. */
function failedBy(check: string, error: unknown): Finding {
  const { message, advice, requestId } = showError(error)
  const isStore = check === 'store' && error instanceof MatteError && error.status === undefined
  const text = isStore
    ? 'This machine cannot reach the address of the upload. Ask the operator for S3_PUBLIC_ENDPOINT.'
    : advice
  return failed(check, message, text, { requestId, exitCode: exitCodeOfError(error) })
}
